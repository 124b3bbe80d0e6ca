//! Active queue management (AQM): the interface that RED, CoDel, PIE and the threshold managers implement.
//!
//! A manager is asked when a packet comes and again when it leaves.

use base::{Span, Time};

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Pass,
    /// It goes on with "congestion experienced" (RFC 3168).
    Mark,
    /// It is dropped.
    Drop,
}

/// What a manager is told of a packet and its queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// The present.
    pub now: Time,
    /// Backlog in packets, this one not among them.
    pub packets: usize,
    /// Backlog in bytes.
    pub bytes: u64,
    /// ECN codepoint of the packet.
    pub ecn: u8,
    /// When it comes, how long the link has been idle; when it leaves, its sojourn time.
    pub span: Span,
    /// The ledger of its flow and direction.
    pub flow: u64,
}

/// A manager of a queue.
pub trait Aqm: std::fmt::Debug + Send {
    /// A packet comes.
    fn comes(&mut self, _view: View) -> Verdict {
        Verdict::Pass
    }
    /// A packet is at the head and would leave.
    fn leaves(&mut self, _view: View) -> Verdict {
        Verdict::Pass
    }
    /// The packet that was let pass finds the queue full.
    fn overflowed(&mut self) {}
}
