//! Tests of requests, pages and messages over sockets of real kernels: their metrics are those of the model's
//! connections. Needs a kernel for virtual time; without one each test reports this and is skipped.
#![cfg(target_os = "linux")]

mod common;

use common::{kernels, model, play, talk};
use scenario::metric::Metric;
use uml::KernelOutcome;

fn scenario(hop: &str, app: &str) -> String {
    talk(hop, "{ linux = { cc = \"reno\" } }", app)
}

fn get(outcome: &KernelOutcome, metric: Metric) -> f64 {
    outcome.ran.flows[0].get(metric).unwrap_or(f64::NAN)
}

fn counted(outcome: &KernelOutcome, name: &str) -> u64 {
    let facts = outcome.facts[0].as_ref().expect("a kernel's flow");
    assert!(facts.faults.is_empty(), "{:?}", facts.faults);
    facts.from.get(name).copied().unwrap_or(0) + facts.to.get(name).copied().unwrap_or(0)
}

/// A request of one packet and a reply within the first window take two round trips with connection set-up
/// and one without, plus transmission times (40 B of headers and 12 B of timestamps per packet; 20 B more on
/// a SYN).
#[test]
fn answers_take_the_time_that_the_path_takes() {
    let Some(kernels) = kernels() else { return };
    let app = "{ request-reply = { request = \"300 B\", reply = \"10 kB\", count = 3, think = \"2 s\", serve = \"50 ms\" } }";
    let outcome = play(&kernels, &model(&scenario("", app), &[]), 0);
    assert!(outcome.ran.complete);
    assert_eq!((get(&outcome, Metric::Responses), get(&outcome, Metric::Connections)), (3.0, 1.0));
    let s = |bytes: f64| bytes * 8.0 / 1e6;
    let asked = 0.2 + 0.05 + s(352.0) + s(10_000.0 + 7.0 * 52.0);
    let opened = 0.2 + 2.0 * s(60.0);
    // The acknowledgement that ends the handshake is sent before the first request.
    let least = get(&outcome, Metric::ResponseTimeMin);
    assert!((asked..asked + 0.001).contains(&least), "{least} s, {asked} s");
    let most = get(&outcome, Metric::ResponseTimeMax);
    let first = asked + opened + s(52.0);
    assert!((most - first).abs() < 0.001, "{most} s, {first} s");
    // Three replies of seven segments, three requests.
    assert_eq!(get(&outcome, Metric::SegmentsSent), 24.0);
    assert_eq!(counted(&outcome, "TcpRetransSegs"), 0);
}

/// EG-18: pages over six connections at once, with losses: retransmissions seen by the ports equal the kernels'
/// counts.
#[test]
fn pages_come_over_many_connections() {
    let Some(kernels) = kernels() else { return };
    let loss = "[[hop.loss]]\nname = \"air\"\nprobability = 0.05";
    let app = "{ web = { pages = 10, connections = 6, reading = \"1 s\" } }";
    let model = model(&scenario(loss, app), &[]);
    let outcome = play(&kernels, &model, 0);
    assert!(outcome.ran.complete);
    assert_eq!(get(&outcome, Metric::Pages), 10.0);
    assert!(get(&outcome, Metric::Connections) > 3.0);
    assert!(get(&outcome, Metric::PacketsDropped) > 0.0);
    let again = counted(&outcome, "TcpRetransSegs");
    // Retransmitted SYNs and FINs carry no data, so packet ports count them among packets without data.
    let seen = get(&outcome, Metric::SegmentsRetransmitted);
    assert!(again > 0 && seen <= again as f64 && seen > 0.0, "{seen} of {again}");
    // The model's run requests the same pages with the same objects.
    let models = scenario::read_with(
        "model",
        scenario(loss, app).as_bytes(),
        &scenario::NoFiles,
        &["flow.talk.transport=tcp".to_owned()],
    )
    .unwrap_or_else(|wrong| panic!("{}", wrong.render(scenario::Style::default())));
    let ran = lab::run_once(models.first(), 0, lab::once::Options::default());
    assert_eq!(ran.flows[0].get(Metric::Responses), Some(get(&outcome, Metric::Responses)));
    // A repeated run has equal bytes.
    let again = play(&kernels, &model, 0);
    assert!(again.capture == outcome.capture, "a repetition differs from itself");
}

