//! TCP-Friendly Rate Control (RFC 5348): throughput equation, loss-event history, receiver and sender.
//!
//! The two machines know no packet format: a plain TFRC flow, DCCP's CCID 3 (RFC 4342) and ATP carry their numbers.

pub mod equation;
pub mod history;
pub mod receiver;
pub mod sender;

pub use history::LossHistory;
pub use receiver::Receiver;
pub use sender::{Sender, SenderConfig, Timeout};

use base::{Span, Time};

/// What a receiver reports about once per round trip (RFC 5348 section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// When the newest packet that it has received was sent.
    pub sent: Time,
    /// How long the receiver held the report after that packet arrived.
    pub held: Span,
    /// Receive rate since the last report, bytes per second.
    pub rate: f64,
    /// Loss event rate, 0 to 1.
    pub loss: f64,
}
