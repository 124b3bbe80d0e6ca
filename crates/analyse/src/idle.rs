//! What kept the sender from sending? Every pause between two data segments has one cause.

use base::{Span, Time};

base::named! {
    /// What a sender waited for.
    pub enum IdleCause {
        /// Its own application, or a request of the peer: nothing was outstanding.
        Application = "application-limited",
        /// The receiver's window was full.
        Receiver = "receiver-limited",
        /// The receiver offered no window at all.
        Closed = "window-closed",
        /// Acknowledgements: what the path and the congestion window let through.
        Congestion = "congestion-limited",
        /// The retransmission timer.
        Timer = "waiting-for-a-timer",
    }
}

impl IdleCause {
    /// How it is known.
    pub const fn evidence(self) -> &'static str {
        match self {
            IdleCause::Application => "nothing was outstanding and the window was open",
            IdleCause::Closed => "the receiver offered no window at all",
            IdleCause::Receiver => "no segment fitted into the window that was offered",
            IdleCause::Congestion => "data were outstanding and the window offered was open",
            IdleCause::Timer => "the next segment was one that only a timer sends",
        }
    }
}

/// A pause that is worth telling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Idle {
    /// Since when.
    pub t: Time,
    /// Until when.
    pub until: Time,
    /// Why.
    pub cause: IdleCause,
}

/// Shorter pauses are not told one by one.
pub(crate) const SHORTEST: Span = Span::from_millis(200);
