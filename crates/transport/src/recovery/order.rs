//! Send order and lost segments as ordered sets.
//!
//! Two ordered sets beside the records, so that neither an ACK nor a retransmission iterates over everything
//! outstanding (RFC 8985 section 6.1 keeps a time-ordered list for this).

use super::sent::Record;
use base::Time;
use std::collections::{BTreeSet, VecDeque};

/// A record is in `waiting` while it is neither SACKed nor lost, and in `lost` while it is lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// Whether the sets are maintained; otherwise both stay empty.
    kept: bool,
    /// Last transmission time, and one past the last byte: ties in time are ordered by sequence number.
    waiting: BTreeSet<(Time, u64)>,
    /// First bytes of lost records.
    lost: BTreeSet<u64>,
}

impl Order {
    /// Sets that are maintained.
    pub(super) fn kept() -> Self {
        Order { kept: true, ..Order::default() }
    }

    /// Adds a record in its present state.
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

    /// Removes a record before it changes or is dropped.
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

    /// Rebuilds both sets after all records have changed.
    pub(super) fn rebuild(&mut self, ring: &VecDeque<Record>) {
        self.waiting.clear();
        self.lost.clear();
        for record in ring {
            self.add(record);
        }
    }

    /// Waiting records sent before `newest`, earliest first: transmission time, one past the last byte.
    pub(super) fn before(&self, newest: (Time, u64)) -> impl DoubleEndedIterator<Item = (Time, u64)> + '_ {
        self.waiting.range(..newest).copied()
    }

    /// First byte of the first lost record.
    pub(super) fn first_lost(&self) -> Option<u64> {
        self.lost.first().copied()
    }
}
