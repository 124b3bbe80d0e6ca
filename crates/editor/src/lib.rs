//! Scenario editor behind the control tool's page: edits of the text, preview of a run, pictures of one repetition.
//!
//! The page's form and preview have two drivers: the server of `williwaw serve`, and the engine inside a page
//! (`crates/browser`). Both answer with the documents of this crate. It opens no file and reads no clock: files and the
//! forecast of a scenario are handed in.

mod beginnings;
mod edit;
mod look;
mod preview;

pub use beginnings::beginnings;
pub use edit::{Change, Step, edit};
pub use look::{PreviewTarget, figure, look, model};
pub use preview::{Forecaster, document};

/// Why an edit or a picture was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The request is invalid.
    #[error("{message}")]
    Wrong {
        /// One sentence.
        message: String,
        /// How to mend it; may be empty.
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

    /// How to mend it; may be empty.
    pub fn help(&self) -> &str {
        match self {
            Refusal::Wrong { help, .. } => help,
            Refusal::Missing(_) => "",
        }
    }
}
