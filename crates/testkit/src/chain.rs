//! Test elements for a chain of links: packets to inject, and a sink that records arrivals.

use base::Time;
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::pool::BodyRef;
use base::rng::Seed;
use path::{Cx, Element, Port};

/// Seed of tests that need one and do not vary it.
pub const SEED: Seed = Seed { seed: 1, repetition: 0 };

/// Records packets with their times of arrival, and discards them.
#[derive(Default, Debug)]
pub struct Sink(pub Vec<(Time, Packet)>);

impl Element for Sink {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.discard(&packet);
        self.0.push((cx.now(), packet));
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}

/// A time, seconds.
pub fn s(x: f64) -> Time {
    Time::from_secs_f64(x)
}

/// A data packet of `size` bytes from node 0 to node 1, without a body.
pub fn packet(ordinal: u32, size: u32) -> Packet {
    Packet {
        id: u64::from(ordinal),
        born: Time::ZERO,
        lives: Packet::ALWAYS,
        body: BodyRef::NONE,
        flow: FlowId(0),
        size,
        ordinal,
        source: NodeId(0),
        destination: NodeId(1),
        interface: 0,
        flags: Flags::DATA,
        class: 0,
        ecn: 0,
        unit: 0,
    }
}
