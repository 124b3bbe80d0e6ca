//! Set of open verdicts (`OpenSet`): retransmissions whose need is not known yet, indexed by serial, byte range,
//! timestamp and state.
//!
//! With the indices, an ACK touches only the verdicts that it concerns.

use super::Need;
use crate::facts::copies::{Copy, Evidence};
use base::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A retransmission without a final verdict.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) copy: Copy,
    /// Index of its record in `FlowDirection::retransmissions`.
    pub(crate) result: usize,
    /// Cumulative ACK when the retransmission was sent.
    pub(super) acked: u64,
    /// Time and acknowledgement number of the ACK that covered it.
    pub(crate) covered: Option<(Time, u64)>,
    /// TSval of the covering ACK.
    pub(super) answer: Option<u32>,
    /// Serials of the copies that may have arrived first, if several.
    pub(super) candidates: Vec<u64>,
    /// Number of DSACKs of its bytes.
    pub(super) reports: u32,
    pub(super) settled: Option<(Need, Evidence)>,
    /// Time since which a later packet is known to have arrived.
    pub(super) passed: Option<Time>,
}

/// All open verdicts of a direction.
#[derive(Default, Debug)]
pub(crate) struct OpenSet {
    all: BTreeMap<u64, Open>,
    /// First byte and serial of all open verdicts.
    by_seq: BTreeSet<(u64, u64)>,
    /// First byte and serial of the open verdicts that no ACK has covered.
    uncovered: BTreeSet<(u64, u64)>,
    by_stamp: BTreeSet<(u32, u64)>,
    /// Covered verdicts with several candidates: covering ACK and serial.
    by_edge: BTreeSet<(u64, u64)>,
    /// Covered verdicts with several candidates: latest candidate and serial.
    by_latest: BTreeSet<(u64, u64)>,
    /// Serials for which no later arrival is known, ascending.
    unpassed: VecDeque<u64>,
    /// Covered verdicts with a later arrival: time since when, and serial.
    ready: VecDeque<(Time, u64)>,
    /// Length of the longest retransmission, bytes.
    longest: u64,
}

