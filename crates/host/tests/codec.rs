//! Tests of the wire codec: two models that exchange bytes send equal data at equal times for equal causes as
//! with segments; arbitrary bytes cause no panic.

use base::event::{Category, Event};
use base::packet::{DropReason, FlowId, NodeId, Packet};
use base::tcp::Segment;
use base::trace::Tracer;
use base::truth::Cause;
use base::wire::segment::{self, End, IpFields};
use base::{Span, Time};
use host::{ADDRESSES, CodecConfig, FlowPort, FlowPortConfig, Host, HostConfig, PacketPort as _};
use path::{Cx, Element, ElementId, Network, Port};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;
use transport::app::{Bulk, Sink};
use transport::tcp::config::{Response, Sack, Spurious};
use transport::tcp::{Config, Role};

/// A path with a constant delay, losses at given ordinals, and an outage.
struct Way {
    delay: Span,
    loses: Vec<u64>,
    still: (Time, Time),
    passed: u64,
    inside: VecDeque<(Time, Packet)>,
}

impl Element for Way {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        self.passed += 1;
        if self.loses.contains(&self.passed) {
            return cx.drop(packet, DropReason::Loss);
        }
        let (from, until) = self.still;
        let out = cx.now() + self.delay;
        self.inside.push_back((if (from..until).contains(&out) { until } else { out }, packet));
    }
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        while self.next_wake() <= cx.now() {
            let Some((_, packet)) = self.inside.pop_front() else { return };
            cx.forward(Port(0), packet);
        }
    }
    fn next_wake(&self) -> Time {
        self.inside.front().map_or(Time::NEVER, |(out, _)| *out)
    }
    fn holds(&self) -> usize {
        self.inside.len()
    }
}

const BYTES: u64 = 300_000;

fn config() -> Config {
    Config {
        mss: 1000,
        timestamps: true,
        sack: Sack::On,
        window_scale: true,
        spurious: Spurious::Eifel,
        response: Response::Rfc4015,
        ..Config::default()
    }
}

fn head(role: Role) -> HostConfig {
    let node = u16::from(role == Role::Passive);
    HostConfig { flow: FlowId(0), node: NodeId(node), peer: NodeId(1 - node), role, start: Time::ZERO }
}

fn wire(role: Role, version: usize, origin: [u32; 2]) -> CodecConfig {
    let [from, to] = ADDRESSES[version];
    let (here, there) = if role == Role::Active { (from, to) } else { (to, from) };
    CodecConfig { here, there, origin }
}

/// Transmissions of the sender with time and cause, and the time at which all data have arrived.
fn sent(
    wires: Option<(usize, [u32; 2])>,
    loses: &[u64],
    config: &Config,
) -> (Vec<(Time, u64, u32, Cause)>, Time) {
    let mut network = Network::new(1, Tracer::of(&[Category::Transport]));
    let end = |network: &mut Network, role| -> ElementId {
        let host = match role {
            Role::Active => Host::new(head(role), Arc::new(*config), Box::new(Bulk::new(Some(BYTES), None))),
            Role::Passive => Host::new(head(role), Arc::new(*config), Box::new(Sink::new(Some(BYTES)))),
        };
        network.add(match wires {
            Some((version, origin)) => host.coded(&wire(role, version, origin), 0),
            None => host,
        })
    };
    let way = |loses: &[u64], still| Way {
        delay: Span::from_millis(50),
        loses: loses.to_vec(),
        still,
        passed: 0,
        inside: VecDeque::new(),
    };
    let pause = (Time::ZERO + Span::from_millis(700), Time::ZERO + Span::from_millis(5_000));
    let to = end(&mut network, Role::Passive);
    let down = network.add(way(loses, pause));
    let up = network.add(way(&[], (Time::NEVER, Time::NEVER)));
    let from = end(&mut network, Role::Active);
    for (a, b) in [(from, down), (down, to), (to, up), (up, from)] {
        network.wire(a, Port(0), b, Port(0));
    }
    network.start(None);
    network.run_until(Time::ZERO + Span::from_secs(300));
    let records = network.tracer().take();
    let left = records.iter().filter(|record| record.source.0 == from.0);
    let left = left.filter_map(|record| match record.event {
        Event::DataSent { seq, len, cause, .. } => Some((record.t, seq, len, cause)),
        _ => None,
    });
    let done = network.element::<Host>(to).and_then(Host::finished).expect("all of it arrives");
    assert_eq!(network.bodies(), 0);
    (left.collect(), done)
}

