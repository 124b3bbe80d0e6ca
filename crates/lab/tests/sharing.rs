//! Tests of TCB sharing: connections to one destination start with state cached from earlier ones, as far as
//! `share` allows (RFC 9040 section 6; "Responding" section IV.B). Each test names its catalogue features.

use lab::once::{Options, RunOutcome, run_once};
use scenario::Model;
use scenario::metric::Metric;

/// 10 kB a millisecond each way and 50 ms: 40 segments fit into a round trip many times over.
fn model(set: &[&str]) -> Model {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "link"
        between = ["server", "phone"]
        rate = "80 Mbit/s"
        delay = "50 ms"
        queue = { drop-tail = { limit = "1000 packets" } }
        [[hop.gate]]
        name = "pause"
        at = "before-queue"
        directions = "down"
        start = "900 s"
        lasts = "0.5 s"
        [[hop.gate]]
        name = "hole"
        mode = "drop"
        at = "before-queue"
        directions = "down"
        start = "901 s"
        lasts = "0.5 s"
        [[flow]]
        name = "user"
        from = "phone"
        to = "server"
        transport = { tcp = { mss = "1000 B", window = "1000 segments", timestamps = false, delayed-ack.every = 1 } }
        app = { request-reply = { request = "300 B", reply = "40 kB", count = 2, think = "1 s", keep = "object" } }
        [run]
        limit = "1000 s"
    "#;
    testkit::model(text, set)
}

fn run(set: &[&str]) -> RunOutcome {
    run_once(&model(set), 0, Options::default())
}

fn get(outcome: &RunOutcome, metric: Metric) -> f64 {
    outcome.flows[0].get(metric).unwrap_or(f64::NAN)
}

#[track_caller]
fn close(measured: f64, expected: f64) {
    assert!((measured - expected).abs() < 1e-8, "measured {measured}, expected {expected}");
}

/// Seconds for this number of bytes on the link, propagation included.
fn wire(bytes: u32) -> f64 {
    f64::from(bytes) / 1e7
}
const WAY: f64 = 0.05;

/// Both SYNs, the request, its acknowledgement, and a reply of 40 segments in one flight.
fn in_one_flight() -> f64 {
    2.0 * (wire(40) + WAY) + wire(340) + WAY + wire(40) + 40.0 * wire(1040) + WAY
}

/// EI-27: the second reply leaves in one flight where the first had grown the window; otherwise it begins anew.
#[test]
fn a_window_is_taken_over() {
    let alone = get(&run(&[]), Metric::ResponseTimeMin);
    // Ten segments, then twenty, then the rest: two round trips more, in which thirty segments go out.
    assert!(alone > in_one_flight() + 4.0 * WAY - 30.0 * wire(1040), "{alone}");
    let shared = run(&["flow.user.transport.tcp.share.cwnd=true"]);
    close(get(&shared, Metric::ResponseTimeMin), in_one_flight());
    assert!(get(&shared, Metric::ResponseTimeMax) >= alone, "the first one has nothing to take over");
}

/// EI-27: expired cached values are not used. The second request comes a second after the first reply.
#[test]
fn what_is_too_old_is_not_taken_over() {
    let share = "flow.user.transport.tcp.share.cwnd=true";
    let time = |age: &str| {
        let age = format!("flow.user.transport.tcp.share.age={age}");
        get(&run(&[share, &age]), Metric::ResponseTimeMin)
    };
    let alone = get(&run(&[]), Metric::ResponseTimeMin);
    close(time("500 ms"), alone);
    close(time("2 s"), in_one_flight());
    close(time("0 s"), in_one_flight());
}

/// EI-27: a threshold that a loss taught keeps the next connection from overflowing the same queue.
#[test]
fn a_threshold_is_taken_over() {
    let path = [
        "hop.link.rate=800 kbit/s",
        "hop.link.queue={ drop-tail = { limit = \"15 packets\" } }",
        "flow.user.app.request-reply.reply=100 kB",
        "flow.user.app.request-reply.count=10",
    ];
    let dropped = |word: &str| {
        let share = format!("flow.user.transport.tcp.share.ssthresh={word}");
        get(&run(&[&path[..], &[&share]].concat()), Metric::PacketsDropped)
    };
    let (alone, rfc, linux) = (dropped("false"), dropped("true"), dropped("linux"));
    // Every one of the ten overflows it, or only the first does.
    assert!(rfc <= 0.2 * alone && linux <= 0.2 * alone, "{alone} {rfc} {linux}");
}

