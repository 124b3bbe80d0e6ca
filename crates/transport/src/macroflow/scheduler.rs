//! Scheduler of a macroflow: weighted round robin among waiting streams (RFC 3124 sections 4.2, 5.3).
//!
//! A grant costs a stream the reciprocal of its weight in virtual time; the waiting stream with the least
//! virtual time is next. A stream that starts to wait enters at the present virtual time, without credit for idle time.

use std::collections::{BTreeMap, BTreeSet};

/// Virtual time of one grant with weight 1.
const UNIT: u64 = 1 << 32;

#[derive(Debug)]
struct Entry {
    weight: u32,
    /// Virtual time of the stream's next grant.
    due: u64,
    /// Packets requested and not granted.
    waits: u32,
}

/// Open streams by number; all operations take logarithmic time.
#[derive(Debug, Default)]
pub(super) struct Scheduler {
    entries: BTreeMap<u64, Entry>,
    /// Waiting streams, the next one first: due time, then number.
    waiting: BTreeSet<(u64, u64)>,
    /// Sum of the weights of open streams.
    weights: u64,
    /// Virtual time of the last grant.
    now: u64,
}

impl Scheduler {
    pub(super) fn add(&mut self, stream: u64, weight: u32) {
        let weight = weight.max(1);
        self.entries.insert(stream, Entry { weight, due: self.now, waits: 0 });
        self.weights += u64::from(weight);
    }
    pub(super) fn set_weight(&mut self, stream: u64, weight: u32) {
        if let Some(entry) = self.entries.get_mut(&stream) {
            self.weights -= u64::from(entry.weight);
            entry.weight = weight.max(1);
            self.weights += u64::from(entry.weight);
        }
    }
    pub(super) fn remove(&mut self, stream: u64) {
        if let Some(entry) = self.entries.remove(&stream) {
            self.waiting.remove(&(entry.due, stream));
            self.weights -= u64::from(entry.weight);
        }
    }
    /// Sets the number of packets for which a stream waits.
    pub(super) fn wait(&mut self, stream: u64, packets: u32) {
        let Some(entry) = self.entries.get_mut(&stream) else { return };
        if entry.waits == 0 {
            entry.due = entry.due.max(self.now);
        }
        entry.waits = packets;
        let place = (entry.due, stream);
        if packets > 0 {
            self.waiting.insert(place);
        } else {
            self.waiting.remove(&place);
        }
    }
    /// Waiting stream with the least virtual time.
    pub(super) fn first(&self) -> Option<u64> {
        self.waiting.first().map(|&(_, stream)| stream)
    }
    /// Counts a grant to a waiting stream.
    pub(super) fn serve(&mut self, stream: u64) {
        let Some(entry) = self.entries.get_mut(&stream) else { return };
        self.waiting.remove(&(entry.due, stream));
        self.now = self.now.max(entry.due);
        entry.due += UNIT / u64::from(entry.weight);
        entry.waits -= 1;
        if entry.waits > 0 {
            self.waiting.insert((entry.due, stream));
        }
    }
    /// Fraction of the weights of open streams (`query_share`); 0 for a closed stream.
    pub(super) fn share(&self, stream: u64) -> f64 {
        let weight = self.entries.get(&stream).map_or(0, |entry| entry.weight);
        f64::from(weight) / self.weights.max(1) as f64
    }
}
