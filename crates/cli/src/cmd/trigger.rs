//! `williwaw trigger`: change a running emulation by a name that its scenario gives.

use crate::console::exit::{End, Failure};
use crate::console::talk::Talk;
use emulate::driver::trigger_socket::{self, Running};
use serde_json::json;

/// Trigger a named change in a running emulation, such as a state of a link
///
/// Without a name it lists the running emulations and their triggers, and the serving cell of each mobile on a GPRS
/// bearer. `HOP.reselect` sends a mobile to another cell, `HOP.reselect.routing-area` to a neighbour in another routing area. It works outside and inside a `williwaw
/// shell`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  williwaw trigger\n  williwaw trigger mobility.tunnel\n  williwaw trigger radio.reselect.routing-area\n  williwaw trigger --run lte mobility.tunnel"
)]
pub(crate) struct Args {
    /// Name of the trigger
    name: Option<String>,
    /// The emulation, by name or process id; required if several run
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Does it.
pub(crate) fn run(args: Args, talk: &Talk) -> Result<End, Failure> {
    let refused =
        |error: std::io::Error| Failure::machine(format!("cannot reach a running emulation: {error}"), "");
    let mut all = trigger_socket::running().map_err(refused)?;
    if let Some(name) = &args.run {
        all.retain(|one| one.name == *name || one.process.to_string() == *name);
    }
    let Some(name) = &args.name else { return list(&all, args.json, talk) };
    let one = match &all[..] {
        [one] => one,
        [] => {
            return Err(Failure::usage(
                "no emulation is running here",
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
        return Err(Failure::usage(
            format!("`{}` has no trigger `{name}`", one.name),
            format!("its triggers: {known}"),
        ));
    };
    if args.json {
        talk.document(&json!({ "schema": "williwaw-trigger/1", "run": one.name, "process": one.process, "name": name, "t": at }))?;
    } else {
        talk.note(&format!("{name} at {at:.6} s of {}", one.name));
    }
    Ok(End::Good)
}

fn list(all: &[Running], json: bool, talk: &Talk) -> Result<End, Failure> {
    let answer = |one: &Running| trigger_socket::call(one, "").ok();
    if json {
        let runs: Vec<_> = all
            .iter()
            .map(|one| {
                let (names, cells) = answer(one).map(|a| (a.names, a.cells)).unwrap_or_default();
                json!({ "run": one.name, "process": one.process, "names": names, "cells": cells })
            })
            .collect();
        talk.document(&json!({ "schema": "williwaw-trigger/1", "running": runs }))?;
        return Ok(End::Good);
    }
    if all.is_empty() {
        talk.note("no emulation is running here");
    }
    let lines = |one: &Running| {
        let (names, cells) = answer(one).map(|a| (a.names, a.cells)).unwrap_or_default();
        let cells: String = cells.iter().map(|cell| format!("  {cell}\n")).collect();
        format!("{} ({}): {}\n{cells}", one.name, one.process, names.join(", "))
    };
    talk.data(&all.iter().map(lines).collect::<String>())?;
    Ok(End::Good)
}
