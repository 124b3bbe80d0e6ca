//! Does a link that takes its load in without wake-ups treat every packet as one whose load comes by elements of its
//! own? Both side by side, under random gates, signals, limits and arrivals that fall on the load's own instants.

mod common;

use base::packet::Packet;
use base::trace::Tracer;
use base::{Rate, Span, Time};
use common::{SEED, Sink, packet};
use path::background::{Absorber, Background, Source};
use path::capacity::Capacity;
use path::element::Counters;
use path::gate::{Closures, Gate};
use path::link::{Link, LinkConfig, LinkGate, QueueLimit};
use path::loaded::LoadedLink;
use path::qdisc::red::{Red, RedConfig};
use path::{ElementId, Network, Port, Signal};
use proptest::prelude::*;

/// Parts of a path, and its impairments.
#[derive(Clone, Debug)]
struct Case {
    rate: u64,
    delay_ms: u64,
    limit: QueueLimit,
    red: bool,
    closed_ms: Vec<(u64, u64)>,
    stores: bool,
    /// Rate, size, start in ms, whether the gaps are drawn.
    loads: Vec<(u64, u32, u64, bool)>,
    /// When, and bytes.
    packets: Vec<(u64, u32)>,
    /// When, and what: closed, open, or another rate.
    signals: Vec<(u64, u8)>,
    ceases_ms: u64,
}

fn ms(n: u64) -> Time {
    Time::from_nanos(1_000_000 * n)
}

impl Case {
    fn link(&self) -> Link {
        let gate = |closed: &(u64, u64)| (ms(closed.0), ms(closed.0 + closed.1));
        let gate = Gate::new(Closures::List(self.closed_ms.iter().map(gate).collect()), "gate", SEED);
        let config = LinkConfig {
            capacity: Capacity::Fixed(Rate::from_bps(self.rate)),
            delay: Span::from_millis(self.delay_ms),
            limit: self.limit,
        };
        let link = Link::new(config, vec![LinkGate { gate, stores: self.stores }]);
        if !self.red {
            return link;
        }
        let red = RedConfig {
            min: 2.0,
            max: 8.0,
            weight: 0.2,
            probability: 0.2,
            gentle: true,
            adaptive: true,
            ecn: false,
            typical: Span::from_millis(1),
        };
        link.managed(Red::new(red, SEED.stream("link", "red")))
    }

    fn sources(&self) -> Vec<Source> {
        let source = |(i, &(rate, size, start, drawn)): (usize, &(u64, u32, u64, bool))| {
            let source = Source::new(Rate::from_bps(rate), size, ms(start));
            if drawn { source.random(SEED.stream(&format!("load{i}"), "gaps")) } else { source }
        };
        self.loads.iter().enumerate().map(source).collect()
    }

    /// Feeds all packets at their times; returns arrivals with place and time, and the final counters.
    fn play(
        &self,
        mut network: Network,
        entry: ElementId,
        link: ElementId,
        loads: &[ElementId],
    ) -> (Network, Counters) {
        network.start(None);
        let mut events: Vec<(u64, usize)> = self.packets.iter().enumerate().map(|(i, p)| (p.0, i)).collect();
        events.extend(self.signals.iter().enumerate().map(|(i, s)| (s.0, self.packets.len() + i)));
        events.push((self.ceases_ms, usize::MAX));
        events.sort_unstable();
        for (t, what) in events {
            if let Some((_, size)) = self.packets.get(what) {
                network.inject(ms(t), entry, Port(0), packet(what as u32, *size));
            } else if let Some((_, signal)) = self.signals.get(what.wrapping_sub(self.packets.len())) {
                let signal = match signal {
                    0 => Signal::Close,
                    1 => Signal::Open,
                    _ => Signal::Rate(Rate::from_bps(self.rate / 2)),
                };
                network.signal(ms(t), link, signal);
            } else {
                loads.iter().for_each(|&load| network.signal(ms(t), load, Signal::Cease));
            }
        }
        network.signal(network.now(), link, Signal::Open);
        network.run_until(ms(10_000_000));
        let counters = Counters { wakes: 0, ..network.counters() };
        (network, counters)
    }

    fn by_wake_ups(&self) -> (Vec<(Time, u32)>, Counters) {
        let mut network = Network::new(1, Tracer::off());
        let sink = network.add(Sink::default());
        let absorber = network.add(Absorber::default());
        network.wire(absorber, Port(0), sink, Port(0));
        let link = network.add(self.link());
        network.wire(link, Port(0), absorber, Port(0));
        let (mut entry, mut loads) = (link, Vec::new());
        for source in self.sources() {
            let load = network.add(Background::new(source));
            network.wire(load, Port(0), entry, Port(0));
            loads.push(load);
            entry = load;
        }
        // Packets come from upstream of all load: its wake-ups of the same instant are over.
        let upstream = network.add(self.upstream());
        network.wire(upstream, Port(0), entry, Port(0));
        let (network, counters) = self.play(network, upstream, link, &loads);
        (arrivals(&network, sink), counters)
    }

