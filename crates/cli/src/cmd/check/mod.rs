//! `williwaw check`: validation, description and estimated cost of a scenario, without running it.

mod describe;
mod needs;

use crate::console::exit::{CliError, ExitStatus, Failure};
use crate::console::streams::Console;
use crate::console::{clock, environment};
use crate::input::files;
use crate::output::{labels, terminal};
use lab::forecast::{Forecast, Meters};
use scenario::{Cost, Scenario};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Validate a scenario and print what it does and what it costs to run
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw check scenario.toml\n  \
    williwaw check scenario.toml --set hop.radio.rate='60 kbit/s' --json")]
pub(crate) struct Args {
    /// The scenario; `-` is stdin
    file: PathBuf,
    #[command(flatten)]
    changes: crate::console::args::Changes,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    let input = match files::read(&args.file, &args.changes.set) {
        Ok(input) => input,
        Err(Failure { end, why: CliError::Scenario(diagnostics) }) if args.json => {
            let mut document = diagnostics.to_json();
            document["good"] = json!(false);
            console.document(&document)?;
            return Ok(end);
        }
        Err(failure) => return Err(failure),
    };
    let scenario = &input.scenario;
    if args.json {
        console.document(&document(scenario))?;
        return Ok(ExitStatus::Good);
    }
    console.warnings(scenario.warnings());
    console.data(&terminal::folded(&text(scenario), console.width))?;
    if let Some(question) = scenario.question() {
        console.warnings(&question);
    }
    Ok(ExitStatus::Good)
}

/// Rough processor time of real kernels in virtual time, s: per packet, and per repetition until the kernels have booted.
const KERNEL_S: (f64, f64) = (1e-4, 0.2);

/// Cost in virtual time, measured by a pilot run. With real kernels there is no pilot run, and the estimate is rougher.
fn forecast(scenario: &Scenario) -> Forecast {
    let cost = scenario.cost();
    if lab::sweep::real(scenario.first()).is_none() {
        let meters = Meters { processor: &clock::processor, resident: &environment::resident_bytes };
        return lab::forecast::measured(scenario, &cost, meters);
    }
    Forecast {
        simulated_s: cost.simulated_s,
        packets: cost.packets,
        packet_hops: cost.packet_hops,
        frames: 0.0,
        events: cost.packet_hops,
        memory: 0.0,
        seconds: cost.packets * KERNEL_S.0 + cost.runs as f64 * KERNEL_S.1,
        exact: 0.0,
    }
}

/// Forecast as text.
fn words(scenario: &Scenario) -> String {
    let (cost, forecast) = (scenario.cost(), forecast(scenario));
    let cost = Cost { simulated_s: forecast.simulated_s, packets: forecast.packets, ..cost };
    let cores = environment::cores();
    let mut out = format!("\nCost\n  {cost}\n");
    if forecast.frames > 0.0 {
        out.push_str(&format!("  {} frames, ", about(forecast.frames)));
    } else {
        out.push_str("  ");
    }
    out.push_str(&format!("{} events", about(forecast.events)));
    if forecast.memory > 0.0 {
        out.push_str(&format!(
            ", {} MB of memory for each repetition in progress",
            about(forecast.memory / 1e6)
        ));
    }
    let rough = describe::rough(forecast.seconds / cores as f64);
    out.push_str(&format!("\n  {rough} on {cores} cores of this machine\n"));
    out
}

/// Number with two significant digits.
fn about(x: f64) -> String {
    let unit =
        [(1e9, " billion"), (1e6, " million"), (1e3, " thousand")].into_iter().find(|(unit, _)| x >= *unit);
    let (unit, name) = unit.unwrap_or((1.0, ""));
    let x = x / unit;
    format!("about {}{name}", if x < 10.0 && unit > 1.0 { format!("{x:.1}") } else { format!("{x:.0}") })
}

fn text(scenario: &Scenario) -> String {
    let mut out = String::new();
    if !scenario.title().is_empty() {
        out.push_str(&format!("{}\n\n", scenario.title()));
    }
    out.push_str(&describe::model(scenario.first()));
    let axes: Vec<(&str, Vec<Value>)> = scenario.axes().collect();
    if !axes.is_empty() {
        out.push_str("\nGrid, the first values being those above\n");
        let paths: Vec<&str> = axes.iter().flat_map(|(key, _)| key.split(',')).map(str::trim).collect();
        let mut names = labels::short(&paths).into_iter();
        for (key, values) in &axes {
            let name: Vec<String> = names.by_ref().take(key.split(',').count()).collect();
            let value = |value: &Value| {
                let params = [((*key).to_owned(), lab::sweep::plain(value))];
                labels::apart(&params).into_iter().map(|(_, v)| v).collect::<Vec<_>>().join(", ")
            };
            let values: Vec<String> = values.iter().map(value).collect();
            out.push_str(&format!("  {}: {}\n", name.join(", "), values.join(" | ")));
        }
    }
    for (i, assumed) in describe::assumptions(scenario.first()).iter().enumerate() {
        out.push_str(&format!(
            "{}  {assumed}
",
            if i == 0 {
                "
Assumes
"
            } else {
                ""
            }
        ));
    }
    out.push_str(&needs::words(&needs::of(scenario.first(), Path::new("/"))));
    out.push_str(&words(scenario));
    out.push_str(&commands(scenario));
    out
}

/// Note that packets and time of commands are not part of the estimate; empty without commands.
fn commands(scenario: &Scenario) -> String {
    let first = scenario.first();
    let (n, runs) = (first.commands.len(), scenario.cost().runs);
    if n == 0 {
        return String::new();
    }
    format!(
        "  besides, {n} command{} in each repetition, {} processes in all: their packets and their time, up to {} s a \
         repetition, are not estimated\n",
        if n == 1 { "" } else { "s" },
        runs.saturating_mul(n as u64),
        first.run.limit.as_secs_f64(),
    )
}

fn document(scenario: &Scenario) -> Value {
    let (cost, forecast) = (scenario.cost(), forecast(scenario));
    let axes: serde_json::Map<String, Value> =
        scenario.axes().map(|(key, values)| (key.to_owned(), Value::Array(values))).collect();
    let mut document = json!({
        "schema": "williwaw-check/1",
        "good": true,
        "scenario": scenario.name(),
        "title": scenario.title(),
        "hash": scenario.hash(),
        "seed": scenario.first().run.seed,
        "grid": axes,
        "cost": {
            "cells": cost.cells,
            "repetitions": cost.repetitions,
            "runs": cost.runs,
            "simulated_s": forecast.simulated_s,
            "packets": forecast.packets,
            "packet_hops": forecast.packet_hops,
            "frames": forecast.frames,
            "events": forecast.events,
            "memory_bytes": forecast.memory,
            "exact_share": forecast.exact,
            "seconds": forecast.seconds / environment::cores() as f64,
            "commands": cost.runs.saturating_mul(scenario.first().commands.len() as u64),
        },
        "ask": scenario.question().is_some(),
        "warnings": scenario.warnings().to_json()["diagnostics"],
    });
    document["needs"] = needs::document(&needs::of(scenario.first(), Path::new("/")));
    document["model"] = describe::document(scenario.first());
    document
}
