//! Table of queueing disciplines: start-up losses, mean queue and throughput of one to three flows, paired with drop-tail; writes
//! `docs/queues.md` (`queues FILE [REPETITIONS]`).

use lab::once::{Options, run_once};
use lab::probe;
use scenario::metric::Metric;
use scenario::{Model, NoFiles, Style, read_with};
use std::fmt::Write as _;
use std::process::ExitCode;

/// Compared queues, drop-tail first: name, queue. Limits are 40 packets everywhere; thresholds and targets are those
/// of `overview/dual-threshold`.
const QUEUES: [(&str, &str); 8] = [
    ("drop-tail", "{ drop-tail = { limit = \"40 packets\" } }"),
    (
        "dual threshold",
        "{ dual-threshold = { soft = \"16 packets\", hard = \"40 packets\", another-time = \"640 ms\" } }",
    ),
    ("RED", "{ red = { limit = \"40 packets\", min = 16, max = 40, weight = 0.002, probability = 0.02 } }"),
    (
        "Adaptive RED",
        "{ red = { limit = \"40 packets\", min = 16, max = 40, weight = 0.002, probability = 0.02, adaptive = true } }",
    ),
    ("CoDel", "{ codel = { target = \"50 ms\", interval = \"500 ms\", limit = \"40 packets\" } }"),
    ("PIE", "{ pie = { target = \"50 ms\", limit = \"40 packets\" } }"),
    ("FQ-CoDel", "{ fq-codel = { target = \"50 ms\", interval = \"500 ms\", limit = \"40 packets\" } }"),
    // Deciding by the length at each arrival, as the two thresholds do, at the same place.
    ("drop-tail at the soft threshold", "{ drop-tail = { limit = \"16 packets\" } }"),
];

const SCENARIOS: [&str; 3] = [
    include_str!("../../../experiments/overview/one.scenario.toml"),
    include_str!("../../../experiments/overview/two.scenario.toml"),
    include_str!("../../../experiments/overview/three.scenario.toml"),
];

/// Two-sided 95 % quantiles of Student's t with 1, 2, ... degrees of freedom; then the normal one.
const T95: [f64; 29] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045,
];

/// Mean and half of its 95 % interval.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let t = values.len().checked_sub(2).and_then(|i| T95.get(i)).copied().unwrap_or(1.96);
    (mean, t * (variance / n).sqrt())
}

/// Start-up losses, mean queue in packets, throughput of all flows in kbit/s; of one repetition.
fn measure(model: &Model, repetition: u64) -> [f64; 3] {
    let readings = probe::measure(model, repetition, 0);
    let of = |name: &str| readings.get(name).copied().unwrap_or(f64::NAN);
    let outcome = run_once(model, repetition, Options::default());
    let rate = outcome.flows.iter().filter_map(|flow| flow.get(Metric::Throughput)).sum::<f64>();
    [of("startup_lost"), of("mean_queue_packets"), rate / 1e3]
}

/// The page.
pub(crate) fn table(repetitions: u64) -> Result<String, String> {
    let mut page = format!(
        "# Queueing disciplines beside each other\n\n\
         The workload is one to three bulk transfers (NewReno, every second segment acknowledged). The path has 384 kbit/s and an\n\
         RTT of 320 ms, a bandwidth-delay product of 16 packets. Each row has {repetitions} repetitions of 60 s; start times are equal in\n\
         all rows, so differences to drop-tail are paired. ± is half of a 95 % interval (Student). Losses are counted until the\n\
         first recovery of the first flow ends; the queue is the mean over time, without the packet in service. Written by\n\n\
         ```sh\ncargo run --release -p williwaw-lab --example queues -- docs/queues.md\n```\n"
    );
    for (flows, text) in SCENARIOS.iter().enumerate() {
        let _ = write!(
            page,
            "\n## {} flow{}\n\n| queue | start-up losses | less than drop-tail | mean queue, packets | less than drop-tail | throughput, kbit/s |\n|---|---|---|---|---|---|\n",
            flows + 1,
            if flows == 0 { "" } else { "s" }
        );
        let mut tail: Vec<[f64; 3]> = Vec::new();
        for (name, queue) in QUEUES {
            let set = [format!("hop.radio.queue.down={queue}")];
            let scenario = read_with("queues", text.as_bytes(), &NoFiles, &set)
                .map_err(|diagnostics| diagnostics.render(Style::default()))?;
            let rows: Vec<[f64; 3]> = (0..repetitions).map(|r| measure(scenario.first(), r)).collect();
            if tail.is_empty() {
                tail.clone_from(&rows);
            }
            let column = |k: usize| mean(&rows.iter().map(|row| row[k]).collect::<Vec<_>>());
            let less = |k: usize| {
                let (mean, half) =
                    mean(&rows.iter().zip(&tail).map(|(row, tail)| tail[k] - row[k]).collect::<Vec<_>>());
                if name == "drop-tail" { String::new() } else { format!("{mean:.1} ± {half:.1}") }
            };
            let ((lost, lost_half), (queue, queue_half), (rate, rate_half)) =
                (column(0), column(1), column(2));
            let _ = writeln!(
                page,
                "| {name} | {lost:.1} ± {lost_half:.1} | {} | {queue:.1} ± {queue_half:.1} | {} | {rate:.1} ± {rate_half:.1} |",
                less(0),
                less(1)
            );
        }
    }
    Ok(page)
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap_or_else(|| "docs/queues.md".to_owned());
    let repetitions = args.next().and_then(|n| n.parse().ok()).unwrap_or(20);
    let written = table(repetitions).and_then(|page| std::fs::write(&file, page).map_err(|e| e.to_string()));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
