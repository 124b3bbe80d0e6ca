//! Trace recorder: events in memory, by category.
//!
//! In memory, in the order they were recorded, if their category is on; a closure that builds a record is not called
//! otherwise. Packets that hosts send and take in are kept beside them.

use crate::body::Body;
use crate::event::{Category, Event, Record, Source};
use crate::packet::Packet;
use crate::pool::Part;
use crate::tcp::Segment;
use crate::time::Time;

/// A body as bytes: transport header and payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Encoded {
    /// The protocol number of the IP header.
    pub protocol: u8,
    /// Transport header and payload.
    pub bytes: Vec<u8>,
}

/// What a router makes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Derived {
    /// A fragment.
    Part {
        /// The packet that was cut up, itself a fragment perhaps.
        of: u64,
        /// Which part of the first one.
        part: Part,
    },
    /// The message that it does not fit.
    TooBig {
        /// The packet that does not fit.
        of: u64,
        /// The MTU of the next hop, bytes.
        mtu: u32,
    },
    /// Nothing: it was a fragment, and all of its packet have come.
    Joined,
}

/// A packet as a host sent it or took it in.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// When.
    pub t: Time,
    /// Which host.
    pub source: Source,
    /// Its head, with the marks it has got on the way.
    pub packet: Packet,
    /// The TCP segment it carries, where it is sent; `None` where it is taken in.
    pub sent: Option<Segment>,
    /// What it carries, where it is sent with a body of another protocol that has a wire format.
    pub encoded: Option<Box<Encoded>>,
    /// What it was made of, where a router made it.
    pub derived: Option<Derived>,
    /// How many events had been recorded before.
    pub after: usize,
}

/// The recorder of one run.
#[derive(Default, Debug)]
pub struct Tracer {
    mask: u8,
    records: Vec<Record>,
    sightings: Vec<Sighting>,
    /// Records that were drained.
    drained: usize,
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
    /// True if nothing is recorded.
    pub fn is_off(&self) -> bool {
        self.mask == 0
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
    pub fn sight<B: Body>(&mut self, t: Time, source: Source, packet: &Packet, sent: Option<&B>) {
        let after = self.drained + self.records.len();
        let segment = sent.and_then(Body::segment).copied();
        let encoded = sent.filter(|_| segment.is_none()).and_then(|body| {
            let mut bytes = Vec::new();
            body.encode(&mut bytes).map(|protocol| Box::new(Encoded { protocol, bytes }))
        });
        self.sightings.push(Sighting {
            t,
            source,
            packet: *packet,
            sent: segment,
            encoded,
            derived: None,
            after,
        });
    }
    /// Keeps a packet that a router has made. Ask [`Tracer::wants`] first.
    #[cold]
    pub fn derive(&mut self, t: Time, source: Source, packet: &Packet, from: Derived) {
        let after = self.drained + self.records.len();
        let derived = Some(from);
        self.sightings.push(Sighting {
            t,
            source,
            packet: *packet,
            sent: None,
            encoded: None,
            derived,
            after,
        });
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
    /// Exchanges what was recorded since the last call for the contents of two buffers, which it clears. The places
    /// in [`Sighting::after`] count on; the result is the place of the first record.
    pub fn drain(&mut self, records: &mut Vec<Record>, sightings: &mut Vec<Sighting>) -> usize {
        records.clear();
        sightings.clear();
        std::mem::swap(records, &mut self.records);
        std::mem::swap(sightings, &mut self.sightings);
        let first = self.drained;
        self.drained += records.len();
        first
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
