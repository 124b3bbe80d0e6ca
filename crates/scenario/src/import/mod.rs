//! Import of netem and mahimahi commands, of recorded traces and of access logs.
//!
//! Command lines of netem and mahimahi and recordings over time become scenario files. What was translated exactly,
//! what roughly and what not at all is told beside the result; a word that means nothing to the tool itself is a
//! mistake.

mod access_log;
mod draft;
mod mahimahi;
mod netem;
mod recording;
mod words;

pub use access_log::{Classes, access_log};

/// A scenario made of something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The scenario file, with what follows as comments in it.
    pub scenario: String,
    /// What says the same as before.
    pub exactly: Vec<String>,
    /// What says nearly the same, and where it differs.
    pub roughly: Vec<String>,
    /// What was left out.
    pub left_out: Vec<String>,
}

/// Why something is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong, with its place.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl Mistake {
    fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Mistake { message: message.into(), help: help.into() }
    }
}

/// What can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `tc qdisc add dev eth0 root netem ...`, one command a line; tbf as well.
    Netem,
    /// `mm-delay 50 mm-link up.trace down.trace ...`.
    Mahimahi,
    /// Columns of rate, delay and loss over time.
    Recording,
    /// Requests and replies of a proxy or a web server.
    AccessLog,
}

impl Kind {
    /// What `text` looks like.
    pub fn of(text: &str) -> Option<Kind> {
        let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
        let first = line.split_whitespace().find(|word| *word != "sudo")?;
        let name = first.rsplit('/').next().unwrap_or(first);
        if name.starts_with("mm-") {
            Some(Kind::Mahimahi)
        } else if name == "tc" || name == "netem" || name == "tbf" {
            Some(Kind::Netem)
        } else if access_log::is_log(line) {
            Some(Kind::AccessLog)
        } else if line.contains(',') {
            Some(Kind::Recording)
        } else {
            None
        }
    }
}

/// Translates `text`.
///
/// # Errors
/// The first word or line that means nothing, with what would.
pub fn import(kind: Kind, text: &str) -> Result<Imported, Mistake> {
    let draft = match kind {
        Kind::Netem => netem::read(text)?,
        Kind::Mahimahi => mahimahi::read(text)?,
        Kind::Recording => recording::read(text)?,
        Kind::AccessLog => return access_log(text, Classes::default()),
    };
    draft.finish(text)
}

/// Text that can stand in a comment.
fn words_of_comment(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut short: String = clean.chars().take(200).collect();
    if short.len() < clean.len() {
        short.push_str(" ...");
    }
    short
}