/// EI-27: where the round trip is longer than the first timeout every SYN is repeated and every window begins with
/// one segment; who knows the round trip waits for it.
#[test]
fn a_round_trip_is_taken_over_from_the_syn_on() {
    // The first connection is closed, at both ends, before the second one opens.
    let far = ["hop.link.delay=700 ms", "flow.user.app.request-reply.think=5 s"];
    let alone = run(&far);
    let shared = run(&[&far[..], &["flow.user.transport.tcp.share.rtt=true"]].concat());
    let (slow, fast) = (get(&alone, Metric::ResponseTimeMin), get(&shared, Metric::ResponseTimeMin));
    // 1, 2, 4, 8, 16 and the rest in place of 10, 20 and the rest: three round trips fewer.
    assert!(slow - fast > 3.0 * 1.4 && slow - fast < 3.0 * 1.4 + 0.3, "{slow} {fast}");
}

/// EI-27: adapted RTO. Delay spikes without losses, each transfer with a connection of its own: the back-off and the
/// longer minimum timeout help the next one only if they are shared.
#[test]
fn a_timer_goes_on_from_what_the_one_before_has_learned() {
    let text = include_str!("../../../scenarios/sharing.toml");
    let spurious = |adapt: &str, shared: bool| {
        let set = [
            format!("flow.fetch.transport.tcp.rto.adapt={adapt}"),
            format!("flow.fetch.transport.tcp.share.rto={shared}"),
            "flow.fetch.transport.tcp.share.rtt=false".to_owned(),
            "hop.link.loss.corruption.probability=0".to_owned(),
        ];
        let model = testkit::model(text, &set);
        let of =
            |repetition| get(&run_once(&model, repetition, Options::default()), Metric::SpuriousEpisodes);
        (0..10).map(of).sum::<f64>()
    };
    let nothing = spurious("none", false);
    for (adapt, least) in [("keep-backoff", 0.5), ("min++", 0.05), ("smoothed-delay", 0.4)] {
        let (alone, shared) = (spurious(adapt, false), spurious(adapt, true));
        assert!((alone - nothing).abs() <= 0.02 * nothing, "{adapt}: {nothing} {alone}");
        assert!(shared <= (1.0 - least) * nothing, "{adapt}: {nothing} {shared}");
    }
}

/// EI-27: flows from one node to the same other one share as well; the other direction is another path.
#[test]
fn flows_between_the_same_nodes_share() {
    let text = |from: &str, to: &str| {
        format!(
            r#"
            williwaw = 1
            [[hop]]
            name = "link"
            between = ["server", "phone"]
            rate = "80 Mbit/s"
            delay = "50 ms"
            queue = "unlimited"
            [[flow]]
            name = "second"
            from = "{from}"
            to = "{to}"
            start = "20 s"
            transport = {{ tcp = {{ mss = "1000 B", share.cwnd = true }} }}
            app = {{ bulk = {{ bytes = "40 kB" }} }}
            [[flow]]
            name = "first"
            from = "server"
            to = "phone"
            transport = {{ tcp = {{ mss = "1000 B", share.cwnd = true }} }}
            app = {{ bulk = {{ bytes = "100 kB" }} }}
            "#
        )
    };
    let time = |from: &str, to: &str, set: &[&str]| {
        let model = testkit::model(&text(from, to), set);
        get(&run_once(&model, 0, Options::default()), Metric::DownloadTime)
    };
    let alone = time("server", "phone", &["flow.second.transport.tcp.share.cwnd=false"]);
    close(time("phone", "server", &[]), alone);
    let shared = time("server", "phone", &[]);
    assert!(shared < alone - 3.0 * WAY, "{shared} {alone}");
}

/// EI-27, EI-21: the second connection's SYN-ACK waits for half a second and its first reply is lost. Judged by that
/// round trip alone, the answer to the retransmission came too soon to be one; who knows the path's is not deceived.
#[test]
fn the_least_round_trip_is_taken_over() {
    let path = [
        "flow.user.transport.tcp.spurious=min-rtt",
        "flow.user.app.request-reply.reply=1 kB",
        "flow.user.app.request-reply.serve=100 ms",
        "hop.link.gate.pause.start=1.33 s",
        "hop.link.gate.hole.start=2 s",
    ];
    let judged = |share: &str| {
        let share = format!("flow.user.transport.tcp.share.min-rtt={share}");
        let outcome = run(&[&path[..], &[&share]].concat());
        assert_eq!(get(&outcome, Metric::GenuineTimeouts), 1.0);
        (get(&outcome, Metric::TimeoutsJudgedSpurious), get(&outcome, Metric::TimeoutsJudgedGenuine))
    };
    assert_eq!((judged("false"), judged("true")), ((1.0, 0.0), (0.0, 1.0)));
}
