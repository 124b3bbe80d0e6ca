//! ATP over simulated links: whole units in time or a word to the application, losses, deadlines, aborts, both ways to start.

use atp::packet::{Content, Vector};
use atp::{Atp, AtpEnd, Carrier, Config, Counters, FragmentLife, Method, SharedWindow};
use base::body::Body;
use base::packet::{FlowId, NodeId};
use base::rng::Seed;
use base::trace::Tracer;
use base::{Rate, Span, Time};
use host::{Host, HostConfig};
use path::capacity::Capacity;
use path::deadline::{DeadlineLink, Margin, Policy};
use path::gate::{Closures, Gate};
use path::link::{LinkConfig, LinkGate, QueueLimit};
use path::loss::{Loss, Rule};
use path::{ElementId, Network, Port};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use transport::app::message::{Message, MessageEvent};
use transport::app::{App, Socket};
use transport::endpoint::Role;

/// Sends units at an interval and records their events.
struct Ticker {
    units: u32,
    bytes: u64,
    every: Span,
    lifetime: Option<Span>,
    next: Time,
    sent: u32,
    heard: Arc<Mutex<Vec<MessageEvent>>>,
    /// Bytes of a stream, written at the start.
    stream: u64,
}

impl App for Ticker {
    fn started(&mut self, now: Time, socket: &mut dyn Socket) {
        socket.write(self.stream);
        self.next = now;
        self.timeout(now, socket);
    }
    fn progressed(&mut self, _now: Time, socket: &mut dyn Socket) {
        while let Some(event) = socket.poll_event() {
            // cng is about the network, not about a unit.
            if event != MessageEvent::Congested {
                self.heard.lock().unwrap().push(event);
            }
        }
    }
    fn timeout(&mut self, now: Time, socket: &mut dyn Socket) {
        while self.sent < self.units && self.next <= now {
            socket.send(Message { lifetime: self.lifetime, ..Message::of(self.bytes) });
            self.sent += 1;
            self.next += self.every;
        }
        if self.sent == self.units {
            socket.close();
            self.next = Time::NEVER;
        }
    }
    fn next_timeout(&self) -> Time {
        self.next
    }
    fn finished(&self) -> Option<Time> {
        None
    }
}

/// Scenario of a test.
struct Plan {
    config: Config,
    bps: u64,
    bytes: u64,
    units: u32,
    every: f64,
    lifetime: Option<f64>,
    loss: f64,
    closed: Vec<(f64, f64)>,
    policy: Policy,
    /// Bytes of a stream that the sender writes at the start.
    stream: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            config: Config::default(),
            bps: 30_000,
            bytes: 5000,
            units: 20,
            every: 5.0,
            lifetime: Some(5.0),
            loss: 0.0,
            closed: Vec::new(),
            policy: Policy {
                margin: Margin::Fixed(Span::from_millis(500)),
                signals: true,
                ..Policy::default()
            },
            stream: 0,
        }
    }
}

struct Outcome {
    from: Counters,
    to: Counters,
    sent: Vec<MessageEvent>,
    received: Vec<MessageEvent>,
    clean: bool,
    /// Packets without data that the receiver sent.
    acks: u64,
}

