//! Options of an SCTP endpoint: parameters of RFC 9260 section 16, and choices between it, earlier
//! specifications, Linux and the ns-2 module.

mod profile;

pub use profile::{PROFILES, Profile};

use base::Span;
use transport::tcp::config::RtoConfig;

base::named! {
    /// Initial congestion window.
    pub enum InitialWindow {
        /// min(4 MTU, max(2 MTU, 4404 B)) (RFC 9260 section 7.2.1).
        Rfc9260 = "rfc9260",
        /// Two packets (RFC 2960 section 7.2.1).
        TwoPackets = "two-packets",
        /// One packet.
        OnePacket = "one-packet",
    }
}

base::named! {
    /// Unit of a packet in congestion control.
    pub enum WindowUnit {
        /// Maximum user data of a packet, PMDCS (RFC 9260 section 7.2).
        Payload = "payload",
        /// The whole IP packet (RFC 4960 section 7.2, as in Linux).
        Mtu = "mtu",
    }
}

base::named! {
    /// Chunks with the I bit (acknowledge at once) while the association closes (RFC 7053 section 4).
    pub enum Immediate {
        /// The last chunk.
        Last = "last",
        /// All chunks, as in Linux.
        All = "all",
    }
}

base::named! {
    /// Quantity bounded by a burst limit (RFC 9260 section 6.1, rule D).
    pub enum Burst {
        /// Nothing.
        Unlimited = "unlimited",
        /// The congestion window while packets are sent for one event: flight plus Max.Burst packets.
        Window = "window",
        /// Packets of new data for each SACK.
        Packets = "packets",
    }
}

base::named! {
    /// Chunks that a SACK reports as missing, for fast retransmit.
    pub enum Missing {
        /// Chunks below the highest TSN that the SACK newly acknowledges (RFC 9260 section 7.2.4, HTNA).
        HighestNewlyAcked = "highest-newly-acked",
        /// Chunks below the highest TSN that the SACK reports (RFC 2960 section 7.2.4).
        HighestReported = "highest-reported",
    }
}

base::named! {
    /// Effect of a repeated timeout of one flight on the slow-start threshold.
    pub enum Repeated {
        /// The threshold becomes half of the window of one packet, hence the least threshold (RFC 9260 section
        /// 7.2.3).
        Reduces = "reduces",
        /// No effect: only a window of more than one packet is halved.
        Keeps = "keeps",
    }
}

base::named! {
    /// Detector of spurious retransmission timeouts.
    pub enum Spurious {
        /// No detector.
        None = "none",
        /// Reports of duplicate TSNs (RFC 3708 section 3 for SCTP).
        DuplicateTsn = "duplicate-tsn",
    }
}

base::named! {
    /// Response to a timeout judged spurious.
    pub enum Response {
        /// No response.
        None = "none",
        /// Congestion window and threshold are restored.
        Restore = "restore",
    }
}

base::named! {
    /// Discovery of a path's MTU.
    pub enum PathMtu {
        /// By ICMP errors; routers must not fragment packets (RFC 9260 section 7.3, RFC 1191).
        Icmp = "icmp",
        /// By ICMP errors, and by probes that need no ICMP errors (RFC 8899).
        Probe = "probe",
        /// No discovery: routers fragment larger packets.
        Off = "off",
    }
}

