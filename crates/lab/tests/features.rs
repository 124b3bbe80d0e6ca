//! Tests of scenario keys: each has its documented effect. A test runs a small scenario through the public
//! interface and names the catalogue features whose behaviour it shows.

use lab::once::{Options, RunOutcome, run_once};
use lab::picture::picture;
use scenario::Model;
use scenario::metric::Metric;
use testkit::Download;

/// A loss rate of 0, for tests to set.
const NOISE: &str = "[[hop.loss]]\nname = \"noise\"\ndirections = \"down\"\nprobability = 0";

/// A phone on a link of 1 Mbit/s and 50 ms that downloads 200 kB; `set` changes it.
fn model(set: &[&str]) -> Model {
    let path = Download::over("1 Mbit/s", "50 ms").unlimited().spikes("pause", "[]").faults(NOISE);
    let text = path.tcp("mss = \"1000 B\"").bytes("200 kB").limit("1000 s").text();
    testkit::model(&text, set)
}

fn run(model: &Model) -> RunOutcome {
    run_once(model, 0, Options::default())
}

fn get(outcome: &RunOutcome, metric: Metric) -> f64 {
    outcome.flows[0].get(metric).unwrap_or(f64::NAN)
}

fn time(set: &[&str]) -> f64 {
    get(&run(&model(set)), Metric::DownloadTime)
}

const TCP: &str = "flow.download.transport.tcp";

fn tcp(option: &str) -> String {
    format!("{TCP}.{option}")
}

/// NS-12: the two-way model opens with three packets and closes with a FIN each way; the one-way model
/// has a SYN and nothing else beside data and acknowledgements.
#[test]
fn connections_open_and_close() {
    let two = run(&model(&[]));
    let one = run(&model(&[&tcp("handshake=one-way")]));
    assert!(two.complete && one.complete);
    for outcome in [&two, &one] {
        assert_eq!(get(outcome, Metric::SegmentsSent), 200.0);
        assert_eq!((outcome.world.network.bodies(), outcome.world.network.packets_inside()), (0, 0));
    }
    let ends = |o: &RunOutcome, open: usize| {
        let ends = o.world.flows[0];
        let host = o.world.network.element::<host::Host>(if open == 0 { ends.from } else { ends.to });
        host.map(|h| (h.connection().closed(), h.counters().acks_sent))
    };
    // SYN, FIN and the ACK of the other FIN (data carry the ACK of the handshake), against the SYN alone.
    assert_eq!(ends(&two, 0), Some((true, 3)));
    assert_eq!(ends(&one, 0), Some((true, 1)));
}

/// TB-02: slow start doubles every round trip from the initial window: 200 segments take four more round trips from 1
/// segment than from 16, as long as the link is not full. Also FB-01 and PR-20.
#[test]
fn slow_start_doubles() {
    let fast = [
        "hop.radio.rate=1 Gbit/s",
        "hop.radio.delay=100 ms",
        "flow.download.transport.tcp.byte-counting=unlimited",
        "flow.download.transport.tcp.delayed-ack.timer=0 s",
    ];
    let with = |window: &str| {
        let option = tcp(&format!("initial-window={window} segments"));
        let mut set = fast.to_vec();
        set.push(&option);
        time(&set)
    };
    let rounds = (with("1") - with("16")) / 0.2;
    assert!((rounds - 4.0).abs() < 0.1, "{rounds} round trips");
}

/// TB-23, PR-01: a window below the product of rate and round trip is what limits the rate.
#[test]
fn the_receive_window_limits_the_rate() {
    let outcome =
        run(&model(&[&tcp("window=5 kB"), &tcp("delayed-ack.timer=0 s"), "hop.radio.rate=100 Mbit/s"]));
    let expected = 5000.0 * 8.0 / 0.1;
    let rate = get(&outcome, Metric::Throughput);
    assert!(rate < expected && rate > 0.9 * expected, "{rate} of {expected}");
}

