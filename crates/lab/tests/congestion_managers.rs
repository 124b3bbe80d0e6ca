//! Tests of congestion managers in running hosts: receiver priorities that change (CM-07), and one congestion
//! window for the connections of a host (RFC 3124, CM-10). Results are compared with closed forms.

mod common;

use base::Time;
use base::event::{Event, Record};
use base::rng::Seed;
use base::trace::Tracer;
use common::metric;
use host::{Granter, Manager};
use lab::once::{Options, RunOutcome, run_once};
use scenario::Model;
use scenario::metric::Metric;

fn play(model: &Model) -> RunOutcome {
    run_once(model, 0, Options { trace: true, shuffle_ties: None })
}

/// Downloads of packets of 1000 B over 400 kbit/s and 200 ms each way; priorities and starts in seconds are given.
fn downloads(flows: &[(u32, f64)], app: &str, more: &str) -> String {
    let mut text = format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "400 kbit/s"
        delay = "200 ms"
        queue = {{ drop-tail = {{ limit = "60 packets" }} }}
        {more}
        [run]
        limit = "60 s"
        "#
    );
    for (i, (priority, start)) in flows.iter().enumerate() {
        text.push_str(&format!(
            r#"
            [[flow]]
            name = "f{i}"
            from = "server"
            to = "phone"
            start = "{start} s"
            priority = {priority}
            transport = {{ tcp = {{ mss = "960 B", timestamps = false, sack = false, recovery = "newreno", window = "200 segments", delayed-ack.timer = "0 s" }} }}
            app = {app}
            "#
        ));
    }
    text
}

const LONG: &str = "{ bulk = { lasts = \"60 s\" } }";
const RECEIVER: &str =
    "[[node]]\nname = \"phone\"\ncongestion-manager = { hop = \"radio\", headroom = 1.2 }\n";
const SENDER: &str = "[[node]]\nname = \"server\"\nsender-congestion-manager = {}\n";

/// Segments of each flow that reach the phone in a period, s.
fn received(outcome: &RunOutcome, flows: usize, from: f64, until: f64) -> Vec<f64> {
    let (from, until) = (Time::from_secs_f64(from), Time::from_secs_f64(until));
    let of = |flow: usize| {
        let host = outcome.world.flows[flow].to.0;
        let counts = |r: &&Record| {
            r.source.0 == host && r.t >= from && r.t < until && matches!(r.event, Event::DataReceived { .. })
        };
        outcome.world.network.records().iter().filter(counts).count() as f64
    };
    (0..flows).map(of).collect()
}

/// CM-07: a priority that changes at 30 s changes the shares from 2 to 1 into 1 to 2, by the scenario, by a call while it
/// runs, and by the record of that call, with the same bits.
#[test]
fn cm_07_priorities_change_while_it_runs() {
    let text = |more: &str| downloads(&[(2, 0.0), (1, 0.1)], LONG, &format!("{RECEIVER}{more}"));
    let planned = "[[trigger]]\nname = \"now\"\nat = \"30 s\"\nflow = \"f1\"\npriority = 4\n";
    let outcome = play(&testkit::model::<&str>(&text(planned), &[]));
    let (before, after) = (received(&outcome, 2, 10.0, 30.0), received(&outcome, 2, 35.0, 60.0));
    let ratios = [before[0] / before[1], after[1] / after[0]];
    println!("shares before and after: {before:?} {after:?}, ratios {ratios:?} of 2 and 2");
    assert!(ratios.iter().all(|ratio| (ratio / 2.0 - 1.0).abs() < 0.15), "{ratios:?}");

    // The same call from outside, then its record as a file.
    let model = testkit::model::<&str>(&text(""), &[]);
    let finish = |mut world: scenario::build::World, calls: &[(f64, &str)]| {
        world.network.start(None);
        let mut records = String::from("t_s,name\n");
        for (at, call) in calls {
            assert!(world.network.trigger(Time::from_secs_f64(*at), call), "{call}");
        }
        for (t, name) in world.network.triggers().done() {
            records.push_str(&format!("{},{name}\n", t.as_secs_f64()));
        }
        world.network.run_until(Time::from_secs_f64(60.0));
        (world.network.counters(), records)
    };
    let build = |model: &Model| scenario::build::build(model, Seed { seed: 1, repetition: 0 }, Tracer::off());
    let (untouched, _) = finish(build(&model), &[]);
    let (called, record) = finish(build(&model), &[(30.0, "f1.priority=4")]);
    assert_eq!(record, "t_s,name\n30,f1.priority=4\n");
    assert_ne!(called, untouched);
    let again = text("[[trigger]]\nname = \"again\"\nfile = \"calls.csv\"\n");
    let load = |_: &str| Ok(record.clone().into_bytes());
    let again = scenario::read("again.toml", again.as_bytes(), &load).unwrap_or_else(|d| panic!("{d}"));
    let (replayed, _) = finish(build(again.first()), &[]);
    // The element's own wake-up is the only difference.
    assert_eq!((replayed.sent, replayed.bytes, replayed.hops), (called.sent, called.bytes, called.hops));
}

