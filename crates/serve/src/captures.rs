//! Requests about captures: list, streamed upload, analysis and picture by a child process, deletion.

use crate::App;
use crate::error::Problem;
use crate::library;
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::AsyncWriteExt as _;
use tokio_stream::StreamExt as _;

/// Largest capture, bytes.
pub(crate) const CAPTURE: u64 = 256 << 20;

pub(crate) async fn list(State(app): State<App>) -> Json<Value> {
    Json(json!(library::names(&app.library.captures(), "")))
}

/// Receives a capture as a stream.
pub(crate) async fn put(
    State(app): State<App>,
    Path(name): Path<String>,
    body: Body,
) -> Result<Json<Value>, Problem> {
    if app.read_only {
        return Err(Problem::read_only());
    }
    let path = app.library.capture(&name)?;
    let bytes = take(&path, &name, body).await?;
    Ok(Json(json!({ "name": name, "bytes": bytes })))
}

/// Temporary file of an upload. On drop it is removed if it still exists: the upload failed, or the client
/// disconnected.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Number of uploads since the start of the server, so that uploads of one name have different temporary files.
static UPLOADS: AtomicU64 = AtomicU64::new(0);

/// Receives a capture and moves it to `path` when it is complete.
async fn take(path: &std::path::Path, name: &str, body: Body) -> Result<u64, Problem> {
    let number = UPLOADS.fetch_add(1, Ordering::Relaxed);
    let part = Part(path.with_file_name(format!(".{name}.{number}.part")));
    let bytes = keep(&part.0, body).await?;
    tokio::fs::rename(&part.0, path).await.map_err(failed)?;
    Ok(bytes)
}

fn failed(error: std::io::Error) -> Problem {
    Problem::machine(format!("the capture cannot be stored: {error}"))
}

async fn keep(part: &std::path::Path, body: Body) -> Result<u64, Problem> {
    // Created before the first await, so that the file exists whenever this can be cancelled.
    let mut file = tokio::fs::File::from_std(std::fs::File::create(part).map_err(failed)?);
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

/// Analysis of a capture, and the picture of its largest connection.
pub(crate) async fn get(State(app): State<App>, Path(name): Path<String>) -> Result<Json<Value>, Problem> {
    let path = app.library.capture(&name)?;
    if !path.is_file() {
        return Err(Problem::missing(format!("capture `{name}`")));
    }
    let _heavy = app.heavy.clone().acquire_owned().await.map_err(|_| Problem::busy())?;
    let ask = |verb: &str| -> [OsString; 3] { [verb.into(), path.clone().into(), "--json".into()] };
    let analysis = app.williwaw.ask(&ask("analyse")).await?;
    // A capture without TCP data has no picture; the analysis reports this.
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

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Bytes;
    use std::time::Duration;
    use tokio_stream::Stream;

    /// A body that begins, and then fails or never continues.
    fn broken(fails: bool) -> Body {
        let first = tokio_stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"half"))]);
        let rest: Box<dyn Stream<Item = Result<Bytes, std::io::Error>> + Send + Unpin> = if fails {
            Box::new(tokio_stream::iter([Err(std::io::Error::other("gone"))]))
        } else {
            Box::new(tokio_stream::pending())
        };
        Body::from_stream(first.chain(rest))
    }

    fn files(folder: &std::path::Path) -> Vec<String> {
        let names = std::fs::read_dir(folder).unwrap();
        names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    /// Failed and endless uploads leave no file; a complete upload leaves the capture.
    #[tokio::test]
    async fn an_upload_that_is_given_up_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        assert!(take(&path, "trace", broken(true)).await.is_err());
        assert_eq!(files(folder.path()), Vec::<String>::new());
        let slow = take(&path, "trace", broken(false));
        let mut slow = Box::pin(slow);
        let waited = tokio::time::timeout(Duration::from_millis(100), &mut slow).await;
        assert!(waited.is_err());
        assert_eq!(files(folder.path()).len(), 1, "half of it is there");
        drop(slow);
        assert_eq!(files(folder.path()), Vec::<String>::new());
        let whole = take(&path, "trace", Body::from("whole")).await;
        assert_eq!(whole.unwrap(), 5);
        assert_eq!(files(folder.path()), ["trace"]);
        assert_eq!(std::fs::read(path).unwrap(), b"whole");
    }

    /// A server removes the temporary files of a killed server when it starts.
    #[test]
    fn halves_of_a_killed_server_go() {
        let home = tempfile::tempdir().unwrap();
        drop(library::Library::open(home.path()).map_err(|_| "a fresh folder").unwrap());
        let captures = home.path().join("captures");
        std::fs::write(captures.join(".trace.3.part"), "half").unwrap();
        std::fs::write(captures.join("trace"), "whole").unwrap();
        drop(library::Library::open(home.path()).map_err(|_| "the folder again").unwrap());
        assert_eq!(files(&captures), ["trace"]);
    }
}
