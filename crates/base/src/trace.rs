//! How are events kept? In memory, in the order they were recorded, if their category is on; a
//! closure that builds a record is not called otherwise. Packets that hosts send and take in are kept beside them.

use crate::event::{Category, Event, Record, Source};
use crate::packet::Packet;
use crate::tcp::Segment;
use crate::time::Time;

/// A packet as a host sent it or took it in.
#[derive(Clone, Copy, Debug)]
pub struct Sighting {
    /// When.
    pub t: Time,
    /// Which host.
    pub source: Source,
    /// Its head, with the marks it has got on the way.
    pub packet: Packet,
    /// What it carries, where it is sent; `None` where it is taken in.
    pub sent: Option<Segment>,
    /// How many events had been recorded before.
    pub after: usize,
}

/// The recorder of one run.
#[derive(Default, Debug)]
pub struct Tracer {
    mask: u8,
    records: Vec<Record>,
    sightings: Vec<Sighting>,
}

impl Tracer {
    /// Records nothing.
    pub fn off() -> Self {
        Tracer::default()
    }
    /// Records these categories.
    pub fn of(categories: &[Category]) -> Self {
        Tracer { mask: categories.iter().fold(0, |m, c| m | 1 << *c as u8), ..Tracer::default() }
    }
    /// True if the category is on.
    #[inline]
    pub fn wants(&self, category: Category) -> bool {
        self.mask & (1 << category as u8) != 0
    }
    /// Records an event of `category` if it is on.
    #[inline]
    pub fn record(&mut self, category: Category, t: Time, source: Source, event: impl FnOnce() -> Event) {
        if self.wants(category) {
            self.push(Record { t, source, event: event() });
        }
    }
    // Out of line: the hot path is "off".
    #[cold]
    fn push(&mut self, record: Record) {
        self.records.push(record);
    }
    /// Keeps a packet that a host sends (and what it carries) or takes in. Ask [`Tracer::wants`] first.
    #[cold]
    pub fn sight(&mut self, t: Time, source: Source, packet: &Packet, sent: Option<&Segment>) {
        let after = self.records.len();
        self.sightings.push(Sighting { t, source, packet: *packet, sent: sent.copied(), after });
    }
    /// Everything recorded, in order of recording.
    pub fn records(&self) -> &[Record] {
        &self.records
    }
    /// Makes room for so many more records, so that whoever records need not wait for memory.
    pub fn reserve(&mut self, records: usize) {
        self.records.reserve(records);
    }
    /// Packets that were sent and taken in so far, in that order.
    pub fn sightings(&self) -> &[Sighting] {
        &self.sightings
    }
    /// Takes the records out.
    pub fn take(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }
    /// Takes the packets out, in the order in which they were sent and taken in.
    pub fn take_sightings(&mut self) -> Vec<Sighting> {
        std::mem::take(&mut self.sightings)
    }
}
