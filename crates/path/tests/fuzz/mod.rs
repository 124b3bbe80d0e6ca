//! Fuzz body of the deadline-aware routers: two in a row with policies, packets and commands from any bytes.

use base::packet::{Flags, FlowId, NodeId, Packet};
use base::pool::BodyRef;
use base::rng::Seed;
use base::trace::Tracer;
use base::{Rate, Span, Time};
use path::capacity::Capacity;
use path::deadline::{Check, DeadlineLink, Expired, Margin, Order, Overflow, Policy, RemainingPath, Units};
use path::gate::{Closures, Gate};
use path::link::{LinkConfig, LinkGate, QueueLimit};
use path::{Cx, Element, ElementId, Network, Port, Signal};

/// Rate of both links after the last input, so that none of them stands still.
const RATE_AT_END: Rate = Rate::from_bps(64_000);

/// Records arrivals.
#[derive(Default)]
struct Sink(Vec<(Time, Packet)>);

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

/// Policy, limits and gate of a router: eight octets.
#[derive(Clone)]
struct Router {
    policy: Policy,
    limit: QueueLimit,
    closed: Vec<(Time, Time)>,
    stores: bool,
    rate: Rate,
    delay: Span,
}

impl Router {
    fn of(b: &[u8; 8]) -> Self {
        fn pick<T: Copy>(all: &[T], octet: u8) -> T {
            all[usize::from(octet) % all.len()]
        }
        let delay = Span::from_millis(u64::from(b[3]));
        let rate = Rate::from_bps(8_000 + 1_000 * u64::from(b[4]));
        let per_byte_ns = 8e9 / rate.bps() as f64;
        let margin = match b[2] & 1 {
            0 => Margin::Fixed(Span::from_millis(u64::from(b[2]) * 5)),
            _ => Margin::Path(vec![RemainingPath { delay, per_byte_ns }; usize::from(b[2] & 7)]),
        };
        let policy = Policy {
            check: pick(Check::ALL, b[0]),
            expired: pick(Expired::ALL, b[0] >> 2),
            order: pick(Order::ALL, b[0] >> 4),
            units: pick(Units::ALL, b[1]),
            overflow: pick(Overflow::ALL, b[1] >> 2),
            signals: b[1] & 16 != 0,
            hold_below_bps: if b[1] & 32 != 0 { 60_000 } else { 0 },
            skew: if b[1] & 64 != 0 { i64::from(b[7] as i8) * 50_000_000 } else { 0 },
            margin,
            ..Policy::default()
        };
        let limit = QueueLimit {
            packets: (b[5] & 1 == 0).then_some(1 + u32::from(b[5] >> 4)),
            bytes: (b[5] & 2 == 0).then_some(500 * (1 + u64::from(b[5] >> 4))),
            ..QueueLimit::default()
        };
        let at = |octet: u8| Time::ZERO + Span::from_millis(200 * u64::from(octet));
        let closed = vec![(at(b[6]), at(b[6]) + Span::from_millis(40 * u64::from(b[7])))];
        Router { policy, limit, closed, stores: b[1] & 128 == 0, rate, delay }
    }

    fn build(&self) -> DeadlineLink {
        let gate = Gate::new(Closures::List(self.closed.clone()), "g", Seed { seed: 1, repetition: 0 });
        let (capacity, limit) = (Capacity::Fixed(self.rate), self.limit);
        let gates = vec![LinkGate { gate, stores: self.stores }];
        DeadlineLink::new(LinkConfig { capacity, delay: self.delay, limit }, gates, self.policy.clone())
    }
}

fn packet(ordinal: u32, now: Time, b: [u8; 5]) -> Packet {
    let [size, lives, class, unit, flags] = b;
    let flag = |bit: u8, flag: Flags| if flags & bit != 0 { flag } else { Flags::default() };
    Packet {
        id: u64::from(ordinal),
        born: now,
        lives: if lives == 255 { Packet::ALWAYS } else { u32::from(lives) * 40_000 },
        body: BodyRef::NONE,
        flow: FlowId(u32::from(flags & 1)),
        size: 28 + 5 * u32::from(size),
        ordinal,
        source: NodeId(0),
        destination: NodeId(1),
        interface: 0,
        flags: Flags::DATA
            .with(flag(2, Flags::LAST))
            .with(flag(4, Flags::WHOLE))
            .with(flag(8, Flags::ABORT))
            .with(flag(16, Flags::REPLY)),
        class,
        ecn: 0,
        unit: u16::from(unit & 15),
    }
}

