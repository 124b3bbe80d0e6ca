//! Late processing of a channel's internal events against a wake-up for each: a recorded run has all wake-ups.

mod common;

use base::dist::{Dist, Sampler};
use base::event::Category;
use base::packet::{Flags, Packet};
use base::trace::Tracer;
use base::{Rate, Span, Time};
use common::{SEED, plain, s};
use path::channel::allocation::Allocation;
use path::channel::arq::ArqConfig;
use path::channel::class::{ClassConfig, ClassRule};
use path::channel::credit::Credit;
use path::channel::error::{ErrorProcess, ErrorRate, Errors, Mode};
use path::channel::follow::{Flush, Follower, Service, StateParameters};
use path::channel::frame::Framing;
use path::channel::{Channel, ChannelConfig};
use path::element::Counters;
use path::gate::{Closures, Gate};
use path::link::LinkGate;
use path::qdisc::{Discard, FifoConfig, QueueSite, QueueSpec, Room};
use path::states::{MachineState, Plan, StateMachine};
use path::{Cx, Element, ElementId, Network, Port, Signal};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

/// Sends packets at given times, answers each that arrives with one of `reply` bytes, and notes arrivals.
struct End {
    sends: VecDeque<(Time, u32)>,
    reply: u32,
    /// Packets that it still may send as answers.
    left: u32,
    flags: Flags,
    got: Vec<(Time, u64, u32, Flags)>,
    ordinal: u32,
}

impl End {
    fn send(&mut self, cx: &mut Cx<'_>, size: u32) {
        self.ordinal += 1;
        let (id, born) = (cx.emit_virtual(size), cx.now());
        cx.forward(
            Port(0),
            Packet { id, born, size, ordinal: self.ordinal, flags: self.flags, ..Packet::NONE },
        );
    }
}

impl Element for End {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        self.got.push((cx.now(), packet.id, packet.size, packet.flags));
        cx.discard(&packet);
        if self.left > 0 {
            self.left -= 1;
            self.send(cx, self.reply);
        }
    }
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        while let Some((_, size)) = self.sends.front().copied().filter(|(t, _)| *t <= cx.now()) {
            self.sends.pop_front();
            self.send(cx, size);
        }
    }
    fn next_wake(&self) -> Time {
        self.sends.front().map_or(Time::NEVER, |(t, _)| *t)
    }
    fn holds(&self) -> usize {
        0
    }
}

fn ms(t: u64) -> Time {
    Time::ZERO + Span::from_millis(t)
}

fn sampler(dist: Dist, purpose: &str) -> Sampler {
    Sampler::new(dist, SEED.stream("x", purpose))
}

/// What a channel has, one switch a bit, and its measures.
#[derive(Clone, Debug)]
struct Plan0 {
    has: u32,
    delay: u64,
    room: u32,
    send: u32,
    receive: u32,
    window: u32,
    feedback: u64,
    payload: u32,
    p: f64,
    closures: Vec<(u64, u64, bool)>,
    changes: Vec<(u64, usize)>,
}

fn plans() -> impl Strategy<Value = Plan0> {
    (
        (any::<u32>(), 0u64..12, 1u32..12, 1u32..8, 1u32..12, 1u32..30, 0u64..12),
        (1u32..8, 0.0f64..0.4, prop_oneof![Just(0.0f64), Just(0.01), Just(1.0)]),
        proptest::collection::vec((1u64..120, 1u64..30, any::<bool>()), 0..4),
        proptest::collection::vec((1u64..150, 0usize..4), 0..5),
    )
        .prop_map(|(a, b, closures, changes)| {
            let (has, delay, room, send, receive, window, feedback) = a;
            Plan0 {
                has,
                delay,
                room,
                send,
                receive,
                window,
                feedback,
                payload: 100 * b.0,
                p: b.1 * b.2,
                closures,
                changes,
            }
        })
}

