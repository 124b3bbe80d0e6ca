//! Position of the capture point on the path, inferred from RTT samples to both ends: next to the sender, next to the
//! receiver, or between.
//!
//! Next to the receiver, ACKs follow data at once. Next to the sender, data follow ACKs at once.

use base::Span;

/// Capture point relative to one direction of data: minimum RTT to each end.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct CapturePoint {
    /// Minimum RTT between the capture point and the sender of the data.
    pub to_sender: Option<Span>,
    /// Minimum RTT between the capture point and the receiver.
    pub to_receiver: Option<Span>,
    /// Number of ACKs followed by new data within an eighth of the ACK distance, and of ACKs followed later. Used only
    /// if the RTT to the sender is unknown.
    reactions: (u32, u32),
}

base::named! {
    /// Position of the capture point on the path.
    pub enum Side {
        /// Next to the sender of the data.
        Sender = "sender",
        /// Next to the receiver.
        Receiver = "receiver",
        /// Between sender and receiver.
        Middle = "middle",
        /// Unknown.
        Unknown = "unknown",
    }
}

/// Longest response time of a stack on the capturing machine.
const AT_ONCE: Span = Span::from_millis(1);
/// RTT to the sender from which the capture point is away from it, even if it is next to it by ratio.
const SOON: Span = Span::from_millis(4);
/// ACKs closer together are no reaction samples.
const LEAST_APART: Span = Span::from_nanos(200_000);
/// Number of reaction samples needed.
const ENOUGH: u32 = 5;

impl CapturePoint {
    /// Position on the path. Next to an end means an RTT of at most a tenth of the whole RTT, or of at most 1 ms.
    pub fn side(&self) -> Side {
        match (self.to_sender, self.to_receiver) {
            (Some(s), Some(r)) => {
                let (s, r) = (s.as_nanos(), r.as_nanos());
                if s <= r / 9 || (s <= AT_ONCE.as_nanos() && s <= r) {
                    Side::Sender
                } else if r <= s / 9 || r <= AT_ONCE.as_nanos() {
                    Side::Receiver
                } else {
                    Side::Middle
                }
            }
            (Some(s), None) if s <= AT_ONCE => Side::Sender,
            (None, Some(r)) if r <= AT_ONCE => Side::Receiver,
            (None, Some(_)) if self.reacts_here() => Side::Sender,
            _ => Side::Unknown,
        }
    }

    /// Whether most ACKs release data at once. Elsewhere on the path, the time from an ACK to the next data is spread
    /// evenly.
    fn reacts_here(&self) -> bool {
        let (at_once, later) = self.reactions;
        at_once + later >= ENOUGH && at_once * 10 >= (at_once + later) * 6
    }

    /// Adds a reaction sample: new data `after` an ACK whose distance from the previous ACK is `apart`.
    pub(crate) fn reaction(&mut self, after: Span, apart: Span) {
        if apart < LEAST_APART {
            return;
        }
        let (at_once, later) = &mut self.reactions;
        *if after.as_nanos() < apart.as_nanos() / 8 { at_once } else { later } += 1;
    }

    /// Whether the capture point is away from the sender, so that ACKs reach it later than the capture point.
    pub(crate) fn is_far(&self) -> bool {
        self.side() != Side::Sender || self.to_sender.is_some_and(|s| s > SOON)
    }

    /// Whether the capture point is next to the receiver.
    pub(crate) fn is_receiver(&self) -> bool {
        self.side() == Side::Receiver
    }

    /// Adds a sample of the RTT to the sender.
    pub(crate) fn sender(&mut self, span: Span) {
        self.to_sender = Some(self.to_sender.map_or(span, |s| s.min(span)));
    }

    /// Adds a sample of the RTT to the receiver.
    pub(crate) fn receiver(&mut self, span: Span) {
        self.to_receiver = Some(self.to_receiver.map_or(span, |s| s.min(span)));
    }
}
