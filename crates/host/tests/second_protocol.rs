//! Test of a protocol of another crate inside of a host: own body type, bundled data of two streams, two
//! network paths, a lifetime; the ledger judges its retransmissions.

use base::body::{Body, Channel, Range};
use base::packet::{Flags, FlowId, NodeId};
use base::trace::Tracer;
use base::truth::Cause;
use base::{Packet, Rate, Span, Time};
use host::{Host, HostConfig};
use path::capacity::Capacity;
use path::link::{Link, LinkConfig, QueueLimit};
use path::{ElementId, Network, Port};
use transport::Io;
use transport::app::{Bulk, Sink, Socket};
use transport::endpoint::{Endpoint, EndpointReport, Expiring, Outgoing, Role};

/// Body of a stop-and-wait protocol with two streams: a packet bundles the next unit of both.
#[derive(Clone, Debug, PartialEq)]
struct Bundle {
    units: Vec<Range>,
    acks: [Option<u64>; 2],
}

impl Body for Bundle {
    fn flags(&self) -> Flags {
        if self.units.is_empty() { Flags::ACK } else { Flags::DATA }
    }
    fn ranges(&self, _cause: Cause, each: impl FnMut(Range)) {
        self.units.iter().copied().for_each(each);
    }
    fn acks(&self, mut each: impl FnMut(Channel, u64)) {
        for (channel, ack) in self.acks.iter().enumerate() {
            ack.iter().for_each(|ack| each(Channel(channel as u32), *ack));
        }
    }
    fn encode(&self, out: &mut Vec<u8>) -> Option<u8> {
        out.push(self.units.len() as u8);
        Some(253)
    }
}

const UNIT: u64 = 100;
const WAITS: Span = Span::from_millis(900);
const LIFE: Span = Span::from_secs(5);

#[derive(Default)]
struct StopAndWait {
    written: u64,
    closed: bool,
    acked: [u64; 2],
    received: [u64; 2],
    resent: bool,
    timer: Option<Time>,
    came_by: Vec<u16>,
}

impl StopAndWait {
    fn bundle(&mut self, io: &mut Io<'_, Bundle>, cause: Cause) {
        let left = (self.written / UNIT).saturating_sub(self.acked.iter().sum());
        if left == 0 {
            self.timer = None;
            return;
        }
        let unit = |n: u64| Range {
            channel: Channel(n as u32),
            from: self.acked[n as usize],
            to: self.acked[n as usize] + 1,
            cause,
        };
        let units = (0..left.min(2)).map(unit).collect();
        // A retransmission uses the other path.
        let path = u8::from(cause != Cause::New);
        let out = Outgoing::new(Bundle { units, acks: [None; 2] }, 28 + 2 * UNIT as u32, cause);
        io.out.push(Outgoing { path, ..out.living(LIFE) });
        self.timer = Some(io.now + WAITS);
    }
}

impl Socket for StopAndWait {
    fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }
    fn close(&mut self) {
        self.closed = true;
    }
    fn stop(&mut self) {}
    fn received(&self) -> u64 {
        self.received.iter().sum::<u64>() * UNIT
    }
    fn acknowledged(&self) -> u64 {
        self.acked.iter().sum::<u64>() * UNIT
    }
}

