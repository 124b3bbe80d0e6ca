//! Tests of background load, RED and adaptive RED, header compression and concurrent flows in scenarios. Each
//! test names its catalogue features.

use lab::once::{Options, RunOutcome, run_once};
use lab::probe;
use scenario::Model;
use scenario::metric::Metric;

const TEXT: &str = r#"
    williwaw = 1
    [[hop]]
    name = "link"
    between = ["server", "phone"]
    rate = "2 Mbit/s"
    delay = "50 ms"
    queue = { drop-tail = { limit = "100 packets" } }
    [[hop.background]]
    name = "voice"
    directions = "down"
    rate = "0 bit/s"
    packet = "500 B"
    [[hop.loss]]
    name = "noise"
    directions = "down"
    packets = "300000"
    [[flow]]
    name = "download"
    from = "server"
    to = "phone"
    transport = { tcp = { mss = "1000 B", window = "300 segments" } }
    app = { bulk = { bytes = "8 MB" } }
    [[flow]]
    name = "second"
    from = "server"
    to = "phone"
    start = "0 s"
    transport = { tcp = { mss = "1000 B", window = "300 segments" } }
    app = { bulk = { bytes = "1 kB" } }
    [run]
    limit = "1000 s"
"#;

fn model(set: &[&str]) -> Model {
    testkit::model(TEXT, set)
}

fn run(set: &[&str]) -> RunOutcome {
    run_once(&model(set), 0, Options::default())
}

fn get(outcome: &RunOutcome, flow: usize, metric: Metric) -> f64 {
    outcome.flows[flow].get(metric).unwrap_or(f64::NAN)
}

/// SW-49, NS-01: half of the link for a constant rate leaves half; its packets are counted, none is left,
/// and it ends with the workloads.
#[test]
fn background_load_takes_its_share() {
    let alone = get(&run(&[]), 0, Metric::Throughput);
    let outcome = run(&["hop.link.background.voice.rate=1 Mbit/s"]);
    let beside = get(&outcome, 0, Metric::Throughput);
    assert!((0.45..0.55).contains(&(beside / alone)), "{beside} of {alone}");
    let counters = outcome.world.network.counters();
    assert_eq!(counters.sent, counters.absorbed + counters.dropped);
    assert_eq!((outcome.world.network.bodies(), outcome.world.network.packets_inside()), (0, 0));
    // 250 packets a second and the transfer's own, acknowledgements included.
    let expected = 250.0 * get(&outcome, 0, Metric::DownloadTime) + 8001.0 * 1.5;
    assert!((counters.sent as f64 / expected - 1.0).abs() < 0.05, "{} of {expected}", counters.sent);
}

/// SW-49: who looks on changes nothing. Load takes no wake-ups where nothing is recorded, and its measures are those of a
/// run with a trace, in which each of its packets is an event; beside a gate, RED and gaps drawn at random.
#[test]
fn sw_49_a_trace_changes_nothing_beside_background_load() {
    let losses = &TEXT[TEXT.find("    [[hop.loss]]").unwrap()..TEXT.find("    [[flow]]").unwrap()];
    let pauses = "    [[hop.gate]]\n    name = \"pauses\"\n    every = \"uniform(2 s, 6 s)\"\n    \
                  lasts = \"uniform(0.5 s, 2 s)\"\n";
    let red = "hop.link.queue={ red = { limit = \"60 packets\", min = 10, max = 30 } }";
    let rate = "hop.link.background.voice.rate=1 Mbit/s";
    let random = "hop.link.background.voice.gaps=random";
    for (extra, set) in
        [("", &[rate][..]), (pauses, &[rate]), ("", &[rate, red]), (pauses, &[rate, random, red])]
    {
        let model = testkit::model(&TEXT.replace(losses, extra), set);
        for repetition in 0..3 {
            let run = |trace| run_once(&model, repetition, Options { trace, shuffle_ties: None });
            let (with, without) = (run(true), run(false));
            for (one, other) in with.flows.iter().zip(&without.flows) {
                let both = |m: Metric| (one.get(m).map(f64::to_bits), other.get(m).map(f64::to_bits));
                assert!(
                    Metric::ALL.iter().all(|m| both(*m).0 == both(*m).1),
                    "{extra} {set:?}, {repetition}"
                );
            }
            let [with, without] = [with, without].map(|o| o.world.network.counters());
            let sums = |c: path::element::Counters| (c.sent, c.absorbed, c.dropped, c.hops, c.bytes);
            assert_eq!(sums(with), sums(without), "{extra} {set:?}, {repetition}");
            assert!(without.wakes * 3 < with.wakes * 2, "{} of {} wake-ups", without.wakes, with.wakes);
        }
    }
}

