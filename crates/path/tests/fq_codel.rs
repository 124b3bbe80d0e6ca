//! FQ-CoDel (RFC 8290) as a queue of a channel: packets are conserved, each flow keeps its order, flows share the link within a
//! quantum, and a sparse flow waits for one packet of each of the others.

mod common;

use base::Span;
use base::packet::{FlowId, Packet};
use common::{Bench, packet, plain, s};
use path::channel::ChannelConfig;
use path::channel::class::ClassConfig;
use path::qdisc::fq_codel::{FqCoDel, Options};
use path::qdisc::{Queue, Room};
use proptest::prelude::*;

fn fair(target_ms: u64, limit: Room, flows: u32) -> ChannelConfig {
    let options = Options {
        flows,
        quantum: 1514,
        target: Span::from_millis(target_ms),
        interval: Span::from_millis(100),
        ecn: false,
        limit,
    };
    let queue = Queue::Other(Box::new(FqCoDel::new(options, 7)));
    ChannelConfig { classes: vec![ClassConfig { queue, ..ClassConfig::default() }], ..plain(1_000_000) }
}

fn of(flow: u32, ordinal: u32, size: u32) -> Packet {
    Packet { flow: FlowId(flow), id: u64::from(flow) << 32 | u64::from(ordinal), ..packet(ordinal, size) }
}

/// Two flows of different packets that always have something to send get the same bytes, to a quantum and a packet.
#[test]
fn busy_flows_share_by_bytes() {
    let mut b = Bench::of(fair(10_000, Room::default(), 1024)).start();
    for i in 0..400 {
        b.put(s(0.0), of(0, i + 1, 1500));
        (0..5).for_each(|k| b.put(s(0.0), of(1, 5 * i + k + 1, 300)));
    }
    let arrived = b.arrived();
    for until in [0.5, 1.0, 3.0] {
        let bytes = |flow: u32| -> i64 {
            arrived
                .iter()
                .filter(|(t, p)| *t <= s(until) && p.flow.0 == flow)
                .map(|(_, p)| i64::from(p.size))
                .sum()
        };
        assert!((bytes(0) - bytes(1)).abs() <= 2 * 1514 + 1500, "{until}: {} {}", bytes(0), bytes(1));
    }
}

/// A packet of a flow that was idle goes before what bulk has queued: it waits for the packet in service.
#[test]
fn a_sparse_flow_goes_first() {
    let mut b = Bench::of(fair(10_000, Room::default(), 1024)).start();
    (0..200).for_each(|i| b.put(s(0.0), of(0, i + 1, 1500)));
    b.put(s(1.0), of(1, 1, 100));
    let arrived = b.arrived();
    let at = arrived.iter().find(|(_, p)| p.flow.0 == 1).map(|(t, _)| t.as_secs_f64()).unwrap();
    // 12 ms of a packet in service and its own 0.8 ms.
    assert!(at < 1.0 + 0.0129, "{at}");
}

/// Where all is full the head of the fattest queue goes, and a flow with little in its queue loses nothing.
#[test]
fn overflow_hits_the_fattest_queue() {
    let mut b = Bench::of(fair(10_000, Room { packets: Some(20), bytes: None }, 1024)).start();
    (0..100).for_each(|i| b.put(s(0.0), of(0, i + 1, 1500)));
    (0..5).for_each(|i| b.put(s(0.001), of(1, i + 1, 500)));
    let arrived = b.arrived();
    assert_eq!(arrived.iter().filter(|(_, p)| p.flow.0 == 1).count(), 5);
    assert!(b.is_conserved());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn packets_are_conserved_and_flows_keep_their_order(
        sends in proptest::collection::vec((0u64..30, 0u32..6, 40u32..1500), 1..200),
        packets in 1u32..60,
        target in prop_oneof![Just(1u64), Just(5), Just(1000)],
        flows in 1u32..8,
    ) {
        let run = || {
            let mut b = Bench::of(fair(target, Room { packets: Some(packets), bytes: None }, flows)).start();
            let mut at = 0;
            for (i, (gap, flow, size)) in sends.iter().enumerate() {
                at += gap;
                b.put(s(at as f64 / 1000.0), of(*flow, i as u32 + 1, *size));
            }
            (b.arrived(), b.is_conserved(), b.network.counters())
        };
        let (arrived, conserved, counters) = run();
        prop_assert!(conserved, "{counters:?}");
        for flow in 0..6 {
            let order: Vec<u32> = arrived.iter().filter(|(_, p)| p.flow.0 == flow).map(|(_, p)| p.ordinal).collect();
            prop_assert!(order.windows(2).all(|w| w[0] < w[1]), "{order:?}");
        }
        let ids = |all: &[(base::Time, Packet)]| all.iter().map(|(t, p)| (*t, p.id)).collect::<Vec<_>>();
        prop_assert_eq!(ids(&arrived), ids(&run().0));
    }
}
