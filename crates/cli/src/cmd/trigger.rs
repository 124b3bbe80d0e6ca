//! `williwaw trigger`: list of the triggers of running emulations, and the call of one (state, priority, cell
//! reselection).

use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use emulate::driver::trigger_socket::{self, Answer, Running};
use serde_json::json;
use std::time::Duration;

/// Interval between two lists of `--watch`.
const EACH: Duration = Duration::from_secs(1);

/// Trigger a named change in a running emulation, such as a state of a link or the priority of a flow
///
/// Without a name it lists the running emulations, their triggers, the flows under a congestion manager with their
/// priorities, and the serving cell of each mobile on a GPRS bearer. A name that ends with `=` takes a value:
/// `FLOW.priority=WEIGHT`. `HOP.reselect` sends a mobile to another cell, `HOP.reselect.routing-area` to a neighbour in
/// another routing area. It works outside and inside a `williwaw shell`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  williwaw trigger\n  williwaw trigger --watch\n  williwaw trigger mobility.tunnel\n  williwaw trigger video.priority=4\n  williwaw trigger radio.reselect.routing-area\n  williwaw trigger --run lte mobility.tunnel"
)]
pub(crate) struct Args {
    /// Name of the trigger, with `=VALUE` if it takes one
    name: Option<String>,
    /// The emulation, by name or process id; required if several run
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Print the list again each second, until the emulations end or an interrupt
    #[arg(long, conflicts_with = "name")]
    watch: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Lists the triggers of running emulations, or calls one.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    let refused =
        |error: std::io::Error| Failure::machine(format!("cannot reach a running emulation: {error}"), "");
    let found = || -> Result<Vec<_>, Failure> {
        let mut all = trigger_socket::running().map_err(refused)?;
        if let Some(name) = &args.run {
            all.retain(|one| one.name == *name || one.process.to_string() == *name);
        }
        Ok(all)
    };
    let all = found()?;
    let Some(name) = &args.name else {
        list(&all, args.json, console)?;
        let mut all = all;
        while args.watch && !all.is_empty() {
            #[allow(clippy::disallowed_methods, reason = "a list for a person, once a second")]
            std::thread::sleep(EACH);
            all = found()?;
            list(&all, args.json, console)?;
        }
        return Ok(ExitStatus::Good);
    };
    let one = match &all[..] {
        [one] => one,
        [] => {
            return Err(Failure::usage(
                "no emulation is running on this machine",
                "start one with `williwaw shell` or `williwaw emulate`",
            ));
        }
        several => {
            let names: Vec<String> = several.iter().map(|o| format!("{} ({})", o.name, o.process)).collect();
            return Err(Failure::usage(
                format!("several emulations are running: {}", names.join(", ")),
                "choose one with --run NAME",
            ));
        }
    };
    let answer = trigger_socket::call(one, name).map_err(refused)?;
    let Some(at) = answer.at_s else {
        let known = if answer.names.is_empty() { "nothing".into() } else { answer.names.join(", ") };
        let values = if answer.names.iter().any(|name| name.ends_with('=')) {
            "; a priority is a whole number from 1 to 1000"
        } else {
            ""
        };
        return Err(Failure::usage(
            format!("`{}` has no trigger `{name}`", one.name),
            format!("its triggers: {known}{values}"),
        ));
    };
    if args.json {
        console.document(&json!({ "schema": "williwaw-trigger/1", "run": one.name, "process": one.process, "name": name, "t": at }))?;
    } else {
        console.note(&format!("{name} at {at:.6} s of {}", one.name));
    }
    Ok(ExitStatus::Good)
}

fn list(all: &[Running], json: bool, console: &Console) -> Result<(), Failure> {
    let answers = all.iter().map(|one| (one, trigger_socket::call(one, "").ok()));
    if json {
        let run = |(one, answer): (&Running, Option<Answer>)| {
            let (names, cells, flows) = answer.map(|a| (a.names, a.cells, a.flows)).unwrap_or_default();
            json!({ "run": one.name, "process": one.process, "names": names, "cells": cells, "flows": flows })
        };
        let runs: Vec<_> = answers.map(run).collect();
        return console.document(&json!({ "schema": "williwaw-trigger/1", "running": runs }));
    }
    if all.is_empty() {
        console.note("no emulation is running on this machine");
    }
    let lines = |(one, answer): (&Running, Option<Answer>)| {
        let (names, cells, flows) = answer.map(|a| (a.names, a.cells, a.flows)).unwrap_or_default();
        let flows = flows.iter().map(|flow| format!("  {flow}\n"));
        let shown: String = flows.chain(cells.iter().map(|cell| format!("  {cell}\n"))).collect();
        format!("{} ({}): {}\n{shown}", one.name, one.process, names.join(", "))
    };
    console.data(&answers.map(lines).collect::<String>())
}
