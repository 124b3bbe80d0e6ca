//! TCP-Friendly Rate Control (RFC 5348): throughput equation, loss-event history, receiver and sender.
//!
//! The two machines know no packet format: a plain TFRC flow, DCCP's CCID 3 (RFC 4342) and ATP carry their numbers.

pub mod equation;
pub mod history;
pub mod receiver;
pub mod sender;

pub use history::{Arrival, LossHistory};
pub use receiver::Receiver;
pub use sender::{Sender, SenderConfig, Timeout};

use base::{Span, Time};

/// Receiver report, sent about once per round trip (RFC 5348 section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// Send time of the newest packet received.
    pub sent: Time,
    /// Delay of the report after that packet's arrival.
    pub held: Span,
    /// Receive rate since the last report, bytes per second.
    pub rate: f64,
    /// Loss event rate, 0 to 1.
    pub loss: f64,
}
