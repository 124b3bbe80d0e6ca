//! Kernel TCP statistics: `TCP_INFO` of the sender, counters of the namespaces.
//!
//! `TCP_INFO` is sampled at the end and at each change.

use std::collections::BTreeMap;

/// Kernel statistics of a flow.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct FlowFacts {
    /// `TCP_INFO` of the sender's first connection when all data were acknowledged, or at the end.
    pub info: TcpInfo,
    /// Final `TCP_INFO` of each of its connections, in order of opening, at most 256. Empty where connections
    /// are not sampled.
    pub connections: Vec<TcpInfo>,
    /// Changed samples of the first connection and their times, seconds from t = 0; the sample interval is a
    /// few ms.
    pub history: Vec<(f64, TcpInfo)>,
    /// Nonzero counters of the sender's namespace, by their names in `netstat` and `snmp`.
    pub from: BTreeMap<String, u64>,
    /// Nonzero counters of the receiver's namespace.
    pub to: BTreeMap<String, u64>,
    /// Errors of either end.
    pub faults: Vec<String>,
}

impl FlowFacts {
    /// Counter of the sender's namespace; 0 if missing.
    pub fn counter(&self, name: &str) -> u64 {
        self.from.get(name).copied().unwrap_or(0)
    }

    /// Whether the kernel undid a cwnd reduction: it detected an unneeded retransmission in time.
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
    /// State of its congestion control: 0 open, 1 disorder, 2 window reduced, 3 recovery, 4 loss.
    ca_state: u8 at 1,
    /// Retransmissions by timeout of the oldest segment.
    retransmits: u8 at 2,
    /// Doublings of the timeout in force.
    backoff: u8 at 4,
    /// Options that both ends agreed on, a bit each: 1 timestamps, 2 selective acknowledgements, 4 window scaling,
    /// 8 ECN.
    options: u8 at 5,
    /// Retransmission timeout.
    rto: u32 at 8,
    /// Largest segment it sends.
    snd_mss: u32 at 16,
    /// Segments outstanding.
    unacked: u32 at 24,
    /// Of those, selectively acknowledged.
    sacked: u32 at 28,
    /// Of those, taken for lost.
    lost: u32 at 32,
    /// Of those, resent.
    retrans: u32 at 36,
    /// Smoothed round trip.
    rtt: u32 at 68,
    /// Its variation.
    rttvar: u32 at 72,
    /// Slow-start threshold.
    snd_ssthresh: u32 at 76,
    /// Congestion window.
    snd_cwnd: u32 at 80,
    /// Reordering that it reckons with, segments.
    reordering: u32 at 88,
    /// Retransmissions in all.
    total_retrans: u32 at 100,
    /// Bytes not yet sent.
    notsent_bytes: u32 at 144,
    /// Shortest round trip lately.
    min_rtt: u32 at 148,
    /// Segments sent in all, acknowledgements included.
    segs_out: u32 at 136,
    /// Duplicate segments that the peer reported by DSACK.
    dsack_dups: u32 at 216,
    /// The window that the peer offers, bytes.
    snd_wnd: u32 at 228,
    /// Segments received in all.
    segs_in: u32 at 140,
    /// Segments with data received.
    data_segs_in: u32 at 152,
    /// Segments with data sent, those that were sent again included.
    data_segs_out: u32 at 156,
    /// Bytes of data that were acknowledged.
    bytes_acked: u64 at 120,
    /// Bytes of data received.
    bytes_received: u64 at 128,
    /// Bytes of data sent, those that were sent again included.
    bytes_sent: u64 at 200,
    /// Of those, sent again.
    bytes_retrans: u64 at 208,
    /// Bytes a second that were delivered lately.
    delivery_rate: u64 at 160,
    /// How long there was something to send or to wait for.
    busy_time: u64 at 168,
    /// Of that, how long the peer's window stood in the way.
    rwnd_limited: u64 at 176,
    /// How long this end's send buffer did.
    sndbuf_limited: u64 at 184,
}

impl TcpInfo {
    /// Fields of a congestion window plot over time.
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
