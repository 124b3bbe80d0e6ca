//! HTTP routes of the control tool, limits of request bodies, and handlers of scenarios, checks, edits and triggers.

use crate::error::Problem;
use crate::guard::{self, Guard};
use crate::library;
use crate::sets::{blocking, heavy};
use crate::{App, assets, captures, compose, sets, watch};
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// Largest request body except for captures, bytes: the longest scenario text, escaped.
const BODY: usize = 4 << 20;

pub(crate) fn routes(app: App, guard: Guard) -> Router {
    let api = Router::new()
        .route("/state", get(state))
        .route("/schema", get(schema))
        .route("/beginnings", get(beginnings))
        .route("/check", post(check))
        .route("/edit", post(change))
        .route("/look", post(sets::look))
        .route("/scenarios", get(scenarios))
        .route("/scenarios/{name}", put(save).get(load).delete(forget))
        .route("/sets", post(sets::add))
        .route("/sets/{id}", get(sets::get))
        .route("/sets/{id}/picture", get(sets::picture))
        .route("/sets/{id}/film", get(sets::film))
        .route("/sets/{id}/export", get(sets::export))
        .route("/sets/{id}/ask/{what}", post(sets::ask))
        .route("/compare", get(sets::compare))
        .route("/captures", get(captures::list))
        .route(
            "/captures/{name}",
            put(captures::put).layer(DefaultBodyLimit::disable()).get(captures::get).delete(captures::delete),
        )
        .route("/doctor", get(doctor))
        .route("/running", get(running))
        .route("/trigger", post(trigger))
        .route("/events", get(watch::events))
        .fallback(absent)
        .layer(DefaultBodyLimit::max(BODY))
        .layer(middleware::from_fn(explain))
        .layer(middleware::from_fn(whole));
    Router::new()
        .route("/", get(assets::markup))
        .route("/app.js", get(assets::program))
        .route("/app.css", get(assets::style))
        .route("/icon.svg", get(assets::icon))
        .nest("/api", api)
        .fallback(absent)
        .with_state(app)
        .layer(middleware::from_fn_with_state(guard, guard::admit))
}

async fn absent() -> Problem {
    Problem::missing("such page")
}

/// Time within which a request body must arrive, except for captures.
const PATIENCE: Duration = Duration::from_secs(10);

/// Middleware that reads the body within its limits of size and time before the request is handled. Captures are
/// streamed.
async fn whole(request: Request, next: Next) -> Result<Response, Problem> {
    if request.uri().path().contains("/captures/") {
        return Ok(next.run(request).await);
    }
    let (head, body) = request.into_parts();
    let read = tokio::time::timeout(PATIENCE, axum::body::to_bytes(body, BODY)).await;
    match read {
        Ok(Ok(bytes)) => Ok(next.run(Request::from_parts(head, Body::from(bytes))).await),
        Ok(Err(_)) => Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the request is longer than {} MB, or broke off", BODY >> 20),
            "",
        )),
        Err(_) => Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the request was not completed", "")),
    }
}

/// Middleware that converts refusals of the framework (invalid JSON, invalid number) to the server's error format.
async fn explain(request: Request, next: Next) -> Result<Response, Problem> {
    let response = next.run(request).await;
    let status = response.status();
    let plain = response
        .headers()
        .get(axum::http::header::CONTENT_TYPE)
        .is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if !(status.is_client_error() && plain) {
        return Ok(response);
    }
    let text = axum::body::to_bytes(response.into_body(), 1 << 12).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let text = if text.is_empty() { status.canonical_reason().unwrap_or("refused").to_owned() } else { text };
    Err(Problem::new(status, text, ""))
}

async fn state(State(app): State<App>) -> Json<Value> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "read_only": app.read_only,
        "cores": cores,
        "folder": app.library.scenarios().display().to_string(),
    }))
}

async fn schema() -> Json<Value> {
    Json(scenario::schema::json_schema())
}

async fn beginnings() -> Json<Value> {
    Json(editor::beginnings())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    #[serde(default)]
    name: String,
    text: String,
}

async fn check(
    State(app): State<App>,
    Json(Text { name, text }): Json<Text>,
) -> Result<Json<Value>, Problem> {
    let name = if name.is_empty() { "scenario".to_owned() } else { name };
    heavy(app, move |app| Ok(Json(compose::check(app, &format!("{name}.toml"), &text)?))).await
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    text: String,
    path: Vec<editor::Step>,
    change: editor::Change,
}

async fn change(Json(Edit { text, path, change }): Json<Edit>) -> Result<Json<Value>, Problem> {
    compose::bounded(&text)?;
    blocking(move || Ok(Json(json!({ "text": editor::edit(&text, &path, &change)? })))).await
}

async fn scenarios(State(app): State<App>) -> Json<Value> {
    Json(json!(library::names(&app.library.scenarios(), ".toml")))
}

async fn load(State(app): State<App>, Path(name): Path<String>) -> Result<Json<Value>, Problem> {
    let path = app.library.scenario(&name)?;
    let text = tokio::fs::read(path).await.map_err(|_| Problem::missing(format!("scenario `{name}`")))?;
    Ok(Json(json!({ "name": name, "text": String::from_utf8_lossy(&text) })))
}

/// Saves a scenario, also one with errors, so that unfinished work is kept.
async fn save(
    State(app): State<App>,
    Path(name): Path<String>,
    Json(Text { text, .. }): Json<Text>,
) -> Result<Json<Value>, Problem> {
    if app.read_only {
        return Err(Problem::read_only());
    }
    compose::bounded(&text)?;
    let path = app.library.scenario(&name)?;
    blocking(move || library::write(&path, text.as_bytes())).await?;
    Ok(Json(json!({ "name": name })))
}

async fn forget(State(app): State<App>, Path(name): Path<String>) -> Result<Json<Value>, Problem> {
    if app.read_only {
        return Err(Problem::read_only());
    }
    let path = app.library.scenario(&name)?;
    tokio::fs::remove_file(path).await.map_err(|_| Problem::missing(format!("scenario `{name}`")))?;
    Ok(Json(json!({ "ok": true })))
}

/// Real-time capabilities of this machine, and missing ones.
async fn doctor(State(app): State<App>) -> Result<Json<Value>, Problem> {
    Ok(Json(app.williwaw.ask(&["doctor".into(), "--json".into()]).await?))
}

/// Emulations running on this machine, and their triggers.
async fn running(State(app): State<App>) -> Result<Json<Value>, Problem> {
    Ok(Json(app.williwaw.ask(&["trigger".into(), "--json".into()]).await?))
}

#[derive(Debug, Deserialize)]
struct Trigger {
    process: u32,
    name: String,
}

/// Triggers a running emulation.
async fn trigger(
    State(app): State<App>,
    Query(Trigger { process, name }): Query<Trigger>,
) -> Result<Json<Value>, Problem> {
    if app.read_only {
        return Err(Problem::read_only());
    }
    let sound = |c: char| c.is_ascii_alphanumeric() || "-_.*".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(sound) {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "this is no name of a trigger", ""));
    }
    let run = format!("--run={process}");
    Ok(Json(app.williwaw.ask(&["trigger".into(), run.into(), name.into(), "--json".into()]).await?))
}