impl OpenSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, serial: u64) -> Option<&Open> {
        self.all.get(&serial)
    }

    pub(super) fn get_mut(&mut self, serial: u64) -> Option<&mut Open> {
        self.all.get_mut(&serial)
    }

    /// Lowest serial of the set.
    pub(crate) fn first(&self) -> Option<u64> {
        self.all.keys().next().copied()
    }

    /// Whether an ACK has covered any open verdict.
    pub(crate) fn any_covered(&self) -> bool {
        self.uncovered.len() < self.all.len()
    }

    /// Whether an uncovered retransmission begins below `byte`.
    pub(crate) fn waits_below(&self, byte: u64) -> bool {
        self.uncovered.first().is_some_and(|u| u.0 < byte)
    }

    pub(super) fn insert(&mut self, open: Open, now: Time) {
        let Copy { serial, seq, end, stamp, .. } = open.copy;
        self.longest = self.longest.max(end - seq);
        self.by_seq.insert((seq, serial));
        if let Some(stamp) = stamp {
            self.by_stamp.insert((stamp, serial));
        }
        if open.covered.is_none() {
            self.uncovered.insert((seq, serial));
        }
        debug_assert!(open.covered.is_none_or(|c| c.0 == now), "covered when it is sent");
        self.unpassed.push_back(serial);
        self.all.insert(serial, open);
    }

    pub(super) fn remove(&mut self, serial: u64) -> Option<Open> {
        let open = self.all.remove(&serial)?;
        self.by_seq.remove(&(open.copy.seq, serial));
        self.uncovered.remove(&(open.copy.seq, serial));
        if let Some(stamp) = open.copy.stamp {
            self.by_stamp.remove(&(stamp, serial));
        }
        self.forget_candidates(&open);
        Some(open)
    }

    fn overlapping(
        set: &BTreeSet<(u64, u64)>,
        longest: u64,
        seq: u64,
        end: u64,
    ) -> impl Iterator<Item = u64> {
        set.range((seq.saturating_sub(longest), 0)..(end, 0)).map(|u| u.1)
    }

    /// Serials of the open verdicts that share bytes with `[seq, end)`.
    pub(super) fn of(&self, seq: u64, end: u64) -> Vec<u64> {
        let near = OpenSet::overlapping(&self.by_seq, self.longest, seq, end);
        near.filter(|s| self.all.get(s).is_some_and(|o| o.copy.overlaps(seq, end))).collect()
    }

    /// Serials of the uncovered ones that share bytes with `[seq, end)`.
    pub(super) fn waiting(&self, seq: u64, end: u64) -> impl Iterator<Item = u64> {
        let near = OpenSet::overlapping(&self.uncovered, self.longest, seq, end);
        near.filter(move |s| self.all.get(s).is_some_and(|o| o.copy.overlaps(seq, end)))
    }

    /// Serials of all uncovered ones.
    pub(super) fn all_waiting(&self) -> impl Iterator<Item = u64> {
        self.uncovered.iter().map(|u| u.1)
    }
    /// Number of uncovered ones.
    pub(super) fn waiting_len(&self) -> usize {
        self.uncovered.len()
    }

    /// Open verdicts on copies with this TSval, in order of sending.
    pub(super) fn stamped(&self, stamp: u32) -> impl Iterator<Item = &Open> {
        self.by_stamp.range((stamp, 0)..=(stamp, u64::MAX)).filter_map(|s| self.all.get(&s.1))
    }

    /// Records the ACK `at` that covered a retransmission; `answer`: its TSval.
    pub(super) fn cover(&mut self, serial: u64, at: (Time, u64), answer: Option<u32>) {
        let Some(open) = self.all.get_mut(&serial) else { return };
        (open.covered, open.answer) = (Some(at), answer);
        self.uncovered.remove(&(open.copy.seq, serial));
        if open.passed.is_some() {
            self.ready.push_back((at.0, serial));
        }
    }

    /// Sets the candidates for the copy that arrived first.
    pub(super) fn set_candidates(&mut self, serial: u64, candidates: Vec<u64>) {
        let Some(mut open) = self.all.remove(&serial) else { return };
        self.forget_candidates(&open);
        if let (Some((_, edge)), Some(&latest), true) =
            (open.covered, candidates.iter().max(), candidates.len() > 1)
        {
            self.by_edge.insert((edge, serial));
            self.by_latest.insert((latest, serial));
        }
        open.candidates = candidates;
        self.all.insert(serial, open);
    }

    fn forget_candidates(&mut self, open: &Open) {
        if let (Some((_, edge)), Some(&latest)) = (open.covered, open.candidates.iter().max()) {
            self.by_edge.remove(&(edge, open.copy.serial));
            self.by_latest.remove(&(latest, open.copy.serial));
        }
    }

    /// Serials of verdicts with several candidates and a covering ACK in `[from, to)`.
    pub(super) fn with_edge(&self, from: u64, to: u64) -> Vec<u64> {
        if from >= to {
            return Vec::new();
        }
        self.by_edge.range((from, 0)..(to, 0)).map(|e| e.1).collect()
    }

    /// Serials of verdicts with several candidates, the latest of which is at or after `limit`.
    pub(super) fn with_candidate_from(&self, limit: u64) -> Vec<u64> {
        self.by_latest.range((limit, 0)..).map(|e| e.1).collect()
    }

    /// Marks verdicts as passed: a copy more than `disorder` serials later has arrived.
    pub(super) fn pass(&mut self, front: u64, disorder: u64, now: Time) {
        while let Some(&serial) = self.unpassed.front() {
            match self.all.get_mut(&serial) {
                Some(_) if front <= serial + disorder => return,
                Some(open) => {
                    open.passed = Some(now);
                    if open.covered.is_some() {
                        self.ready.push_back((now, serial));
                    }
                }
                None => {}
            }
            self.unpassed.pop_front();
        }
    }

    /// Removes and returns the next verdict that was covered and passed more than `wait` ago.
    pub(super) fn next_ready(&mut self, now: Time, wait: Span) -> Option<Open> {
        while let Some(&(since, serial)) = self.ready.front() {
            if now.since(since) <= wait {
                return None;
            }
            self.ready.pop_front();
            if let Some(open) = self.remove(serial) {
                return Some(open);
            }
        }
        None
    }

    /// Removes all verdicts, in order of serial.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Open> + use<> {
        std::mem::take(self).all.into_values()
    }
}
