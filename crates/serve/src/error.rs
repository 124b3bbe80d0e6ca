//! Errors of the control tool's server (`Problem`): HTTP status, message, remedy; as a JSON response.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Reason why a request, or the start of the server, failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    status: StatusCode,
    message: String,
    /// Remedy; may be empty.
    help: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem { status, message: message.into(), help: help.into() }
    }

    /// The request is invalid.
    pub(crate) fn wrong(message: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, message, help)
    }

    /// The requested thing does not exist.
    pub(crate) fn missing(what: impl std::fmt::Display) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, format!("there is no {what}"), "")
    }

    /// An operation of the machine failed, for example on the server's folder.
    pub(crate) fn machine(message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, message, "")
    }

    /// The server permits no changes.
    pub(crate) fn read_only() -> Problem {
        Problem::new(
            StatusCode::FORBIDDEN,
            "this server only shows: it was started with --read-only",
            "start it without --read-only to save or run",
        )
    }

    /// The server executes too many requests that simulate or analyse.
    pub(crate) fn busy() -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the server is busy with other pictures", "try again")
    }

    /// The server cannot be started.
    pub fn start(message: impl Into<String>) -> Problem {
        Problem::machine(message)
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Remedy; may be empty.
    pub fn help(&self) -> &str {
        &self.help
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Problem {
        Problem::machine(format!("the queue cannot be read or written: {error}"))
    }
}

impl From<editor::Refusal> for Problem {
    fn from(refusal: editor::Refusal) -> Problem {
        let status = match refusal {
            editor::Refusal::Missing(_) => StatusCode::NOT_FOUND,
            editor::Refusal::Wrong { .. } => StatusCode::BAD_REQUEST,
        };
        Problem::new(status, refusal.to_string(), refusal.help())
    }
}

impl From<results::Error> for Problem {
    fn from(error: results::Error) -> Problem {
        Problem::machine(error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status(), Json(json!({ "error": self.message, "help": self.help }))).into_response()
    }
}
