//! Send order and lost segments as ordered sets.
//!
//! Two ordered sets beside the records, so that neither an ACK nor a retransmission iterates over everything
//! outstanding (RFC 8985 section 6.1 keeps a time-ordered list for this).
//!
//! The first is a sorted ring: a transmission is the latest entry, and data arrive mostly in the order of
//! sending, so that entries join at its back and leave near its front.

use super::sent::Record;
use base::Time;
use std::collections::{BTreeSet, VecDeque};

/// A record is in `waiting` while it is neither SACKed nor lost, and in `lost` while it is lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// Whether the sets are maintained; otherwise both stay empty.
    kept: bool,
    /// Last transmission time, and one past the last byte: ties in time are ordered by sequence number.
    waiting: VecDeque<(Time, u64)>,
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
            self.wait((record.sent, record.end));
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
            self.leave(&(record.sent, record.end));
        }
    }

    #[inline]
    fn wait(&mut self, entry: (Time, u64)) {
        if self.waiting.back().is_none_or(|last| *last < entry) {
            self.waiting.push_back(entry);
        } else if let Err(place) = self.waiting.binary_search(&entry) {
            self.waiting.insert(place, entry);
        }
    }

    #[inline]
    fn leave(&mut self, entry: &(Time, u64)) {
        if self.waiting.front() == Some(entry) {
            self.waiting.pop_front();
        } else if let Ok(place) = self.waiting.binary_search(entry) {
            self.waiting.remove(place);
        }
    }

    /// Rebuilds both sets after all records have changed.
    pub(super) fn rebuild(&mut self, ring: &VecDeque<Record>) {
        self.waiting.clear();
        self.lost.clear();
        if !self.kept {
            return;
        }
        let waiting = ring.iter().filter(|record| !record.lost && !record.sacked);
        self.waiting.extend(waiting.map(|record| (record.sent, record.end)));
        self.waiting.make_contiguous().sort_unstable();
        self.lost.extend(ring.iter().filter(|record| record.lost).map(|record| record.start));
    }

    /// Waiting records sent before `newest`, earliest first: transmission time, one past the last byte.
    pub(super) fn before(&self, newest: (Time, u64)) -> impl DoubleEndedIterator<Item = (Time, u64)> + '_ {
        let none = self.waiting.front().is_none_or(|first| *first >= newest);
        let before = if none { 0 } else { self.waiting.partition_point(|entry| *entry < newest) };
        self.waiting.range(..before).copied()
    }

    /// First byte of the first lost record.
    pub(super) fn first_lost(&self) -> Option<u64> {
        self.lost.first().copied()
    }
}
