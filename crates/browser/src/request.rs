//! JSON requests of a web page to the simulator, and their responses: schema, templates, check, edit, run,
//! pictures of a repetition.

use base::Span;
use editor::{Change, PreviewTarget, Step};
use lab::forecast::{Forecast, Meters};
use lab::sweep::{Progress, Sweep, SweepControl, SweepError};
use results::{csv, json, parquet};
use scenario::{Cost, Diagnostics, Scenario};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

/// Version in the results; equal to that of the command.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// File name in diagnostics.
const NAME: &str = "scenario.toml";

/// Callbacks of the page: progress, and processor time of its worker.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    /// Called with the finished and the total repetitions.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
    /// Processor time of the worker so far; the forecast measures its pilot runs with it.
    pub processor: &'a dyn Fn() -> Span,
}

impl std::fmt::Debug for Page<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Page")
    }
}

/// A request of the page.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    /// Returns the grammar of scenarios as JSON Schema, from which the form is built.
    Schema,
    /// Returns the scenario templates.
    Beginnings,
    /// Checks the scenario and describes it.
    Check { text: String },
    /// Changes the text at one path.
    Edit { text: String, path: Vec<Step>, change: Change },
    /// Runs every repetition of every cell.
    Run { text: String, repetitions: Option<u32>, seed: Option<u64> },
    /// Draws one repetition: time-sequence picture, congestion window, packet positions.
    Look { text: String, seed: Option<u64>, cell: u64, rep: u64, flow: usize },
}

/// Handles one request, a JSON document. Returns a JSON document, and the bytes of `flows.parquet` for a run.
///
/// The responses to schema, templates, edit and look equal those of `williwaw serve`; those to check and run
/// have `good`. If `good` is false, `diagnostics` lists the errors of the scenario with their positions, or
/// `error` contains one sentence and `help` its remedy.
pub fn answer(request: &[u8], page: Page<'_>) -> (Value, Vec<u8>) {
    let answered = match serde_json::from_slice(request) {
        Ok(request) => handle(request, page),
        Err(error) => Err(sorry(format!("the request cannot be read: {error}"))),
    };
    answered.unwrap_or_else(|refused| (refused, Vec::new()))
}

fn handle(request: Request, page: Page<'_>) -> Result<(Value, Vec<u8>), Value> {
    let forecast = |scenario: &Scenario, cost: &Cost| forecast(scenario, cost, page);
    let document = match request {
        Request::Schema => scenario::schema::json_schema(),
        Request::Beginnings => editor::beginnings(),
        Request::Check { text } => editor::document(&text, read(&text).as_ref(), &forecast),
        Request::Edit { text, path, change } => {
            json!({ "text": editor::edit(&text, &path, &change).map_err(declined)? })
        }
        Request::Run { text, repetitions, seed } => {
            return run(&sound(&text)?, repetitions, seed, page.progress);
        }
        Request::Look { text, seed, cell, rep, flow } => {
            let which = PreviewTarget { cell, rep, flow };
            let mut model = editor::model(&sound(&text)?, which, &forecast).map_err(declined)?;
            if let Some(seed) = seed {
                model.run.seed = seed;
            }
            editor::look(&model, which)
        }
    };
    Ok((document, Vec::new()))
}

fn forecast(scenario: &Scenario, cost: &Cost, page: Page<'_>) -> Forecast {
    lab::forecast::measured(scenario, cost, Meters { processor: page.processor, resident: &|| 0.0 })
}

fn read(text: &str) -> Result<Scenario, Diagnostics> {
    let no_files = |_: &str| Err("a page cannot open files".to_owned());
    scenario::read(NAME, text.as_bytes(), &no_files)
}

fn sound(text: &str) -> Result<Scenario, Value> {
    read(text).map_err(|wrong| mistakes(&wrong))
}

fn mistakes(wrong: &Diagnostics) -> Value {
    let mut document = wrong.to_json();
    document["good"] = json!(false);
    document
}

fn sorry(why: impl Into<String>) -> Value {
    json!({ "good": false, "error": why.into() })
}

fn declined(refusal: editor::Refusal) -> Value {
    json!({ "good": false, "error": refusal.to_string(), "help": refusal.help() })
}

/// Maximum number of cells of a grid: the page shows a row for each, and a mistyped grid must not exhaust the
/// browser's memory.
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
    let control = SweepControl {
        progress: &tell,
        stop: &AtomicBool::new(false),
        jobs: 1,
        shuffle_ties: None,
        player: None,
    };
    let (rows, _) = sweep.run(None, &control).map_err(refused)?;
    let broken = |error: results::Error| sorry(error.to_string());
    let mut document = json::run_document(NAME, &sweep.header, &rows).map_err(broken)?;
    let mut table = Vec::new();
    csv::write_csv(&mut table, &sweep.header, &rows).map_err(broken)?;
    document["good"] = json!(true);
    document["repetitions"] = json!(sweep.repetitions);
    document["seed"] = json!(sweep.header.seed);
    document["columns"] = sweep
        .header
        .columns
        .iter()
        .map(|column| json!({ "name": column.name, "unit": column.unit }))
        .collect();
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
