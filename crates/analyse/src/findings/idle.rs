//! Idle periods of a sender between two data segments, with one cause each: application, window, timer, path, loss
//! before the capture point.

use base::{Span, Time};

base::named! {
    /// Cause of an idle period of the sender.
    pub enum IdleCause {
        /// The application had no data to send, or waited for a request: nothing was outstanding.
        Application = "application-limited",
        /// The receiver's window was full.
        Receiver = "receiver-limited",
        /// The receiver's window was 0.
        Closed = "window-closed",
        /// The sender waited for ACKs: limited by the path and the congestion window.
        Congestion = "congestion-limited",
        /// The sender waited for its retransmission timer or tail loss probe timer.
        Timer = "waiting-for-a-timer",
        /// Away from the sender: packets sent before the next segment were lost before the capture point.
        Lost = "lost-before-the-capture",
        /// Away from the sender, or with gaps in the capture: application, timer or path.
        Unknown = "unknown",
    }
}

impl IdleCause {
    /// Evidence of the cause, for the report.
    pub const fn evidence(self) -> &'static str {
        match self {
            IdleCause::Application => "nothing was outstanding and the window was open",
            IdleCause::Closed => "the receiver advertised a window of 0",
            IdleCause::Receiver => "no segment fitted into the advertised window",
            IdleCause::Congestion => "data were outstanding and the advertised window was open",
            IdleCause::Timer => "the next segment was one that only a timer sends",
            IdleCause::Lost => {
                "the sender's IP identifiers, or a gap in its sequence numbers, show that packets before the next one \
                 were lost before the capture point"
            }
            IdleCause::Unknown => {
                "all data that had passed were acknowledged; the capture does not show what the sender sent, received \
                 and waited for"
            }
        }
    }
}

/// Idle period of the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Idle {
    /// Start.
    pub t: Time,
    /// End.
    pub until: Time,
    /// Cause.
    pub cause: IdleCause,
}

/// Shortest idle period listed in the report.
pub(crate) const SHORTEST: Span = Span::from_millis(200);
