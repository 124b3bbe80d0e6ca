//! Benchmark of the event engine: packets at a constant rate through a chain of links, with few or many in
//! flight.

use crate::clock::{Clock, each, least};
use crate::say;
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::tcp::Segment;
use base::trace::Tracer;
use base::{Rate, Span, Time};
use path::capacity::Capacity;
use path::link::{Link, LinkConfig, QueueLimit};
use path::{Cx, Element, Network, Port};

const LINKS: u64 = 6;
const SIZE: u32 = 1000;
const PACE: Span = Span::from_nanos(12_000);

struct Source {
    left: u64,
    next: Time,
}

impl Element for Source {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.discard(&packet);
    }
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let (body, id) = cx.emit(&Segment::default(), SIZE);
        let packet = Packet {
            id,
            born: cx.now(),
            lives: Packet::ALWAYS,
            body,
            flow: FlowId(0),
            size: SIZE,
            ordinal: id as u32,
            source: NodeId(0),
            destination: NodeId(1),
            interface: 0,
            flags: Flags::DATA,
            class: 0,
            ecn: 0,
            unit: 0,
        };
        cx.forward(Port(0), packet);
        self.left -= 1;
        self.next = if self.left == 0 { Time::NEVER } else { self.next + PACE };
    }
    fn next_wake(&self) -> Time {
        self.next
    }
    fn holds(&self) -> usize {
        0
    }
}

/// Runs with a total of few to very many packets in flight.
pub(crate) fn measure() {
    for in_flight in [10u64, 1_000, 100_000] {
        let packets = 1_000_000u64.max(3 * in_flight);
        let delay = Span::from_nanos((in_flight * PACE.as_nanos() / LINKS).saturating_sub(8_000));
        let (took, hops) = least(5, || {
            let mut network = Network::new(1, Tracer::off());
            // Sink: discards all packets.
            let mut next = network.add(Source { left: 0, next: Time::NEVER });
            for _ in 0..LINKS {
                let config = LinkConfig {
                    capacity: Capacity::Fixed(Rate::from_bps(1_000_000_000)),
                    delay,
                    limit: QueueLimit { packets: Some(100), ..QueueLimit::default() },
                };
                let link = network.add(Link::new(config, Vec::new()));
                network.wire(link, Port(0), next, Port(0));
                next = link;
            }
            let source = network.add(Source { left: packets, next: Time::ZERO });
            network.wire(source, Port(0), next, Port(0));
            network.start(None);
            let clock = Clock::start();
            network.run_until(Time::NEVER - Span::from_nanos(1));
            let took = clock.stop();
            assert_eq!(network.counters().absorbed, packets, "all arrive");
            (took, network.counters().hops)
        });
        say(&format!("engine    {in_flight:>7} in flight: {:.1} ns a packet-hop", each(took, hops)));
    }
}
