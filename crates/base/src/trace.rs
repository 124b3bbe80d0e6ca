//! Trace recorder: events and packet sightings of one run in memory, by category.
//!
//! Events are kept in order of recording if their category is on; otherwise the closure that builds a record
//! is not called. Packets that hosts send and receive are kept in a second list.

use crate::body::Body;
use crate::event::{Category, Event, Record, Source};
use crate::packet::Packet;
use crate::pool::Part;
use crate::tcp::Segment;
use crate::time::Time;

/// An encoded body: transport header and payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Encoded {
    /// Protocol number of the IP header.
    pub protocol: u8,
    /// Transport header and payload.
    pub bytes: Vec<u8>,
}

/// Packet that a router derives from another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Derived {
    /// A fragment.
    Part {
        /// Packet that was fragmented, possibly itself a fragment.
        of: u64,
        /// Range in the original packet.
        part: Part,
    },
    /// ICMP error for a packet that is too big.
    TooBig {
        /// Packet that is too big.
        of: u64,
        /// MTU of the next hop, bytes.
        mtu: u32,
    },
    /// RST in answer to a segment without an entry in a firewall.
    Reset {
        /// Segment that is answered.
        of: u64,
    },
    /// A fragment that completed a reassembly; no packet is derived.
    Joined,
}

/// A packet as a host sent or received it.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// Time.
    pub t: Time,
    /// Host.
    pub source: Source,
    /// Head, with the marks received on the path.
    pub packet: Packet,
    /// TCP segment of a sent packet; `None` for a received one.
    pub sent: Option<Segment>,
    /// Encoded body of a sent packet, for other protocols with a wire format.
    pub encoded: Option<Box<Encoded>>,
    /// Origin of a packet derived by a router.
    pub derived: Option<Derived>,
    /// Number of events recorded before.
    pub after: usize,
}

/// Recorder of trace events and packets of one run.
#[derive(Default, Debug)]
pub struct Tracer {
    mask: u8,
    records: Vec<Record>,
    sightings: Vec<Sighting>,
    /// Number of records removed by [`Tracer::drain`].
    drained: usize,
    /// By source: [`Packet::ledger`] and largest window that a host advertised in its packets, bytes; `Some` if packets
    /// themselves are not kept. A host has packets of few ledgers.
    windows: Option<Vec<Vec<(usize, u32)>>>,
    /// Numbers of the sources in records, by the numbers with which they record; empty: equal numbers.
    numbers: Vec<u32>,
}

impl Tracer {
    /// A recorder that is off.
    pub fn off() -> Self {
        Tracer::default()
    }
    /// A recorder of these categories.
    pub fn of(categories: &[Category]) -> Self {
        Tracer { mask: categories.iter().fold(0, |m, c| m | 1 << *c as u8), ..Tracer::default() }
    }
    /// A recorder of the largest window that each host advertises.
    pub fn of_windows() -> Self {
        Tracer { windows: Some(Vec::new()), ..Tracer::of(&[Category::Packets]) }
    }
    /// Sets the numbers of the sources in records, by the numbers with which they record from now on.
    pub fn renumber(&mut self, numbers: Vec<u32>) {
        self.numbers = numbers;
    }
    /// A source as in records, by the number with which it records.
    #[cold]
    pub fn recorded(&self, source: Source) -> Source {
        Source(self.numbers.get(source.0 as usize).copied().unwrap_or(source.0))
    }
    /// True if neither events nor packets are kept.
    pub fn is_off(&self) -> bool {
        self.mask == 0 || self.windows.is_some()
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
    /// Records the transmission of data: an event of transports that captures need too.
    #[inline]
    pub fn record_data(&mut self, t: Time, source: Source, event: impl FnOnce() -> Event) {
        if self.mask == 0 {
            return; // the usual case, in one comparison
        }
        let captures = self.wants(Category::Packets) && self.windows.is_none();
        if captures || self.wants(Category::Transport) {
            self.push(Record { t, source, event: event() });
        }
    }
    // Not inlined: recording is off in the common case.
    #[cold]
    fn push(&mut self, record: Record) {
        self.records.push(Record { source: self.recorded(record.source), ..record });
    }
    /// Records a packet that a host sends (with its body) or receives. Check [`Tracer::wants`] first.
    #[cold]
    pub fn sight<B: Body>(&mut self, t: Time, source: Source, packet: &Packet, sent: Option<&B>) {
        let source = self.recorded(source);
        if let Some(windows) = &mut self.windows {
            if let Some(segment) = sent.and_then(Body::segment) {
                offer(windows, source, packet.ledger(), segment.window);
            }
            return;
        }
        let after = self.drained + self.records.len();
        self.sightings.push(Sighting {
            t,
            source,
            packet: *packet,
            sent: None,
            encoded: None,
            derived: None,
            after,
        });
        // Set in place, so that a body is copied once.
        if let (Some(body), Some(sighting)) = (sent, self.sightings.last_mut()) {
            sighting.sent = body.segment().copied();
            if sighting.sent.is_none() {
                let mut bytes = Vec::new();
                sighting.encoded =
                    body.encode(&mut bytes).map(|protocol| Box::new(Encoded { protocol, bytes }));
            }
        }
    }
    /// Records a packet derived by a router. Check [`Tracer::wants`] first.
    #[cold]
    pub fn derive(&mut self, t: Time, source: Source, packet: &Packet, from: Derived) {
        if self.windows.is_some() {
            return;
        }
        let after = self.drained + self.records.len();
        let (source, derived) = (self.recorded(source), Some(from));
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
    /// Largest advertised windows with source and [`Packet::ledger`], if they are recorded.
    pub fn windows(&self) -> impl Iterator<Item = (Source, usize, u32)> + '_ {
        let windows = (0..).zip(self.windows.iter().flatten());
        windows.flat_map(|(source, of)| of.iter().map(move |&(ledger, most)| (Source(source), ledger, most)))
    }
    /// All records, in order of recording.
    pub fn records(&self) -> &[Record] {
        &self.records
    }
    /// Reserves memory for `records` more records, so that recording need not allocate.
    pub fn reserve(&mut self, records: usize) {
        self.records.reserve(records);
    }
    /// Packets sent and received so far, in order.
    pub fn sightings(&self) -> &[Sighting] {
        &self.sightings
    }
    /// Swaps the records and packets since the last call with two buffers, which are cleared first.
    /// [`Sighting::after`] keeps counting; returns the index of the first record.
    pub fn drain(&mut self, records: &mut Vec<Record>, sightings: &mut Vec<Sighting>) -> usize {
        records.clear();
        sightings.clear();
        std::mem::swap(records, &mut self.records);
        std::mem::swap(sightings, &mut self.sightings);
        let first = self.drained;
        self.drained += records.len();
        first
    }
    /// Takes all records.
    pub fn take(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }
    /// Takes all packets, in order of sending and receiving.
    pub fn take_sightings(&mut self) -> Vec<Sighting> {
        std::mem::take(&mut self.sightings)
    }
}

/// Raises the largest window of a host and a ledger to `window`.
fn offer(windows: &mut Vec<Vec<(usize, u32)>>, source: Source, ledger: usize, window: u32) {
    let at = source.0 as usize;
    if at >= windows.len() {
        windows.resize_with(at + 1, Vec::new);
    }
    match windows[at].iter_mut().find(|(known, _)| *known == ledger) {
        Some((_, largest)) => *largest = window.max(*largest),
        None => windows[at].push((ledger, window)),
    }
}
