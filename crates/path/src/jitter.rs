//! Variable propagation delay (jitter): drawn per packet, or in steps over time, with or without reordering.
//!
//! The delay applies from the time at which a packet enters the element. Without reordering a packet arrives no
//! earlier than the packets before it.

use crate::element::{Cx, Element, Port};
use base::dist::Sampler;
use base::packet::Packet;
use base::{Span, Time};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Source of propagation delays.
#[derive(Clone, Debug)]
pub enum Delays {
    /// Drawn per packet, nanoseconds.
    Drawn(Sampler),
    /// Steps over the time at which a packet enters; the first delay also applies before its time. With a period
    /// the steps repeat.
    Steps {
        /// Ascending times, each with the delay from then on.
        steps: Vec<(Time, Span)>,
        /// Period of the steps.
        period: Option<Span>,
    },
}

impl Delays {
    fn at(&mut self, t: Time) -> Span {
        match self {
            Delays::Drawn(sampler) => Span::from_nanos(sampler.draw() as u64),
            Delays::Steps { steps, period } => {
                let t = match period {
                    Some(p) if !p.is_zero() => Time::from_nanos(t.as_nanos() % p.as_nanos()),
                    _ => t,
                };
                let i = steps.partition_point(|(from, _)| *from <= t);
                steps.get(i.saturating_sub(1)).map_or(Span::ZERO, |(_, d)| *d)
            }
        }
    }
}

/// A packet in propagation.
struct Flying {
    arrival: Time,
    number: u64,
    packet: Packet,
}

impl PartialEq for Flying {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Flying {}
impl PartialOrd for Flying {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Flying {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.arrival, self.number).cmp(&(other.arrival, other.number))
    }
}

/// Element with a variable propagation delay.
pub struct Jitter {
    delays: Delays,
    reorder: bool,
    /// Packets in propagation.
    flying: BinaryHeap<Reverse<Flying>>,
    /// Latest arrival so far.
    latest: Time,
    /// Packets so far; numbers keep the order of packets with equal arrival.
    count: u64,
}

impl Jitter {
    /// `reorder`: whether a packet may arrive before earlier ones.
    pub fn new(delays: Delays, reorder: bool) -> Self {
        Jitter { delays, reorder, flying: BinaryHeap::new(), latest: Time::ZERO, count: 0 }
    }
}

impl Element for Jitter {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        let mut arrival = cx.now() + self.delays.at(cx.now());
        if !self.reorder {
            arrival = arrival.max(self.latest);
        }
        self.latest = self.latest.max(arrival);
        self.count += 1;
        self.flying.push(Reverse(Flying { arrival, number: self.count, packet }));
    }
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        while self.flying.peek().is_some_and(|f| f.0.arrival <= cx.now()) {
            if let Some(Reverse(flying)) = self.flying.pop() {
                cx.forward(Port(0), flying.packet);
            }
        }
    }
    fn next_wake(&self) -> Time {
        self.flying.peek().map_or(Time::NEVER, |f| f.0.arrival)
    }
    fn holds(&self) -> usize {
        self.flying.len()
    }
}
