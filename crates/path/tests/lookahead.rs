//! Lookahead between links changes no arrival, no count and no sojourn time; a signal ends it without a trace.

use base::event::Category;
use base::packet::{Flags, FlowId, Packet};
use base::trace::Tracer;
use base::{Rate, Span, Time};
use path::capacity::Capacity;
use path::link::{Link, LinkConfig, QueueLimit};
use path::router::Router;
use path::{Cx, Element, ElementId, Network, Port, Signal};
use proptest::prelude::*;
use std::collections::VecDeque;

/// Sends packets of one flow at given times, and notes those that arrive.
struct End {
    flow: u32,
    sends: VecDeque<(Time, u32)>,
    arrivals: Vec<(Time, u64, u32)>,
}

impl Element for End {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        self.arrivals.push((cx.now(), packet.id, packet.size));
        cx.discard(&packet);
    }
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        while let Some((_, size)) = self.sends.front().copied().filter(|(t, _)| *t <= cx.now()) {
            self.sends.pop_front();
            let id = cx.emit_virtual(size);
            let flags = if size > 200 { Flags::DATA } else { Flags::ACK };
            cx.forward(Port(0), Packet { id, size, flags, flow: FlowId(self.flow), ..Packet::NONE });
        }
    }
    fn next_wake(&self) -> Time {
        self.sends.front().map_or(Time::NEVER, |(t, _)| *t)
    }
    fn holds(&self) -> usize {
        0
    }
}

/// A packet of a flow: milliseconds and bytes.
type Send = (u64, u32);

const FLOWS: u32 = 3;

/// Rates of the links behind the shared one, kbit/s, and which link receives a signal and when.
#[derive(Clone, Debug)]
struct Case {
    sends: Vec<Vec<Send>>,
    near: u64,
    far: u64,
    last: u64,
    delay: u64,
    signals: Vec<(u64, usize, u64)>,
    looks: Vec<u64>,
}

/// Arrivals at each end, what was counted at each look, sojourn times, wake-ups.
type Outcome = (Vec<Vec<(Time, u64, u32)>>, Vec<[u64; 6]>, Vec<(u64, u64)>, u64);

/// Ends with links of their own to one link, and two links in a row from there to each receiver.
fn run(case: &Case, tracer: Tracer) -> Outcome {
    let ms = |t: u64| Time::ZERO + Span::from_millis(t);
    let mut network = Network::new(FLOWS as usize, tracer);
    let link = |network: &mut Network, kbps: u64, delay: u64, packets| {
        let limit = QueueLimit { packets: Some(packets), ..QueueLimit::default() };
        let capacity = Capacity::Fixed(Rate::from_bps(1000 * kbps));
        network.add(Link::new(LinkConfig { capacity, delay: Span::from_millis(delay), limit }, Vec::new()))
    };
    let (mut receivers, mut lasts, mut fars) = (Vec::new(), Vec::new(), Vec::new());
    for flow in 0..FLOWS {
        receivers.push(network.add(End { flow, sends: VecDeque::new(), arrivals: Vec::new() }));
        lasts.push(link(&mut network, case.last, 0, 4));
        fars.push(link(&mut network, case.far, case.delay, 3));
    }
    let ports = (0..2 * FLOWS).map(|ledger| (ledger % 2 == 0).then_some(Port(ledger as u16 / 2))).collect();
    let router = network.add(Router::new(ports));
    let shared = link(&mut network, 1000, 20, 10);
    let mut senders: Vec<ElementId> = Vec::new();
    for flow in 0..FLOWS {
        let near = link(&mut network, case.near, 1, 50);
        let mut sends: Vec<_> = case.sends[flow as usize].iter().map(|&(t, size)| (ms(t), size)).collect();
        sends.sort();
        let end = network.add(End { flow, sends: sends.into(), arrivals: Vec::new() });
        network.wire(end, Port(0), near, Port(0));
        network.wire(near, Port(0), shared, Port(0));
        network.wire(router, Port(flow as u16), fars[flow as usize], Port(0));
        network.wire(fars[flow as usize], Port(0), lasts[flow as usize], Port(0));
        network.wire(lasts[flow as usize], Port(0), receivers[flow as usize], Port(0));
        senders.push(near);
    }
    network.wire(shared, Port(0), router, Port(0));
    network.start(None);

    let links: Vec<ElementId> = [&lasts[..], &fars[..], &[shared], &senders[..]].concat();
    let mut calls: Vec<_> = case.signals.iter().map(|&(t, to, rate)| (t, Some((to, rate)))).collect();
    calls.extend(case.looks.iter().map(|t| (*t, None)));
    calls.sort();
    calls.push((100_000, None));
    let mut looks = Vec::new();
    for (t, call) in calls {
        match call {
            Some((to, 0)) => network.signal(ms(t), links[to % links.len()], Signal::Close),
            Some((to, 1)) => network.signal(ms(t), links[to % links.len()], Signal::Open),
            Some((to, rate)) => {
                network.signal(ms(t), links[to % links.len()], Signal::Rate(Rate::from_bps(1000 * rate)));
            }
            None => network.run_until(ms(t)),
        }
        if call.is_none() {
            let c = network.counters();
            looks.push([c.sent, c.absorbed, c.dropped, c.hops, c.bytes[2], network.packets_inside() as u64]);
        }
    }
    let arrivals = receivers.iter().map(|id| network.element::<End>(*id).unwrap().arrivals.clone()).collect();
    let sojourns = network.ledgers().iter().map(|l| (l.queue_delay_ns, l.queue_waits)).collect();
    (arrivals, looks, sojourns, network.counters().wakes)
}

