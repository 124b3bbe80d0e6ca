//! Departures of one device (`Batch`): on a fast path, consecutive TCP segments or UDP datagrams that are due at one
//! wake-up leave as one large packet.
//!
//! A batch never waits: it is written when the driver has passed all events that are due. A stack acknowledges a large
//! packet once, so slower paths deliver every segment by itself (`PacketRate`).

use base::wire::join::{Join, Transport};
use base::{Span, Time};
use host::Departure;
use netns::device::Device;
use netns::sys::tun::MOST_SEGMENTS;

/// Longest time for which a batch is open while the driver passes due events.
pub(super) const HOLD: Span = Span::from_nanos(50_000);

/// Interval in which packets are counted.
const INTERVAL: Span = Span::from_millis(100);
/// Packets in an interval of a fast path: 20 000 a second, 240 Mbit/s in packets of 1 500 B.
const FAST: u32 = 2_000;

/// Rate of packets at a device, by their due times.
#[derive(Default)]
struct PacketRate {
    /// Start of the interval.
    since: Time,
    /// Packets since then.
    count: u32,
    /// The interval before was fast.
    fast: bool,
}

impl PacketRate {
    /// Counts a packet; returns whether the path is fast: the interval before had enough packets, and has just ended.
    fn add(&mut self, due: Time) -> bool {
        let passed = due.since(self.since);
        if passed >= INTERVAL {
            self.fast = self.count >= FAST && passed < INTERVAL + INTERVAL;
            (self.since, self.count) = (due, 0);
        }
        self.count += 1;
        self.fast
    }
}

/// A packet that leaves, and the number of trace records before it.
pub(super) struct Leaving {
    pub(super) departure: Departure,
    /// Number of trace records at its departure.
    pub(super) after: usize,
}

/// Segments that leave by one device and are not written yet.
pub(super) struct Batch {
    /// The device takes large UDP packets.
    udp: bool,
    rate: PacketRate,
    join: Option<Join>,
    segments: Vec<Leaving>,
}

impl Batch {
    /// An empty batch of a device.
    pub(super) fn new(device: &Device) -> Batch {
        let udp = device.joins(Transport::Udp);
        Batch { udp, rate: PacketRate::default(), join: None, segments: Vec::new() }
    }

    /// Due time of the last segment; zero without segments.
    pub(super) fn due(&self) -> Time {
        self.segments.last().map_or(Time::ZERO, |leaving| leaving.departure.due)
    }

    /// Whether segments wait.
    pub(super) fn is_open(&self) -> bool {
        !self.segments.is_empty()
    }

    /// Counts a packet that leaves; returns whether the path is fast, so that segments may be joined.
    pub(super) fn is_fast(&mut self, due: Time) -> bool {
        self.rate.add(due)
    }

    /// Adds a packet, if it continues the batch or begins one. A packet that is returned is to be written behind the
    /// batch.
    pub(super) fn add(&mut self, leaving: Leaving) -> Option<Leaving> {
        match (&mut self.join, self.segments.first()) {
            (Some(join), Some(first)) => {
                let full = join.number() >= MOST_SEGMENTS;
                if full || !join.add(&first.departure.bytes, &leaving.departure.bytes) {
                    return Some(leaving);
                }
            }
            _ => {
                let fits = |join: &Join| !join.is_ended() && (self.udp || join.transport() == Transport::Tcp);
                self.join = Join::new(&leaving.departure.bytes).filter(fits);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets with equal gaps: whether the last of them may be joined.
    fn fast_after(packets: u32, gap: Span) -> bool {
        let mut rate = PacketRate::default();
        let mut due = Time::from_secs_f64(1.0);
        (0..packets).fold(false, |_, _| {
            due += gap;
            rate.add(due)
        })
    }

    /// Sustained 240 Mbit/s of large packets is fast. A burst of any size on a slower path is not.
    #[test]
    fn a_path_is_fast_by_its_sustained_rate() {
        assert!(fast_after(5_000, Span::from_nanos(48_000)));
        assert!(!fast_after(50_000, Span::from_nanos(52_000)));
        assert!(!fast_after(1_900, Span::ZERO), "a burst");
        // The interval of a burst ends with the first packet behind it; the pause before that one is too long.
        let mut rate = PacketRate::default();
        let burst = Time::from_secs_f64(1.0);
        assert!((0..9_000).all(|_| !rate.add(burst)));
        assert!(!rate.add(burst + Span::from_millis(300)));
    }
}