/// PR-04: larger segments lose less to headers, in the proportion of the headers.
#[test]
fn larger_segments_carry_less_overhead() {
    let small = time(&[&tcp("mss=256 B"), "hop.radio.rate=50 kbit/s", &tcp("window=64 kB")]);
    let large = time(&[&tcp("mss=1024 B"), "hop.radio.rate=50 kbit/s", &tcp("window=64 kB")]);
    let expected = ((256.0 + 52.0) / 256.0) / ((1024.0 + 52.0) / 1024.0);
    assert!((small / large / expected - 1.0).abs() < 0.02, "{} against {expected}", small / large);
}

/// NS-05, SW-34, MO-02, NS-10, EI-23, EI-25, EI-28, TA-03, TA-11: one pause of 5 s causes spurious timeouts in every
/// flavour; with Eifel only the segments resent by the timer are sent twice, without it many more.
#[test]
fn a_pause_makes_timeouts_spurious_and_eifel_notices() {
    for flavour in ["tahoe", "reno", "newreno", "sack", "rfc6675"] {
        let with = |spurious: &str| {
            let recovery = tcp(&format!("recovery={flavour}"));
            let spurious = tcp(&format!("spurious={spurious}"));
            run(&model(&["hop.radio.gate.pause.spikes=[[\"1 s\", \"5 s\"]]", &recovery, &spurious]))
        };
        let (none, eifel) = (with("none"), with("eifel"));
        assert!(get(&none, Metric::SpuriousTimeouts) >= 1.0, "{flavour}");
        assert_eq!(get(&none, Metric::GenuineTimeouts), 0.0, "{flavour}");
        assert_eq!(get(&none, Metric::PacketsDropped), 0.0, "{flavour}");
        let timeouts = get(&eifel, Metric::SpuriousTimeouts);
        assert_eq!(get(&eifel, Metric::UnneededRetransmissions), timeouts, "{flavour}");
        assert!(get(&none, Metric::UnneededRetransmissions) > 2.0 * timeouts, "{flavour}");
    }
}

/// EI-05, EI-13: saved state is restored, and without adaptation the samples of delayed segments count like any other:
/// the timer is longer after the pause than before.
#[test]
fn the_timer_learns_from_delayed_segments() {
    let set = [
        "hop.radio.gate.pause.spikes=[[\"1 s\", \"1500 ms\"]]",
        "flow.download.transport.tcp.spurious=eifel",
        "flow.download.transport.tcp.response=staged",
    ];
    let p = picture(&model(&set), 0, 0);
    let timeout = p.timeouts[0].t;
    let rto = |at: f64| p.timer.iter().rev().find(|s| s.t <= at).map(|s| s.rto).unwrap();
    let detected = p.timeouts[0].detected_at.unwrap();
    assert!(rto(detected) > 2.0 * rto(timeout - 0.001), "{} after {}", rto(detected), rto(timeout - 0.001));
    let cwnd = |at: f64| p.window.iter().rev().find(|s| s.t <= at).map(|s| s.cwnd).unwrap();
    assert!(cwnd(detected) >= cwnd(timeout - 0.001));
}

/// NS-15, NS-16, SW-57, TA-02: the picture has the windows, the timer, both traces, the pause, and the
/// timeout with its truth and the detector's word.
#[test]
fn the_picture_has_everything() {
    let p =
        picture(&model(&["hop.radio.gate.pause.spikes=[[\"1 s\", \"5 s\"]]", &tcp("spurious=eifel")]), 0, 0);
    assert_eq!(p.spikes.len(), 1);
    assert_eq!((p.spikes[0].from, p.spikes[0].until), (1.0, 6.0));
    assert_eq!(p.timeouts[0].truth, report::Truth::Spurious);
    assert_eq!(p.timeouts[0].detected.as_deref(), Some("eifel"));
    assert!(p.received.len() >= 200 && p.acks.len() > 50);
    assert!(p.window.iter().all(|w| w.cwnd >= 1000));
    assert!(p.timer.iter().all(|t| t.rto >= 1.0));
}

