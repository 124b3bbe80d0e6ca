//! Scenario editor: edits of the source text, preview of a run, pictures of one repetition, as JSON
//! documents.
//!
//! The editor has two drivers: the server of `williwaw serve`, and the web page with the simulator inside
//! (`crates/browser`). Both reply with the documents of this crate. The crate opens no file and reads no
//! clock: the driver passes in files and the forecast of a scenario.

mod beginnings;
mod edit;
mod look;
mod preview;

pub use beginnings::beginnings;
pub use edit::{Change, Step, edit};
pub use look::{PreviewTarget, figure, look, model};
pub use preview::{Forecaster, document};

/// Reason why an edit or a picture was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The request is invalid.
    #[error("{message}")]
    Wrong {
        /// Error in one sentence.
        message: String,
        /// Remedy; may be empty.
        help: String,
    },
    /// The scenario has no such cell or flow.
    #[error("there is no {0}")]
    Missing(String),
}

impl Refusal {
    fn wrong(message: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal::Wrong { message: message.into(), help: help.into() }
    }

    /// Remedy; may be empty.
    pub fn help(&self) -> &str {
        match self {
            Refusal::Wrong { help, .. } => help,
            Refusal::Missing(_) => "",
        }
    }
}
