//! Options and profiles of an SCTP endpoint: the parameters of RFC 9260 section 16, and what earlier specifications and the ns-2
//! module did otherwise.

mod profile;

pub use profile::{PROFILES, Profile};

use base::Span;
use transport::tcp::config::RtoConfig;

base::named! {
    /// How large the first congestion window is.
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
    /// What congestion control counts as one packet.
    pub enum WindowUnit {
        /// The most user data that a packet holds, PMDCS (RFC 9260 section 7.2).
        Payload = "payload",
        /// The whole packet (RFC 4960 section 7.2, as Linux has it).
        Mtu = "mtu",
    }
}

base::named! {
    /// Which chunks ask to be acknowledged at once while the association closes (RFC 7053 section 4).
    pub enum Immediate {
        /// The last one.
        Last = "last",
        /// All of them, as in Linux.
        All = "all",
    }
}

base::named! {
    /// Quantity bounded by a burst limit (RFC 9260 section 6.1, rule D).
    pub enum Burst {
        /// Nothing.
        Unlimited = "unlimited",
        /// The window, while a SACK is answered: flight plus Max.Burst packets.
        Window = "window",
        /// Packets of new data for each SACK.
        Packets = "packets",
    }
}

base::named! {
    /// Which missing chunks a SACK counts against.
    pub enum Missing {
        /// Those below the highest number that it newly acknowledges (RFC 9260 section 7.2.4, HTNA).
        HighestNewlyAcked = "highest-newly-acked",
        /// Those below the highest number that it reports (RFC 2960 section 7.2.4).
        HighestReported = "highest-reported",
    }
}

base::named! {
    /// Effect of a further timeout of one flight on the slow-start threshold.
    pub enum Repeated {
        /// It halves the window again, which is one packet: the threshold becomes the least one (RFC 9260 section 7.2.3).
        Reduces = "reduces",
        /// Nothing: only a window of more than one packet is halved.
        Keeps = "keeps",
    }
}

base::named! {
    /// Who judges whether a retransmission timeout was spurious.
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
        /// Nothing.
        None = "none",
        /// Congestion window and threshold are restored.
        Restore = "restore",
    }
}

base::named! {
    /// How the MTU of a path is learned.
    pub enum PathMtu {
        /// By ICMP errors; packets must not be cut up (RFC 9260 section 7.3, RFC 1191).
        Icmp = "icmp",
        /// By ICMP errors, and by probes that routers need not answer (RFC 8899).
        Probe = "probe",
        /// It is not: routers fragment larger packets.
        Off = "off",
    }
}

/// The options of one endpoint. Both ends of an association have the same.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Largest IP packet, bytes: that of the interface, or less once a path has shown a smaller one.
    pub mtu: u32,
    /// How the MTU of a path is learned.
    pub path_mtu: PathMtu,
    /// PROBE_TIMER: how long the answer to a probe is waited for (RFC 8899 section 5.1.1).
    pub probe_timer: Span,
    /// Maximum bytes of user data in a DATA chunk; none: the capacity of an unbundled chunk in the MTU.
    pub chunk: Option<u32>,
    /// IP packet of a single DATA chunk beyond its user data, bytes; none: real sizes.
    pub data_header: Option<u32>,
    /// IP packet of a SACK alone, bytes; none: real sizes.
    pub sack_size: Option<u32>,
    /// Several DATA chunks share a packet.
    pub bundle: bool,
    /// Receive buffer, bytes: the first a_rwnd.
    pub window: u64,
    /// Headers of chunks count against the window, as in ns-2.
    pub window_counts_headers: bool,
    /// What congestion control counts as one packet.
    pub window_unit: WindowUnit,
    /// First congestion window.
    pub initial_window: InitialWindow,
    /// First slow-start threshold, bytes; none: the peer's window.
    pub initial_threshold: Option<u64>,
    /// Least slow-start threshold after a loss, packets.
    pub least_threshold: u32,
    /// What repeated timeouts do to the threshold.
    pub repeated_timeouts: Repeated,
    /// Misses that make a fast retransmit.
    pub missing_reports: u32,
    /// Which chunks a SACK counts as missing.
    pub missing: Missing,
    /// The window shrinks once for all losses of a flight, and does not grow before their end (RFC 9260 section 7.2.4).
    pub fast_recovery: bool,
    /// The window grows only if it was used up (section 7.2.1).
    pub grows_if_full: bool,
    /// It grows with gap reports too, not only when the cumulative number advances (RFC 8540 section 3.22).
    pub grows_on_gaps: bool,
    /// The window shrinks in pauses of the application (section 7.2.1).
    pub idle_decay: bool,
    /// A SACK that acknowledges nothing new lets new data out, if the window has room.
    pub sends_on_duplicates: bool,
    /// Quantity bounded by the burst limit.
    pub burst: Burst,
    /// Max.Burst, packets.
    pub max_burst: u32,
    /// Number of packets per SACK.
    pub sack_every: u32,
    /// The longest wait before a SACK.
    pub sack_delay: Span,
    /// The first packet with data of an association is acknowledged at once.
    pub sacks_first: bool,
    /// Most gap blocks in a SACK.
    pub gap_blocks: u32,
    /// A fast retransmission of the oldest outstanding chunk restarts T3-rtx (RFC 9260 section 7.2.4, step 4).
    pub restarts_on_fast: bool,
    /// Chunks that were acknowledged while they waited to be sent again open the congestion window.
    pub counts_marked: bool,
    /// A SACK reports duplicates.
    pub reports_duplicates: bool,
    /// Which chunks ask to be acknowledged at once while the association closes.
    pub immediate: Immediate,
    /// The retransmission timer: RTO.Initial, RTO.Min, RTO.Max.
    pub rto: RtoConfig,
    /// Path.Max.Retrans.
    pub path_max_retransmissions: u32,
    /// Association.Max.Retrans.
    pub association_max_retransmissions: u32,
    /// Max.Init.Retransmits.
    pub init_max_retransmissions: u32,
    /// HB.interval; none: no heartbeats.
    pub heartbeat: Option<Span>,
    /// The end that opens the association sends a HEARTBEAT first. Data wait for its answer, which is timed (ns-2.35; RFC 9260
    /// section 5.4 asks for it on further addresses only).
    pub verifies_path: bool,
    /// Valid.Cookie.Life.
    pub cookie_life: Span,
    /// Outbound streams.
    pub streams: u16,
    /// Network paths between the ends.
    pub paths: u8,
    /// Explicit congestion notification (RFC 4960 appendix A).
    pub ecn: bool,
    /// Partial reliability (RFC 3758).
    pub forward_tsn: bool,
    /// Detector of spurious timeouts.
    pub spurious: Spurious,
    /// Response to them.
    pub response: Response,
}

impl Config {
    /// The options of a profile.
    pub fn profile(name: &str) -> Option<Config> {
        PROFILES.iter().find(|(known, _, _)| *known == name).map(|(_, _, make)| make())
    }

    /// Most bytes of user data in one DATA chunk: a multiple of four, at least four.
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

    /// First congestion window, bytes.
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
