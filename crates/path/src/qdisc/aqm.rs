//! Active queue management (AQM): the interface that RED, CoDel, PIE and the threshold managers implement.
//!
//! A manager is called at the arrival and at the departure of each packet.

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

/// Packet and queue state passed to a manager.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueView {
    /// Current time.
    pub now: Time,
    /// Backlog in packets, without this one.
    pub packets: usize,
    /// Backlog in bytes.
    pub bytes: u64,
    /// ECN codepoint of the packet.
    pub ecn: u8,
    /// At arrival, the idle time of the link; at departure, the sojourn time of the packet.
    pub span: Span,
    /// Ledger of its flow and direction.
    pub flow: u64,
}

/// Active queue management of one queue.
pub trait Aqm: std::fmt::Debug + Send {
    /// A packet arrives.
    fn comes(&mut self, _view: QueueView) -> AqmVerdict {
        AqmVerdict::Pass
    }
    /// A packet at the head is about to leave.
    fn leaves(&mut self, _view: QueueView) -> AqmVerdict {
        AqmVerdict::Pass
    }
    /// A packet passed at arrival finds the queue full.
    fn overflowed(&mut self) {}
}