fn run(plan: &Plan) -> Outcome {
    let mut network = Network::new(1, Tracer::off());
    let end = |role, node, peer| HostConfig {
        flow: FlowId(0),
        node: NodeId(node),
        peer: NodeId(peer),
        role,
        start: Time::ZERO,
    };
    let (sent, received) =
        (Arc::<Mutex<Vec<MessageEvent>>>::default(), Arc::<Mutex<Vec<MessageEvent>>>::default());
    let ticker = |units, heard: &Arc<Mutex<Vec<MessageEvent>>>| Ticker {
        units,
        bytes: plan.bytes,
        every: Span::from_secs_f64(plan.every),
        lifetime: plan.lifetime.map(Span::from_secs_f64),
        next: Time::NEVER,
        sent: 0,
        heard: Arc::clone(heard),
        stream: if units > 0 { plan.stream } else { 0 },
    };
    let shared = SharedWindow::default();
    let to = AtpEnd::new(plan.config.clone(), Role::Passive, SharedWindow::default());
    let to = network.add(Host::holding(&end(Role::Passive, 1, 0), to, Box::new(ticker(0, &received))));
    let stream = Seed { seed: 1, repetition: 0 }.stream("loss", "test");
    let lossy = network.add(Loss::new(Rule::Random(plan.loss), stream));
    let link = |policy: Policy| {
        let limit = QueueLimit { bytes: Some(100_000), ..QueueLimit::default() };
        let capacity = Capacity::Fixed(Rate::from_bps(plan.bps));
        let config = LinkConfig { capacity, delay: Span::from_millis(300), limit };
        let at = |s: f64| Time::from_secs_f64(s);
        let list = plan.closed.iter().map(|&(a, b)| (at(a), at(b))).collect();
        let gate = Gate::new(Closures::List(list), "g", Seed { seed: 1, repetition: 0 });
        DeadlineLink::new(config, vec![LinkGate { gate, stores: true }], policy)
    };
    let down = network.add(link(plan.policy.clone()));
    let from = AtpEnd::new(plan.config.clone(), Role::Active, shared);
    let from =
        network.add(Host::holding(&end(Role::Active, 0, 1), from, Box::new(ticker(plan.units, &sent))));
    let up = network.add(link(plan.policy.clone()));
    for (a, b) in [(from, down), (down, lossy), (lossy, to), (to, up), (up, from)] {
        network.wire(a, Port(0), b, Port(0));
    }
    network.start(None);
    network.run_until(Time::ZERO + Span::from_secs(3000));
    let counters = |id: ElementId| network.element::<Host<AtpEnd>>(id).unwrap().connection().counters();
    let (sent, received) = (sent.lock().unwrap().clone(), received.lock().unwrap().clone());
    let clean = network.bodies() == 0 && network.packets_inside() == 0;
    let acks = network.element::<Host<AtpEnd>>(to).unwrap().counters().acks_sent;
    Outcome { from: counters(from), to: counters(to), sent, received, clean, acks }
}

fn acknowledged(events: &[MessageEvent]) -> usize {
    events.iter().filter(|e| matches!(e, MessageEvent::Acknowledged(_))).count()
}

fn received(events: &[MessageEvent]) -> usize {
    events.iter().filter(|e| matches!(e, MessageEvent::Received { .. })).count()
}

/// AT-01, AT-02, AT-03, AT-07, AT-29, AT-34, RT-02, RT-03, RT-12: every method, over UDP and RTP, delivers whole units in time, and reports each.
#[test]
fn units_arrive_whole_and_the_application_hears_of_each() {
    for control in [Method::Aimd, Method::Tfrc, Method::Shared, Method::None] {
        for carrier in [Carrier::Udp, Carrier::Rtp] {
            let config = Config { control, carrier, feasibility: false, ..Config::default() };
            let out = run(&Plan { config, ..Plan::default() });
            let settled = out.sent.len();
            assert_eq!(settled, 20, "{control} {carrier}: {:?}", out.from);
            assert!(acknowledged(&out.sent) >= 19, "{control} {carrier}: {:?} {:?}", out.from, out.sent);
            assert_eq!(received(&out.received), out.to.in_time as usize);
            assert_eq!((out.to.late, out.clean), (0, true));
        }
    }
}

/// AT-15, AT-16, RT-04: lost fragments alone are sent again, and all units arrive that live long enough.
#[test]
fn lost_fragments_are_sent_again_within_the_lifetime() {
    let config = Config { fragment: FragmentLife::RtoAndRtt, feasibility: false, ..Config::default() };
    let plan = Plan { config, loss: 0.05, lifetime: Some(60.0), every: 10.0, units: 40, ..Plan::default() };
    let out = run(&plan);
    assert_eq!((acknowledged(&out.sent), out.to.whole), (40, 40));
    assert!(out.from.resent > 0 && out.from.resent < 80, "{:?}", out.from);
    // SR-RTP's rule: without lifetime for a second try nothing is sent again, and units are lost.
    let config =
        Config { retransmit: false, fragment: FragmentLife::Adu, feasibility: false, ..Config::default() };
    let out = run(&Plan { config, loss: 0.05, units: 40, ..Plan::default() });
    assert_eq!(out.from.resent, 0);
    assert!(out.to.whole < 40, "{:?}", out.to);
}

