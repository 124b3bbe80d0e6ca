//! Tests of SCTP messages: boundaries, streams, order, lifetimes (RFC 9260 section 6, RFC 3758).

mod common;

use base::Span;
use base::dist::Dist;
use base::rng::Seed;
use common::{Way, lab};
use sctp::Config;
use transport::app::connections::MessageLog;
use transport::app::message_stream::{MessagePlan, MessageSchedule, UsefulLife};
use transport::app::messages::{Manner, MessageSink, MessageSource};
use transport::app::stats::AppStats;

fn play(
    config: &Config,
    way: Way,
    manner: Manner,
    size: f64,
    count: u64,
) -> (AppStats, AppStats, common::Lab) {
    let plan = MessagePlan {
        size: Dist::Constant(size),
        every: Dist::Constant(20e6),
        bursts: None,
        count: Some(count),
        lasts: None,
        useful: UsefulLife::Always,
        stream: None,
    };
    let log = MessageLog::default();
    let schedule = MessageSchedule::new(&plan, "flow", Seed { seed: 1, repetition: 0 });
    let source = MessageSource::new(schedule, manner, log.clone());
    let sink = MessageSink::new(log, UsefulLife::Always);
    let mut l = lab(config, &[way], 9, [Box::new(source), Box::new(sink)]);
    l.run(600.0);
    let seen = |id| l.host(id).stats().expect("a workload of messages").clone();
    (seen(l.from), seen(l.to), l)
}

fn lossy() -> Way {
    Way { loss: 0.05, ..Way::of(2_000_000, Span::from_millis(50)) }
}

#[test]
fn every_message_arrives_whole_once_and_in_order() {
    for size in [1.0, 100.0, 1400.0, 5000.0, 40_000.0] {
        let (from, to, l) = play(&Config::default(), lossy(), Manner::default(), size, 200);
        assert_eq!((from.sent, to.delays.len(), to.reordered), (200, 200, 0), "size {size}");
        assert_eq!(to.bytes, 200 * size as u64);
        assert_eq!((l.network.bodies(), l.network.packets_inside()), (0, 0));
    }
}

#[test]
fn small_messages_share_packets() {
    let count = |bundle| {
        let config = Config { bundle, ..Config::default() };
        let slow = Way::of(20_000, Span::from_millis(300));
        let (_, to, l) = play(&config, slow, Manner::default(), 60.0, 100);
        assert_eq!(to.delays.len(), 100);
        l.host(l.from).counters().data_sent
    };
    assert!(count(true) < count(false));
}

#[test]
fn a_gap_in_one_stream_delays_no_other() {
    let worst = |streams| {
        let manner = Manner { streams, ..Manner::default() };
        let (_, to, _) = play(&Config::default(), lossy(), manner, 1000.0, 400);
        assert_eq!(to.delays.len(), 400);
        to.delays.iter().map(|d| d.as_secs_f64()).sum::<f64>() / 400.0
    };
    assert!(worst(10) < worst(1));
}

#[test]
fn unordered_messages_overtake() {
    let manner = Manner { unordered: true, ..Manner::default() };
    let (_, to, _) = play(&Config::default(), lossy(), manner, 1000.0, 400);
    assert!(to.delays.len() == 400 && to.reordered > 0);
}

#[test]
fn messages_of_limited_use_are_given_up_and_those_behind_them_delivered() {
    // A burst of losses, including retransmissions. A longer burst would lose all packets in flight, and then
    // one packet per T3-rtx.
    let burst = Way { loses: vec![(100, 114)], ..Way::of(2_000_000, Span::from_millis(50)) };
    let manner = Manner { lifetime: Some(Span::from_millis(300)), ..Manner::default() };
    let (from, to, l) = play(&Config::default(), burst, manner, 1000.0, 500);
    let abandoned = l.sender().counts().abandoned;
    println!("delivered {}, abandoned {abandoned}", to.delays.len());
    assert!(from.sent == 500 && abandoned > 0, "{abandoned}");
    assert!(to.delays.len() < 500 && to.delays.len() as u64 + abandoned >= 500, "{}", to.delays.len());
    assert!(l.host(l.from).finished().is_some(), "the source is done");
    assert_eq!(
        l.receiver().numbers()[1],
        l.sender().numbers()[0],
        "the receiver has passed what was given up"
    );
    assert_eq!((l.network.bodies(), l.network.packets_inside()), (0, 0));
}

