//! Departures of one device (`Batch`): consecutive segments that are due at one wake-up leave as one large packet, where
//! the device takes it.
//!
//! A batch never waits: it is written when the driver has passed all events that are due.

use base::Span;
use base::wire::join::Join;
use host::Departure;
use netns::device::Device;
use netns::sys::tun::MOST_SEGMENTS;

/// Longest time for which a batch is open while the driver passes due events.
pub(super) const HOLD: Span = Span::from_nanos(50_000);

/// A packet that leaves, and the number of trace records before it.
pub(super) struct Leaving {
    pub(super) departure: Departure,
    /// Number of trace records at its departure.
    pub(super) after: usize,
}

/// Segments that leave by one device and are not written yet.
#[derive(Default)]
pub(super) struct Batch {
    join: Option<Join>,
    segments: Vec<Leaving>,
}

impl Batch {
    /// Whether segments wait.
    pub(super) fn is_open(&self) -> bool {
        !self.segments.is_empty()
    }

    /// Adds a packet, if it continues the batch or begins one. The batch must be written first if the packet is
    /// returned while it is open.
    pub(super) fn add(&mut self, leaving: Leaving) -> Option<Leaving> {
        match (&mut self.join, self.segments.first()) {
            (Some(join), Some(first)) => {
                let full = join.number() >= MOST_SEGMENTS;
                if full || !join.add(&first.departure.bytes, &leaving.departure.bytes) {
                    return Some(leaving);
                }
            }
            _ => {
                self.join = Join::new(&leaving.departure.bytes).filter(|join| !join.is_ended());
                if self.join.is_none() {
                    return Some(leaving);
                }
            }
        }
        self.segments.push(leaving);
        None
    }

    /// Whether no segment can follow.
    pub(super) fn is_ended(&self) -> bool {
        self.join.as_ref().is_some_and(Join::is_ended)
    }

    /// Writes the segments to the device. Returns them, and whether the kernel took them.
    pub(super) fn write(&mut self, device: &mut Device) -> (Vec<Leaving>, bool) {
        let segments = std::mem::take(&mut self.segments);
        let bytes = segments.iter().map(|leaving| &*leaving.departure.bytes);
        let written = match (self.join.take(), &segments[..]) {
            (_, []) => Ok(()),
            (Some(join), [_, _, ..]) => device.write_joined(&join, bytes),
            (_, [one, ..]) => device.write(&one.departure.bytes),
        };
        (segments, written.is_ok())
    }

    /// Takes back the empty list of [`Batch::write`], for its memory.
    pub(super) fn reuse(&mut self, mut segments: Vec<Leaving>) {
        segments.clear();
        self.segments = segments;
    }
}