    fn without(&self) -> (Vec<(Time, u32)>, Counters) {
        let mut network = Network::new(1, Tracer::off());
        let sink = network.add(Sink::default());
        let link = network.add(LoadedLink::new(self.link(), self.sources()));
        network.wire(link, Port(0), sink, Port(0));
        let upstream = network.add(self.upstream());
        network.wire(upstream, Port(0), link, Port(0));
        let (network, counters) = self.play(network, upstream, link, &[link]);
        assert_eq!(network.packets_inside(), 0);
        (arrivals(&network, sink), counters)
    }

    /// A link of 1 ms without a transmission time, so that packets come by wake-ups of their own.
    fn upstream(&self) -> Link {
        let config = LinkConfig {
            capacity: Capacity::Unlimited,
            delay: Span::from_millis(1),
            limit: QueueLimit::default(),
        };
        Link::new(config, Vec::new())
    }
}

/// When each packet arrived.
fn arrivals(network: &Network, sink: ElementId) -> Vec<(Time, u32)> {
    let seen: &Sink = network.element(sink).expect("the sink");
    // Nothing but load is virtual, and load is taken out before.
    assert!(seen.0.iter().all(|(_, p): &(Time, Packet)| !p.flags.has(base::packet::Flags::VIRTUAL)));
    seen.0.iter().map(|(t, packet)| (*t, packet.ordinal)).collect()
}

fn case() -> impl Strategy<Value = Case> {
    let limit = (proptest::option::of(1u32..12), proptest::option::of(500u64..8000))
        .prop_map(|(packets, bytes)| QueueLimit { packets, bytes, drop_head: false });
    let closed = proptest::collection::vec((0u64..3, 1u64..60), 0..4).prop_map(|gaps| {
        let mut t = 20;
        let interval = |(gap, lasts): (u64, u64)| {
            let from = t + 40 * gap + 1;
            t = from + lasts + 1;
            (from, lasts)
        };
        gaps.into_iter().map(interval).collect()
    });
    // 1 000 B take 1 ms at 8 Mbit/s: packets, load and gates meet at the same instants.
    let load = (
        prop_oneof![Just(1_000_000u64), Just(4_000_000), Just(8_000_000), Just(10_000_000)],
        0u64..20,
        any::<bool>(),
    );
    let loads =
        proptest::collection::vec(load.prop_map(|(rate, start, drawn)| (rate, 1000, start, drawn)), 1..4);
    let packets =
        proptest::collection::vec((0u64..400, prop_oneof![Just(40u32), Just(1000), Just(1500)]), 0..120);
    let signals = proptest::collection::vec((0u64..400, 0u8..3), 0..4);
    let shape = (prop_oneof![Just(8_000_000u64), Just(2_000_000)], 0u64..30, any::<bool>(), any::<bool>());
    (shape, limit, closed, loads, packets, signals, 0u64..500).prop_map(
        |((rate, delay_ms, red, stores), limit, closed_ms, loads, packets, signals, ceases_ms)| Case {
            rate,
            delay_ms,
            limit,
            red,
            closed_ms,
            stores,
            loads,
            packets,
            signals,
            ceases_ms,
        },
    )
}

proptest! {
    /// SW-49, NS-01: every packet arrives at the same instant, and as many are sent, carried and dropped.
    #[test]
    fn load_without_wake_ups_is_the_same_load(case in case()) {
        prop_assert_eq!(case.without(), case.by_wake_ups());
    }
}

/// Load that found the link idle was counted only; the load in service at a rate change still has to send the rest of
/// its bytes, and the packet behind it waits for them.
#[test]
fn the_load_in_service_is_known_when_the_rate_changes() {
    for delay_ms in [0, 7, 40] {
        let case = Case {
            rate: 2_000_000,
            delay_ms,
            limit: QueueLimit::default(),
            red: false,
            closed_ms: Vec::new(),
            stores: true,
            // 4 ms in service, every 8 ms.
            loads: vec![(1_000_000, 1000, 0, false)],
            packets: vec![(401, 1500), (900, 40)],
            signals: vec![(402, 2)],
            ceases_ms: 800,
        };
        assert_eq!(case.without(), case.by_wake_ups(), "{delay_ms} ms");
    }
}

/// A second of load beside one packet costs its link no wake-ups.
#[test]
fn load_takes_no_wake_ups() {
    let case = Case {
        rate: 8_000_000,
        delay_ms: 5,
        limit: QueueLimit::default(),
        red: false,
        closed_ms: Vec::new(),
        stores: true,
        loads: vec![(4_000_000, 500, 0, false)],
        packets: vec![(1000, 1500)],
        signals: Vec::new(),
        ceases_ms: 1000,
    };
    let mut network = Network::new(1, Tracer::off());
    let sink = network.add(Sink::default());
    let link = network.add(LoadedLink::new(case.link(), case.sources()));
    network.wire(link, Port(0), sink, Port(0));
    let (network, counters) = case.play(network, link, link, &[link]);
    assert_eq!((counters.sent, counters.absorbed, counters.hops), (1001, 1002, 1002));
    assert!(network.counters().wakes <= 2, "{}", network.counters().wakes);
    assert_eq!(arrivals(&network, sink).len(), 1);
}
