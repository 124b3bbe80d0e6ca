//! Link against arithmetic: queue, serialisation, suspension, propagation. Driven from outside, packet
//! by packet, with nothing but the public packet ports of the network.

use base::trace::Tracer;
use base::{Rate, Span, Time};
use path::capacity::{Capacity, Change};
use path::gate::{Closures, Gate};
use path::hold::Hold;
use path::jitter::{Delays, Jitter};
use path::link::{Link, LinkConfig, LinkGate, QueueLimit};
use path::loss::{Loss, Rule};
use path::{Element, ElementId, Network, Port, Signal};
use proptest::prelude::*;
use testkit::chain::{SEED, Sink, packet, s};

fn packets(n: u32) -> QueueLimit {
    QueueLimit { packets: Some(n), ..QueueLimit::default() }
}

struct Bench {
    network: Network,
    entry: ElementId,
    sink: ElementId,
}

impl Bench {
    fn of(element: impl Element) -> Self {
        let mut network = Network::new(1, Tracer::off());
        let sink = network.add(Sink::default());
        let entry = network.add(element);
        network.wire(entry, Port(0), sink, Port(0));
        network.start(None);
        Bench { network, entry, sink }
    }
    fn link(rate: u64, delay: f64, limit: QueueLimit, closed: &[(f64, f64)]) -> Self {
        let config = LinkConfig {
            capacity: Capacity::Fixed(Rate::from_bps(rate)),
            delay: Span::from_secs_f64(delay),
            limit,
        };
        let list = closed.iter().map(|&(a, b)| (s(a), s(b))).collect();
        Bench::of(Link::new(
            config,
            vec![LinkGate { gate: Gate::new(Closures::List(list), "g", SEED), stores: true }],
        ))
    }
    fn send(&mut self, at: f64, ordinal: u32, size: u32) {
        self.network.inject(s(at), self.entry, Port(0), packet(ordinal, size));
    }
    fn signal(&mut self, at: f64, signal: Signal) {
        self.network.signal(s(at), self.entry, signal);
    }
    fn arrivals(&mut self) -> Vec<(Time, u32)> {
        self.network.run_until(s(1e6));
        let arrived = &self.network.element::<Sink>(self.sink).unwrap().0;
        arrived.iter().map(|(t, packet)| (*t, packet.ordinal)).collect()
    }
}

/// SW-31, SW-32: transmission takes size over rate, propagation is extra, one packet at a time.
#[test]
fn serialises_then_propagates() {
    let mut b = Bench::link(30_000, 0.3, QueueLimit::default(), &[]);
    b.send(1.0, 1, 1050);
    b.send(1.0, 2, 1050);
    b.send(5.0, 3, 40);
    assert_eq!(b.arrivals(), [(s(1.58), 1), (s(1.86), 2), (s(5.310666667), 3)]);
}

/// QM-01: the limit counts what waits; the packet in service does not.
#[test]
fn drop_tail_counts_what_waits() {
    let mut b = Bench::link(8_000, 0.0, packets(2), &[]);
    for i in 1..=5 {
        b.send(0.0, i, 1000);
    }
    // At 1 s the first has left: one more may wait. A departure comes before an arrival.
    b.send(1.0, 6, 1000);
    assert_eq!(b.arrivals().iter().map(|a| a.1).collect::<Vec<_>>(), [1, 2, 3, 6]);
    assert_eq!(b.network.ledgers()[0].queue_drops, 2);
}

#[test]
fn a_byte_limit_counts_bytes() {
    let mut b = Bench::link(8_000, 0.0, QueueLimit { bytes: Some(1500), ..QueueLimit::default() }, &[]);
    for (i, size) in [(1, 1000), (2, 1000), (3, 600), (4, 500)] {
        b.send(0.0, i, size);
    }
    assert_eq!(b.arrivals().iter().map(|a| a.1).collect::<Vec<_>>(), [1, 2, 4]);
}

