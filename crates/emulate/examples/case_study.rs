//! Agreement of this machine's TCP with the emulator's case study of 2001. The study's scenario
//! (`experiments/seawind/case-study.scenario.toml`) runs repetition by repetition in equal weather: the model of Linux
//! 2.4 in virtual time, and this kernel in real time, once with its settings set back to 2001 and once with defaults.
//! All repetitions run in parallel and take as long as the slowest: four minutes, ten with many timer back-offs:
//!
//!     cargo run -p williwaw-emulate --example case_study [REPETITIONS]
#![allow(clippy::print_stdout, reason = "it is a program")]

use base::Span;
use emulate::Options;
use lab::measure::FlowMeasures;
use scenario::metric::Metric;
use scenario::{Model, NoFiles};
use std::error::Error;
use std::sync::atomic::AtomicBool;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/seawind/case-study.scenario.toml");
/// Features newer than 2001 are off. The initial window of ten segments has no such setting.
const THEN: [&str; 7] = [
    "cc=reno",
    "mtu=\"256 B\"",
    "sysctl.tcp_sack=0",
    "sysctl.tcp_timestamps=0",
    "sysctl.tcp_frto=0",
    "sysctl.tcp_recovery=0",
    "sysctl.tcp_early_retrans=0",
];
const NOW: [&str; 2] = ["cc=cubic", "mtu=\"256 B\""];
/// The published 10th, 50th and 90th percentile of the elapsed time, s.
const PUBLISHED: [f64; 3] = [153.27, 170.51, 196.40];

fn model(set: &[&str]) -> Result<Model, Box<dyn Error>> {
    let set: Vec<String> = set.iter().map(|s| format!("flow.transfer.transport.linux.{s}")).collect();
    let scenario = scenario::read_with("case-study.toml", &std::fs::read(FILE)?, &NoFiles, &set);
    Ok(scenario.map_err(|d| d.render(scenario::Style::default()))?.first().clone())
}

/// The repetitions of a model, beside each other.
fn play(model: &Model, repetitions: u64) -> Result<Vec<FlowMeasures>, Box<dyn Error>> {
    let options = Options { lateness_limit: Span::from_millis(20), ..Options::default() };
    let stop = AtomicBool::new(false);
    let played = std::thread::scope(|scope| {
        let one = |repetition| emulate::once(model, repetition, &options, &stop);
        let all: Vec<_> = (0..repetitions).map(|r| scope.spawn(move || one(r))).collect();
        all.into_iter().filter_map(|worker| worker.join().ok()).collect::<Result<Vec<_>, _>>()
    })?;
    for outcome in &played {
        if let Some(why) = outcome.unfaithful(&options) {
            println!("not faithful: {why}");
        }
    }
    Ok(played.into_iter().flat_map(|outcome| outcome.ran.flows).collect())
}

/// The value that a share `p` of them do not exceed: the nearest rank.
fn percentile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (p * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}

fn row(who: &str, flows: &[FlowMeasures]) {
    let all = |get: fn(&FlowMeasures) -> Option<f64>| flows.iter().filter_map(get).collect::<Vec<_>>();
    let time = all(|f| f.get(Metric::CompletionTime));
    let resent = all(|f| f.get(Metric::SegmentsRetransmitted));
    // Needed retransmissions equal lost segments.
    let lost = all(|f| Some(f.get(Metric::SegmentsRetransmitted)? - f.get(Metric::UnneededRetransmissions)?));
    let [low, middle, high] = [0.1, 0.5, 0.9].map(|p| percentile(&time, p));
    let inside = (PUBLISHED[0]..=PUBLISHED[2]).contains(&middle);
    println!(
        "{who:34} {low:7.1} {middle:7.1} {high:7.1} s  {:5.0} sent again  {:5.0} lost  median {} the band",
        percentile(&resent, 0.5),
        percentile(&lost, 0.5),
        if inside { "inside" } else { "outside" },
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    let repetitions = std::env::args().nth(1).map_or(Ok(20), |n| n.parse())?;
    emulate::rights()?;
    let of_model = model(&[])?;
    let [low, middle, high] = PUBLISHED;
    println!("{:34} {low:7.1} {middle:7.1} {high:7.1} s  {:5} sent again  {:5} lost", "published", 65, 47);
    let virtual_time = |r| lab::once::run_once(&of_model, r, lab::once::Options::default()).flows;
    row("model of Linux 2.4", &(0..repetitions).flat_map(virtual_time).collect::<Vec<_>>());
    let (then, now) = (model(&THEN)?, model(&NOW)?);
    let (then, now) = std::thread::scope(|scope| {
        let then = scope.spawn(|| play(&then, repetitions).map_err(|e| e.to_string()));
        let now = scope.spawn(|| play(&now, repetitions).map_err(|e| e.to_string()));
        (then.join(), now.join())
    });
    row("this kernel, set back", &then.map_err(|_| "a run panicked")??);
    row("this kernel as it is, CUBIC", &now.map_err(|_| "a run panicked")??);
    Ok(())
}