/// A FORWARD TSN that is lost would otherwise wait for T3-rtx, which every SACK restarts while data flow.
#[test]
fn a_lost_forward_tsn_is_sent_again_while_data_flow() {
    let way = Way { loss: 0.05, ..Way::of(128_000, Span::from_millis(100)) };
    let manner = Manner { lifetime: Some(Span::from_millis(300)), ..Manner::default() };
    for name in ["rfc9260", "linux-6.x"] {
        let config = Config::profile(name).expect("a profile");
        let (from, to, l) = play(&config, way.clone(), manner, 160.0, 1500);
        let longest = to.delays.iter().max().expect("messages arrived");
        let counts = l.sender().counts();
        println!(
            "{name}: delivered {}, abandoned {}, longest {longest:?}",
            to.delays.len(),
            counts.abandoned
        );
        assert!(counts.abandoned > 0 && from.sent == 1500, "{counts:?}");
        // A message behind a gap waits for the FORWARD TSN: a lifetime and some round trips of 0.25 s.
        assert!(longest.as_secs_f64() < 1.5, "{name}: {longest:?}");
        assert!(to.delays.len() > 1400, "{name}: {}", to.delays.len());
    }
}

/// The messages of a lossless path of which a short lifetime runs out before the association can send.
#[test]
fn messages_that_expire_before_the_first_data_are_counted() {
    for name in ["rfc9260", "ns2-2.35", "linux-6.x"] {
        let config = Config::profile(name).expect("a profile");
        let way = Way::of(640_000, Span::from_millis(100));
        let manner = Manner { lifetime: Some(Span::from_millis(150)), ..Manner::default() };
        let (from, to, l) = play(&config, way, manner, 160.0, 100);
        let counts = l.sender().counts();
        let delivered = to.delays.len() as u64;
        println!("{name}: sent {}, delivered {delivered}, {counts:?}", from.sent);
        assert!(counts.expired > 0 && delivered < from.sent, "{name}: {counts:?}");
        assert_eq!(delivered + counts.expired + counts.abandoned, from.sent, "{name}");
    }
}

#[test]
fn without_forward_tsn_what_was_begun_is_delivered() {
    let config = Config { forward_tsn: false, ..Config::default() };
    let manner = Manner { lifetime: Some(Span::from_millis(200)), ..Manner::default() };
    let (_, _, l) = play(&config, lossy(), manner, 1000.0, 100);
    assert_eq!(l.sender().counts().abandoned, 0);
}

/// Requests and replies over streams instead of connections.
#[test]
fn requests_are_answered_over_streams() {
    use transport::app::request::{ConnectionLifetime, RequestClient, RequestPlan, RequestServer};
    use transport::app::streams::Streamed;
    let other = Way::of(2_000_000, Span::from_millis(20));
    let ways = [vec![lossy()], vec![lossy(), other]];
    let all = [ConnectionLifetime::Session, ConnectionLifetime::Object]
        .into_iter()
        .flat_map(|k| ways.clone().map(|w| (k, w)));
    for ((keep, ways), seed) in all.flat_map(|kw| (0..20).map(move |seed| (kw.clone(), seed))) {
        let plan = RequestPlan {
            pages: Some(20),
            lasts: None,
            request: Dist::Constant(300.0),
            reply: Dist::Constant(5000.0),
            objects: Dist::Constant(0.0),
            object: Dist::Constant(0.0),
            largest: 1 << 30,
            think: Dist::Constant(0.0),
            paced: false,
            serve: Dist::Constant(0.0),
            patience: None,
            connections: 1,
            keep,
            pipelining: false,
        };
        let log = MessageLog::default();
        let client = RequestClient::new(plan, log.clone(), "f", Seed { seed: 1, repetition: 0 });
        let server = RequestServer::new(log);
        let apps: [Box<dyn transport::app::App>; 2] =
            [Box::new(Streamed::new(Box::new(client))), Box::new(Streamed::new(Box::new(server)))];
        let config = Config { streams: 100, ..Config::default() };
        let mut l = lab(&config, &ways, seed, apps);
        l.run(600.0);
        let seen = l.host(l.from).stats().expect("a workload").clone();
        let (a, b) = (l.sender(), l.receiver());
        assert_eq!(
            seen.responses.len(),
            20,
            "seed {seed}: {:?} {:?} {:?} {:?} {:?} {:?}",
            a.state(),
            b.state(),
            a.numbers(),
            b.numbers(),
            a.counts(),
            b.paths()
        );
    }
}
