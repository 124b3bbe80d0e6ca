//! Capture point: next to the sender, next to the receiver, or between.
//!
//! Data that are answered at once are seen next to their receiver; acknowledgements that are answered at once, next
//! to the data's sender.

use base::Span;

/// Where a capture stands, for one direction of data.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Place {
    /// Shortest time from here to the sender of the data and back.
    pub to_sender: Option<Span>,
    /// Shortest time from here to the receiver and back.
    pub to_receiver: Option<Span>,
    /// How often new data followed an acknowledgement at once, and how often later: only where the way to the sender is not
    /// known.
    reactions: (u32, u32),
}

base::named! {
    /// The same as a word.
    pub enum Side {
        /// Next to the sender of the data.
        Sender = "sender",
        /// Next to the receiver.
        Receiver = "receiver",
        /// Somewhere between them.
        Middle = "middle",
        /// It cannot be told.
        Unknown = "unknown",
    }
}

/// A stack on the capturing machine answers within this.
const AT_ONCE: Span = Span::from_millis(1);
/// A sender's answers are matched with their causes within this.
const SOON: Span = Span::from_millis(4);
/// Acknowledgements closer than this tell nothing of how soon data follow.
const LEAST_APART: Span = Span::from_nanos(200_000);
/// As many reactions are enough.
const ENOUGH: u32 = 5;

impl Place {
    /// Where that is. Next to an end means a tenth of the round trip at most.
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

    /// Acknowledgements let out data at once. Elsewhere on the path what passes next is as likely at any time until the next
    /// acknowledgement.
    fn reacts_here(&self) -> bool {
        let (at_once, later) = self.reactions;
        at_once + later >= ENOUGH && at_once * 10 >= (at_once + later) * 6
    }

    /// New data passed this long after an acknowledgement, which came this long after the one before it.
    pub(crate) fn reaction(&mut self, after: Span, apart: Span) {
        if apart < LEAST_APART {
            return;
        }
        let (at_once, later) = &mut self.reactions;
        *if after.as_nanos() < apart.as_nanos() / 8 { at_once } else { later } += 1;
    }

    /// Away from the sender: what passes here reaches it later, and what it sends has come some way.
    pub(crate) fn is_far(&self) -> bool {
        self.side() != Side::Sender || self.to_sender.is_some_and(|s| s > SOON)
    }

    /// True if what passes here has reached the receiver.
    pub(crate) fn is_receiver(&self) -> bool {
        self.side() == Side::Receiver
    }

    /// A sample of the way to the sender and back.
    pub(crate) fn sender(&mut self, span: Span) {
        self.to_sender = Some(self.to_sender.map_or(span, |s| s.min(span)));
    }

    /// A sample of the way to the receiver and back.
    pub(crate) fn receiver(&mut self, span: Span) {
        self.to_receiver = Some(self.to_receiver.map_or(span, |s| s.min(span)));
    }
}
