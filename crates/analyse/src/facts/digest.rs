//! Facts carried by an ACK, compared with the previous ones.
//!
//! Every fact it carries, compared with what was said before; no judgement.

use base::Time;

/// The facts of one acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckDigest {
    /// When it was seen.
    pub(crate) t: Time,
    /// All below was acknowledged before it.
    pub(crate) before: u64,
    /// That was heard: where the capture begins later, the receiver may have had more.
    pub(crate) edge_heard: bool,
    /// All below is acknowledged now.
    pub(crate) ack: u64,
    /// Ranges that are reported for the first time.
    pub(crate) news: [(u64, u64); 4],
    /// How many of them.
    pub(crate) newly: usize,
    /// The duplicate it reports.
    pub(crate) dsack: Option<(u64, u64)>,
    /// The timestamp it echoes.
    pub(crate) echo: Option<u32>,
    /// That echo is later than any before.
    pub(crate) echo_moved: bool,
    /// It says nothing new about the cumulative acknowledgement, and a packet must have caused it.
    pub(crate) duplicate: bool,
    /// Duplicates or SACK say that something is missing.
    pub(crate) hole: bool,
    /// The receiver is known to hold data beyond what is missing: then it answers each packet at once
    /// (RFC 5681 section 4.2).
    pub(crate) held: bool,
    /// When anything had last come from the receiver before it.
    pub(crate) heard: Option<Time>,
}

impl AckDigest {
    /// True if it acknowledges more.
    pub(crate) fn advances(&self) -> bool {
        self.ack > self.before
    }
    /// The ranges that are new.
    pub(crate) fn news(&self) -> &[(u64, u64)] {
        &self.news[..self.newly.min(4)]
    }
}