/// QM-02: the oldest waiting packet makes room, and those behind it move up.
#[test]
fn drop_head_keeps_the_newest() {
    let limit = QueueLimit { packets: Some(2), drop_head: true, ..QueueLimit::default() };
    let mut b = Bench::link(8_000, 0.0, limit, &[]);
    for i in 1..=5 {
        b.send(0.0, i, 1000);
    }
    assert_eq!(b.arrivals(), [(s(1.0), 1), (s(2.0), 4), (s(3.0), 5)]);
    assert_eq!(b.network.ledgers()[0].queue_drops, 2);
}

/// SW-40: a gate that does not store drops arriving packets; waiting packets leave in their turn.
#[test]
fn a_gate_that_drops() {
    let gate = Gate::new(Closures::List(vec![(s(0.5), s(3.0))]), "g", SEED);
    let config = LinkConfig {
        capacity: Capacity::Fixed(Rate::from_bps(8_000)),
        delay: Span::ZERO,
        limit: QueueLimit::default(),
    };
    let mut b = Bench::of(Link::new(config, vec![LinkGate { gate, stores: false }]));
    for (at, i) in [(0.0, 1), (0.1, 2), (2.0, 3), (3.5, 4)] {
        b.send(at, i, 1000);
    }
    assert_eq!(b.arrivals(), [(s(1.0), 1), (s(4.5), 4)]);
    assert_eq!(b.network.ledgers()[0].other_drops, 2);
}

/// SW-44: a rate that the weather changes for a while, under a packet.
#[test]
fn weather_changes_the_rate() {
    let fade = Gate::new(Closures::List(vec![(s(0.5), s(2.5))]), "fade", SEED);
    let config = LinkConfig {
        capacity: Capacity::Changing {
            base: Box::new(Capacity::Fixed(Rate::from_bps(8_000))),
            changes: vec![(fade, Change::Times(0.25))],
        },
        delay: Span::ZERO,
        limit: QueueLimit::default(),
    };
    let mut b = Bench::of(Link::new(config, vec![]));
    b.send(0.0, 1, 1000);
    // 4000 bits by 0.5 s, 4000 more at 2 kbit/s by 2.5 s.
    b.send(0.0, 2, 1000);
    assert_eq!(b.arrivals(), [(s(2.5), 1), (s(3.5), 2)]);
}

/// NS-19: with a delay drawn for every packet, packets overtake each other only if that is asked for.
#[test]
fn jitter_reorders_only_if_asked() {
    for reorder in [false, true] {
        let dist = base::dist::Dist::Uniform(0.0, 1e9);
        let sampler = base::dist::Sampler::new(dist, SEED.stream("j", "delay"));
        let mut b = Bench::of(Jitter::new(Delays::Drawn(sampler), reorder));
        for i in 1..=200 {
            b.send(f64::from(i) * 0.05, i, 100);
        }
        let arrivals = b.arrivals();
        assert_eq!(arrivals.len(), 200);
        assert_eq!(arrivals.windows(2).any(|p| p[0].1 > p[1].1), reorder);
    }
}

/// NS-03: the packet in service finishes, what propagates arrives, the rest leaves from the very end.
#[test]
fn a_gate_after_the_queue_suspends_service() {
    let mut b = Bench::link(8_000, 2.0, packets(2), &[(1.5, 11.0)]);
    b.send(0.0, 1, 1000); // in service 0..1, arrives at 3 during the closure
    b.send(1.2, 2, 1000); // in service when the gate closes
    b.send(3.0, 3, 1000);
    b.send(4.0, 4, 1000);
    b.send(5.0, 5, 1000); // two wait: full
    assert_eq!(b.arrivals(), [(s(3.0), 1), (s(4.2), 2), (s(14.0), 3), (s(15.0), 4)]);
    assert_eq!(b.network.ledgers()[0].queue_drops, 1);
}

/// NS-02: before the queue, the queue drains meanwhile and held packets arrive at once.
#[test]
fn a_gate_before_the_queue_releases_a_burst() {
    let gate = Gate::new(Closures::List(vec![(s(1.0), s(5.0))]), "g", SEED);
    let mut b = Bench::of(Hold::new(gate, true));
    for (at, i) in [(0.5, 1), (1.5, 2), (2.5, 3), (5.5, 4)] {
        b.send(at, i, 1000);
    }
    assert_eq!(b.arrivals(), [(s(0.5), 1), (s(5.0), 2), (s(5.0), 3), (s(5.5), 4)]);
}