/// SW-33, SW-45, SW-46: a delay drawn for every packet from each kind of distribution; the same seed
/// gives the same time to the nanosecond, another seed another.
#[test]
fn every_distribution_can_be_a_delay() {
    for dist in [
        "uniform(10 ms, 90 ms)",
        "exponential(50 ms)",
        "normal(50 ms, 10 ms)",
        "lognormal(50 ms, 20 ms)",
        "cauchy(50 ms, 1 ms)",
        "pareto(20 ms, 1.5, 1 s)",
        "weibull(50 ms, 2)",
        "gamma(2, 25 ms)",
        "two-state(10 ms, 200 ms, 0.1, 0.3)",
    ] {
        let delay = format!("hop.radio.delay={{ random = \"{dist}\" }}");
        let first = time(&[&delay]);
        assert_eq!(first, time(&[&delay]), "{dist}");
        assert_ne!(first, time(&[&delay, "run.seed=2"]), "{dist}");
    }
}

/// SW-35, SW-38, NS-18: with an error probability per packet that share is lost, and all is delivered.
#[test]
fn random_losses_are_repaired() {
    let outcome =
        run(&model(&["hop.radio.loss.noise.probability=0.05", "flow.download.app.bulk.bytes=2 MB"]));
    let lost = get(&outcome, Metric::PacketsDropped) / get(&outcome, Metric::SegmentsSent);
    assert!((lost - 0.05).abs() < 0.015, "{lost}");
    assert_eq!(get(&outcome, Metric::SegmentsDelivered), 2000.0);
    assert!(get(&outcome, Metric::GoodputRatio) < 0.97);
}

/// TA-10: goodput is the needed segments over those sent.
#[test]
fn goodput_is_what_was_needed() {
    let outcome = run(&model(&["hop.radio.gate.pause.spikes=[[\"1 s\", \"5 s\"]]"]));
    let ratio = 200.0 / get(&outcome, Metric::SegmentsSent);
    assert_eq!(get(&outcome, Metric::GoodputRatio), ratio);
    assert!(ratio < 1.0);
}

/// NS-17: a flow of 30 s delivers the link's rate over 30 s, plus the window in flight.
#[test]
fn a_flow_can_last_a_given_time() {
    let window = tcp("window=20 segments");
    let outcome = run(&model(&["flow.download.app.bulk={ lasts = \"30 s\" }", &window]));
    let most = 30.0 * 1e6 / 8.0 / 1052.0;
    let delivered = get(&outcome, Metric::SegmentsDelivered);
    assert!(delivered <= most + 20.0 && delivered > 0.95 * most, "{delivered} of {most}");
}

/// WL-04, SW-22: data may flow up, and each direction has its own rate.
#[test]
fn directions_have_their_own_rates() {
    let rates = "hop.radio.rate={ down = \"1 Mbit/s\", up = \"100 kbit/s\" }";
    let down = time(&[rates]);
    let up = time(&[rates, "flow.download.from=phone", "flow.download.to=server"]);
    assert!(up > 8.0 * down, "{up} against {down}");
}

/// SW-19, SW-20, SW-23: of two links in series the slower one is where packets wait and are dropped.
#[test]
fn hops_in_series_have_queues_of_their_own() {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "core"
        between = ["server", "gateway"]
        rate = "10 Mbit/s"
        delay = "20 ms"
        queue = { drop-tail = { limit = "100 packets" } }
        [[hop]]
        name = "radio"
        between = ["gateway", "phone"]
        rate = "100 kbit/s"
        delay = "100 ms"
        queue = { drop-tail = { limit = "10 kB" } }
        [[flow]]
        name = "download"
        from = "server"
        to = "phone"
        transport = { tcp = { mss = "1000 B" } }
        app = { bulk = { bytes = "300 kB" } }
    "#;
    let mut model = testkit::model::<&str>(text, &[]);
    let outcome = run(&model);
    let least = 300.0 * 1052.0 * 8.0 / 100e3;
    let took = get(&outcome, Metric::DownloadTime);
    assert!(took > least && took < 1.2 * least, "{took} against {least}");
    assert!(get(&outcome, Metric::PacketsDropped) > 0.0);
    model.run.seed = 99;
    let p = picture(&model, 0, 0);
    assert!(p.drops.iter().all(|d| d.place == "radio.down"));
}

