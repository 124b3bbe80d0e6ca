//! Send order and lost segments as ordered sets.
//!
//! Two ordered sets beside the records, so that neither an acknowledgement nor a retransmission has to walk over
//! everything that is outstanding (RFC 8985 section 6.1 keeps a list in order of time for that).

use super::sent::Record;
use base::Time;
use std::collections::{BTreeSet, VecDeque};

/// The sets. A record is in the first while it is neither reported nor lost, in the second while it is lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// Whether anybody asks; otherwise both stay empty.
    kept: bool,
    /// When last sent, and one past the last byte: what was sent at the same time is ordered by sequence number.
    waiting: BTreeSet<(Time, u64)>,
    /// First bytes.
    lost: BTreeSet<u64>,
}

impl Order {
    /// One that is kept up.
    pub(super) fn kept() -> Self {
        Order { kept: true, ..Order::default() }
    }

    /// The record is as it is now.
    pub(super) fn add(&mut self, record: &Record) {
        if !self.kept {
            return;
        }
        if record.lost {
            self.lost.insert(record.start);
        } else if !record.sacked {
            self.waiting.insert((record.sent, record.end));
        }
    }

    /// The record is about to change, or to go.
    pub(super) fn remove(&mut self, record: &Record) {
        if !self.kept {
            return;
        }
        if record.lost {
            self.lost.remove(&record.start);
        } else if !record.sacked {
            self.waiting.remove(&(record.sent, record.end));
        }
    }

    /// All records have changed.
    pub(super) fn rebuild(&mut self, ring: &VecDeque<Record>) {
        self.waiting.clear();
        self.lost.clear();
        for record in ring {
            self.add(record);
        }
    }

    /// What waits and was sent before `newest`, first sent first: when it was sent, one past its last byte.
    pub(super) fn before(&self, newest: (Time, u64)) -> impl DoubleEndedIterator<Item = (Time, u64)> + '_ {
        self.waiting.range(..newest).copied()
    }

    /// The first byte of the first record that is lost.
    pub(super) fn first_lost(&self) -> Option<u64> {
        self.lost.first().copied()
    }
}
