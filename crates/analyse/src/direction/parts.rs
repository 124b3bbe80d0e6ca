//! Parts of a direction's state: offered window, RTO expiries, duplicate ACKs, peer, SYN and FIN, arrivals of ACKs.

use crate::facts::ip_id::IpIdSequence;
use crate::facts::ranges::Ranges;
use crate::facts::ts_clock::TimestampClock;
use base::{Span, Time};

/// Window offered by the receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfferedWindow {
    /// Last window field, unscaled.
    pub(crate) raw: u16,
    /// Offset of the window's right edge.
    pub(crate) edge: Option<u64>,
    /// Offset at which the window is closed. A window field of 0 is 0 at any scale.
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
    /// First byte of the segment that expired last, and time that its timer ran.
    pub(crate) ran: Option<(u64, Span)>,
    /// Segments resent at the instant of the last expiry.
    pub(crate) at_timeout: u64,
}

/// Duplicate ACKs since the last ACK of new data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dupacks {
    /// Number of duplicate ACKs since the last ACK of new data.
    pub(crate) count: u64,
    /// Duplicate ACKs in `count` that only a packet beyond the gap can have triggered.
    pub(crate) overtaking: u64,
    /// Time of the last duplicate ACK or new SACK block beyond a gap, and one past the highest byte sent by then.
    pub(crate) last: Option<(Time, u64)>,
    /// Lowest missing byte reported since the gap opened. Duplicate ACKs do not justify a retransmission below it.
    pub(crate) hole: u64,
}

impl Dupacks {
    /// Records a duplicate ACK or a new SACK block. `una`: byte at the gap; `max`: one past the highest byte sent.
    pub(crate) fn sign(&mut self, t: Time, una: u64, max: u64) {
        let goes_on = self.last.is_some_and(|(_, upto)| una < upto);
        self.hole = if goes_on { self.hole.min(una) } else { una };
        self.last = Some((t, max));
    }
}

/// Receiving end of the direction: timestamp clock, IP identifications, data of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer {
    /// Timestamp clock of the peer, from the TSvals of its ACKs.
    pub(crate) clock: TimestampClock,
    /// IP identification sequence of the peer.
    pub(crate) numbers: IpIdSequence,
    /// One past the highest sequence number of the peer's own data, as on the wire.
    pub(crate) end: Option<u32>,
    /// Time when the peer last sent data of its own.
    pub(crate) talked: Option<Time>,
}

/// SYN and FIN of the direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlSegments {
    /// Time of the SYN.
    pub(crate) syn: Option<Time>,
    /// Offset of the FIN.
    pub(crate) fin: Option<u64>,
    /// Offset and time of a FIN without data.
    pub(crate) fin_alone: Option<(u64, Time)>,
}

/// ACKs that passed the capture point.
#[derive(Clone, Debug, Default)]
pub(crate) struct AckArrivals {
    /// Idle time since the last ACK of new data that was attributed to losses before the capture point.
    pub(crate) lost_pauses: Span,
    /// Time of the last ACK.
    pub(crate) heard: Option<Time>,
    /// Time of the last ACK of new data.
    pub(crate) advanced: Option<Time>,
    /// Time of the last ACK of new data and its distance from the previous ACK; cleared by the next data segment.
    pub(crate) lets_out: Option<(Time, Span)>,
    /// An ACK arrived after a later one.
    pub(crate) overtaken: bool,
    /// SACK blocks were seen.
    pub(crate) blocks: bool,
    /// Bytes acknowledged before they were captured.
    pub(crate) unseen: Ranges,
    /// Time when bytes were last acknowledged before they were captured.
    pub(crate) ahead: Option<Time>,
    /// Bytes acknowledged by ACK trains, and duration of the trains: with gaps of at most a quarter of the minimum
    /// RTT, and of at most three quarters, for links where one packet takes much of the RTT.
    pub(crate) trains: [(u64, Span); 2],
}
