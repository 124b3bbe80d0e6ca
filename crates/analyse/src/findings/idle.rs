//! Causes of pauses between two data segments: application, window, timer or path.
//!
//! Each pause has one cause.

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
        /// Away from the sender: what it sent before the next segment was lost on its way to the capture.
        Lost = "lost-before-the-capture",
        /// Away from the sender: nothing to send, a timer, or a path that holds everything up.
        Unknown = "unknown",
    }
}

impl IdleCause {
    /// Evidence of the cause.
    pub const fn evidence(self) -> &'static str {
        match self {
            IdleCause::Application => "nothing was outstanding and the window was open",
            IdleCause::Closed => "the receiver offered no window at all",
            IdleCause::Receiver => "no segment fitted into the window that was offered",
            IdleCause::Congestion => "data were outstanding and the window offered was open",
            IdleCause::Timer => "the next segment was one that only a timer sends",
            IdleCause::Lost => {
                "the sender's numbers, or a gap in its sequence, show that packets before the next one never came here"
            }
            IdleCause::Unknown => {
                "all that had passed was acknowledged; what the sender sent, heard and waited for is not seen from here"
            }
        }
    }
}

/// A pause of the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Idle {
    /// Start.
    pub t: Time,
    /// End.
    pub until: Time,
    /// Cause.
    pub cause: IdleCause,
}

/// Shortest pause that is reported individually.
pub(crate) const SHORTEST: Span = Span::from_millis(200);
