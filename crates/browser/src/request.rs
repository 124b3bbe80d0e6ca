//! Requests of the page on a scenario: check, run, picture of a repetition; and their answers.

use lab::sweep::{Control, Progress, Sweep, SweepError};
use results::{csv, json, parquet};
use scenario::{Diagnostics, Scenario};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

/// Version in the results; equal to that of the command.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// File name in diagnostics.
const NAME: &str = "scenario.toml";

/// A request of the page.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    /// Checks the scenario and describes it.
    Check { text: String },
    /// Runs every repetition of every cell.
    Run { text: String, repetitions: Option<u32>, seed: Option<u64> },
    /// Draws the time-sequence picture of one repetition.
    Picture { text: String, seed: Option<u64>, cell: u64, repetition: u64, flow: usize },
}

/// Handles one request, a JSON document. Returns a JSON document, and the bytes of `flows.parquet` for a run.
/// `progress` receives the repetitions done and the total.
///
/// The document has a member `good`. Where it is false, `diagnostics` lists the errors of the scenario with their
/// places, or `error` holds one sentence.
pub fn answer(request: &[u8], progress: &(dyn Fn(u64, u64) + Sync)) -> (Value, Vec<u8>) {
    let answered = match serde_json::from_slice(request) {
        Ok(request) => handle(request, progress),
        Err(error) => Err(sorry(format!("the request cannot be read: {error}"))),
    };
    answered.unwrap_or_else(|refused| (refused, Vec::new()))
}

fn handle(request: Request, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<(Value, Vec<u8>), Value> {
    match request {
        Request::Check { text } => Ok((description(&read(&text)?), Vec::new())),
        Request::Run { text, repetitions, seed } => run(&read(&text)?, repetitions, seed, progress),
        Request::Picture { text, seed, cell, repetition, flow } => {
            Ok((picture(&read(&text)?, seed, cell, repetition, flow)?, Vec::new()))
        }
    }
}

fn read(text: &str) -> Result<Scenario, Value> {
    let no_files = |_: &str| Err("a page cannot open files".to_owned());
    scenario::read(NAME, text.as_bytes(), &no_files).map_err(|wrong| mistakes(&wrong))
}

fn mistakes(wrong: &Diagnostics) -> Value {
    let mut document = wrong.to_json();
    document["good"] = json!(false);
    document
}

fn sorry(why: impl Into<String>) -> Value {
    json!({ "good": false, "error": why.into() })
}

fn description(scenario: &Scenario) -> Value {
    let (cost, first) = (scenario.cost(), scenario.first());
    let mut document = scenario.warnings().to_json();
    document["good"] = json!(true);
    document["title"] = json!(scenario.title());
    document["describe"] = json!(scenario.describe());
    document["flows"] = first.flows.iter().map(|flow| flow.name.as_str()).collect();
    document["cells"] = json!(cost.cells);
    document["repetitions"] = json!(cost.repetitions);
    document["seed"] = json!(first.run.seed);
    document["packet_hops"] = json!(cost.packet_hops);
    document["real"] = json!(lab::sweep::real(first));
    document
}

/// Most cells of a grid: the page shows a row for each, and a mistyped grid must not exhaust the browser's memory.
const MOST_CELLS: u64 = 10_000;

fn run(
    scenario: &Scenario,
    repetitions: Option<u32>,
    seed: Option<u64>,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<(Value, Vec<u8>), Value> {
    if let Some(cells) = scenario.cell_count().filter(|cells| *cells > MOST_CELLS) {
        return Err(sorry(format!("the grid has {cells} cells; a page runs at most {MOST_CELLS}")));
    }
    let sweep = Sweep::new(scenario, repetitions, seed, VERSION).map_err(refused)?;
    let tell = |now: Progress| progress(now.done, now.total);
    let control =
        Control { progress: &tell, stop: &AtomicBool::new(false), jobs: 1, shuffle_ties: None, player: None };
    let (rows, _) = sweep.run(None, &control).map_err(refused)?;
    let broken = |error: results::Error| sorry(error.to_string());
    let mut document = json::run_document(NAME, &sweep.header, &rows).map_err(broken)?;
    let mut table = Vec::new();
    csv::write_csv(&mut table, &sweep.header, &rows).map_err(broken)?;
    document["good"] = json!(true);
    document["repetitions"] = json!(sweep.repetitions);
    document["units"] =
        sweep.header.columns.iter().map(|column| (column.name.clone(), json!(column.unit))).collect();
    document["csv"] = json!(String::from_utf8_lossy(&table));
    let bytes = parquet::flows_bytes(&sweep.header, &rows).map_err(broken)?;
    Ok((document, bytes))
}

fn refused(error: SweepError) -> Value {
    match error {
        SweepError::Scenario(wrong) => mistakes(&wrong),
        SweepError::Real(name) => {
            sorry(format!("`{name}` needs a real kernel, a program or a wire; a page runs models only"))
        }
        SweepError::Results(error) => sorry(error.to_string()),
        SweepError::Fault(text) => sorry(format!("this is a fault of williwaw: {text}")),
        other => sorry(format!("{other:?}")),
    }
}

fn picture(
    scenario: &Scenario,
    seed: Option<u64>,
    cell: u64,
    repetition: u64,
    flow: usize,
) -> Result<Value, Value> {
    if scenario.cell_count().is_none_or(|cells| cell >= cells) {
        return Err(sorry(format!("the grid has no cell {cell}")));
    }
    let cell = scenario.cell(cell).map_err(|wrong| mistakes(&wrong))?;
    let mut model = cell.model;
    if let Some(name) = lab::sweep::real(&model) {
        return Err(sorry(format!("`{name}` is no model; a page runs models only")));
    }
    if flow >= model.flows.len() {
        return Err(sorry(format!("the scenario has {} flows, and no number {flow}", model.flows.len())));
    }
    if let Some(seed) = seed {
        model.run.seed = seed;
    }
    let picture = lab::picture::picture(&model, repetition, flow);
    Ok(json!({ "good": true, "html": picture.live(1) }))
}
