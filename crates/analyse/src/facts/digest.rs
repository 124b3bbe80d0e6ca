//! Facts of one ACK (`AckDigest`): advance of the cumulative ACK, new SACK ranges, DSACK, timestamp echo, duplicate or
//! not.
//!
//! The facts compare the ACK with its predecessors and contain no verdict.

use base::Time;

/// Facts of one ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckDigest {
    /// Capture time.
    pub(crate) t: Time,
    /// Cumulative ACK before this ACK, as an offset.
    pub(crate) before: u64,
    /// An earlier ACK carried `before`. Otherwise the capture began in the middle of the connection, and the receiver
    /// may have had more data.
    pub(crate) edge_heard: bool,
    /// Cumulative ACK of this ACK, as an offset.
    pub(crate) ack: u64,
    /// SACKed ranges reported for the first time.
    pub(crate) news: [(u64, u64); 4],
    /// Number of new ranges; at most four are stored in `news`.
    pub(crate) newly: usize,
    /// Range of the DSACK block.
    pub(crate) dsack: Option<(u64, u64)>,
    /// Timestamp echo (TSecr).
    pub(crate) echo: Option<u32>,
    /// The echo is later than all echoes before.
    pub(crate) echo_moved: bool,
    /// Duplicate ACK: the cumulative ACK does not advance, and an arriving packet triggered the ACK.
    pub(crate) duplicate: bool,
    /// Earlier duplicate ACKs or SACK blocks show a gap.
    pub(crate) hole: bool,
    /// The receiver is known to have data beyond a gap, so it acknowledges each packet at once (RFC 5681 section 4.2).
    pub(crate) held: bool,
    /// Capture time of the receiver's previous ACK.
    pub(crate) heard: Option<Time>,
}

impl AckDigest {
    /// Whether the cumulative ACK advances.
    pub(crate) fn advances(&self) -> bool {
        self.ack > self.before
    }
    /// SACKed ranges reported for the first time, at most four.
    pub(crate) fn news(&self) -> &[(u64, u64)] {
        &self.news[..self.newly.min(4)]
    }
}
