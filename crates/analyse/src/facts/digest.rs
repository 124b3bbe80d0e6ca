//! Facts carried by an ACK, compared with the previous ones.
//!
//! Each fact is compared with the previous ACKs; verdicts are made elsewhere.

use base::Time;

/// Facts of one ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckDigest {
    /// Capture time.
    pub(crate) t: Time,
    /// Cumulative ACK before it.
    pub(crate) before: u64,
    /// `before` was seen in an ACK; otherwise the capture began in the middle, and the receiver may have had
    /// more.
    pub(crate) edge_heard: bool,
    /// Cumulative ACK now.
    pub(crate) ack: u64,
    /// SACKed ranges reported for the first time.
    pub(crate) news: [(u64, u64); 4],
    /// Number of new ranges; at most four are stored in `news`.
    pub(crate) newly: usize,
    /// Range of its DSACK block.
    pub(crate) dsack: Option<(u64, u64)>,
    /// Timestamp echo (TSecr).
    pub(crate) echo: Option<u32>,
    /// The echo is later than any before.
    pub(crate) echo_moved: bool,
    /// Duplicate ACK: no new cumulative ACK, and caused by a packet.
    pub(crate) duplicate: bool,
    /// Duplicate ACKs or SACK blocks show a gap.
    pub(crate) hole: bool,
    /// The receiver is known to hold data beyond a gap, so it acknowledges each packet at once (RFC 5681
    /// section 4.2).
    pub(crate) held: bool,
    /// Time of the receiver's previous packet.
    pub(crate) heard: Option<Time>,
}

impl AckDigest {
    /// Whether it acknowledges new data cumulatively.
    pub(crate) fn advances(&self) -> bool {
        self.ack > self.before
    }
    /// The ranges that are new.
    pub(crate) fn news(&self) -> &[(u64, u64)] {
        &self.news[..self.newly.min(4)]
    }
}