/// What must hold of all that arrived, where nothing but the routers' own rules moves packets.
fn check(routers: &[Router; 2], arrived: &[(Time, Packet)], commanded: bool) {
    let plain = |r: &Router| r.policy.expired == Expired::Drop;
    for (at, packet) in arrived {
        assert!(
            !packet.flags.has(Flags::STUB) || routers.iter().any(|r| r.policy.expired == Expired::Headers)
        );
        assert!(*at >= packet.born + routers[0].delay + routers[1].delay);
        let last = &routers[1];
        let honest = last.policy.check != Check::Off && last.policy.skew == 0;
        if honest && plain(last) && !commanded && !packet.flags.has(Flags::STUB) {
            // It started before its deadline, and took its time on the link: at the link's rate, or at that of the end.
            let rate = last.rate.bps().min(RATE_AT_END.bps());
            let took = Span::from_nanos(8_000_000_000 * u64::from(packet.size) / rate + 1);
            assert!(*at <= packet.deadline() + took + last.delay, "{at:?} {packet:?}");
        }
    }
    let sorts = |r: &Router| !plain(r) || r.policy.order != Order::Fifo || r.policy.units == Units::Collect;
    if !routers.iter().any(sorts) {
        assert!(arrived.windows(2).all(|pair| pair[0].1.ordinal < pair[1].1.ordinal), "FIFO keeps the order");
    }
}

/// Two routers of eight octets each, then packets and commands of seven.
pub(crate) fn routers(bytes: &[u8]) {
    let Some((head, rest)) = bytes.split_at_checked(16) else { return };
    let router = |at: usize| Router::of(head[at..at + 8].try_into().expect("eight octets"));
    let routers = [router(0), router(8)];
    let mut network = Network::new(2, Tracer::off());
    let sink = network.add(Sink::default());
    let second = network.add(routers[1].build());
    let first = network.add(routers[0].build());
    network.wire(first, Port(0), second, Port(0));
    network.wire(second, Port(0), sink, Port(0));
    network.start(None);
    let (mut now, mut sent, mut commanded) = (Time::ZERO, 0_u64, false);
    for words in rest.chunks_exact(7) {
        let &[what, wait, ref packet_octets @ ..] = words else { continue };
        now += Span::from_millis(u64::from(wait) * 4);
        let to: ElementId = if what & 1 == 0 { first } else { second };
        let command = match what >> 4 {
            0 => Some(Signal::Close),
            1 => Some(Signal::Open),
            2 => Some(Signal::Rate(Rate::from_bps(u64::from(packet_octets[0]) * 1_000))),
            _ => None,
        };
        match command {
            Some(signal) => {
                commanded = true;
                network.signal(now, to, signal);
            }
            None => {
                sent += 1;
                let octets = packet_octets.try_into().expect("five octets");
                network.inject(now, first, Port(0), packet(sent as u32, now, octets));
            }
        }
        let counters = network.counters();
        let inside = network.packets_inside() as u64;
        assert_eq!(sent, counters.absorbed + counters.dropped + inside, "packets are conserved");
    }
    for router in [first, second] {
        // A link that is closed, stands still, or is slower than its policy wants keeps packets without a deadline.
        network.signal(now, router, Signal::Open);
        network.signal(now, router, Signal::Rate(RATE_AT_END));
    }
    network.run_until(now + Span::from_secs(3600));
    // A unit whose last packet never comes is collected for ever, if it has no deadline.
    if !routers.iter().any(|r| r.policy.units == Units::Collect) {
        assert_eq!(network.packets_inside(), 0, "nothing waits after an hour");
    }
    let arrived = network.element::<Sink>(sink).map(|sink| sink.0.clone()).unwrap_or_default();
    check(&routers, &arrived, commanded);
}
