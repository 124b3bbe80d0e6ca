//! Measurement log: one JSON object a line, append-only.
//!
//! A file of lines that only grows, one JSON object a line, written when it happened. A kill tears at most the last
//! line, which is dropped when the file is read.

use crate::Error;
use crate::buffer::Estimate;
use crate::cause::Cause;
use crate::flow::Pause;
use crate::kernel::{Kernel, Report};
use crate::plan::Plan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};

/// The shape of the file.
pub const SCHEMA: &str = "williwaw-measure-journal/1";

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    /// [`SCHEMA`].
    pub schema: String,
    /// When, as a date; every other time in the file is seconds since then.
    pub started: String,
    /// What the user called the server.
    pub server: String,
    /// The address that was.
    pub address: String,
    /// Program and kernel here.
    pub client_name: String,
    /// Program and kernel there.
    pub server_name: String,
    /// Settings of this machine's network stack that matter.
    pub settings: BTreeMap<String, String>,
    /// What is to be measured.
    pub plan: Plan,
}

/// One repetition of one test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// Which step of the plan.
    pub step: usize,
    /// Which repetition, from 0.
    pub repetition: u32,
    /// When it began.
    pub t: f64,
    /// False if a disconnection or the user ended it; what it had measured until then stands here.
    pub complete: bool,
    /// How long it took as a user sees it.
    pub seconds: Option<f64>,
    /// Measured bytes that arrived.
    pub bytes: u64,
    /// To the first measured byte, for what comes down.
    pub first_byte_s: Option<f64>,
    /// The time of each whole transaction.
    pub response_s: Vec<f64>,
    /// The round trip of each probe that came back, in order.
    pub rtt_s: Vec<f64>,
    /// When each of those was sent.
    pub rtt_t: Vec<f64>,
    /// Probes sent.
    pub probes: u32,
    /// Probes that came back twice.
    pub doubled: u32,
    /// Stretches without a byte at the receiving end.
    pub pauses: Vec<Pause>,
    /// How deep the buffer is.
    pub buffer: Option<Estimate>,
    /// What this end's kernel said of the connection.
    pub client: Kernel,
    /// What the other end said.
    pub server: Report,
}

/// A connection that was lost or could not be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disconnection {
    /// When it was noticed.
    pub t: f64,
    /// When a new connection was welcome; none: never.
    pub until: Option<f64>,
    /// During which step.
    pub step: usize,
    /// During which repetition.
    pub repetition: u32,
    /// `lost`, `refused`, `stalled`.
    pub kind: String,
    /// Which part of the path.
    #[serde(default)]
    pub cause: Cause,
    /// What the system said.
    pub evidence: String,
    /// What the equipment said, where a command asked it.
    #[serde(default)]
    pub account: Option<String>,
    /// How often a connection was tried until then.
    pub attempts: u32,
}

/// What the other end's kernel said of a connection when it was closed; known only once the next one asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Which [`Run`] of the file, from 0, in the order of lines.
    pub run: usize,
    /// `TCP_INFO`, by the kernel's names.
    pub info: BTreeMap<String, u64>,
}

/// Sums over the connections that carried no measured bytes: greetings, and those that keep an echo of datagrams open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Others {
    /// How many there were.
    pub connections: u32,
    /// Segments with data that this end sent on them, those included that it sent again.
    pub segments: u64,
    /// Of those, sent again.
    pub retransmissions: u64,
}

/// The last line, if the measurement came to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// When.
    pub t: f64,
    /// All of the plan was done.
    pub complete: bool,
    /// What the counters of this machine's network stack grew by, whoever it was that used it.
    pub counters: BTreeMap<String, u64>,
    /// Packets that the capture missed; none: there was no capture.
    pub capture_missed: Option<u64>,
    /// Connections that carried no measured bytes, as this machine's kernel saw them.
    #[serde(default)]
    pub others: Others,
}

/// A command that set up or released the link beside the measurement: dial-up, attach (catalogue WL-07).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkCommand {
    /// True for the one before the first connection, false for the one after the last.
    pub before: bool,
    /// What `/bin/sh` was given.
    pub command: String,
    /// From its start to its end.
    pub seconds: f64,
    /// Its exit status; 128 and the signal where one ended it.
    pub status: i32,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// The first.
    Begin(Box<Begin>),
    /// A repetition.
    Run(Box<Run>),
    /// The other end's last words on a repetition.
    Account(Account),
    /// A disconnection.
    Disconnection(Disconnection),
    /// A command that set up or released the link.
    Link(LinkCommand),
    /// The last of the measurement itself.
    End(End),
}

/// A file of entries, open for writing.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Begins a file that must not be there yet.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn create(path: &Path) -> Result<Journal, Error> {
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        let file = file.map_err(|source| Error::Write { path: path.to_owned(), source })?;
        Ok(Journal { path: path.to_owned(), file })
    }

    /// Adds a line in one write: it survives the kill of this process when this returns.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn add(&mut self, entry: &Entry) -> Result<(), Error> {
        let mut line = serde_json::to_vec(entry).unwrap_or_default();
        line.push(b'\n');
        self.file.write_all(&line).map_err(|source| Error::Write { path: self.path.clone(), source })
    }
}

/// Reads a file; a torn last line is left out.
///
/// # Errors
/// [`Error::Read`]; [`Error::Damaged`] for a line in the middle that is none.
pub fn read(path: &Path) -> Result<Vec<Entry>, Error> {
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    parse(path, BufReader::new(File::open(path).map_err(unreadable)?))
}

/// Reads entries from anywhere; `path` is for messages.
///
/// # Errors
/// As of [`read`].
pub fn parse(path: &Path, mut file: impl io::BufRead) -> Result<Vec<Entry>, Error> {
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    let mut out = Vec::new();
    let mut text = Vec::new();
    loop {
        text.clear();
        if file.read_until(b'\n', &mut text).map_err(unreadable)? == 0 || text.last() != Some(&b'\n') {
            return check(path, out);
        }
        match serde_json::from_slice::<Entry>(&text) {
            Ok(entry) => out.push(entry),
            Err(error) => {
                let line = out.len() + 1;
                return Err(Error::Damaged { path: path.to_owned(), line, why: error.to_string() });
            }
        }
    }
}

fn check(path: &Path, entries: Vec<Entry>) -> Result<Vec<Entry>, Error> {
    match entries.first() {
        Some(Entry::Begin(begin)) if begin.schema == SCHEMA => Ok(entries),
        _ => {
            let source = io::Error::other(format!("it does not begin as `{SCHEMA}` does"));
            Err(Error::Read { path: path.to_owned(), source })
        }
    }
}
