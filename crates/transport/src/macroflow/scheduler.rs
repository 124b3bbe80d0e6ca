//! Scheduler of a macroflow: weighted round robin among waiting streams (RFC 3124 sections 4.2, 5.3).
//!
//! A grant costs a stream the reciprocal of its weight in virtual time; the waiting stream with the least
//! virtual time is next. A stream that has not waited enters at the present virtual time and gains nothing.

/// Virtual time of one grant with weight 1.
const UNIT: u64 = 1 << 32;

#[derive(Debug)]
struct Entry {
    weight: u32,
    /// Virtual time at which its next grant is due.
    due: u64,
    /// Packets that it wants to send and has no grant for.
    waits: u32,
    open: bool,
}

#[derive(Debug, Default)]
pub(super) struct Scheduler {
    entries: Vec<Entry>,
    /// Virtual time of the last grant.
    now: u64,
}

impl Scheduler {
    pub(super) fn add(&mut self, weight: u32) {
        self.entries.push(Entry { weight: weight.max(1), due: self.now, waits: 0, open: true });
    }
    pub(super) fn set_weight(&mut self, stream: usize, weight: u32) {
        self.entries[stream].weight = weight.max(1);
    }
    pub(super) fn remove(&mut self, stream: usize) {
        (self.entries[stream].waits, self.entries[stream].open) = (0, false);
    }
    /// Sets the number of packets for which a stream waits.
    pub(super) fn wait(&mut self, stream: usize, packets: u32) {
        let entry = &mut self.entries[stream];
        if entry.waits == 0 {
            entry.due = entry.due.max(self.now);
        }
        entry.waits = packets;
    }
    /// The waiting stream whose turn it is.
    pub(super) fn first(&self) -> Option<usize> {
        let waiting = self.entries.iter().enumerate().filter(|(_, entry)| entry.waits > 0);
        waiting.min_by_key(|(_, entry)| entry.due).map(|(stream, _)| stream)
    }
    /// Counts a grant.
    pub(super) fn serve(&mut self, stream: usize) {
        let entry = &mut self.entries[stream];
        self.now = self.now.max(entry.due);
        entry.due += UNIT / u64::from(entry.weight);
        entry.waits -= 1;
    }
    /// Share of a stream among the open ones (`query_share`).
    pub(super) fn share(&self, stream: usize) -> f64 {
        let open = self.entries.iter().filter(|entry| entry.open);
        let all = open.map(|entry| u64::from(entry.weight)).sum::<u64>().max(1);
        f64::from(self.entries[stream].weight) / all as f64
    }
}