/// NS-01, NS-20, SW-17, SW-55: a dumb-bell through two routers; three flows that start apart share it.
#[test]
fn flows_share_a_dumbbell() {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "bottleneck"
        between = ["left", "right"]
        rate = "2 Mbit/s"
        delay = "20 ms"
        queue = { drop-tail = { limit = "40 packets" } }
        [[hop]]
        name = "access-a"
        between = ["a", "left"]
        rate = "100 Mbit/s"
        delay = "1 ms"
        [[hop]]
        name = "access-b"
        between = ["b", "left"]
        rate = "100 Mbit/s"
        delay = "1 ms"
        [[hop]]
        name = "exit"
        between = ["right", "sink"]
        rate = "100 Mbit/s"
        delay = "1 ms"
        [[flow]]
        name = "one"
        from = "a"
        to = "sink"
        app = { bulk = { lasts = "60 s" } }
        [[flow]]
        name = "two"
        from = "b"
        to = "sink"
        start = "1 s"
        app = { bulk = { lasts = "60 s" } }
        [[flow]]
        name = "three"
        from = "a"
        to = "sink"
        start = "2 s"
        app = { bulk = { lasts = "60 s" } }
    "#;
    let outcome = run(&testkit::model::<&str>(text, &[]));
    let rates: Vec<f64> = outcome.flows.iter().map(|f| f.get(Metric::Throughput).unwrap()).collect();
    let sum: f64 = rates.iter().sum();
    assert!(sum < 2e6 && sum > 1.7e6, "{rates:?}");
    assert!(outcome.flows[0].get(Metric::JainIndex).unwrap() > 0.8, "{rates:?}");
    assert_eq!(outcome.world.network.packets_inside(), 0);
}

/// MO-03, NS-08: a rate that drops from 300 to 4 kbit/s, so that a segment takes longer than the timer, causes a spurious timeout without any loss or pause.
#[test]
fn a_drop_of_the_rate_alone_causes_a_spurious_timeout() {
    let outcome = run(&model(&[
        "hop.radio.rate={ schedule = [[\"0 s\", \"300 kbit/s\"], [\"3 s\", \"4 kbit/s\"]] }",
        "hop.radio.delay=20 ms",
        &tcp("window=8 segments"),
    ]));
    assert!(get(&outcome, Metric::SpuriousTimeouts) >= 1.0);
    assert_eq!(get(&outcome, Metric::PacketsDropped), 0.0);
}

/// MO-04, MO-11, SW-44: a rate that oscillates, and one that the weather divides, give their averages.
#[test]
fn rates_that_change_give_their_average() {
    let size = "flow.download.app.bulk.bytes=4 MB";
    let constant = time(&[size, "hop.radio.rate=500 kbit/s"]);
    let schedule = "hop.radio.rate={ schedule = [[\"0 s\", \"800 kbit/s\"], [\"1 s\", \"200 kbit/s\"]], repeat = \"2 s\" }";
    let oscillating = time(&[size, schedule]);
    assert!((oscillating / constant - 1.0).abs() < 0.05, "{oscillating} against {constant}");
}

/// MO-07, SW-40, EI-02: intermittent coverage that drops packets in flight; all data are delivered in the end. The
/// oldest outstanding segment had arrived, its ACK was lost: by the project's definition the timeout is spurious, with
/// that cause.
#[test]
fn coverage_comes_and_goes() {
    let model = model(&[
        "hop.radio.gate.pause.every=uniform(2 s, 4 s)",
        "hop.radio.gate.pause.lasts=3 s",
        "hop.radio.gate.pause.from=end",
        "hop.radio.gate.pause.mode=drop",
        "flow.download.app.bulk.bytes=1 MB",
    ]);
    let outcome = run(&model);
    assert!(outcome.complete);
    assert!(get(&outcome, Metric::PacketsDropped) > 0.0);
    assert_eq!(get(&outcome, Metric::SegmentsDelivered), 1000.0);
    let p = picture(&model, 0, 0);
    assert_eq!(p.timeouts[0].cause.as_deref(), Some("ack_lost"));
}

/// TB-18, FB-03, PR-11: a pause of half a second is within the standard minimum of the timer, not within 200 ms.
#[test]
fn the_minimum_timeout_rides_out_short_pauses() {
    let with = |min: &str| {
        let min = tcp(&format!("rto.min={min}"));
        let set = [
            "hop.radio.gate.pause.spikes=[[\"2 s\", \"600 ms\"]]",
            "hop.radio.rate=10 Mbit/s",
            "flow.download.app.bulk.bytes=4 MB",
            "flow.download.transport.tcp.window=20 kB",
            &min,
        ];
        get(&run(&model(&set)), Metric::SpuriousTimeouts)
    };
    assert_eq!(with("1 s"), 0.0);
    assert!(with("200 ms") >= 1.0);
}

