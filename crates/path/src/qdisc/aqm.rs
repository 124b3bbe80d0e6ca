//! Active queue management (AQM): trait `Aqm`, which RED, CoDel, PIE and the threshold algorithms implement; packet
//! and queue state passed to them, and their decision.
//!
//! The queue calls the algorithm at the arrival and at the departure of each packet.

use base::{Span, Time};

/// Decision for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AqmVerdict {
    /// Pass unchanged.
    Pass,
    /// Pass with a CE mark (RFC 3168).
    Mark,
    /// Drop.
    Drop,
}

/// Packet and queue state passed to an AQM algorithm.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueView {
    /// Current time.
    pub now: Time,
    /// Backlog in packets, without the packet itself.
    pub packets: usize,
    /// Backlog in bytes, without the packet itself.
    pub bytes: u64,
    /// ECN codepoint of the packet.
    pub ecn: u8,
    /// At arrival, the idle time of the link; at departure, the sojourn time of the packet.
    pub span: Span,
    /// Ledger number of the packet's flow and direction.
    pub flow: u64,
}

/// AQM algorithm of one queue.
pub trait Aqm: std::fmt::Debug + Send {
    /// A packet arrives.
    fn comes(&mut self, _view: QueueView) -> AqmVerdict {
        AqmVerdict::Pass
    }
    /// Whether [`Aqm::leaves`] does anything.
    fn acts_at_departure(&self) -> bool {
        true
    }
    /// A packet at the head is about to leave.
    fn leaves(&mut self, _view: QueueView) -> AqmVerdict {
        AqmVerdict::Pass
    }
    /// A packet that the algorithm did not drop at arrival finds the queue full.
    fn overflowed(&mut self) {}
}