impl Endpoint for StopAndWait {
    type Body = Bundle;
    fn open(&mut self, io: &mut Io<'_, Bundle>) {
        self.bundle(io, Cause::New);
    }
    fn handle_packet(&mut self, io: &mut Io<'_, Bundle>, body: &Bundle, head: &Packet) {
        self.came_by.push(head.interface);
        if !body.units.is_empty() {
            for unit in &body.units {
                let next = &mut self.received[unit.channel.0 as usize];
                *next += u64::from(unit.from == *next);
            }
            let acks = self.received.map(Some);
            io.send(Bundle { units: Vec::new(), acks }, 40, Cause::New);
        }
        let acked: [u64; 2] = std::array::from_fn(|n| body.acks[n].unwrap_or(0).max(self.acked[n]));
        if acked != self.acked {
            self.acked = acked;
            self.bundle(io, Cause::New);
        }
    }
    fn handle_timeout(&mut self, io: &mut Io<'_, Bundle>) {
        self.resent = true;
        self.bundle(io, Cause::Timeout);
    }
    fn transmit(&mut self, _io: &mut Io<'_, Bundle>) {}
    fn next_timeout(&self) -> Time {
        self.timer.unwrap_or(Time::NEVER)
    }
    fn written(&self) -> (u64, bool) {
        (self.written, self.closed)
    }
    fn expiring(&self, now: Time) -> Option<Expiring> {
        self.timer.filter(|t| *t <= now).map(|_| Expiring { flight: 2 * UNIT, established: true })
    }
    fn report(&self) -> EndpointReport {
        EndpointReport { unit: UNIT as u32, ..EndpointReport::default() }
    }
}

/// Network with ten units of data over two paths, the first with this delay; and both ends.
fn network(first: Span) -> (Network, ElementId, ElementId) {
    let mut network = Network::new(1, Tracer::of(&[base::event::Category::Packets]));
    let end = |role, node, peer| HostConfig {
        flow: FlowId(0),
        node: NodeId(node),
        peer: NodeId(peer),
        role,
        start: Time::ZERO,
    };
    let link = |delay| {
        let capacity = Capacity::Fixed(Rate::from_bps(80_000));
        Link::new(LinkConfig { capacity, delay, limit: QueueLimit::default() }, Vec::new())
    };
    let short = Span::from_millis(100);
    let to =
        Host::holding(&end(Role::Passive, 1, 0), StopAndWait::default(), Box::new(Sink::new(Some(1000))));
    let from = Host::holding(
        &end(Role::Active, 0, 1),
        StopAndWait::default(),
        Box::new(Bulk::new(Some(1000), None)),
    );
    let (to, down, other) = (network.add(to), network.add(link(first)), network.add(link(short)));
    let (from, up) = (network.add(from), network.add(link(short)));
    network.wire(from, Port(0), down, Port(0));
    network.wire(from, Port(1), other, Port(0));
    network.wire(down, Port(0), to, Port(0));
    network.wire(other, Port(0), to, Port(1));
    network.wire(to, Port(0), up, Port(0));
    network.wire(up, Port(0), from, Port(0));
    network.start(None);
    (network, from, to)
}

#[test]
fn without_trouble_nothing_is_sent_again() {
    let (mut network, from, to) = network(Span::from_millis(100));
    network.run_until(Time::ZERO + Span::from_secs(600));
    let host = network.element::<Host<StopAndWait>>(from).unwrap();
    assert!(host.finished().is_some() && host.counters().expirations == 0);
    assert_eq!(network.ledgers()[0].verdicts(), []);
    let to = network.element::<Host<StopAndWait>>(to).unwrap();
    assert_eq!((to.connection().received, to.counters().data_received), ([5, 5], 5));
    assert_eq!((network.bodies(), network.packets_inside()), (0, 0));
}

#[test]
fn the_ledger_judges_each_bundled_unit_in_its_own_channel() {
    // The delay of the first path exceeds the timer: the data retransmitted on the other path were not lost.
    let (mut network, from, to) = network(Span::from_millis(1500));
    network.run_until(Time::ZERO + Span::from_secs(600));
    let host = network.element::<Host<StopAndWait>>(from).unwrap();
    assert!(host.finished().is_some());
    let verdicts = network.ledgers()[0].verdicts();
    assert_eq!(verdicts.len() as u64, 2 * host.counters().data_resent);
    assert!(verdicts.len() >= 10 && verdicts.iter().all(|v| v.unneeded), "{verdicts:?}");
    let second = verdicts.iter().filter(|v| v.seq >= Channel(1).base()).count();
    assert_eq!(2 * second, verdicts.len(), "half of the units are of the second channel");
    let to = network.element::<Host<StopAndWait>>(to).unwrap();
    assert_eq!(to.connection().received, [5, 5]);
    let by = |path| to.connection().came_by.iter().filter(|p| **p == path).count();
    assert!(by(0) > 0 && by(1) > 0, "both paths were used");
    assert_eq!((network.bodies(), network.packets_inside()), (0, 0));
}

#[test]
fn a_packet_carries_its_path_its_lifetime_and_its_bytes() {
    let (mut network, from, _) = network(Span::from_millis(1500));
    network.run_until(Time::ZERO + Span::from_secs(600));
    let sightings = network.tracer().take_sightings();
    let data = sightings.iter().filter(|s| s.source.0 == from.0 && s.encoded.is_some());
    for sighting in data {
        assert_eq!(sighting.packet.deadline(), sighting.packet.born + LIFE);
        assert_eq!(sighting.packet.interface == 1, sighting.packet.flags.has(Flags::AGAIN));
        let encoded = sighting.encoded.as_ref().unwrap();
        assert_eq!((encoded.protocol, encoded.bytes.as_slice()), (253, &[2_u8][..]));
        assert!(sighting.sent.is_none());
    }
}
