//! Metrics of the first cell of a scenario file, with mean, minimum and maximum over repetitions: `measure
//! FILE [key=value]...`. With `probes=yes` also the means of trace probes.

use lab::once::{Options, run_once};
use scenario::metric::Metric;
use std::collections::BTreeMap;
use std::io::Write as _;

fn main() {
    let mut args = std::env::args().skip(1);
    let Some(file) = args.next() else { return };
    let set: Vec<String> = args.filter(|a| a != "probes=yes").collect();
    let mut out = std::io::stdout().lock();
    let text = std::fs::read(&file).unwrap_or_default();
    let scenario = match scenario::read_with(&file, &text, &scenario::NoFiles, &set) {
        Ok(scenario) => scenario,
        Err(wrong) => {
            let _ = writeln!(out, "{wrong}");
            return;
        }
    };
    let model = scenario.first();
    let mut rows: Vec<Vec<(f64, f64, f64, u32)>> =
        vec![vec![(0.0, f64::INFINITY, f64::NEG_INFINITY, 0); Metric::ALL.len()]; model.flows.len()];
    for repetition in 0..u64::from(model.run.repetitions) {
        let run = run_once(model, repetition, Options::default());
        for (flow, row) in run.flows.iter().zip(&mut rows) {
            for (value, cell) in flow.values.iter().zip(row) {
                if let Some(x) = value {
                    *cell = (cell.0 + x, cell.1.min(*x), cell.2.max(*x), cell.3 + 1);
                }
            }
        }
    }
    if std::env::args().any(|a| a == "probes=yes") {
        let mut probes: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for repetition in 0..u64::from(model.run.repetitions) {
            for (probe, value) in lab::probe::measure(model, repetition, 0) {
                probes.entry(probe).or_default().push(value);
            }
        }
        for (probe, values) in probes {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let _ = writeln!(out, "{probe:<34} {mean:>14.4} {least:>14.4} {most:>14.4}");
        }
    }
    for (flow, row) in model.flows.iter().zip(rows) {
        let _ = writeln!(out, "{}", flow.name);
        for (metric, (sum, least, most, n)) in Metric::ALL.iter().zip(row).filter(|(_, c)| c.3 > 0) {
            let _ = writeln!(out, "  {metric:<32} {:>14.4} {least:>14.4} {most:>14.4}", sum / f64::from(n));
        }
    }
}
