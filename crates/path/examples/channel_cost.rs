//! What does a packet cost on a plain link, and on a channel that is asked for the same? Run it under
//! `valgrind --tool=callgrind` with `link`, `channel`, or `none` for the rest, and divide the difference by the packets.

use base::packet::{Flags, FlowId, NodeId, Packet};
use base::pool::BodyRef;
use base::trace::Tracer;
use base::{Rate, Span, Time};
use path::capacity::Capacity;
use path::channel::class::ClassConfig;
use path::channel::frame::Framing;
use path::channel::{Channel, ChannelConfig};
use path::link::{Link, LinkConfig, QueueLimit};
use path::{Cx, Element, Network, Port};

const PACKETS: u32 = 100_000;

struct Sink;

impl Element for Sink {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.discard(&packet);
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}

fn main() {
    let which = std::env::args().nth(1).unwrap_or_else(|| "channel".to_owned());
    let (capacity, delay) = (Capacity::Fixed(Rate::from_bps(10_000_000)), Span::from_millis(20));
    let mut network = Network::new(1, Tracer::off());
    let sink = network.add(Sink);
    let entry = match which.as_str() {
        "link" => {
            network.add(Link::new(LinkConfig { capacity, delay, limit: QueueLimit::default() }, vec![]))
        }
        "channel" => network.add(Channel::new(ChannelConfig {
            capacity,
            delay,
            classes: vec![ClassConfig::default()],
            gates: Vec::new(),
            framing: Framing::default(),
            send_buffer: None,
            allocation: None,
            errors: Vec::new(),
            arq: None,
            in_order: true,
            receive_buffer: None,
            credit: None,
            grants: false,
            followers: Vec::new(),
        })),
        _ => sink,
    };
    if entry != sink {
        network.wire(entry, Port(0), sink, Port(0));
    }
    network.start(None);
    for i in 1..=PACKETS {
        // Four at a time, at nine tenths of the rate: some wait, some do not.
        let at = Time::ZERO + Span::from_nanos(u64::from(i / 4) * 4 * 888_889);
        let packet = Packet {
            id: u64::from(i),
            born: at,
            lives: Packet::ALWAYS,
            body: BodyRef::NONE,
            flow: FlowId(0),
            size: 1000,
            ordinal: i,
            source: NodeId(0),
            destination: NodeId(1),
            interface: 0,
            flags: Flags::DATA,
            class: 0,
            ecn: 0,
            unit: 0,
        };
        network.inject(at, entry, Port(0), packet);
    }
    network.run_until(Time::from_secs_f64(1e6));
    assert_eq!(network.counters().absorbed, u64::from(PACKETS));
}
