//! The order in which osmo-pcu repeats blocks after its window was closed.

use radio::rlc::receive::Report;
use radio::rlc::send::{Reason, Unit as Sent};
use std::collections::BTreeSet;

/// Blocks that the PCU marks for repetition. If no block is missing and no new one may be sent, it marks every block
/// that is not acknowledged, and serves marks with missing blocks by their numbers and before new blocks, also when a
/// report has opened the window meanwhile. Our sender repeats such blocks only while nothing else can be sent.
#[derive(Default)]
pub(crate) struct Marks {
    pending: BTreeSet<u32>,
    marked: BTreeSet<u32>,
}

impl Marks {
    /// Both have sent the block.
    pub(crate) fn sent(&mut self, unit: &Sent) {
        match unit.reason {
            Reason::New => _ = self.pending.insert(unit.bsn),
            Reason::Idle if self.marked.is_empty() => self.marked.clone_from(&self.pending),
            _ => {}
        }
        self.marked.remove(&unit.bsn);
    }

    /// Both have this report.
    pub(crate) fn heard(&mut self, report: &Report) {
        let open = |b: &u32| *b >= report.complete && (*b >= report.end || !report.received.get(*b));
        self.pending.retain(open);
        self.marked.retain(open);
    }

    /// Whether the first RLC block in which the two differ is the PCU's oldest mark; `space` is
    /// the number of sequence numbers.
    pub(crate) fn explain(&mut self, space: u32, theirs: &[u32], ours: &[Sent]) -> bool {
        for (theirs, ours) in theirs.iter().zip(ours) {
            if *theirs != ours.bsn % space {
                return self.marked.first().is_some_and(|bsn| bsn % space == *theirs);
            }
            self.sent(ours);
        }
        false
    }
}
