//! Requests about replication sets: queueing, control, table, picture, film, comparison, export, and preview of a
//! scenario text.

use crate::App;
use crate::compose::{self, Read};
use crate::error::Problem;
use crate::store::{Clock, New, Set};
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Json, http::StatusCode};
use editor::PreviewTarget;
use results::folder;
use scenario::Model;
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsString;

/// Request to queue a set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetRequest {
    #[serde(default)]
    name: String,
    text: String,
    clock: Clock,
    repetitions: Option<u32>,
    /// The user confirms the commands of the scenario.
    #[serde(default)]
    confirm: bool,
}

/// Upper limit of repetitions of a set, all cells together; more is probably a mistyped digit.
const RUNS: u64 = 10_000_000;

/// Queues a set.
pub(crate) async fn add(State(app): State<App>, Json(wanted): Json<SetRequest>) -> Result<Response, Problem> {
    if app.read_only {
        return Err(Problem::read_only());
    }
    let heavy = app.heavy.clone().try_acquire_owned().map_err(|_| Problem::busy())?;
    blocking(move || {
        let _heavy = heavy;
        let name = if wanted.name.is_empty() { "scenario" } else { &wanted.name };
        let Read { scenario, files } = compose::sound(name, &wanted.text, &app.library)?;
        let hash = scenario.hash();
        let first = scenario.first();
        if !first.commands.is_empty() {
            if wanted.confirm {
                app.store.confirm(&hash)?;
            } else if !app.store.is_confirmed(&hash)? {
                return Err(Problem::new(
                    StatusCode::CONFLICT,
                    "this scenario runs commands on this machine",
                    "read them and confirm",
                ));
            }
        }
        let repetitions = wanted.repetitions.unwrap_or(first.run.repetitions).max(1);
        let cells = scenario.cost().cells;
        if cells.saturating_mul(u64::from(repetitions)) > RUNS {
            return Err(Problem::wrong(
                format!("this set has more than {RUNS} repetitions"),
                "run it in parts",
            ));
        }
        let title = scenario.title().to_owned();
        let new = New {
            name: name.to_owned(),
            title,
            text: wanted.text.clone(),
            clock: wanted.clock,
            repetitions,
            cells,
        };
        let id = app.queue.add(&new, &files)?;
        Ok(Json(json!({ "id": id })).into_response())
    })
    .await
}

/// Pauses, stops, resumes, moves or deletes a set.
pub(crate) async fn ask(
    State(app): State<App>,
    Path((id, what)): Path<(i64, String)>,
) -> Result<Json<Value>, Problem> {
    if app.read_only {
        return Err(Problem::read_only());
    }
    blocking(move || app.queue.ask(id, &what)).await?;
    Ok(Json(json!({ "ok": true })))
}

/// Set with the table of its finished repetitions.
pub(crate) async fn get(State(app): State<App>, Path(id): Path<i64>) -> Result<Json<Value>, Problem> {
    blocking(move || {
        let set = app.store.get(id)?;
        let mut document = json!({ "set": &set, "text": &set.text, "table": table(&app, &set)? });
        document["commands"] = json!(commands(&set));
        if let Ok(record) = folder::read_run(&app.library.run(id)) {
            document["record"] = json!({
                "version": record["version"], "seed": record["seed"], "hash": record["hash"],
                "seconds": record["seconds"], "host": record["host"], "emulation": record["emulation"],
            });
        }
        document["folder"] = json!(app.library.run(id).display().to_string());
        Ok(Json(document))
    })
    .await
}

/// Document of `williwaw run --json` for the finished repetitions; null if there are none.
pub(crate) fn table(app: &App, set: &Set) -> Result<Value, Problem> {
    match folder::read(&app.library.run(set.id)) {
        Ok((header, rows)) => {
            let mut document = results::json::run_document(&set.name, &header, &rows)?;
            document["columns"] = header
                .columns
                .iter()
                .map(|column| json!({ "name": column.name, "unit": column.unit }))
                .collect();
            Ok(document)
        }
        Err(results::Error::Empty { .. } | results::Error::Io { .. }) => Ok(Value::Null),
        Err(error) => Err(error.into()),
    }
}

/// Command lines equivalent to a set.
pub(crate) fn commands(set: &Set) -> Vec<String> {
    let verb = match set.clock {
        Clock::Virtual => "run",
        Clock::Real => "emulate",
    };
    let file = format!("{}.toml", set.name.replace('\'', ""));
    let file = if file.contains(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c)) {
        format!("'{file}'")
    } else {
        file
    };
    vec![
        format!("williwaw check {file}"),
        format!("williwaw {verb} {file} --reps {}", set.repetitions),
        format!("williwaw plot {file} --rep 0"),
    ]
}

