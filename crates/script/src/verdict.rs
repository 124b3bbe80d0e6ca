//! Verdict on a script: passed, failed with line, reason and log, or unsupported; lines of its ladder
//! diagram.

use crate::harness::LogEntry;
use base::Time;

/// Result of a dialogue.
#[derive(Clone, Debug, PartialEq)]
pub enum DialogueVerdict {
    /// All expectations were met.
    Pass {
        /// Number of segments sent at times without an expectation.
        unasked: usize,
    },
    /// An expectation was not met.
    Fail(Box<Failure>),
    /// The dialogue needs an unsupported feature.
    Unsupported(String),
}

impl DialogueVerdict {
    /// The verdict in a word.
    pub fn word(&self) -> &'static str {
        match self {
            DialogueVerdict::Pass { .. } => "pass",
            DialogueVerdict::Fail(_) => "fail",
            DialogueVerdict::Unsupported(_) => "unsupported",
        }
    }
}

/// First failure of a script.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Failure {
    /// Time, seconds.
    pub t: f64,
    /// Line of the failed event, from 1.
    pub line: usize,
    /// Reason, in a few words.
    pub why: String,
    /// Expected segment or value, as text.
    pub expected: String,
    /// Actual segment or value, as text.
    pub seen: String,
    /// Log up to the failure.
    pub log: Vec<LogEntry>,
    /// Log as lines of a ladder diagram, for a protocol other than TCP.
    pub rungs: Vec<Rung>,
    /// t = 0 of the script on the clock of the log.
    pub origin: Time,
    /// Sequence number that the script calls 0.
    pub first: u64,
    /// Whether the peer sends the data.
    pub receiver: bool,
}

/// One line of a ladder diagram.
#[derive(Clone, PartialEq, Debug)]
pub struct Rung {
    /// Time, seconds of the dialogue.
    pub(crate) t: f64,
    /// Whether the line contradicts the dialogue.
    pub(crate) wrong: bool,
    pub(crate) arrow: Arrow,
    pub(crate) words: String,
}

#[derive(PartialEq, Clone, Copy, Debug)]
pub(crate) enum Arrow {
    Right,
    Left,
    /// No arrow: text to the right of the diagram.
    None,
}