/// TB-19, TB-21, TB-29, RB-04: without timestamps retransmissions give no sample: the timer after the pause is
/// unchanged, timed once a window or every segment. With timestamps it is longer.
#[test]
fn without_timestamps_nothing_is_learnt_from_a_pause() {
    let after = |set: &[&str]| {
        let mut all =
            vec!["hop.radio.gate.pause.spikes=[[\"1 s\", \"5 s\"]]", "flow.download.app.bulk.bytes=400 kB"];
        all.extend_from_slice(set);
        let p = picture(&model(&all), 0, 0);
        let before = p.timer.iter().rev().find(|s| s.t < 1.0).unwrap().srtt;
        let highest = p.timer.iter().filter(|s| s.t > 6.0).map(|s| s.srtt).fold(0.0, f64::max);
        highest / before
    };
    let off = tcp("timestamps=false");
    assert!(after(&[&off]) < 3.0);
    assert!(after(&[&off, &tcp("rto.timing=segment")]) < 3.0);
    assert!(after(&[]) > 3.0);
}

/// TB-28: with K = 2 the timer is shorter by two variations than with K = 4.
#[test]
fn k_scales_the_variation() {
    let rto = |k: &str| {
        let k = tcp(&format!("rto.k={k}"));
        let set = [
            "hop.radio.rate=30 kbit/s",
            "hop.radio.delay=300 ms",
            "flow.download.transport.tcp.window=10 kB",
            &k,
        ];
        let p = picture(&model(&set), 0, 0);
        let s = p.timer.iter().find(|s| s.t > 5.0).unwrap();
        (s.rto, s.srtt, s.rttvar)
    };
    let ((two, srtt, var), (four, ..)) = (rto("2"), rto("4"));
    assert!((two - (srtt + 2.0 * var)).abs() < 1e-6);
    assert!((four - two - 2.0 * var).abs() < 1e-6, "{four} {two} {var}");
}

/// FB-04, NS-19: where packets overtake each other, a threshold of one duplicate resends for nothing.
#[test]
fn a_low_threshold_takes_reordering_for_loss() {
    let with = |dupthresh: &str| {
        let dupthresh = tcp(&format!("dupthresh={dupthresh}"));
        let delay = "hop.radio.delay={ random = \"uniform(50 ms, 58 ms)\", reorder = true }";
        get(&run(&model(&[delay, &dupthresh, "hop.radio.rate=4 Mbit/s"])), Metric::SpuriousFastRetransmits)
    };
    assert!(with("1") > with("3") + 3.0, "{} {}", with("1"), with("3"));
}

/// PR-06, RB-13: many losses in one window: SACK repairs them without a timeout, Reno does not.
#[test]
fn sack_repairs_what_reno_cannot() {
    let with = |recovery: &str| {
        let recovery = tcp(&format!("recovery={recovery}"));
        let loss = "hop.radio.loss.noise.packets=60, 63, 66, 69, 72";
        run(&model(&[loss, &recovery, &tcp("window=40 kB")]))
    };
    let (sack, reno) = (with("rfc6675"), with("reno"));
    assert_eq!(get(&sack, Metric::GenuineTimeouts), 0.0);
    // The rescue retransmission of RFC 6675 section 4 rule (4) may be in vain.
    assert!(get(&sack, Metric::UnneededRetransmissions) <= 1.0);
    assert!(get(&reno, Metric::GenuineTimeouts) >= 1.0);
}

/// ME-01, NS-11: repetitions are independent: one alone equals itself among others.
#[test]
fn repetitions_are_independent() {
    let model = model(&["hop.radio.loss.noise.probability=0.02"]);
    let alone = run_once(&model, 7, Options::default()).flows;
    for repetition in 0..7 {
        run_once(&model, repetition, Options::default());
    }
    assert_eq!(alone, run_once(&model, 7, Options::default()).flows);
    assert_ne!(alone, run_once(&model, 6, Options::default()).flows);
}