/// Losses, an outage with a spurious timeout detected by timestamps, and SACK blocks: encoding changes no
/// result, with either IP version and any initial sequence number, also where it wraps.
#[test]
fn in_bytes_models_say_what_they_say_in_segments() {
    let config = config();
    for loses in [&[][..], &[40], &[40, 41, 60, 90]] {
        let segments = sent(None, loses, &config);
        assert!(segments.0.len() > 300 && segments.0.iter().any(|(.., cause)| *cause == Cause::Timeout));
        for (version, origin) in [(0, [0, 0]), (0, [u32::MAX - 100_000, u32::MAX - 1_000]), (1, [7, 9])] {
            let bytes = sent(Some((version, origin)), loses, &config);
            assert_eq!(bytes, segments, "version {version}, from {origin:?}, without {loses:?}");
        }
    }
    let plain = Config { timestamps: false, sack: Sack::Off, spurious: Spurious::Frto, ..config };
    assert_eq!(sent(Some((0, [1, 2])), &[40], &plain), sent(None, &[40], &plain));
}

/// A passive endpoint, and a packet port through which any packet may enter.
fn waiting() -> (Network, ElementId) {
    let mut network = Network::new(1, Tracer::off());
    let host = Host::new(head(Role::Passive), Arc::new(config()), Box::new(Sink::new(None)));
    let host = network.add(host.coded(&wire(Role::Passive, 0, [5, 5]), 0));
    let packet_port = network.add(FlowPort::new(FlowPortConfig {
        flow: FlowId(0),
        node: NodeId(0),
        peer: NodeId(1),
        role: Role::Active,
        deadlines: host::Deadlines::default(),
    }));
    network.wire(packet_port, Port(0), host, Port(0));
    network.wire(host, Port(0), packet_port, Port(0));
    network.start(None);
    (network, packet_port)
}

/// A segment of the other end, as bytes.
fn bytes_of(segment: &Segment) -> Vec<u8> {
    let end = |address, port| End {
        address,
        port,
        first: 0,
        clock: 0,
        mss: 1460,
        scale: Some(7),
        permits_sack: true,
    };
    let [from, to] = ADDRESSES[0];
    let mut bytes = Vec::new();
    let (from, to) = (end(from, 1024), End { first: 5, clock: 5, ..end(to, 9) });
    segment::packet(&mut bytes, &from, &to, segment, IpFields { ttl: 64, ..IpFields::default() }, usize::MAX);
    bytes
}

proptest! {
    /// After a valid or invalid handshake, packets with any sequence numbers and with changed bytes.
    #[test]
    fn no_bytes_break_a_model(
        opens: bool,
        packets in proptest::collection::vec(
            (any::<u32>(), any::<u32>(), 0u32..3000, any::<u8>(), proptest::collection::vec((0usize..120, any::<u8>()), 0..6)),
            0..30,
        ),
    ) {
        let (mut network, packet_port) = waiting();
        let syn = Segment { syn: true, window: 60_000, ..Segment::default() };
        let ack = Segment { seq: 1, ack: 1, has_ack: true, window: 60_000, ..Segment::default() };
        let mut all: Vec<Vec<u8>> = if opens { vec![bytes_of(&syn), bytes_of(&ack)] } else { Vec::new() };
        all.extend(packets.into_iter().map(|(seq, ack, len, flags, changes)| {
            let mut bytes = bytes_of(&Segment {
                seq: u64::from(seq),
                ack: u64::from(ack),
                len,
                window: 60_000,
                has_ack: flags & 1 != 0,
                syn: flags & 2 != 0,
                fin: flags & 4 != 0,
                rst: flags & 8 != 0,
                ..Segment::default()
            });
            for (at, value) in changes {
                let n = bytes.len();
                bytes[at % n] = value;
            }
            bytes
        }));
        for (i, bytes) in all.iter().enumerate() {
            let at = Time::ZERO + Span::from_millis(10 * (i as u64 + 1));
            network.run_until(at);
            let _ = network.enter(at, packet_port, |packet_port: &mut FlowPort, cx| packet_port.inject(cx, bytes));
            while network.enter(at, packet_port, |packet_port: &mut FlowPort, _| packet_port.next_departure()).flatten().is_some() {}
        }
        network.run_until(Time::ZERO + Span::from_secs(10));
        prop_assert_eq!(network.bodies(), 0);
    }
}
