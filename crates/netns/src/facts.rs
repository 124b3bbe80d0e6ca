//! Kernel statistics of a flow (`FlowFacts`): `TCP_INFO` of the sender (parser and samples), network counters of both
//! namespaces.

use std::collections::BTreeMap;

/// Kernel statistics of a flow.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct FlowFacts {
    /// `TCP_INFO` of the sender's first connection when all data were acknowledged, or at the end.
    pub info: TcpInfo,
    /// Last `TCP_INFO` of each of the sender's connections, in order of opening, at most 256. Empty where connections
    /// are not sampled.
    pub connections: Vec<TcpInfo>,
    /// Changed samples of the first connection with their times, seconds from t = 0; the sample interval is a few ms.
    pub history: Vec<(f64, TcpInfo)>,
    /// Nonzero counters of the sender's namespace, by their names in `netstat` and `snmp`.
    pub from: BTreeMap<String, u64>,
    /// Nonzero counters of the receiver's namespace.
    pub to: BTreeMap<String, u64>,
    /// Errors of both ends.
    pub faults: Vec<String>,
}

impl FlowFacts {
    /// Counter of the sender's namespace; 0 if missing.
    pub fn counter(&self, name: &str) -> u64 {
        self.from.get(name).copied().unwrap_or(0)
    }

    /// Whether the kernel undid a cwnd reduction, so it detected an unneeded retransmission in time.
    pub fn undone(&self) -> bool {
        ["TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo"].iter().any(|n| self.counter(n) > 0)
    }
}

macro_rules! tcp_info {
    ($($(#[$doc:meta])* $name:ident : $kind:ident at $at:literal),+ $(,)?) => {
        /// Fields of the kernel's `struct tcp_info`. Times are in microseconds, windows in segments.
        #[derive(Clone, Copy, Default, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct TcpInfo {
            $($(#[$doc])* pub $name: $kind),+
        }
        impl TcpInfo {
            /// Parses the kernel's structure; fields missing in a kernel are 0.
            pub fn read(bytes: &[u8]) -> TcpInfo {
                TcpInfo { $($name: <$kind>::from_ne_bytes(part(bytes, $at))),+ }
            }
            /// Fields by name.
            pub fn fields(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), u64::from(self.$name))),+]
            }
        }
    };
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    if let Some(there) = bytes.get(at..at + N) {
        out.copy_from_slice(there);
    }
    out
}

tcp_info! {
    /// State of the connection, 1 when established.
    state: u8 at 0,
    /// State of congestion control: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    ca_state: u8 at 1,
    /// Consecutive timeouts of the oldest segment.
    retransmits: u8 at 2,
    /// Current back-off: doublings of the RTO.
    backoff: u8 at 4,
    /// Negotiated options as bits: 1 timestamps, 2 SACK, 4 window scaling, 8 ECN.
    options: u8 at 5,
    /// RTO, us.
    rto: u32 at 8,
    /// Sending MSS.
    snd_mss: u32 at 16,
    /// Segments outstanding.
    unacked: u32 at 24,
    /// Outstanding segments that are SACKed.
    sacked: u32 at 28,
    /// Outstanding segments that are marked lost.
    lost: u32 at 32,
    /// Outstanding segments that are retransmitted.
    retrans: u32 at 36,
    /// Smoothed RTT, us.
    rtt: u32 at 68,
    /// RTT variation, us.
    rttvar: u32 at 72,
    /// ssthresh, segments.
    snd_ssthresh: u32 at 76,
    /// cwnd, segments.
    snd_cwnd: u32 at 80,
    /// Reordering distance, segments.
    reordering: u32 at 88,
    /// Total retransmissions.
    total_retrans: u32 at 100,
    /// Unsent bytes.
    notsent_bytes: u32 at 144,
    /// Minimum RTT of a recent window, us.
    min_rtt: u32 at 148,
    /// Segments sent, pure ACKs included.
    segs_out: u32 at 136,
    /// Duplicate segments reported by DSACK.
    dsack_dups: u32 at 216,
    /// Window offered by the peer, bytes.
    snd_wnd: u32 at 228,
    /// Segments received.
    segs_in: u32 at 140,
    /// Segments with data received.
    data_segs_in: u32 at 152,
    /// Data segments sent, retransmissions included.
    data_segs_out: u32 at 156,
    /// Payload bytes acknowledged.
    bytes_acked: u64 at 120,
    /// Payload bytes received.
    bytes_received: u64 at 128,
    /// Payload bytes sent, retransmissions included.
    bytes_sent: u64 at 200,
    /// Payload bytes retransmitted.
    bytes_retrans: u64 at 208,
    /// Recent delivery rate, bytes per second.
    delivery_rate: u64 at 160,
    /// Time with data to send or outstanding, us.
    busy_time: u64 at 168,
    /// Part of `busy_time` limited by the peer's window, us.
    rwnd_limited: u64 at 176,
    /// Part of `busy_time` limited by the send buffer, us.
    sndbuf_limited: u64 at 184,
}

impl TcpInfo {
    /// Fields whose change is worth a sample: cwnd, ssthresh, RTO, back-off, congestion control state, retransmissions.
    pub fn window(&self) -> (u32, u32, u32, u8, u8, u32) {
        (self.snd_cwnd, self.snd_ssthresh, self.rto, self.backoff, self.ca_state, self.total_retrans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_where_the_kernel_puts_them() {
        // Kernel ABI: offsets are fixed, fields are only appended.
        let mut bytes = [0u8; 248];
        bytes[0] = 1;
        bytes[1] = 4;
        bytes[8..12].copy_from_slice(&204_000u32.to_ne_bytes());
        bytes[80..84].copy_from_slice(&10u32.to_ne_bytes());
        bytes[100..104].copy_from_slice(&7u32.to_ne_bytes());
        let info = TcpInfo::read(&bytes);
        assert_eq!(
            (info.state, info.ca_state, info.rto, info.snd_cwnd, info.total_retrans),
            (1, 4, 204_000, 10, 7)
        );
    }

    proptest! {
        #[test]
        fn any_bytes_will_do(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let info = TcpInfo::read(&bytes);
            prop_assert_eq!(info.fields().len(), 33);
        }
    }
}
