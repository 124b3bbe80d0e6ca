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
            (None, Some(r)) if r > AT_ONCE => Side::Sender,
            (None, Some(_)) => Side::Receiver,
            _ => Side::Unknown,
        }
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
