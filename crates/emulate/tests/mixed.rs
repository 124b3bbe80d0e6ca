//! Flows with a TCP model at one end and the kernel of this machine at the other, in real time, with either as the
//! sender (SW-18). Where the process may not create namespaces, the test reports this and is skipped.
#![cfg(target_os = "linux")]

use base::Span;
use base::wire;
use emulate::{EmulationOutcome, Options};
use scenario::Model;
use scenario::metric::Metric;
use std::sync::atomic::AtomicBool;
use testkit::Download;

fn scenario() -> Download {
    let path = Download::over("400 kbit/s", "50 ms")
        .unlimited()
        .faults("[[hop.gate]]\nname = \"spike\"\ndirections = \"down\"\nstart = \"1 s\"\nlasts = \"0 s\"");
    path.transport("\"linux\"").bytes("60 kB").limit("20 s")
}

const MODEL: &str = "{ tcp = { profile = \"linux-6.x\", mss = \"1460 B\" } }";
const SIX: &str = "{ tcp = { profile = \"linux-6.x\", mss = \"1440 B\" } }";

fn model(from: &str, to: &str, set: &[&str]) -> Model {
    let ends = format!("flow.download.transport={{ from = {from}, to = {to} }}");
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).chain([ends]).collect();
    testkit::model(&scenario().text(), &set)
}

/// Runs the scenario; None, with a message, where the process lacks rights.
fn play(from: &str, to: &str, set: &[&str]) -> Option<EmulationOutcome> {
    if let Err(error) = emulate::rights() {
        eprintln!("skipped: {error}");
        return None;
    }
    let options = Options { capture: true, lateness_limit: Span::from_millis(50), ..Options::default() };
    match emulate::once(&model(from, to, set), 0, &options, &AtomicBool::new(false)) {
        Ok(outcome) => Some(outcome),
        Err(error) => panic!("{error}"),
    }
}

fn get(outcome: &EmulationOutcome, metric: Metric) -> f64 {
    outcome.ran.flows[0].get(metric).unwrap_or(f64::NAN)
}

/// 42 packets of up to 1500 bytes at 400 kbit/s, and three times 50 ms before the first byte.
const LEAST: f64 = (60e3 + 42.0 * 52.0) * 8.0 / 400e3 + 0.15;

#[test]
fn whichever_end_is_the_model_the_transfer_takes_its_time() {
    for (from, to) in [(MODEL, "\"linux\""), ("\"linux\"", MODEL), (SIX, "{ linux = { ip = 6 } }")] {
        let Some(outcome) = play(from, to, &[]) else { return };
        assert!(outcome.ran.complete, "{from} to {to}: {:?}", outcome.facts);
        let took = get(&outcome, Metric::DownloadTime);
        assert!((LEAST * 0.99..LEAST + 0.5).contains(&took), "{from} to {to}: {took} s, at best {LEAST} s");
        assert_eq!(get(&outcome, Metric::SegmentsRetransmitted), 0.0, "{from} to {to}");
        let facts = outcome.facts[0].as_ref().expect("a kernel's end");
        assert!(facts.faults.is_empty(), "{:?}", facts.faults);
        // Both ends are captured, and both have every packet.
        let capture = outcome.capture.as_ref().expect("it was asked for");
        let mut seen = [0; 2];
        for (packet_port, _, bytes) in capture.packets() {
            assert!(wire::read(bytes).is_ok_and(|digest| digest.tcp.is_some()));
            seen[packet_port] += 1;
        }
        assert!(seen.iter().all(|n| *n > 60), "{seen:?}");
    }
}

/// Delay spike of 4 s: the kernel acknowledges the model's copies, and the model detects that its timeout was spurious.
#[test]
fn a_model_finds_out_from_a_kernel_that_its_timeout_was_spurious() {
    let Some(outcome) = play(MODEL, "\"linux\"", &["hop.radio.gate.spike.lasts=4 s"]) else { return };
    assert!(outcome.ran.complete, "{:?}", outcome.facts);
    assert!(get(&outcome, Metric::SpuriousTimeouts) >= 1.0, "what the ledger knows");
    assert!(get(&outcome, Metric::TimeoutsJudgedSpurious) >= 1.0, "what the model found");
}

/// Two kernels with different settings: one end without timestamps disables them.
#[test]
fn two_kernels_may_differ() {
    let plain = "{ linux = { sysctl = { tcp_timestamps = 0 } } }";
    let Some(outcome) = play("\"linux\"", plain, &[]) else { return };
    assert!(outcome.ran.complete, "{:?}", outcome.facts);
    let capture = outcome.capture.as_ref().expect("it was asked for");
    let stamped = capture.packets().filter_map(|(_, _, bytes)| wire::read(bytes).ok()?.tcp?.timestamps);
    // The SYN of the end with timestamps, at its packet port and at the opposite one.
    assert_eq!(stamped.count(), 2);
}
