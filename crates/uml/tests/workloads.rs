//! Tests of every workload that the grammar allows over a kernel's connections, between two kernels and with
//! a model at either end: metrics equal those of models. Needs a kernel for virtual time; without one each
//! test reports this and is skipped.
#![cfg(target_os = "linux")]

mod common;

use common::{kernels, model, play, talk};
use scenario::metric::Metric;
use uml::KernelOutcome;

const MODEL: &str = "{ tcp = { profile = \"linux-6.x\", mss = \"1448 B\" } }";
const KERNEL: &str = "{ linux = { cc = \"cubic\" } }";
/// The model with a small receive buffer.
const SMALL_MODEL: &str = "{ tcp = { profile = \"linux-6.x\", mss = \"1448 B\", receive-buffer = { start = \"32768 B\", most = \"32768 B\" } } }";
const SMALL_KERNEL: &str =
    "{ linux = { sysctl = { tcp_rmem = \"4096 32768 32768\", tcp_moderate_rcvbuf = 0 } } }";
/// Time to read a full receive buffer, s.
const BUFFERED: f64 = 32_768.0 * 8.0 / 160e3;
/// Round-trip time with a packet on the link each way, s.
const TURN: f64 = 0.2 + 1552.0 * 8.0 / 1e6;

/// Keys of each workload.
const APPS: &[&str] = &[
    "{ bulk = { bytes = \"200 kB\" } }",
    "{ bulk = { lasts = \"5 s\" } }",
    "{ bulk = { bytes = \"200 kB\", read-rate = \"160 kbit/s\" } }",
    "{ bulk = { bytes = \"200 kB\", read-pause = \"5 s\" } }",
    "{ bulk = { bytes = \"200 kB\", read-rate = \"160 kbit/s\", read-pause = \"2 s\" } }",
    "{ request-reply = { request = \"300 B\", reply = \"10 kB\", count = 3, think = \"1 s\", serve = \"50 ms\" } }",
    "{ request-reply = { request = \"300 B\", reply = \"10 kB\", count = 3, keep = \"object\" } }",
    "{ request-reply = { request = \"300 B\", reply = \"200 kB\", count = 2, patience = \"1 s\" } }",
    "{ web = { pages = 3, connections = 4, reading = \"1 s\" } }",
    "{ web = { pages = 3, connections = 1, reading = \"1 s\", pipelining = true } }",
    "{ web = { pages = 3, connections = 4, reading = \"1 s\", keep = \"object\" } }",
    "{ cbr = { rate = \"16 kbit/s\", packet = \"200 B\", lasts = \"5 s\", playout = \"300 ms\" } }",
    "{ on-off = { rate = \"64 kbit/s\", packet = \"160 B\", on = \"exponential(1 s)\", off = \"1 s\", lasts = \"10 s\" } }",
    "{ ticker = { every = \"1 s\", size = \"4 kB\", count = 5 } }",
];

/// Metrics that depend on the workload and not on the stack, as there is no loss.
const COUNTS: [Metric; 6] = [
    Metric::Pages,
    Metric::Responses,
    Metric::PagesAborted,
    Metric::MessagesSent,
    Metric::MessagesDelivered,
    Metric::MessagesLate,
];

fn get(outcome: &KernelOutcome, metric: Metric) -> f64 {
    outcome.ran.flows[0].get(metric).unwrap_or(f64::NAN)
}

/// As many requests, pages and messages as between models, in equal time, whichever ends are kernels.
#[test]
fn whoever_is_at_the_ends_every_workload_runs() {
    let Some(kernels) = kernels() else { return };
    let mut wrong = Vec::new();
    for app in APPS {
        let slowly = app.contains("read-");
        let [of_model, kernel] = if slowly { [SMALL_MODEL, SMALL_KERNEL] } else { [MODEL, KERNEL] };
        let alone = lab::run_once(&model(&talk("", of_model, app), &[]), 0, lab::once::Options::default());
        let alone = &alone.flows[0];
        for (from, to) in [(kernel, kernel), (kernel, of_model), (of_model, kernel)] {
            let ends = format!("{{ from = {from}, to = {to} }}");
            let outcome = play(&kernels, &model(&talk("", &ends, app), &[]), 0);
            let faults: Vec<_> = outcome.facts.iter().flatten().flat_map(|facts| &facts.faults).collect();
            let counts = COUNTS.map(|metric| outcome.ran.flows[0].get(metric));
            let (took, takes) = (get(&outcome, Metric::CompletionTime), alone.get(Metric::CompletionTime));
            let takes = takes.unwrap_or(f64::NAN);
            // A kernel's window opens late if much was merged in its buffer: each time the reader may find
            // less than its portion of a tenth of a second, and waits for more.
            let kernel_reads = outcome.facts[0].as_ref().and_then(|facts| facts.to.get("TCPToZeroWindowAdv"));
            let waits = kernel_reads.copied().unwrap_or(0) as f64 * (0.1 + TURN);
            let near = if slowly { BUFFERED + waits } else { 0.1 * takes };
            if !outcome.ran.complete
                || !faults.is_empty()
                || counts != COUNTS.map(|metric| alone.get(metric))
                || (took - takes).abs() > near
                || took.is_nan() != takes.is_nan()
                || get(&outcome, Metric::PacketsDropped) > 0.0
            {
                let alone = COUNTS.map(|metric| alone.get(metric));
                wrong.push(format!(
                    "{app} from {from} to {to}: complete {}, {faults:?}, {counts:?} for {alone:?}, {took} s for {takes} s",
                    outcome.ran.complete
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