/// WL-13: clients reset connections after their patience time, and the kernels receive RST segments.
#[test]
fn an_impatient_user_resets_connections() {
    let Some(kernels) = kernels() else { return };
    let app =
        "{ request-reply = { request = \"300 B\", reply = \"200 kB\", count = 2, patience = \"1 s\" } }";
    let outcome = play(&kernels, &model(&scenario("", app), &[]), 0);
    assert!(outcome.ran.complete);
    assert_eq!((get(&outcome, Metric::Responses), get(&outcome, Metric::PagesAborted)), (0.0, 2.0));
    assert!(counted(&outcome, "TcpOutRsts") >= 2);
}

/// The delay of a message of one packet is the propagation delay plus its transmission time.
#[test]
fn messages_arrive_at_their_pace() {
    let Some(kernels) = kernels() else { return };
    let app = "{ cbr = { rate = \"16 kbit/s\", packet = \"200 B\", lasts = \"5 s\" } }";
    let outcome = play(&kernels, &model(&scenario("", app), &[]), 0);
    assert!(outcome.ran.complete);
    let sent = get(&outcome, Metric::MessagesSent);
    assert_eq!((sent, get(&outcome, Metric::MessagesDelivered)), (50.0, 50.0));
    let alone = 0.1 + (200.0 + 52.0) * 8.0 / 1e6;
    // The first message waits for the handshake, and with it the second and third; no other message waits,
    // even with unacknowledged data.
    let (mean, late) = (get(&outcome, Metric::MessageDelay), 0.2 + 2.0 * 60.0 * 8.0 / 1e6);
    let waited = (late + (late - 0.1) + f64::max(late - 0.2, 0.0)) / 50.0;
    assert!((mean - alone - waited).abs() < 0.001, "{mean} s, {} s", alone + waited);
}

/// SCTP and Multipath TCP sockets of the kernel carry bulk data.
#[test]
fn sctp_and_multipath_tcp_carry_data() {
    let Some(kernels) = kernels() else { return };
    let text = scenario("", "{ bulk = { bytes = \"200 kB\" } }");
    let least = 200e3 * 8.0 / 1e6 + 0.3;
    let run = |set: &[&str]| {
        let outcome = play(&kernels, &model(&text, set), 0);
        assert!(outcome.ran.complete, "{set:?} {:?}", outcome.facts);
        let took = get(&outcome, Metric::DownloadTime);
        assert!((least..2.0 * least).contains(&took), "{set:?}: {took} s");
        outcome
    };
    let sctp = run(&["flow.talk.transport={ linux = { protocol = \"sctp\" } }"]);
    assert!(counted(&sctp, "SctpOutSCTPPacks") > 100, "{:?}", sctp.facts);
    assert_eq!(counted(&sctp, "TcpOutSegs"), 0);
    let mptcp = run(&["flow.talk.transport.linux.protocol=mptcp"]);
    assert!(counted(&mptcp, "MPTcpExtMPCapableSYNTX") == 1, "{:?}", mptcp.facts);
}

/// A network card with the link's rate limits the kernel: no packets queue on the path, and the kernel's
/// backlog is visible and not dropped.
#[test]
fn a_modem_holds_the_kernel_back() {
    let Some(kernels) = kernels() else { return };
    let queue = "queue = { drop-tail = { limit = \"10 packets\" } }";
    let text = scenario(queue, "{ bulk = { bytes = \"500 kB\" } }");
    let run = |set: &[&str]| {
        let outcome = play(&kernels, &model(&text, set), 0);
        assert!(outcome.ran.complete, "{set:?}");
        outcome
    };
    let free = run(&[]);
    assert!(get(&free, Metric::PacketsDropped) > 0.0);
    let held = run(&["flow.talk.transport.linux.modem=1 Mbit/s"]);
    assert_eq!((get(&held, Metric::PacketsDropped), counted(&held, "TcpRetransSegs")), (0.0, 0));
    // Each packet finds the queue empty except the last one, which is shorter.
    let waited = get(&held, Metric::QueueDelay) * get(&held, Metric::SegmentsSent);
    assert!(waited < 1500.0 * 8.0 / 1e6, "{waited} s");
    // Lower bound, s: transmission times of all packets and round trips; network card and link send in
    // parallel.
    let least = 500e3 / 1448.0 * 1500.0 * 8.0 / 1e6 + 0.3;
    let took = get(&held, Metric::DownloadTime);
    assert!((least..least + 0.2).contains(&took), "{took} s, {least} s at least");
    let again = play(&kernels, &model(&text, &["flow.talk.transport.linux.modem=1 Mbit/s"]), 0);
    assert!(again.capture == held.capture, "a repetition differs from itself");
}