/// AT-12, AT-17, AT-31: an outage expires fragments in the network, none arrives late, nothing arrives twice.
#[test]
fn an_outage_expires_fragments_and_none_arrives_late_or_twice() {
    // TFRC has halved its rate again and again by the end of the outage and comes back slowly (paper IV.C).
    for (control, least) in [(Method::Aimd, 15), (Method::Tfrc, 8)] {
        let config = Config { control, feasibility: false, ..Config::default() };
        let out = run(&Plan { config, closed: vec![(16.0, 26.0)], ..Plan::default() });
        assert_eq!((out.to.late, out.to.duplicates), (0, 0), "{control} {:?}", out.to);
        assert!(out.to.in_time >= least && out.from.timeouts > 0, "{control} {:?} {:?}", out.to, out.from);
        assert_eq!(out.sent.len(), 20);
    }
}

/// AT-09, AT-36, C172: units that the path cannot carry in time are given up before they waste it.
#[test]
fn infeasible_units_are_given_up_by_the_sender() {
    let slow = Plan { bps: 9_600, units: 40, every: 4.0, lifetime: Some(4.0), ..Plan::default() };
    let checked = run(&slow);
    let unchecked = run(&Plan { config: Config { feasibility: false, ..Config::default() }, ..slow });
    assert!(checked.from.infeasible > 5, "{:?}", checked.from);
    assert!(checked.from.sent < unchecked.from.sent, "{:?} {:?}", checked.from, unchecked.from);
}

/// AT-06, AT-05, AT-39, AT-04, RT-10, AT-08: requests, unbound ports, connections, aborts, refusals.
#[test]
fn either_end_may_begin_and_either_may_end_it() {
    let asks = Config {
        receiver_initiated: true,
        receiver_lifetime: Some(Span::from_secs(30)),
        feasibility: false,
        ..Config::default()
    };
    let out = run(&Plan { config: asks, units: 1, bytes: 20_000, lifetime: None, ..Plan::default() });
    assert_eq!(acknowledged(&out.sent), 1);
    let gone = Config { unbinds: Some(Span::from_secs(20)), ..Config::default() };
    let out = run(&Plan { config: gone, ..Plan::default() });
    assert!(
        out.sent.contains(&MessageEvent::Broken) && out.to.whole >= 3 && out.to.whole <= 5,
        "{:?}",
        out.sent
    );
    let connected = Config { connect: true, feasibility: false, ..Config::default() };
    let out = run(&Plan { config: connected, units: 3, loss: 0.1, lifetime: Some(60.0), ..Plan::default() });
    assert_eq!(acknowledged(&out.sent), 3);
    let impatient =
        Config { receiver_patience: Some(Span::from_secs(3)), feasibility: false, ..Config::default() };
    let out =
        run(&Plan { config: impatient, units: 1, bytes: 50_000, lifetime: Some(60.0), ..Plan::default() });
    assert_eq!(out.sent, [MessageEvent::Abandoned(0)]);
    let small = Config { buffer: 4000, ..Config::default() };
    let out = run(&Plan { config: small, units: 2, ..Plan::default() });
    assert_eq!(out.sent, [MessageEvent::Expired(0), MessageEvent::Expired(1)]);
}

/// An endless stream outlives its connection: bytes that no unit can carry any more take no memory
/// (`fuzz-scenarios`, seed 2001, number 5861 took all memory).
#[test]
fn an_endless_stream_ends_with_its_connection() {
    let config = Config { unbinds: Some(Span::from_secs(20)), feasibility: false, ..Config::default() };
    let out = run(&Plan { config, stream: u64::MAX / 2, ..Plan::default() });
    assert!(out.sent.contains(&MessageEvent::Broken) && out.sent.len() < 100, "{}", out.sent.len());
}

/// AT-19: fewer acknowledgements where one answers more fragments; the timer bounds their delay.
#[test]
fn acknowledgements_answer_as_many_fragments_as_asked() {
    let acks = |ack_every| {
        let config = Config { ack_every, feasibility: false, ..Config::default() };
        let out = run(&Plan {
            config,
            units: 10,
            bytes: 10_240,
            every: 10.0,
            lifetime: Some(30.0),
            ..Plan::default()
        });
        assert_eq!(out.to.whole, 10);
        out.acks
    };
    let [one, two, four] = [1, 2, 4].map(acks);
    assert!(one >= 160 && two >= 80 && two < one && four < two, "{one} {two} {four}");
}

