//! State of an observed sender: offered window, retransmission timer, duplicate ACKs, peer, SYN and FIN.

use crate::facts::ip_id::IpIdSequence;
use crate::facts::ts_clock::TimestampClock;
use base::{Span, Time};

/// The window that the peer offers.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfferedWindow {
    /// Last window field, unscaled.
    pub(crate) raw: u16,
    /// Offset of its right edge.
    pub(crate) edge: Option<u64>,
    /// Offset at which the window is closed. A field of 0 is 0 at any scale.
    pub(crate) closed_at: Option<u64>,
    /// One past the last byte of a window probe.
    pub(crate) probed: u64,
    /// Time of the last window reopening.
    pub(crate) opened: Option<Time>,
    /// The last segment filled the window.
    pub(crate) full: bool,
}

/// Retransmission timer, as far as its expiries are visible.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expiry {
    /// Time of the last expiry.
    pub(crate) expired: Option<Time>,
    /// First byte and running time of the last expiry.
    pub(crate) ran: Option<(u64, Span)>,
    /// Segments resent at the instant of a timeout.
    pub(crate) at_timeout: u64,
}

/// Duplicate ACKs since the last ACK of new data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dupacks {
    /// Number of duplicate ACKs since then.
    pub(crate) count: u64,
    /// Those of `count` that only a packet beyond the gap can have caused.
    pub(crate) overtaking: u64,
    /// Time of the last duplicate ACK or new SACK block beyond a gap, and highest byte sent by then.
    pub(crate) last: Option<(Time, u64)>,
    /// Lowest missing byte since then. Duplicate ACKs do not justify a retransmission below it.
    pub(crate) hole: u64,
}

impl Dupacks {
    /// Records a duplicate ACK or a new SACK block, while the gap was at `una` and `max` the highest byte
    /// sent.
    pub(crate) fn sign(&mut self, t: Time, una: u64, max: u64) {
        let goes_on = self.last.is_some_and(|(_, upto)| una < upto);
        self.hole = if goes_on { self.hole.min(una) } else { una };
        self.last = Some((t, max));
    }
}

/// Receiving end: timestamp clock, IP identifications, data of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer {
    /// Timestamp clock of the peer, from the TSvals of its ACKs.
    pub(crate) clock: TimestampClock,
    /// IP identification sequence of the peer.
    pub(crate) numbers: IpIdSequence,
    /// One past the highest sequence number of the peer's own data, on the wire.
    pub(crate) end: Option<u32>,
    /// Time when the peer last sent data of its own.
    pub(crate) talked: Option<Time>,
}

/// SYN and FIN.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlSegments {
    /// Time of the SYN.
    pub(crate) syn: Option<Time>,
    /// Offset of the FIN.
    pub(crate) fin: Option<u64>,
    /// Offset and time of a FIN without data.
    pub(crate) fin_alone: Option<(u64, Time)>,
}

/// ACKs at the capture point.
#[derive(Clone, Debug, Default)]
pub(crate) struct AckArrivals {
    /// Pauses since the last one of new data that were put down to losses before the capture.
    pub(crate) lost_pauses: Span,
    /// Time of the last one.
    pub(crate) heard: Option<Time>,
    /// Time of the last one that acknowledged new data.
    pub(crate) advanced: Option<Time>,
    /// Time of the last ACK of new data and its distance from the previous one; cleared by the next data.
    pub(crate) lets_out: Option<(Time, Span)>,
    /// An ACK arrived after a later one.
    pub(crate) overtaken: bool,
    /// SACK blocks were seen.
    pub(crate) blocks: bool,
    /// Range acknowledged before it was captured, and when.
    pub(crate) unseen: Option<(u64, u64, Time)>,
    /// Bytes acknowledged by ACK trains and their duration: with a gap below a quarter of the minimum RTT,
    /// and below three quarters for links where one packet takes much of the RTT.
    pub(crate) trains: [(u64, Span); 2],
}
