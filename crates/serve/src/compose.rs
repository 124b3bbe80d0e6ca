//! Scenario composition: text checked, described and costed; presets and published scenarios to begin with.

use crate::App;
use crate::error::Problem;
use crate::library::{Library, TEXT};
use lab::reproduce::experiment::GROUPS;
use scenario::{Diagnostics, Scenario};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A scenario with the files that it names.
pub(crate) struct Read {
    pub(crate) scenario: Scenario,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

/// Reads a scenario; files that it names lie beside the saved scenarios.
pub(crate) fn read(name: &str, text: &str, library: &Library) -> Result<Read, Diagnostics> {
    let files = RefCell::new(BTreeMap::new());
    let load = |path: &str| {
        let bytes = library.beside(path)?;
        files.borrow_mut().insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    };
    let scenario = scenario::read(name, text.as_bytes(), &load)?;
    Ok(Read { scenario, files: files.into_inner() })
}

/// As [`read`], for a request that needs a sound scenario.
pub(crate) fn sound(name: &str, text: &str, library: &Library) -> Result<Read, Problem> {
    bounded(text)?;
    read(name, text, library).map_err(|wrong| {
        let first = wrong.iter().next().map_or_else(String::new, |d| d.message.clone());
        Problem::wrong(
            format!("the scenario cannot be run: {first}"),
            "mend it; every mistake is marked beside the text",
        )
    })
}

pub(crate) fn bounded(text: &str) -> Result<(), Problem> {
    if text.len() > TEXT {
        return Err(Problem::wrong(format!("the scenario is longer than {TEXT} bytes"), ""));
    }
    Ok(())
}

/// The live preview: what is wrong, with places; or what the scenario will do and cost.
pub(crate) fn check(app: &App, name: &str, text: &str) -> Result<Value, Problem> {
    bounded(text)?;
    let tree = crate::edit::tree(text);
    match read(name, text, &app.library) {
        Err(diagnostics) => {
            let mut document = diagnostics.to_json();
            document["good"] = json!(false);
            document["diagnostics"] = placed(text, document["diagnostics"].take());
            document["tree"] = tree;
            Ok(document)
        }
        Ok(read) => {
            let mut document = preview(&read.scenario)?;
            document["confirmed"] = json!(app.store.is_confirmed(&read.scenario.hash())?);
            document["diagnostics"] = placed(text, read.scenario.warnings().to_json()["diagnostics"].take());
            document["tree"] = tree;
            Ok(document)
        }
    }
}

/// Diagnostics with the path of what they underline, for the form.
fn placed(text: &str, mut diagnostics: Value) -> Value {
    for one in diagnostics.as_array_mut().into_iter().flatten() {
        let number = |key: &str| one[key].as_u64().unwrap_or(0) as usize;
        one["path"] = crate::edit::path_at(text, number("line"), number("column")).into();
    }
    diagnostics
}

/// Seconds and packets where no pilot can run: as `williwaw check` estimates them for kernels.
const KERNEL_S: (f64, f64) = (1e-4, 0.2);

fn preview(scenario: &Scenario) -> Result<Value, Problem> {
    let (cost, first) = (scenario.cost(), scenario.first());
    let real = lab::sweep::real(first);
    let (seconds, simulated, packets, events) = match real {
        None => {
            let forecast = lab::forecast::forecast(scenario, &cost);
            (forecast.seconds, forecast.simulated_s, forecast.packets, forecast.events)
        }
        Some(_) => {
            let seconds = cost.packets * KERNEL_S.0 + cost.runs as f64 * KERNEL_S.1;
            (seconds, cost.simulated_s, cost.packets, cost.packet_hops)
        }
    };
    let commands: Vec<Value> = first
        .commands
        .iter()
        .map(
            |c| json!({ "name": c.name, "node": first.nodes[c.node].name, "run": c.run, "serves": c.serves }),
        )
        .collect();
    Ok(json!({
        "good": true,
        "title": scenario.title(),
        "hash": scenario.hash(),
        "describe": scenario.describe(),
        "flows": first.flows.iter().map(|flow| &flow.name).collect::<Vec<_>>(),
        "grid": scenario.axes().map(|(key, values)| json!({ "key": key, "values": values })).collect::<Vec<_>>(),
        "commands": commands,
        "real": real,
        "ask": scenario.question().is_some(),
        "cost": {
            "cells": cost.cells,
            "repetitions": cost.repetitions,
            "runs": cost.runs,
            "simulated_s": simulated,
            "packets": packets,
            "events_per_run": events / (cost.runs.max(1) as f64),
            "seconds": seconds,
            "limit_s": first.run.limit.as_secs_f64(),
        },
    }))
}

/// What one can begin with: links with a name, and the scenarios of published experiments.
pub(crate) fn beginnings() -> Value {
    let presets: Vec<Value> = scenario::preset::NAMES
        .iter()
        .map(|name| json!({ "name": name, "about": scenario::preset::about(name), "text": over(name) }))
        .collect();
    let published: Vec<Value> = GROUPS
        .iter()
        .flat_map(|group| group.files.iter().map(move |(file, text)| (group.name, *file, *text)))
        .filter_map(|(group, file, text)| {
            Some((format!("{group}/{}", file.strip_suffix(".scenario.toml")?), text))
        })
        .map(|(name, text)| {
            let about = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
            json!({ "name": name, "about": about.collect::<Vec<_>>().join(" "), "text": text })
        })
        .collect();
    json!({ "starter": scenario::starter::STARTER, "empty": EMPTY, "presets": presets, "published": published })
}

/// The least that a form can be built on.
const EMPTY: &str = "williwaw = 1\ntitle = \"\"\n";

/// A download over a link with a name.
fn over(preset: &str) -> String {
    format!(
        "williwaw = 1\ntitle = \"A download over {preset}\"\n\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\n\
         preset = \"{preset}\"\n\n[[flow]]\nname = \"download\"\nfrom = \"server\"\nto = \"phone\"\ntransport = \"tcp\"\n\
         app = {{ bulk = {{ bytes = \"300 kB\" }} }}\n\n[run]\nrepetitions = 20\nseed = 1\nlimit = \"1 h\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every beginning that is offered can be run, or says what it needs.
    #[test]
    fn beginnings_are_sound() {
        let all = beginnings();
        let texts = |list: &str| all[list].as_array().unwrap().clone();
        for one in texts("presets") {
            let text = one["text"].as_str().unwrap();
            assert!(scenario::read("x", text.as_bytes(), &scenario::NoFiles).is_ok(), "{}", one["name"]);
        }
        let published = texts("published");
        assert!(published.iter().any(|one| one["name"] == "seawind/case-study"));
        assert!(published.iter().all(|one| !one["text"].as_str().unwrap().is_empty()));
    }
}
