//! Scripted peer for TCP and SCTP endpoints: a script of incoming segments and expected segments, played
//! against one sender or receiver in virtual time.
//!
//! The notation is a TOML file (format 1): `[options]` choose the TCP, `[[event]]`s are played in the order
//! of the file. Byte numbers are relative, the first data byte is 0. Times are seconds from the establishment
//! of the connection. A dialogue that needs an option which is not offered is *unsupported*, never passed.

pub mod arithmetic;
pub mod dialogue;
pub mod harness;
pub mod ladder;
mod matching;
mod observe;
pub mod options;
pub mod packetdrill;
pub mod player;
pub mod sctp;
mod verdict;
mod words;

pub use dialogue::{Dialogue, Unreadable};
pub use ladder::{LadderOptions, ladder};
pub use player::{DialogueVerdict, Failure, Reading, play};

/// A script in one of three notations.
#[derive(Clone, Debug)]
pub enum Script {
    /// TCP dialogue, format 1.
    Dialogue(Dialogue),
    /// SCTP dialogue.
    Sctp(sctp::Dialogue),
    /// packetdrill script of TCP.
    Packetdrill(packetdrill::Script),
}

impl Script {
    /// Reads a script; the extension of its file name selects the notation.
    pub fn read(file: &std::path::Path, text: &str) -> Result<Script, Unreadable> {
        if file.extension().is_some_and(|e| e == "pkt") {
            return Ok(Script::Packetdrill(packetdrill::Script::read(text)?));
        }
        if sctp::is_one(text) {
            return Ok(Script::Sctp(sctp::Dialogue::read(text)?));
        }
        Ok(Script::Dialogue(Dialogue::read(text)?))
    }

    /// Name of the script, if any.
    pub fn id(&self) -> Option<&str> {
        match self {
            Script::Dialogue(dialogue) => Some(&dialogue.id),
            Script::Sctp(dialogue) => Some(&dialogue.id),
            Script::Packetdrill(_) => None,
        }
    }

    /// Names of expected values that are unknown here.
    pub fn unknown_values(&self) -> Vec<String> {
        match self {
            Script::Dialogue(dialogue) => dialogue.unknown_values(),
            Script::Sctp(_) | Script::Packetdrill(_) => Vec::new(),
        }
    }

    /// Plays the script and returns the verdict.
    pub fn play(&self, reading: Reading) -> DialogueVerdict {
        match self {
            Script::Dialogue(dialogue) => play(dialogue, reading),
            Script::Sctp(dialogue) => sctp::play(dialogue, reading),
            Script::Packetdrill(script) => packetdrill::play(script),
        }
    }
}
