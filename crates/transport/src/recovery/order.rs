//! Order of transmissions for RACK: outstanding segments by transmission time, and lost segments by sequence number, as
//! ordered sets.
//!
//! With these sets beside the send records, an ACK or a retransmission does not iterate over all
//! outstanding segments (RFC 8985 section 6.1 keeps a time-ordered list for this).
//!
//! The set by transmission time is a sorted ring: a transmission is appended at the back, and ACKs remove mostly near
//! the front.
//!
//! While no outstanding segment was SACKed, marked lost or retransmitted, the send records themselves are in order of
//! transmission, and both sets stay empty.

use super::sent::Record;
use base::Time;
use std::collections::{BTreeSet, VecDeque};

/// Ordered sets of records, filled while `disturbed` is not 0: a record is in `waiting` while it is neither SACKed nor
/// marked lost, and in `lost` while it is marked lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// Whether loss recovery needs the order; otherwise both sets stay empty.
    kept: bool,
    /// One past the last byte outstanding when a record was last SACKed, marked lost or retransmitted; 0: no such
    /// record is outstanding, and the sets are empty.
    disturbed: u64,
    /// Records neither SACKed nor marked lost: time of the last transmission, and one past the last byte. Sequence
    /// numbers order records of equal time.
    waiting: VecDeque<(Time, u64)>,
    /// First bytes of lost records.
    lost: BTreeSet<u64>,
}

impl Order {
    /// An order for RACK, which needs the sets.
    pub(super) fn kept() -> Self {
        Order { kept: true, ..Order::default() }
    }

    /// Prepares the sets before records of `ring` are SACKed, marked lost or retransmitted.
    pub(super) fn disturb(&mut self, ring: &VecDeque<Record>) {
        if !self.kept {
            return;
        }
        let calm = self.disturbed == 0;
        self.disturbed = ring.back().map_or(0, |last| last.end);
        if calm {
            self.rebuild(ring);
        }
    }

    /// Processes a cumulative ACK: all records below `una` have been removed.
    #[inline]
    pub(super) fn acked(&mut self, una: u64) {
        if self.disturbed > 0 && self.disturbed <= una {
            self.disturbed = 0;
            self.waiting.clear();
            self.lost.clear();
        }
    }

    /// Adds a record in its present state.
    #[inline(always)] // hot: the sets are mostly empty
    pub(super) fn add(&mut self, record: &Record) {
        if self.disturbed > 0 {
            self.enter(record);
        }
    }

    #[cold]
    fn enter(&mut self, record: &Record) {
        if record.lost {
            self.lost.insert(record.start);
        } else if !record.sacked {
            self.wait((record.sent, record.end));
        }
    }

    /// Removes a record before it changes or is dropped.
    #[inline(always)] // hot, as `add`
    pub(super) fn remove(&mut self, record: &Record) {
        if self.disturbed > 0 {
            self.take_out(record);
        }
    }

    #[cold]
    fn take_out(&mut self, record: &Record) {
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
        if self.disturbed == 0 {
            return;
        }
        let waiting = ring.iter().filter(|record| !record.lost && !record.sacked);
        self.waiting.extend(waiting.map(|record| (record.sent, record.end)));
        self.waiting.make_contiguous().sort_unstable();
        self.lost.extend(ring.iter().filter(|record| record.lost).map(|record| record.start));
    }

    /// Records of `ring` neither SACKed nor lost and sent before `newest`, earliest first: transmission time, one past
    /// the last byte.
    pub(super) fn before<'r>(
        &'r self,
        ring: &'r VecDeque<Record>,
        newest: (Time, u64),
    ) -> impl DoubleEndedIterator<Item = (Time, u64)> + 'r {
        let none = self.waiting.front().is_none_or(|first| *first >= newest);
        let before = if none { 0 } else { self.waiting.partition_point(|entry| *entry < newest) };
        let calm = self.kept && self.disturbed == 0;
        let once = if calm { ring.partition_point(|record| (record.sent, record.end) < newest) } else { 0 };
        let once = ring.range(..once).map(|record| (record.sent, record.end));
        self.waiting.range(..before).copied().chain(once)
    }

    /// First byte of the lost record with the lowest sequence number.
    pub(super) fn first_lost(&self) -> Option<u64> {
        self.lost.first().copied()
    }
}
