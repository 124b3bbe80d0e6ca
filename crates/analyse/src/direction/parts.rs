//! Parts of a sender as it is seen: offered window, retransmission timer, duplicate ACKs, peer, SYN and FIN.

use crate::facts::numbers::Numbers;
use crate::facts::ts_clock::Clockwork;
use base::{Span, Time};

/// The window that the peer offers.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfferedWindow {
    /// As it was last offered, not scaled.
    pub(crate) raw: u16,
    /// Offset at which it ends.
    pub(crate) edge: Option<u64>,
    /// Where the window stands closed: 0 is 0 at any scale.
    pub(crate) closed_at: Option<u64>,
    /// One past the last byte that probed it.
    pub(crate) probed: u64,
    /// When it was opened last.
    pub(crate) opened: Option<Time>,
    /// After the last segment the window was full.
    pub(crate) full: bool,
}

/// The retransmission timer, as far as it shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expiry {
    /// When it last expired.
    pub(crate) expired: Option<Time>,
    /// How long the timer ran when it last expired, for which byte.
    pub(crate) ran: Option<(u64, Span)>,
    /// Segments resent at the instant of a timeout.
    pub(crate) at_timeout: u64,
}

/// Duplicate acknowledgements since the last with news.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dupacks {
    /// Acknowledgements without news since the last with news.
    pub(crate) count: u64,
    /// Of those, such that a packet beyond the missing one must have caused.
    pub(crate) overtaking: u64,
    /// When the last duplicate or new SACK block passed that shows something beyond a gap, and what had been sent by then.
    pub(crate) last: Option<(Time, u64)>,
    /// The lowest byte that was missing since then: duplicates are no reason to resend what lies below it.
    pub(crate) hole: u64,
}

impl Dupacks {
    /// A duplicate, or a new SACK block: something beyond the gap at `una` arrived when bytes below `max` had been sent.
    pub(crate) fn sign(&mut self, t: Time, una: u64, max: u64) {
        let goes_on = self.last.is_some_and(|(_, upto)| una < upto);
        self.hole = if goes_on { self.hole.min(una) } else { una };
        self.last = Some((t, max));
    }
}

/// What the receiving end shows of itself: its clock, the numbers of its packets, data of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer {
    /// The peer's clock, by the stamps of its acknowledgements.
    pub(crate) clock: Clockwork,
    /// How the peer numbers its packets.
    pub(crate) numbers: Numbers,
    /// One past the highest number of the peer's own data, on the wire.
    pub(crate) end: Option<u32>,
    /// When the peer last had data of its own to send.
    pub(crate) talked: Option<Time>,
}

/// SYN and FIN.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlSegments {
    /// When the SYN passed.
    pub(crate) syn: Option<Time>,
    /// Offset of the FIN.
    pub(crate) fin: Option<u64>,
    /// Offset and time of a FIN without data.
    pub(crate) fin_alone: Option<(u64, Time)>,
}

/// Acknowledgements as they pass the capture.
#[derive(Clone, Debug, Default)]
pub(crate) struct AckArrivals {
    /// Pauses since the last one of new data that were put down to losses before the capture.
    pub(crate) lost_pauses: Span,
    /// Time of the last one.
    pub(crate) heard: Option<Time>,
    /// Time of the last one that acknowledged new data.
    pub(crate) advanced: Option<Time>,
    /// The last acknowledgement of new data, and how long after the one before it came, until data follow.
    pub(crate) lets_out: Option<(Time, Span)>,
    /// An acknowledgement came after a later one.
    pub(crate) overtaken: bool,
    /// Blocks of SACK were seen.
    pub(crate) blocks: bool,
    /// Bytes that were acknowledged and had not been seen, and when that was.
    pub(crate) unseen: Option<(u64, u64, Time)>,
    /// Bytes acknowledged in trains of acknowledgements, and how long those took: close ones, and wider ones for
    /// links on which a packet takes a good part of the round trip.
    pub(crate) trains: [(u64, Span); 2],
}