/// AT-14: a receiver that cannot follow slows the sender down with CE.
#[test]
fn a_slow_receiver_halves_the_window() {
    let run_at = |processes| {
        let config =
            Config { processes, feasibility: false, fragment: FragmentLife::Always, ..Config::default() };
        run(&Plan { config, units: 1, bytes: 300_000, bps: 400_000, lifetime: None, ..Plan::default() })
    };
    let (fast, slow) = (run_at(None), run_at(Some(5_000)));
    assert_eq!((acknowledged(&fast.sent), acknowledged(&slow.sent)), (1, 1));
    assert!(slow.from.reductions > fast.from.reductions + 3, "{:?} {:?}", slow.from, fast.from);
}

/// AT-10, AT-11, AT-13, AT-38: figure 2's rows stand where they should, and the checksum covers the requested part.
#[test]
fn the_header_is_that_of_figure_2() {
    let content = Content::Fragment {
        number: 3,
        bytes: 100,
        tx: 9,
        sent: Time::ZERO,
        rtt: Span::from_millis(600),
        again: base::truth::Cause::New,
        offset: 0,
    };
    let packet = Atp {
        adu: 7,
        length: 5000,
        fragments: 8,
        deadline: Time::from_secs_f64(12.5),
        content,
        answer: false,
        whole: false,
        class: 0,
        coverage: 50,
        carrier: Carrier::Udp,
        rtp: (0, 0),
    };
    let mut bytes = Vec::new();
    assert_eq!(packet.encode(&mut bytes), Some(17));
    let row = |n: usize| u32::from_be_bytes(bytes[8 + 4 * n..12 + 4 * n].try_into().unwrap());
    assert_eq!(row(0) >> 30, 1, "the version");
    assert_eq!([row(1), row(2), row(3), row(4), row(5), row(6)], [7, 5000, 12_500, 3, 9, 600_000]);
    assert_eq!(bytes.len() as u32, packet.size(0) - 20);
    let mut other = bytes.clone();
    other[8 + 28 + 60] = 1;
    let sum = |b: &[u8], covered: usize| base::wire::checksum::Sum::ZERO.and(&b[8..8 + covered]).finish();
    assert_eq!((sum(&bytes, 78), sum(&other, 78)), (0, 0), "damage behind the covered part is not seen");
    let mut head = bytes.clone();
    head[8 + 5] ^= 1;
    assert_ne!(sum(&head, 78), 0);
}

proptest! {
    /// Whatever is lost and however long the link stands still: every unit is settled once, nothing is left behind.
    #[test]
    fn every_unit_is_settled_once(
        loss in 0.0..0.3_f64, from in 0.0..50.0_f64, length in 0.0..20.0_f64, method in 0_usize..4, life in 0_usize..4,
        lifetime in 1.0..30.0_f64, bytes in 1_u64..20_000, feasibility in any::<bool>(), retransmit in any::<bool>(),
        connect in any::<bool>(), receiver in any::<bool>(), important in 0_u32..4,
    ) {
        let config = Config {
            control: Method::ALL[method], fragment: FragmentLife::ALL[life], feasibility, retransmit, connect,
            receiver_initiated: receiver && !connect, important_every: important, ..Config::default()
        };
        let plan = Plan { config, loss, closed: vec![(from, from + length)], lifetime: Some(lifetime), bytes, units: 8, ..Plan::default() };
        let out = run(&plan);
        prop_assert!(out.clean);
        let settled = out.sent.iter().filter(|e| !matches!(e, MessageEvent::Broken)).count();
        prop_assert_eq!(settled, 8, "{:?} {:?}", out.sent, out.from);
        prop_assert!(received(&out.received) <= 8);
    }

    /// A vector holds the values that were set.
    #[test]
    fn a_vector_holds_what_was_set(len in 1_u32..300, set in prop::collection::btree_set(0_u32..300, 0..100)) {
        let mut vector = Vector::new(len);
        for n in &set {
            prop_assert_eq!(vector.set(*n), *n < len);
        }
        prop_assert_eq!(vector.count() as usize, set.iter().filter(|n| **n < len).count());
        prop_assert!((0..len).all(|n| vector.has(n) == set.contains(&n)));
    }
}