/// The outcome with lookahead and, by a record of the path, without.
fn both(case: &Case) -> (Outcome, Outcome) {
    (run(case, Tracer::off()), run(case, Tracer::of(&[Category::Path])))
}

fn cases() -> impl Strategy<Value = Case> {
    let sends =
        proptest::collection::vec((0u64..600, prop_oneof![Just(40u32), Just(1000), 100u32..1500]), 0..60);
    (
        proptest::collection::vec(sends, FLOWS as usize),
        prop_oneof![Just(10_000u64), Just(1000)],
        prop_oneof![Just(10_000u64), Just(1000), Just(800)],
        prop_oneof![Just(10_000u64), Just(1000), Just(300)],
        0u64..3,
        proptest::collection::vec(
            (0u64..800, 0usize..10, prop_oneof![Just(0u64), Just(1), 50u64..3000]),
            0..4,
        ),
        proptest::collection::vec(0u64..900, 0..6),
    )
        .prop_map(|(sends, near, far, last, delay, signals, looks)| Case {
            sends,
            near,
            far,
            last,
            delay,
            signals,
            looks,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn lookahead_changes_no_result(case in cases()) {
        let (with, without) = both(&case);
        prop_assert_eq!(&with.0, &without.0);
        prop_assert_eq!(&with.1, &without.1);
        prop_assert_eq!(&with.2, &without.2);
        prop_assert!(with.3 <= without.3, "{} wake-ups, {} without lookahead", with.3, without.3);
    }
}

#[test]
fn chains_of_links_have_one_event_for_each_packet() {
    let sends = (0..FLOWS).map(|flow| (0..40).map(|k| (10 * k + u64::from(flow), 1000)).collect()).collect();
    let case =
        Case { sends, near: 10_000, far: 10_000, last: 10_000, delay: 1, signals: vec![], looks: vec![] };
    let (with, without) = both(&case);
    let packets: u64 = with.0.iter().map(|end| end.len() as u64).sum();
    let dropped = with.1.last().unwrap()[2];
    assert!(packets > 50 && dropped > 0, "{packets} packets, {dropped} dropped");
    // A wake-up for each sending, for each packet at the receiver, and for each window of 20 ms at the shared link.
    assert!(with.3 <= 120 + packets + 30, "{} wake-ups, {packets} packets", with.3);
    assert_eq!(without.3, 2 * 120 + 3 * packets);
}
