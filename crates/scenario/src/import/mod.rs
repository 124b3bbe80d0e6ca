//! Import of netem and mahimahi command lines, recordings and access logs as scenario files.
//!
//! Notes list exact, approximate and missing translations. A word that is not in the syntax of the tool is an
//! error.

mod access_log;
mod draft;
mod mahimahi;
mod netem;
mod recording;
mod words;

pub use access_log::{Classes, access_log};

/// A scenario made by an import, with its notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Scenario file, with the notes as comments.
    pub scenario: String,
    /// Parts translated exactly.
    pub exactly: Vec<String>,
    /// Parts translated approximately, with the difference.
    pub roughly: Vec<String>,
    /// Parts left out.
    pub left_out: Vec<String>,
}

/// A word or line that cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// Cause, with its place.
    pub message: String,
    /// Remedy.
    pub help: String,
}

impl ImportError {
    fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        ImportError { message: message.into(), help: help.into() }
    }
}

/// Formats that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// `tc qdisc add dev eth0 root netem ...`, one command a line; tbf as well.
    Netem,
    /// `mm-delay 50 mm-link up.trace down.trace ...`.
    Mahimahi,
    /// Columns of rate, delay and loss over time.
    Recording,
    /// Requests and replies of a proxy or a web server.
    AccessLog,
}

impl ImportFormat {
    /// Format of `text`, by its first lines.
    pub fn of(text: &str) -> Option<ImportFormat> {
        let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
        let first = line.split_whitespace().find(|word| *word != "sudo")?;
        let name = first.rsplit('/').next().unwrap_or(first);
        if name.starts_with("mm-") {
            Some(ImportFormat::Mahimahi)
        } else if name == "tc" || name == "netem" || name == "tbf" {
            Some(ImportFormat::Netem)
        } else if access_log::is_log(line) {
            Some(ImportFormat::AccessLog)
        } else if line.contains(',') {
            Some(ImportFormat::Recording)
        } else {
            None
        }
    }
}

/// Translates `text` into a scenario.
///
/// # Errors
/// The first word or line that is not understood, with its remedy.
pub fn import(kind: ImportFormat, text: &str) -> Result<Imported, ImportError> {
    let draft = match kind {
        ImportFormat::Netem => netem::read(text)?,
        ImportFormat::Mahimahi => mahimahi::read(text)?,
        ImportFormat::Recording => recording::read(text)?,
        ImportFormat::AccessLog => return access_log(text, Classes::default()),
    };
    draft.finish(text)
}

/// Text without control characters, for a comment.
fn words_of_comment(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut short: String = clean.chars().take(200).collect();
    if short.len() < clean.len() {
        short.push_str(" ...");
    }
    short
}