fn follower(plan: &Plan0) -> Follower {
    let has = |bit: u32| plan.has >> bit & 1 == 1;
    let state = |name: &str, lasts: f64, next| MachineState {
        name: name.into(),
        lasts: Some(Dist::Uniform(lasts, 3.0 * lasts)),
        next: vec![(next, 1.0)],
        pause: has(20).then_some(Dist::Constant(3e6)),
    };
    let states = vec![state("a", 2e7, 1), state("b", 1e7, 2), state("c", 1e7, 3), state("d", 1e7, 0)];
    let rate = |bps| has(21).then(|| sampler(Dist::Constant(bps), "rate"));
    let noise =
        Errors::new(ErrorProcess::Steady(ErrorRate::Frame(plan.p)), Mode::Drop, SEED.stream("n", "state"));
    let settings = vec![
        StateParameters::default(),
        StateParameters {
            rate: rate(4e6),
            delay: Some(sampler(Dist::Uniform(0.0, 9e6), "delay")),
            ..StateParameters::default()
        },
        StateParameters {
            service: if has(22) { Service::Drop } else { Service::Hold },
            errors: has(23).then_some(noise),
            ..StateParameters::default()
        },
        StateParameters {
            rate: rate(0.0),
            flush: if has(24) { Flush::All } else { Flush::Waiting },
            ..StateParameters::default()
        },
    ];
    let script = plan.changes.iter().map(|&(t, state)| (ms(t), state)).collect::<Vec<_>>();
    let mut script = script;
    script.sort();
    let machine = Plan { name: "mobility".into(), states, first: 0, script };
    Follower::new(0, StateMachine::new(Arc::new(machine), SEED), settings)
}

fn queue(plan: &Plan0) -> ClassConfig {
    let has = |bit: u32| plan.has >> bit & 1 == 1;
    let room = Room { packets: has(0).then_some(plan.room), bytes: None };
    let site = QueueSite { seed: SEED, name: "q", rate_bps: Some(8e6), stay: None, unique: false };
    let codel = path::qdisc::codel::Options {
        limit: room,
        target: Span::from_millis(2),
        interval: Span::from_millis(10),
        ecn: false,
    };
    let queue = if has(1) && has(2) {
        QueueSpec::CoDel(codel).queue(&site)
    } else {
        let discard = if has(2) { Discard::Random(SEED.stream("q", "queue")) } else { Discard::Tail };
        let stay = has(3).then(|| Span::from_millis(9));
        FifoConfig { room, discard, stay, ..FifoConfig::default() }.into()
    };
    ClassConfig { queue, ..ClassConfig::default() }
}

