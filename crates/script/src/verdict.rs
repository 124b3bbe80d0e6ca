//! Verdict on a dialogue: passed, failed with its place and its log, or unsupported.

use crate::harness::LogEntry;
use base::Time;

/// Result of a dialogue.
#[derive(Clone, Debug, PartialEq)]
pub enum DialogueVerdict {
    /// Everything was as written.
    Pass {
        /// Segments that left where the dialogue said nothing of them.
        unasked: usize,
    },
    /// Something was not.
    Fail(Box<Failure>),
    /// It needs an unsupported feature.
    Unsupported(String),
}

impl DialogueVerdict {
    /// The word for it.
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
    /// The line of the event that was not kept to, from 1.
    pub line: usize,
    /// Reason, short.
    pub why: String,
    /// Expected.
    pub expected: String,
    /// Seen.
    pub seen: String,
    /// All that happened until then.
    pub log: Vec<LogEntry>,
    /// Log as lines of a ladder diagram, for a protocol other than TCP.
    pub rungs: Vec<Rung>,
    /// t = 0 of the script on the clock of the log.
    pub origin: Time,
    /// The sequence number that the script calls 0.
    pub first: u64,
    /// The peer sends the data.
    pub receiver: bool,
}

/// One line of a ladder diagram.
#[derive(Clone, PartialEq, Debug)]
pub struct Rung {
    /// Time, seconds of the dialogue.
    pub(crate) t: f64,
    /// The dialogue objects to it.
    pub(crate) wrong: bool,
    pub(crate) arrow: Arrow,
    pub(crate) words: String,
}

#[derive(PartialEq, Clone, Copy, Debug)]
pub(crate) enum Arrow {
    Right,
    Left,
    /// Beside the right post.
    None,
}
