//! SCTP profiles: sets of options named after the specification or program that they follow (RFC 9260, 4960,
//! 2960, ns-2, Linux).

use super::{
    Burst, Config, Immediate, InitialWindow, Missing, PathMtu, Repeated, Response, Spurious, WindowUnit,
};
use base::Span;
use transport::tcp::config::{Config as Tcp, RtoConfig};

/// Profile: name, documentation, and function that returns the options.
pub type Profile = (&'static str, &'static str, fn() -> Config);

/// All profiles.
pub const PROFILES: &[Profile] = &[
    ("rfc9260", "RFC 9260 with its recommended parameters.", rfc9260),
    ("rfc4960", "RFC 4960: RTO.Initial is 3 s and the largest first window is 4380 B.", rfc4960),
    (
        "rfc2960",
        "RFC 2960: four missing reports, no fast recovery, a least threshold of two packets, a first window of two packets.",
        rfc2960,
    ),
    (
        "ns2-2002",
        "The SCTP module of ns-2 as it was in 2002, after RFC 2960. A duplicate SACK lets no new data out, and no limit bounds bursts.",
        ns2_2002,
    ),
    (
        "ns2-2.35",
        "The SCTP module of ns-2.35: RFC 4960 with the headers of chunks counted in windows.",
        ns2_235,
    ),
    (
        "linux-6.x",
        "Linux 6.12: RFC 4960 with windows counted in whole packets; the first data are acknowledged at once, and all data of a closing association ask for that.",
        linux,
    ),
];

fn timer(initial: Span) -> RtoConfig {
    //= RFC 9260 section 16: RTO.Min 1 second, RTO.Max 60 seconds
    RtoConfig { initial, min: Span::from_secs(1), max: Span::from_secs(60), ..Tcp::default().rto }
}

/// Options of RFC 9260 sections 6, 7, 8 and 16.
pub(super) fn rfc9260() -> Config {
    Config {
        mtu: 1500,
        path_mtu: PathMtu::Icmp,
        // RFC 8899 section 5.1.1: at least 1 s, recommended 15 s.
        probe_timer: Span::from_secs(15),
        chunk: None,
        data_header: None,
        sack_size: None,
        bundle: true,
        window: 1 << 18,
        window_counts_headers: false,
        window_unit: WindowUnit::Payload,
        initial_window: InitialWindow::Rfc9260,
        initial_threshold: None,
        least_threshold: 4,
        repeated_timeouts: Repeated::Reduces,
        missing_reports: 3,
        missing: Missing::HighestNewlyAcked,
        fast_recovery: true,
        grows_if_full: true,
        grows_on_gaps: true,
        idle_decay: true,
        sends_on_duplicates: true,
        burst: Burst::Window,
        max_burst: 4,
        sack_every: 2,
        sack_delay: Span::from_millis(200),
        sacks_first: false,
        gap_blocks: 40,
        restarts_on_fast: true,
        counts_marked: true,
        reports_duplicates: true,
        immediate: Immediate::Last,
        rto: timer(Span::from_secs(1)),
        path_max_retransmissions: 5,
        association_max_retransmissions: 10,
        init_max_retransmissions: 8,
        heartbeat: Some(Span::from_secs(30)),
        verifies_path: false,
        cookie_life: Span::from_secs(60),
        streams: 10,
        paths: 1,
        ecn: false,
        forward_tsn: true,
        spurious: Spurious::None,
        response: Response::None,
    }
}

fn rfc4960() -> Config {
    Config { rto: timer(Span::from_secs(3)), grows_on_gaps: false, ..rfc9260() }
}

fn rfc2960() -> Config {
    Config {
        initial_window: InitialWindow::TwoPackets,
        least_threshold: 2,
        missing_reports: 4,
        missing: Missing::HighestReported,
        fast_recovery: false,
        forward_tsn: false,
        burst: Burst::Unlimited,
        ..rfc4960()
    }
}

/// The study says that its SCTP follows RFC 2960; duplicate SACKs do not release new data (section III.B).
fn ns2_2002() -> Config {
    Config {
        path_mtu: PathMtu::Off,
        sends_on_duplicates: false,
        reports_duplicates: true,
        idle_decay: false,
        bundle: false,
        data_header: Some(52),
        sack_size: Some(68),
        sack_every: 1,
        heartbeat: None,
        ..rfc2960()
    }
}

/// `sctp/sctp.cc` of ns-2.35: initial window, thresholds and missing reports as in RFC 4960. The path verification
/// added in April 2007 also confirms a single path before data are sent, so that the timer has a sample before the
/// first chunk.
fn ns2_235() -> Config {
    Config {
        path_mtu: PathMtu::Off,
        repeated_timeouts: Repeated::Keeps,
        verifies_path: true,
        burst: Burst::Packets,
        idle_decay: false,
        window_counts_headers: true,
        bundle: false,
        heartbeat: None,
        ..rfc4960()
    }
}

/// net/sctp of Linux 6.12. The window is half of the default receive buffer of 212992 B.
fn linux() -> Config {
    Config {
        window: 106_496,
        window_unit: WindowUnit::Mtu,
        grows_on_gaps: true,
        sacks_first: true,
        // SCTP_MAX_GABS of include/net/sctp/constants.h.
        gap_blocks: 16,
        // sctp_packet_transmit calls sctp_transport_reset_t3_rtx, which leaves a running timer alone.
        restarts_on_fast: false,
        // sctp_check_transmitted has no transport for its list of retransmissions.
        counts_marked: false,
        immediate: Immediate::All,
        ..rfc4960()
    }
}