/// CM-07: the live list has each flow's priority, connections, window and bytes.
#[test]
fn cm_07_flows_are_listed() {
    let udp = r#"
        [[flow]]
        name = "voice"
        from = "server"
        to = "phone"
        priority = 2
        transport = { udp = { payload = "472 B", header = "28 B" } }
        app = { cbr = { rate = "40 kbit/s", packet = "472 B", lasts = "50 s" } }
    "#;
    let node = RECEIVER.replace("headroom = 1.2", "headroom = 1.2, datagrams = \"drop\"");
    let model = testkit::model::<&str>(&downloads(&[(2, 0.0), (1, 0.1)], LONG, &format!("{node}{udp}")), &[]);
    let mut world = scenario::build::build(&model, Seed { seed: 1, repetition: 0 }, Tracer::off());
    world.network.start(None);
    world.network.run_until(Time::from_secs_f64(20.0));
    let id = world.managers[0].1;
    let list = |network: &path::Network| network.element::<Manager>(id).unwrap().list(network.now());
    let flows = list(&world.network);
    let known: Vec<(&str, u32, usize)> =
        flows.iter().map(|flow| (flow.name.as_str(), flow.priority, flow.connections)).collect();
    assert_eq!(known, [("voice", 2, 0), ("f0", 2, 1), ("f1", 1, 1)]);
    // Three of five parts of 1.2 x 400 kbit/s x 430 ms are for connections, two of these for the first.
    let aggregate = 1.2 * 400e3 / 8.0 * 0.43;
    assert_eq!(flows[1].window, Some((aggregate * 0.6) as u64 * 2 / 3));
    assert!(flows[1].received > flows[2].received && flows[0].share == Some(0.4), "{flows:?}");
    assert!(world.network.trigger(Time::from_secs_f64(21.0), "voice.priority=7"));
    let flows = list(&world.network);
    assert_eq!((flows[0].priority, flows[0].share), (7, Some(0.7)));
    assert_eq!(flows[1].window, Some((aggregate * 0.3) as u64 * 2 / 3));
    for wrong in ["voice.priority=0", "voice.priority", "nobody.priority=1"] {
        assert!(!world.network.trigger(Time::from_secs_f64(22.0), wrong), "{wrong}");
    }
}

/// CM-07: triggers name flows known to a manager, and errors in files name their lines.
#[test]
fn cm_07_mistakes_are_explained() {
    let wrong = |more: &str, file: &str| {
        let text = downloads(&[(1, 0.0)], LONG, more);
        let load = |_: &str| Ok(file.as_bytes().to_vec());
        scenario::read("t.toml", text.as_bytes(), &load).map(|_| ()).unwrap_err().to_string()
    };
    let at = "[[trigger]]\nname = \"t\"\nat = \"3 s\"\npriority = 2\nflow = ";
    assert!(wrong(&format!("{at}\"f0\""), "").contains("no congestion manager knows the flow `f0`"));
    assert!(wrong(&format!("{RECEIVER}{at}\"f1\""), "").contains("did you mean `f0`?"));
    let file = format!("{RECEIVER}[[trigger]]\nname = \"t\"\nfile = \"x.csv\"\n");
    assert!(wrong(&file, "1,f0.priority=0\n").contains("this is not a priority"));
    assert!(wrong(&file, "1,f0.weight=3\n").contains("this is not a priority"));
    assert!(wrong(&file, "1;f0\n").contains("this is not a trigger"));
    let sack = "[[node]]\nname = \"server\"\nsender-congestion-manager = {}\n[[flow]]\nname = \"s\"\nfrom = \"server\"\n\
                to = \"phone\"\ntransport = { tcp = { recovery = \"rfc6675\" } }\napp = { bulk = { bytes = \"1 kB\" } }\n";
    assert!(wrong(sack, "").contains("`s` cannot share the congestion window of `server`"));
}

/// CM-10: shares of the sender's window follow the weights, equal ones by `round-robin`.
#[test]
fn cm_10_shares_follow_weights() {
    let ratio = |scheduler: &str| {
        let node = SENDER.replace("{}", scheduler);
        let outcome = play(&testkit::model::<&str>(&downloads(&[(3, 0.0), (1, 0.1)], LONG, &node), &[]));
        let segments = received(&outcome, 2, 10.0, 60.0);
        println!("{scheduler}: {segments:?}");
        segments[0] / segments[1]
    };
    let (weighted, equal) = (ratio("{}"), ratio("{ scheduler = \"round-robin\" }"));
    assert!((weighted / 3.0 - 1.0).abs() < 0.1 && (equal - 1.0).abs() < 0.1, "{weighted} {equal}");
}

/// CM-10: four streams in one window deliver all their data whatever is lost, and nothing stays behind. `host` compares them
/// with one connection and with four of their own.
#[test]
fn cm_10_nothing_stays_behind() {
    let four = [(1, 0.0), (2, 0.1), (3, 0.2), (4, 0.3)];
    let outcome =
        play(&testkit::model::<&str>(&downloads(&four, "{ bulk = { bytes = \"100 kB\" } }", SENDER), &[]));
    let state = outcome.world.network.element::<Granter>(outcome.world.macroflows[0].2).unwrap();
    assert_eq!(state.macroflow().state().outstanding, 0);
    assert!((0..4).all(|i| metric(&outcome, i, Metric::SegmentsDelivered) == 105.0));
}

/// CM-10: a connection that begins after another finds its window.
#[test]
fn cm_10_a_new_stream_finds_the_window_open() {
    let time = |more: &str| {
        let text = downloads(&[(1, 0.0), (1, 1.9)], "{ bulk = { bytes = \"15360 B\" } }", more);
        let text = text.replacen("15360 B", "57600 B", 1);
        metric(&play(&testkit::model::<&str>(&text, &[])), 1, Metric::DownloadTime)
    };
    let (shared, alone) = (time(SENDER), time(""));
    println!(
        "a download of 16 segments: {shared:.3} s with the window of the one before, {alone:.3} s alone"
    );
    // Handshake, half a round trip, and 16 packets of 20 ms.
    assert!((shared - 0.92).abs() < 0.03 && alone > shared + 0.2, "{shared} {alone}");
}