/// NS-09: "drop data segments 9-15".
#[test]
fn scripted_losses_are_those_named() {
    let mut b = Bench::of(Loss::new(Rule::Scripted(vec![(9, 15)]), SEED.stream("l", "loss")));
    for i in 1..=20 {
        b.send(f64::from(i), i, 1000);
    }
    let kept: Vec<u32> = b.arrivals().iter().map(|a| a.1).collect();
    assert_eq!(kept, (1..=8).chain(16..=20).collect::<Vec<_>>());
}

/// NS-18: the stationary loss of the Gilbert-Elliott chain is its theory's.
#[test]
fn bursty_losses_have_their_stationary_rate() {
    let rule = Rule::GilbertElliott { leave_good: 0.02, leave_bad: 0.3, loss_good: 0.0, loss_bad: 0.8 };
    let mut b = Bench::of(Loss::new(rule, SEED.stream("l", "loss")));
    let n = 50_000;
    for i in 1..=n {
        b.send(f64::from(i) * 1e-3, i, 100);
    }
    let lost = 1.0 - b.arrivals().len() as f64 / f64::from(n);
    let expected = 0.8 * 0.02 / (0.02 + 0.3);
    assert!((lost - expected).abs() < 0.005, "{lost} against {expected}");
}

/// NS-08: a rate change catches the packet in service with the bits it still has to send.
#[test]
fn a_rate_signal_keeps_remaining_bytes() {
    let mut b = Bench::link(8_000, 0.0, QueueLimit::default(), &[]);
    b.send(0.0, 1, 1000);
    b.send(0.0, 2, 1000);
    b.signal(0.5, Signal::Rate(Rate::from_bps(4_000)));
    assert_eq!(b.arrivals(), [(s(1.5), 1), (s(3.5), 2)]);
}

#[test]
fn a_gate_closed_by_hand_lets_the_packet_in_service_finish() {
    let mut b = Bench::link(8_000, 0.0, QueueLimit::default(), &[(20.0, 30.0)]);
    b.send(0.0, 1, 1000);
    b.send(0.0, 2, 1000);
    b.signal(0.5, Signal::Close);
    b.signal(19.5, Signal::Open);
    b.send(19.5, 3, 1000);
    assert_eq!(b.arrivals(), [(s(1.0), 1), (s(20.5), 2), (s(31.0), 3)]);
}

proptest! {
    /// Whatever is sent, and whenever the gate closes: packets are conserved, order is kept, nothing
    /// arrives before its transmission and propagation, and the work is conserved while the gate is open.
    #[test]
    fn conserves_packets_and_order(
        sends in proptest::collection::vec((0u64..200, 40u32..1500), 1..120),
        limit in 1u32..20,
        closures in proptest::collection::vec((0u64..300, 1u64..50), 0..5),
    ) {
        let mut at = 0;
        let mut closed: Vec<(f64, f64)> = Vec::new();
        let mut t = 0;
        for (gap, length) in closures {
            t += gap;
            closed.push((t as f64 / 10.0, (t + length) as f64 / 10.0));
            t += length;
        }
        let mut b = Bench::link(80_000, 0.05, packets(limit), &closed);
        let mut sent = Vec::new();
        for (i, (gap, size)) in sends.iter().enumerate() {
            at += gap;
            let when = at as f64 / 1000.0;
            b.send(when, i as u32 + 1, *size);
            sent.push((s(when), *size));
        }
        let arrivals = b.arrivals();
        let drops = b.network.ledgers()[0].queue_drops as usize;
        prop_assert_eq!(arrivals.len() + drops, sent.len());
        prop_assert_eq!(b.network.packets_inside(), 0);
        for pair in arrivals.windows(2) {
            prop_assert!(pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1);
        }
        for (when, ordinal) in &arrivals {
            let (born, size) = sent[*ordinal as usize - 1];
            let least = born + Rate::from_bps(80_000).span_of(u64::from(size)) + Span::from_millis(50);
            prop_assert!(*when >= least);
        }
    }
}
