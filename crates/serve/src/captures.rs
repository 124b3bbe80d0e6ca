//! Captures: uploaded, listed, analysed and drawn by the command in a process of its own.

use crate::App;
use crate::error::Problem;
use crate::library;
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::ffi::OsString;
use tokio::io::AsyncWriteExt as _;
use tokio_stream::StreamExt as _;

/// Largest capture, bytes.
pub(crate) const CAPTURE: u64 = 256 << 20;

pub(crate) async fn list(State(app): State<App>) -> Json<Value> {
    Json(json!(library::names(&app.library.captures(), "")))
}

/// Takes a capture in, as it comes.
pub(crate) async fn put(
    State(app): State<App>,
    Path(name): Path<String>,
    body: Body,
) -> Result<Json<Value>, Problem> {
    if app.read_only {
        return Err(Problem::read_only());
    }
    let path = app.library.capture(&name)?;
    let part = path.with_file_name(format!(".{name}.part"));
    let kept = keep(&part, body).await;
    let moved = match kept {
        Ok(bytes) => tokio::fs::rename(&part, &path).await.map(|()| bytes).map_err(failed),
        Err(problem) => Err(problem),
    };
    if moved.is_err() {
        let _ = tokio::fs::remove_file(&part).await;
    }
    Ok(Json(json!({ "name": name, "bytes": moved? })))
}

fn failed(error: std::io::Error) -> Problem {
    Problem::machine(format!("the capture cannot be kept: {error}"))
}

async fn keep(part: &std::path::Path, body: Body) -> Result<u64, Problem> {
    let mut file = tokio::fs::File::create(part).await.map_err(failed)?;
    let mut bytes = 0;
    let mut stream = body.into_data_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| Problem::wrong(format!("the upload broke off: {error}"), ""))?;
        bytes += chunk.len() as u64;
        if bytes > CAPTURE {
            return Err(Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("the capture has more than {} MB", CAPTURE >> 20),
                "analyse it on the command line: williwaw analyse FILE",
            ));
        }
        file.write_all(&chunk).await.map_err(failed)?;
    }
    file.flush().await.map_err(failed)?;
    Ok(bytes)
}

/// Sentences, connections and the picture of the largest one.
pub(crate) async fn get(State(app): State<App>, Path(name): Path<String>) -> Result<Json<Value>, Problem> {
    let path = app.library.capture(&name)?;
    if !path.is_file() {
        return Err(Problem::missing(format!("capture `{name}`")));
    }
    let _heavy = app.heavy.clone().acquire_owned().await.map_err(|_| Problem::busy())?;
    let ask = |verb: &str| -> [OsString; 3] { [verb.into(), path.clone().into(), "--json".into()] };
    let analysis = app.williwaw.ask(&ask("analyse")).await?;
    // A capture without TCP data has no picture; the sentences say so.
    let drawn = app.williwaw.ask(&ask("plot")).await.ok();
    let picture: Option<report::Picture> =
        drawn.and_then(|mut document| serde_json::from_value(document["picture"].take()).ok());
    let figure = picture.map(|picture| picture.figure(1));
    Ok(Json(json!({ "analysis": analysis, "html": figure })))
}

pub(crate) async fn delete(State(app): State<App>, Path(name): Path<String>) -> Result<Json<Value>, Problem> {
    if app.read_only {
        return Err(Problem::read_only());
    }
    let path = app.library.capture(&name)?;
    tokio::fs::remove_file(path).await.map_err(|_| Problem::missing(format!("capture `{name}`")))?;
    Ok(Json(json!({ "ok": true })))
}