/// Request to preview a scenario text that is not queued.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviewRequest {
    text: String,
    #[serde(default)]
    cell: u64,
    #[serde(default)]
    rep: u64,
    #[serde(default)]
    flow: usize,
}

/// Model of one cell of a scenario text, if a repetition can be simulated within a request.
fn model(app: &App, name: &str, text: &str, which: PreviewTarget) -> Result<Model, Problem> {
    let Read { scenario, .. } = compose::sound(name, text, &app.library)?;
    Ok(editor::model(&scenario, which, &crate::meters::forecast)?)
}

/// Time-sequence picture of one repetition of a set, simulated again with a trace.
pub(crate) async fn picture(
    State(app): State<App>,
    Path(id): Path<i64>,
    Query(which): Query<PreviewTarget>,
) -> Result<Json<Value>, Problem> {
    heavy(app, move |app| {
        let set = app.store.get(id)?;
        Ok(Json(editor::figure(&model(app, &set.name, &set.text, which)?, which)))
    })
    .await
}

/// Film of packet positions in one repetition of a set.
pub(crate) async fn film(
    State(app): State<App>,
    Path(id): Path<i64>,
    Query(which): Query<PreviewTarget>,
) -> Result<Json<Value>, Problem> {
    heavy(app, move |app| {
        let set = app.store.get(id)?;
        let film =
            lab::packet_positions::packet_positions(&model(app, &set.name, &set.text, which)?, which.rep);
        Ok(Json(json!(film)))
    })
    .await
}

/// Picture and film of a scenario text that is not queued.
pub(crate) async fn look(
    State(app): State<App>,
    Json(look): Json<PreviewRequest>,
) -> Result<Json<Value>, Problem> {
    heavy(app, move |app| {
        let which = PreviewTarget { cell: look.cell, rep: look.rep, flow: look.flow };
        let model = model(app, "scenario", &look.text, which)?;
        Ok(Json(editor::look(&model, which)))
    })
    .await
}

/// Ids of the two sets of a comparison.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Pair {
    a: i64,
    b: i64,
}

/// Comparison of two sets by `williwaw compare`.
pub(crate) async fn compare(
    State(app): State<App>,
    Query(pair): Query<Pair>,
) -> Result<Json<Value>, Problem> {
    let _heavy = app.heavy.clone().try_acquire_owned().map_err(|_| Problem::busy())?;
    let folder = |id: i64| -> Result<OsString, Problem> {
        app.store.get(id)?;
        Ok(app.library.run(id).into())
    };
    let arguments = ["compare".into(), folder(pair.a)?, folder(pair.b)?, "--json".into()];
    let mut document = app.williwaw.ask(&arguments).await?;
    // The document names run folders; the page shows the ids of the sets instead.
    let names = [pair.a, pair.b].map(|id| (app.library.run(id).display().to_string(), format!("set {id}")));
    rename(&mut document, &names);
    Ok(Json(document))
}

/// Replaces names in every text of a document.
fn rename(value: &mut Value, names: &[(String, String)]) {
    match value {
        Value::String(text) => names.iter().for_each(|(from, to)| *text = text.replace(from, to)),
        Value::Array(list) => list.iter_mut().for_each(|value| rename(value, names)),
        Value::Object(entries) => entries.values_mut().for_each(|value| rename(value, names)),
        _ => {}
    }
}

/// Self-contained HTML page of a set, as a download.
pub(crate) async fn export(State(app): State<App>, Path(id): Path<i64>) -> Result<Response, Problem> {
    heavy(app, move |app| {
        let set = app.store.get(id)?;
        let html = crate::export::page(app, &set, &mut |which| {
            let model = model(app, &set.name, &set.text, which)?;
            Ok(lab::picture::picture(&model, which.rep, which.flow))
        })?;
        let name = format!("attachment; filename=\"williwaw-{id}.html\"");
        Ok((
            [
                (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
                (header::CONTENT_DISPOSITION, name),
            ],
            html,
        )
            .into_response())
    })
    .await
}

/// Runs `work` on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Problem::machine(format!("a fault in this program: {error}")))?
}

/// Like [`blocking`], for work that simulates or analyses: waits for one of the server's permits.
pub(crate) async fn heavy<T: Send + 'static>(
    app: App,
    work: impl FnOnce(&App) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let permit = app.heavy.clone().acquire_owned().await.map_err(|_| Problem::busy())?;
    blocking(move || {
        let _permit = permit;
        work(&app)
    })
    .await
}
