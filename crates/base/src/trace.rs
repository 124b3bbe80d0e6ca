//! How are events kept? In memory, in the order they were recorded, if their category is on; a
//! closure that builds a record is not called otherwise.

use crate::event::{Category, Event, Record, Source};
use crate::time::Time;

/// The recorder of one run.
#[derive(Default, Debug)]
pub struct Tracer {
    mask: u8,
    records: Vec<Record>,
}

impl Tracer {
    /// Records nothing.
    pub fn off() -> Self {
        Tracer::default()
    }
    /// Records these categories.
    pub fn of(categories: &[Category]) -> Self {
        Tracer { mask: categories.iter().fold(0, |m, c| m | 1 << *c as u8), records: Vec::new() }
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
    /// Everything recorded, in order of recording.
    pub fn records(&self) -> &[Record] {
        &self.records
    }
    /// Takes the records out.
    pub fn take(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }
}
