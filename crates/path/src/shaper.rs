//! Token-bucket shaper (RFC 2475 section 2.3.3.3): delays traffic of a class above its rate (catalogue
//! QM-11).
//!
//! The element stands before the queue of a link. Packets of a class wait until the token bucket of the class has
//! enough tokens; packets of no class pass. A packet larger than the bucket waits until the bucket is full.

use crate::channel::class::ClassRule;
use crate::element::{Cx, Element, Port};
use crate::qdisc::Room;
use base::packet::{DropReason, Packet};
use base::{Rate, Span, Time};
use std::collections::VecDeque;

/// One class of a shaper.
#[derive(Clone, Debug)]
pub struct ShaperClass {
    /// Match rule of the class.
    pub rule: ClassRule,
    /// Token rate.
    pub rate: Rate,
    /// Bucket size, bytes.
    pub burst: u64,
    /// Limit of the waiting packets; packets that exceed it are dropped.
    pub room: Room,
}

/// State of one class.
struct ClassState {
    /// Configuration of the class.
    of: ShaperClass,
    /// Time to fill the empty bucket.
    depth: Span,
    /// Time at which the bucket is full again.
    full_at: Time,
    waiting: VecDeque<Packet>,
    bytes: u64,
}

impl ClassState {
    fn new(of: ShaperClass) -> Self {
        let depth = of.rate.span_of(of.burst);
        ClassState { of, depth, full_at: Time::ZERO, waiting: VecDeque::new(), bytes: 0 }
    }

    /// Earliest time at which a packet of `size` bytes has its tokens; it may lie in the past.
    fn ready(&self, size: u32) -> Time {
        let (span, full) = (self.of.rate.span_of(u64::from(size)), self.full_at.as_nanos());
        let beyond = self.depth.as_nanos().saturating_sub(span.as_nanos());
        Time::from_nanos(full.saturating_sub(beyond))
    }

    fn take_tokens(&mut self, now: Time, size: u32) {
        self.full_at = self.full_at.max(now) + self.of.rate.span_of(u64::from(size));
    }

    fn has_room(&self, size: u32) -> bool {
        let Room { packets, bytes } = self.of.room;
        packets.is_none_or(|n| self.waiting.len() < n as usize)
            && bytes.is_none_or(|n| self.bytes + u64::from(size) <= n)
    }

    /// Time at which the next waiting packet may leave.
    fn next(&self) -> Time {
        self.waiting.front().map_or(Time::NEVER, |packet| self.ready(packet.size))
    }
}

/// Element before the queue of a link that shapes the traffic of classes.
pub struct Shaper {
    classes: Vec<ClassState>,
}

impl Shaper {
    /// `classes`, in order: a packet belongs to the first class that it matches.
    pub fn new(classes: Vec<ShaperClass>) -> Self {
        Shaper { classes: classes.into_iter().map(ClassState::new).collect() }
    }
}

impl Element for Shaper {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        let now = cx.now();
        let Some(class) = self.classes.iter_mut().find(|class| class.of.rule.holds(&packet)) else {
            return cx.forward(Port(0), packet);
        };
        if class.waiting.is_empty() && class.ready(packet.size) <= now {
            class.take_tokens(now, packet.size);
            cx.forward(Port(0), packet);
        } else if class.has_room(packet.size) {
            class.bytes += u64::from(packet.size);
            class.waiting.push_back(packet);
        } else {
            cx.drop(packet, DropReason::QueueFull);
        }
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        for class in &mut self.classes {
            while class.next() <= now
                && let Some(packet) = class.waiting.pop_front()
            {
                class.bytes -= u64::from(packet.size);
                class.take_tokens(now, packet.size);
                cx.forward(Port(0), packet);
            }
        }
    }

    fn next_wake(&self) -> Time {
        self.classes.iter().map(ClassState::next).min().unwrap_or(Time::NEVER)
    }

    fn holds(&self) -> usize {
        self.classes.iter().map(|class| class.waiting.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a bucket of 3000 bytes at 10 kB/s, three packets of 1000 bytes leave at once, further ones every 100 ms.
    /// A packet of 4000 bytes waits for a full bucket.
    #[test]
    fn packets_leave_by_their_tokens() {
        let room = Room { packets: None, bytes: None };
        let shape =
            ShaperClass { rule: ClassRule::default(), rate: Rate::from_bps(80_000), burst: 3000, room };
        let mut shaped = ClassState::new(shape);
        let mut now = Time::ZERO;
        let mut leave = |size: u32| {
            now = now.max(shaped.ready(size));
            shaped.take_tokens(now, size);
            now.as_nanos() / 1_000_000
        };
        assert_eq!([1000; 6].map(&mut leave), [0, 0, 0, 100, 200, 300]);
        // The bucket is empty at 300 ms, and full 300 ms later.
        assert_eq!(leave(4000), 600);
        assert_eq!(leave(1000), 800);
    }
}
