//! Tests of datagram flows over UDP sockets of real kernels: pace, sizes and losses equal those of the model.
//! Needs a kernel for virtual time; without one each test reports this and is skipped.
#![cfg(target_os = "linux")]

mod common;

use base::wire::{self, UDP};
use common::{kernels, model, play, talk};
use scenario::metric::Metric;
use uml::KernelOutcome;

const UDP_OF_KERNELS: &str = "{ linux = { protocol = \"udp\" } }";

fn get(outcome: &KernelOutcome, metric: Metric) -> f64 {
    outcome.ran.flows[0].get(metric).unwrap_or(f64::NAN)
}

fn counted(outcome: &KernelOutcome) -> (u64, u64) {
    let facts = outcome.facts[0].as_ref().expect("a kernel's flow");
    assert!(facts.faults.is_empty(), "{:?}", facts.faults);
    let of = |end: &std::collections::BTreeMap<String, u64>, name: &str| end.get(name).copied().unwrap_or(0);
    (of(&facts.from, "UdpOutDatagrams"), of(&facts.to, "UdpInDatagrams"))
}

/// RT-01: the delay of each message is the propagation delay plus the transmission time of its packet, 28 B
/// of headers included; the link is otherwise idle.
#[test]
fn datagrams_arrive_after_the_way_and_their_own_bytes() {
    let Some(kernels) = kernels() else { return };
    let app = "{ cbr = { rate = \"64 kbit/s\", packet = \"160 B\", lasts = \"5 s\" } }";
    let outcome = play(&kernels, &model(&talk("", UDP_OF_KERNELS, app), &[]), 0);
    assert!(outcome.ran.complete);
    assert_eq!(
        (get(&outcome, Metric::MessagesSent), get(&outcome, Metric::MessagesDelivered)),
        (250.0, 250.0)
    );
    assert_eq!(counted(&outcome), (250, 250));
    let alone = 0.1 + (160.0 + 28.0) * 8.0 / 1e6;
    for metric in [Metric::MessageDelay, Metric::MessageDelayMax] {
        // A clock that a program reads advances in steps of 256 ns.
        assert!((get(&outcome, metric) - alone).abs() < 10e-6, "{} s, {alone} s", get(&outcome, metric));
    }
    let took = get(&outcome, Metric::CompletionTime);
    assert!((took - (249.0 * 0.02 + alone)).abs() < 10e-6, "{took} s");
}

/// The kernel sends the same messages as the model in as many datagrams, and the same ones are lost: by
/// random loss, and at a full queue.
#[test]
fn they_meet_what_the_models_meet() {
    let Some(kernels) = kernels() else { return };
    let loss = "[[hop.loss]]\nname = \"air\"\nprobability = 0.1";
    let queue = "queue = { drop-tail = { limit = \"3 packets\" } }";
    for (hop, app) in [
        (loss, "{ cbr = { rate = \"64 kbit/s\", packet = \"160 B\", lasts = \"20 s\" } }"),
        (
            loss,
            "{ on-off = { rate = \"64 kbit/s\", packet = \"160 B\", on = \"exponential(1 s)\", off = \"1 s\", lasts = \"20 s\" } }",
        ),
        (queue, "{ ticker = { every = \"50 ms\", size = \"4 kB\", count = 40 } }"),
    ] {
        let own = "{ linux = { protocol = \"udp\", payload = \"500 B\" } }";
        let outcome = play(&kernels, &model(&talk(hop, own, app), &[]), 0);
        assert!(outcome.ran.complete, "{app}");
        let models = "{ udp = { payload = \"500 B\", header = \"28 B\" } }";
        let alone = lab::run_once(&model(&talk(hop, models, app), &[]), 0, lab::once::Options::default());
        for metric in [
            Metric::MessagesSent,
            Metric::MessagesDelivered,
            Metric::SegmentsSent,
            Metric::SegmentsDelivered,
            Metric::PacketsDropped,
        ] {
            assert_eq!(Some(get(&outcome, metric)), alone.flows[0].get(metric), "{metric:?} of {app}");
        }
        assert!(get(&outcome, Metric::PacketsDropped) > 0.0, "{app}");
        let (sent, heard) = counted(&outcome);
        assert_eq!(sent as f64, get(&outcome, Metric::SegmentsSent));
        assert_eq!(heard as f64, get(&outcome, Metric::SegmentsDelivered));
        // A message larger than the queue never arrives whole, so it has no delay.
        let delays = [&outcome.ran.flows[0], &alone.flows[0]].map(|flow| flow.get(Metric::MessageDelay));
        assert!(
            matches!(delays, [None, None]) || matches!(delays, [Some(a), Some(b)] if (a - b).abs() < 20e-6),
            "{delays:?} of {app}"
        );
    }
}

/// The last messages arrive, however long the path; and a repeated run is equal.
#[test]
fn the_last_one_is_heard() {
    let Some(kernels) = kernels() else { return };
    let text = talk("", UDP_OF_KERNELS, "{ ticker = { every = \"1 s\", size = \"200 B\", count = 3 } }");
    let model = model(&text, &["hop.radio.delay=8 s"]);
    let outcome = play(&kernels, &model, 0);
    assert!(outcome.ran.complete);
    assert_eq!(get(&outcome, Metric::MessagesDelivered), 3.0);
    assert!(play(&kernels, &model, 0).capture == outcome.capture, "a repetition differs from itself");
}

/// The last message is delivered although the link was idle for a long time before it.
#[test]
fn the_last_one_is_sent_while_nothing_is_under_way() {
    let Some(kernels) = kernels() else { return };
    for app in [
        "{ cbr = { rate = \"8 kbit/s\", packet = \"1000 B\", lasts = \"5 s\" } }",
        // Each message takes four datagrams.
        "{ ticker = { every = \"2 s\", size = \"4 kB\", count = 3 } }",
    ] {
        let outcome = play(&kernels, &model(&talk("", UDP_OF_KERNELS, app), &[]), 0);
        assert!(outcome.ran.complete);
        let sent = get(&outcome, Metric::MessagesSent);
        assert_eq!(
            (get(&outcome, Metric::MessagesDelivered), counted(&outcome).0),
            (sent, counted(&outcome).1)
        );
    }
}

/// IPv6 headers are 20 B longer.
#[test]
fn datagrams_of_version_6() {
    let Some(kernels) = kernels() else { return };
    let app = "{ cbr = { rate = \"64 kbit/s\", packet = \"160 B\", lasts = \"1 s\" } }";
    let six = "{ linux = { protocol = \"udp\", ip = 6 } }";
    let outcome = play(&kernels, &model(&talk("", six, app), &[]), 0);
    assert!(outcome.ran.complete);
    assert_eq!(get(&outcome, Metric::MessagesDelivered), 50.0);
    let alone = 0.1 + (160.0 + 48.0) * 8.0 / 1e6;
    assert!((get(&outcome, Metric::MessageDelay) - alone).abs() < 10e-6);
    let mut file = Vec::new();
    outcome.capture.as_ref().expect("packets").write(&mut file).expect("memory");
    let mut reader = capture::Reader::open(&file[..]).expect("a capture");
    while let Some(frame) = reader.next().expect("frames") {
        let digest = wire::read(frame.bytes).expect("a packet");
        assert_eq!((digest.version, digest.protocol), (6, UDP), "nothing but the flow's own packets");
    }
}
