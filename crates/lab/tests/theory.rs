//! Tests of runs against formulas of the literature. Each test states its formula, source and tolerance.

use base::event::Event;
use lab::once::{Options, run_once};
use scenario::Model;
use scenario::metric::Metric;

/// One flow of `app` over one hop, with these options of the TCP and this loss of data.
fn model(rate: &str, delay: &str, loss: f64, tcp: &str, app: &str, limit: &str) -> Model {
    let loss = if loss > 0.0 {
        format!("[[hop.loss]]\nname = \"loss\"\ndirections = \"down\"\nprobability = {loss}\n")
    } else {
        String::new()
    };
    let text = format!(
        "williwaw = 1\n[[hop]]\nname = \"wire\"\nbetween = [\"server\", \"client\"]\nrate = \"{rate}\"\ndelay = \"{delay}\"\n{loss}\
         [[flow]]\nname = \"flow\"\nfrom = \"server\"\nto = \"client\"\ntransport = {{ tcp = {{ {tcp} }} }}\n\
         app = {{ bulk = {{ {app} }} }}\n[run]\nlimit = \"{limit}\"\n"
    );
    testkit::model::<&str>(&text, &[])
}

fn measure(model: &Model, repetition: u64, metric: Metric) -> f64 {
    run_once(model, repetition, Options::default()).flows[0].get(metric).expect("measured")
}

/// A pipe that is never empty: the SYN and its answer, then every byte with its headers at the rate of
/// the link, then one propagation. Nothing else takes time (arithmetic; 52 bytes of headers with
/// timestamps, RFC 7323). Within one segment's transmission.
#[test]
fn a_full_pipe_takes_bytes_over_rate() {
    for (rate, bps, bytes) in [("100 kbit/s", 1e5, 200_000.0), ("2 Mbit/s", 2e6, 5_000_000.0)] {
        let model = model(rate, "5 ms", 0.0, "profile = \"rfc\"", &format!("bytes = \"{bytes} B\""), "1 h");
        let segments = f64::ceil(bytes / 1460.0);
        let handshake = 2.0 * (52.0 * 8.0 / bps + 0.005);
        let expected = handshake + (bytes + 52.0 * segments) * 8.0 / bps + 0.005;
        let measured = measure(&model, 0, Metric::DownloadTime);
        // The third part of the handshake is a packet of its own.
        let segment = (1460.0 + 52.0) * 8.0 / bps;
        assert!((measured - expected).abs() <= segment, "{rate}: {measured} s, expected {expected} s");
    }
}

/// RFC 5681 section 3.1: in slow start every acknowledgement adds a segment. With one acknowledgement a
/// segment the window doubles in every round trip: 1, 2, 4, ... exactly.
#[test]
fn slow_start_doubles_in_every_round_trip() {
    let tcp = "initial-window = \"1 segments\", window = \"10 MB\", delayed-ack.timer = \"0 s\"";
    let model = model("10 Gbit/s", "50 ms", 0.0, tcp, "bytes = \"1023 kB\"", "1 h");
    let mut outcome = run_once(&model, 0, Options { trace: true, shuffle_ties: None });
    let mut rounds = [0u32; 16];
    for record in outcome.world.network.tracer().records() {
        if matches!(record.event, Event::DataSent { .. }) {
            // The connection opens in the first round; transmission takes microseconds.
            let round = (record.t.as_secs_f64() / 0.1).floor() as usize;
            rounds[round - 1] += 1;
        }
    }
    let segments = 1_023_000u32.div_ceil(1460);
    assert_eq!(rounds[..9], [1, 2, 4, 8, 16, 32, 64, 128, 256]);
    assert_eq!(rounds.iter().sum::<u32>(), segments);
    assert_eq!(rounds[9], segments - 511);
}

/// A long flow that loses each data packet with probability `p`, a segment an acknowledgement, a window
/// that nothing else limits: its rate in segments per round trip.
fn segments_a_round_trip(p: f64, tcp: &str) -> f64 {
    const SECONDS: f64 = 1500.0;
    let tcp = format!("window = \"50 MB\", delayed-ack.timer = \"0 s\", {tcp}");
    let model = model("10 Gbit/s", "50 ms", p, &tcp, "", &format!("{SECONDS} s"));
    let runs = 4;
    let bps: f64 = (0..runs).map(|r| measure(&model, r, Metric::Throughput)).sum::<f64>() / runs as f64;
    bps / 8.0 / 1460.0 * 0.1
}

/// Mathis, Semke, Mahdavi, Ott, "The macroscopic behavior of the TCP congestion avoidance algorithm", 1997,
/// equation 3: with losses that recovery repairs without a timeout the window averages C / sqrt(p); with an
/// acknowledgement a segment C is sqrt(3/2) for periodic losses and 1.31 for random ones. Within 5 % of
/// the two.
#[test]
fn the_square_root_law() {
    for p in [0.0005, 0.002, 0.005] {
        let measured = segments_a_round_trip(p, "recovery = \"rfc6675\"");
        let law = |c: f64| c / p.sqrt();
        let (low, high) = (0.95 * law(1.5f64.sqrt()), 1.05 * law(1.31));
        assert!((low..=high).contains(&measured), "p = {p}: {measured:.1}, not in {low:.1} to {high:.1}");
    }
}

/// Padhye, Firoiu, Towsley, Kurose, "Modeling TCP throughput", 1998, equation 30, for a Reno sender whose
/// timer takes part: 1 / (RTT sqrt(2bp/3) + T0 min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2)). Within 10 %.
#[test]
fn padhyes_formula_for_reno() {
    for p in [0.005, 0.02, 0.05] {
        let measured = segments_a_round_trip(p, "recovery = \"reno\", sack = \"off\", bug-fix = \"careful\"");
        let (rtt, t0, b) = (0.1, 1.0, 1.0);
        let timeouts = t0 * f64::min(1.0, 3.0 * (3.0 * b * p / 8.0).sqrt()) * p * (1.0 + 32.0 * p * p);
        let expected = rtt / (rtt * (2.0 * b * p / 3.0).sqrt() + timeouts);
        let ratio = measured / expected;
        assert!((0.9..=1.1).contains(&ratio), "p = {p}: {measured:.2}, formula {expected:.2}");
    }
}