fn config(plan: &Plan0) -> ChannelConfig {
    let has = |bit: u32| plan.has >> bit & 1 == 1;
    let mut classes = vec![queue(plan)];
    if has(4) {
        let rule = ClassRule { size: Some((0, 200)), ..ClassRule::default() };
        let turn_within = has(5).then(|| Span::from_millis(4));
        classes.insert(
            0,
            ClassConfig { rule, turn_within, priority: u32::from(has(6)), ..ClassConfig::default() },
        );
        classes[1].priority = 1;
        (classes[0].weight, classes[1].weight) = (1, 2);
    }
    let mut errors = Vec::new();
    if has(7) {
        let process = match (has(8), has(9)) {
            (true, _) => {
                let bad = Closures::List(plan.closures.iter().map(|c| (ms(c.0), ms(c.0 + c.1))).collect());
                let (good, bad_rate) = (ErrorRate::Bit(1e-6), ErrorRate::Frame(plan.p));
                ErrorProcess::OverTime { gate: Gate::new(sorted(bad), "e", SEED), good, bad: bad_rate }
            }
            (_, true) => ErrorProcess::Steady(ErrorRate::Frame(plan.p)),
            _ => ErrorProcess::PerFrame {
                leave_good: 0.1,
                leave_bad: 0.3,
                good: ErrorRate::Frame(0.0),
                bad: ErrorRate::Frame(plan.p),
            },
        };
        let mode = match (has(10), has(11)) {
            (true, true) => Mode::Corrupt,
            (true, false) if has(13) => Mode::Delay(sampler(Dist::Constant(0.0), "late")),
            (true, false) => Mode::Delay(sampler(Dist::Uniform(0.0, 5e6), "late")),
            _ => Mode::Drop,
        };
        errors.push(Errors::new(process, mode, SEED.stream("n", "error")));
    }
    let gates = plan.closures.iter().filter(|_| has(12)).map(|&(from, lasts, stores)| {
        let list = Closures::List(vec![(ms(from), ms(from + lasts))]);
        LinkGate { gate: Gate::new(list, "g", SEED), stores: stores || !has(13) }
    });
    let feedback = if has(15) { Dist::Uniform(1e6, 8e6) } else { Dist::Constant(plan.feedback as f64 * 1e6) };
    ChannelConfig {
        classes,
        delay: Span::from_millis(plan.delay),
        gates: gates.collect(),
        errors,
        framing: Framing { payload: has(14).then_some(plan.payload), padded: has(16), ..Framing::default() },
        send_buffer: has(17).then_some(Room { packets: Some(plan.send), bytes: None }),
        receive_buffer: has(18).then_some(Room { packets: Some(plan.receive), bytes: None }),
        allocation: has(19).then(|| {
            Allocation::new(
                sampler(Dist::Uniform(0.0, 4e6), "takes"),
                sampler(Dist::Uniform(0.0, 9e6), "keeps"),
            )
        }),
        arq: (has(25) || has(26)).then(|| ArqConfig {
            attempts: has(27).then_some(2),
            time: has(28).then(|| Span::from_millis(15)),
            feedback: sampler(feedback, "feedback"),
            window: has(29).then_some(plan.window),
        }),
        in_order: !(has(30) && has(11)),
        followers: if has(31) { vec![follower(plan)] } else { Vec::new() },
        ..plain(8_000_000)
    }
}

/// Intervals of a list that do not overlap, in order.
fn sorted(list: Closures) -> Closures {
    let Closures::List(mut list) = list else { return list };
    list.sort();
    let mut apart: Vec<(Time, Time)> = Vec::new();
    for one in list {
        if apart.last().is_none_or(|last| last.1 < one.0) {
            apart.push(one);
        }
    }
    Closures::List(apart)
}

/// What happened at both ends, and the state of the counters at each look.
type Seen = (Vec<Vec<(Time, u64, u32, Flags)>>, Vec<(String, String)>);

/// Data through two channels in a row and replies through a third one, watched `every` ms, with signals to the first.
fn seen(
    plans: &[Plan0; 3],
    sends: &[(u64, u32)],
    signals: &[(u64, u8)],
    every: u64,
    tracer: Tracer,
) -> (Seen, Counters) {
    let mut network = Network::new(1, tracer);
    let end = |sends: &[(u64, u32)], reply, left, flags| {
        let sends = sends.iter().map(|&(t, size)| (ms(t), 100 * size)).collect();
        End { sends, reply, left, flags, got: Vec::new(), ordinal: 0 }
    };
    let client = network.add(end(&[], 100, u32::MAX, Flags::REPLY));
    let mut second = config(&plans[1]);
    let mut first = config(&plans[0]);
    let credit = plans[0].has >> 4 & 7 == 7;
    if credit {
        second.grants = true;
        first.credit = Some(Credit::new(plans[0].window, Span::from_millis(plans[0].feedback)));
    }
    let second = network.add(Channel::new(second));
    let first = network.add(Channel::new(first));
    let server = network.add(end(sends, 300, 20, Flags::DATA));
    let back = network.add(Channel::new(config(&plans[2])));
    for (from, to) in [(server, first), (first, second), (second, client), (client, back), (back, server)] {
        network.wire(from, Port(0), to, Port(0));
    }
    if credit {
        network.wire(second, Port(1), first, Port(1));
    }
    network.start(None);
    let mut looks = Vec::new();
    let mut signals = signals.to_vec();
    signals.sort();
    let mut signals = signals.into_iter().peekable();
    for look in 1..=40 {
        let until = look * every;
        while let Some((t, what)) = signals.next_if(|(t, _)| *t <= until) {
            let signal = match what {
                0 => Signal::Close,
                1 => Signal::Open,
                2 => Signal::Rate(Rate::from_bps(4_000_000)),
                3 => Signal::Rate(Rate::from_bps(8_000_000)),
                n => Signal::State { machine: 0, state: u16::from(n) % 4 },
            };
            network.signal(ms(t), first, signal);
        }
        network.run_until(ms(until));
        looks.push((counted(&network), format!("{:?}", network.ledgers())));
    }
    network.signal(network.now(), first, Signal::Open);
    network.run_until(s(100.0));
    looks.push((counted(&network), format!("{:?} {}", network.ledgers(), network.packets_inside())));
    let got = |id: ElementId| network.element::<End>(id).map(|end| end.got.clone()).unwrap_or_default();
    ((vec![got(client), got(server)], looks), network.counters())
}