/// SW-23, QM-03: RED keeps the queue of a long download short where drop-tail fills it.
#[test]
fn red_speaks_before_the_queue_is_full() {
    let tail = run(&[]);
    let red = run(&["hop.link.queue={ red = { limit = \"100 packets\", min = 10, max = 30 } }"]);
    let (full, short) = (get(&tail, 0, Metric::QueueDelay), get(&red, 0, Metric::QueueDelay));
    assert!(short < full / 3.0, "{short} s of {full} s");
    assert!(get(&red, 0, Metric::PacketsDropped) > 0.0);
    assert!(get(&red, 0, Metric::Throughput) > 0.5 * get(&tail, 0, Metric::Throughput));
}

/// PR-09: after a loss the segments behind it are discarded until one is sent again; timestamps switch the
/// scheme off.
#[test]
fn headers_as_differences_lose_their_context() {
    let set = ["hop.link.header-compression=rfc1144", "hop.link.loss.noise.packets=\"40\""];
    let discarded = |timestamps: &str| {
        let timestamps = format!("flow.download.transport.tcp.timestamps={timestamps}");
        let readings = probe::measure(&model(&[set[0], set[1], &timestamps]), 0, 0);
        (readings["discarded"], readings["behind_loss"])
    };
    let (lost, behind) = discarded("false");
    assert!(behind >= 3.0 && lost >= behind, "{lost} of {behind}");
    assert_eq!(discarded("true").0, 0.0);
}

/// PR-15, PR-16: sizes of compressed headers, as the throughput of a long download tells them: of 576 B (588 B with timestamps) 36 B go with
/// RFC 2507, timestamps or not, and with ROHC 35 B, or 45 B of those with timestamps.
#[test]
fn compressed_headers_leave_room_for_data() {
    let rate = |scheme: &str, timestamps: bool| {
        let set = [
            format!("hop.link.header-compression={scheme}"),
            format!("flow.download.transport.tcp.timestamps={timestamps}"),
            "flow.download.transport.tcp.mss=536 B".to_owned(),
        ];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        get(&run(&set), 0, Metric::Throughput)
    };
    for timestamps in [false, true] {
        let whole = if timestamps { 588.0 } else { 576.0 };
        let plain = rate("none", timestamps);
        for (scheme, saved) in
            [("rfc1144", 0.0), ("rfc2507", 36.0), ("rohc", if timestamps { 45.0 } else { 35.0 })]
        {
            let (gain, expected) = (rate(scheme, timestamps) / plain, whole / (whole - saved));
            println!("{scheme}, timestamps {timestamps}: {gain:.4}, by sizes {expected:.4}");
            assert!((gain - expected).abs() < 0.004, "{scheme} {timestamps}: {gain} {expected}");
        }
    }
}

/// PR-09, PR-15, PR-16: RFC 2507 loses its context with a packet, with timestamps too; ROHC does not.
#[test]
fn robust_header_compression_keeps_its_context() {
    let discarded = |scheme: &str, timestamps: bool| {
        let set = [
            format!("hop.link.header-compression={scheme}"),
            format!("flow.download.transport.tcp.timestamps={timestamps}"),
            "hop.link.loss.noise.packets=\"40\"".to_owned(),
        ];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        probe::measure(&model(&set), 0, 0)["discarded"]
    };
    for timestamps in [false, true] {
        assert!(discarded("rfc2507", timestamps) >= 3.0);
        assert_eq!(discarded("rohc", timestamps), 0.0);
    }
    assert_eq!(discarded("rfc1144", true), 0.0);
}

/// NS-20: two flows and a constant rate share the link, neither flow is starved.
#[test]
fn flows_and_a_constant_rate_share_the_link() {
    let outcome = run(&["hop.link.background.voice.rate=500 kbit/s", "flow.second.app.bulk.bytes=8 MB"]);
    let times = [0, 1].map(|flow| get(&outcome, flow, Metric::DownloadTime));
    // 16 MB in segments of 1052 B over 1.5 Mbit/s.
    let least = 16_000.0 * 1052.0 * 8.0 / 1.5e6;
    assert!((0.99 * least..1.2 * least).contains(&times[0].max(times[1])), "{times:?}, {least}");
    assert!(times[0].min(times[1]) > 0.6 * times[0].max(times[1]), "{times:?}");
}
