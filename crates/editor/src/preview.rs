//! Preview of a scenario in the editor as JSON: value tree, diagnostics with positions in text and form,
//! description, cost forecast.

use lab::forecast::Forecast;
use scenario::{Cost, Diagnostics, Scenario};
use serde_json::{Value, json};

/// Forecast of a scenario by pilot runs, measured by the driver.
pub type Forecaster<'a> = dyn Fn(&Scenario, &Cost) -> Forecast + 'a;

/// Preview of a parsed text: `good`, `tree` of its values, `diagnostics` with positions, and for a valid
/// scenario its description and estimated cost.
pub fn document(text: &str, read: Result<&Scenario, &Diagnostics>, forecast: &Forecaster<'_>) -> Value {
    let mut document = match read {
        Err(wrong) => {
            let mut document = wrong.to_json();
            document["good"] = json!(false);
            document
        }
        Ok(scenario) => {
            let mut document = sound(scenario, forecast);
            document["diagnostics"] = scenario.warnings().to_json()["diagnostics"].take();
            document
        }
    };
    document["diagnostics"] = placed(text, document["diagnostics"].take());
    document["tree"] = crate::edit::tree(text);
    document
}

/// Diagnostics with the path of the marked value, for the form.
fn placed(text: &str, mut diagnostics: Value) -> Value {
    for one in diagnostics.as_array_mut().into_iter().flatten() {
        let number = |key: &str| one[key].as_u64().unwrap_or(0) as usize;
        one["path"] = crate::edit::path_at(text, number("line"), number("column")).into();
    }
    diagnostics
}

/// Seconds per packet and per repetition with kernels, which have no pilot; as in `williwaw check`.
const KERNEL_S: (f64, f64) = (1e-4, 0.2);

fn sound(scenario: &Scenario, forecast: &Forecaster<'_>) -> Value {
    let (cost, first) = (scenario.cost(), scenario.first());
    let real = lab::sweep::real(first);
    let (seconds, simulated, packets, events) = match real {
        None => {
            let forecast = forecast(scenario, &cost);
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
    json!({
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
    })
}