/// Options of an endpoint. Both ends of an association have equal options.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// MTU of the interface, bytes; during an association the smallest path MTU known.
    pub mtu: u32,
    /// Discovery of a path's MTU.
    pub path_mtu: PathMtu,
    /// PROBE_TIMER: maximum wait for the acknowledgement of a probe (RFC 8899 section 5.1.1).
    pub probe_timer: Span,
    /// Maximum user data of a DATA chunk, bytes; none: the capacity of a packet with one chunk.
    pub chunk: Option<u32>,
    /// Length of an IP packet with one DATA chunk minus its user data, bytes; none: real sizes.
    pub data_header: Option<u32>,
    /// Length of an IP packet with a SACK only, bytes; none: real sizes.
    pub sack_size: Option<u32>,
    /// Whether several DATA chunks share a packet.
    pub bundle: bool,
    /// Receive buffer, bytes: the initial a_rwnd.
    pub window: u64,
    /// Whether chunk headers count in the window, as in ns-2.
    pub window_counts_headers: bool,
    /// Unit of a packet in congestion control.
    pub window_unit: WindowUnit,
    /// Initial congestion window.
    pub initial_window: InitialWindow,
    /// Initial slow-start threshold, bytes; none: the peer's window.
    pub initial_threshold: Option<u64>,
    /// Least slow-start threshold after a loss, packets.
    pub least_threshold: u32,
    /// Effect of repeated timeouts on the slow-start threshold.
    pub repeated_timeouts: Repeated,
    /// Number of missing reports that cause a fast retransmit.
    pub missing_reports: u32,
    /// Chunks that a SACK counts as missing.
    pub missing: Missing,
    /// Whether the window is reduced once for all losses of a flight, and does not grow before recovery ends
    /// (RFC 9260 section 7.2.4).
    pub fast_recovery: bool,
    /// Whether the window grows only if it was fully used (section 7.2.1).
    pub grows_if_full: bool,
    /// Whether the window also grows with gap reports, not only when the cumulative TSN advances (RFC 8540
    /// section 3.22).
    pub grows_on_gaps: bool,
    /// Whether the window is reduced while the application is idle (section 7.2.1).
    pub idle_decay: bool,
    /// Whether a SACK without new acknowledgements releases new data if the window has room.
    pub sends_on_duplicates: bool,
    /// Quantity bounded by the burst limit.
    pub burst: Burst,
    /// Max.Burst, packets.
    pub max_burst: u32,
    /// Number of packets with data that one SACK acknowledges.
    pub sack_every: u32,
    /// Maximum delay of a SACK (delayed acknowledgement).
    pub sack_delay: Span,
    /// Whether the first packet with data of an association is acknowledged at once.
    pub sacks_first: bool,
    /// Maximum number of gap blocks in a SACK.
    pub gap_blocks: u32,
    /// Whether a fast retransmission of the oldest outstanding chunk restarts T3-rtx (RFC 9260 section 7.2.4,
    /// step 4).
    pub restarts_on_fast: bool,
    /// Whether chunks acknowledged while marked for retransmission increase the congestion window.
    pub counts_marked: bool,
    /// Whether a SACK reports duplicates.
    pub reports_duplicates: bool,
    /// Chunks with the I bit while the association closes.
    pub immediate: Immediate,
    /// Retransmission timer: RTO.Initial, RTO.Min, RTO.Max.
    pub rto: RtoConfig,
    /// Path.Max.Retrans.
    pub path_max_retransmissions: u32,
    /// Association.Max.Retrans.
    pub association_max_retransmissions: u32,
    /// Max.Init.Retransmits.
    pub init_max_retransmissions: u32,
    /// HB.interval; none: no heartbeats.
    pub heartbeat: Option<Span>,
    /// Whether the active end sends a HEARTBEAT first. Data wait for its acknowledgement, which yields an RTT
    /// sample (ns-2.35; RFC 9260 section 5.4 requires it for further addresses only).
    pub verifies_path: bool,
    /// Valid.Cookie.Life.
    pub cookie_life: Span,
    /// Number of outbound streams.
    pub streams: u16,
    /// Number of network paths between the ends.
    pub paths: u8,
    /// Explicit congestion notification (RFC 4960 appendix A).
    pub ecn: bool,
    /// Partial reliability (RFC 3758).
    pub forward_tsn: bool,
    /// Detector of spurious timeouts.
    pub spurious: Spurious,
    /// Response to a spurious timeout.
    pub response: Response,
}

impl Config {
    /// Options of a profile; `None` for an unknown name.
    pub fn profile(name: &str) -> Option<Config> {
        PROFILES.iter().find(|(known, _, _)| *known == name).map(|(_, _, make)| make())
    }

    /// Maximum user data of a DATA chunk, bytes: a multiple of four, at least four.
    pub fn chunk(&self) -> u32 {
        use crate::chunk::{COMMON_HEADER, DATA_HEADER, IP_HEADER};
        let headers = IP_HEADER + COMMON_HEADER + DATA_HEADER;
        let fits = self.mtu.saturating_sub(headers) / 4 * 4;
        self.chunk.unwrap_or(fits).min(fits).max(4)
    }

    /// Size of a packet for the congestion window, bytes.
    pub fn packet(&self) -> u64 {
        match self.window_unit {
            WindowUnit::Payload => u64::from(self.chunk()),
            WindowUnit::Mtu => u64::from(self.mtu),
        }
    }

    /// Initial congestion window, bytes.
    pub fn first_window(&self) -> u64 {
        let packet = self.packet();
        match self.initial_window {
            //= RFC 9260 section 7.2.1: the initial cwnd is min(4 * PMDCS, max(2 * PMDCS, 4404 bytes))
            InitialWindow::Rfc9260 => (4 * packet).min((2 * packet).max(4404)),
            InitialWindow::TwoPackets => 2 * packet,
            InitialWindow::OnePacket => packet,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        profile::rfc9260()
    }
}