fn counted(network: &Network) -> String {
    format!("{:?}", Counters { wakes: 0, ..network.counters() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    /// A channel that wakes for departures only has the same arrivals, counters and ledgers at any time as one that
    /// wakes for each event, with many events at equal times.
    #[test]
    fn late_steps_change_nothing(
        plans in [plans(), plans(), plans()],
        sends in proptest::collection::vec((0u64..60, 1u32..16), 1..60),
        signals in proptest::collection::vec((1u64..150, 0u8..8), 0..4),
        every in 1u64..20,
    ) {
        let mut sends = sends;
        sends.sort();
        let late = seen(&plans, &sends, &signals, every, Tracer::off());
        let eager = seen(&plans, &sends, &signals, every, Tracer::of(&[Category::Path]));
        prop_assert_eq!(&late.0.0, &eager.0.0);
        for (late, eager) in late.0.1.iter().zip(&eager.0.1) {
            prop_assert_eq!(late, eager);
        }
    }
}

/// Wake-ups of a channel for 200 packets of four frames each with retransmission and a send buffer, with or without
/// recording.
fn wakes(tracer: Tracer) -> u64 {
    let mut network = Network::new(1, tracer);
    let sends: VecDeque<(Time, u32)> =
        (0..200).map(|i| (Time::ZERO + Span::from_nanos(i * 1_700_000), 1500)).collect();
    let end = |sends| End { sends, reply: 0, left: 0, flags: Flags::DATA, got: Vec::new(), ordinal: 0 };
    let sink = network.add(end(VecDeque::new()));
    let channel = network.add(Channel::new(ChannelConfig {
        framing: Framing { payload: Some(400), overhead: 10, ..Framing::default() },
        send_buffer: Some(Room { packets: Some(4), bytes: None }),
        arq: Some(ArqConfig {
            attempts: Some(3),
            time: None,
            feedback: sampler(Dist::Constant(8e6), "feedback"),
            window: None,
        }),
        delay: Span::from_millis(10),
        ..plain(8_000_000)
    }));
    let source = network.add(end(sends));
    network.wire(source, Port(0), channel, Port(0));
    network.wire(channel, Port(0), sink, Port(0));
    network.start(None);
    network.run_until(s(10.0));
    assert_eq!(network.counters().absorbed, 200);
    assert_eq!(network.counters().frames, 800);
    // One wake-up of the source for each packet.
    network.counters().wakes - 200
}

/// A packet takes one wake-up, its delivery, in place of one for each frame, for feedback and for the delivery.
#[test]
fn a_packet_takes_one_wake_up() {
    assert_eq!(wakes(Tracer::off()), 200);
    assert!(wakes(Tracer::of(&[Category::Path])) > 1000);
}
