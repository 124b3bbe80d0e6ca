//! Measurement log (`Journal`): append-only file with one JSON object per line; entries for start, repetitions,
//! disconnections, link commands, modem events, end.
//!
//! Each entry is written when its event occurs. A kill of the process can only truncate the last line, which is
//! discarded on reading.

use crate::Error;
use crate::buffer::Estimate;
use crate::cause::Cause;
use crate::flow::Pause;
use crate::kernel::{Kernel, Report};
use crate::modem::ModemEvent;
use crate::plan::Plan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};

/// Schema identifier of the log.
pub const SCHEMA: &str = "williwaw-measure-journal/1";

/// First entry of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartEntry {
    /// [`SCHEMA`].
    pub schema: String,
    /// Start date; times in the log are seconds since then.
    pub started: String,
    /// Server name from the user.
    pub server: String,
    /// Server address.
    pub address: String,
    /// Program and kernel version of the client.
    pub client_name: String,
    /// Program and kernel version of the server.
    pub server_name: String,
    /// Network settings of the client.
    pub settings: BTreeMap<String, String>,
    /// Measurement plan.
    pub plan: Plan,
}

/// Entry of one repetition of a test. Times are seconds since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// Index of the step in the plan.
    pub step: usize,
    /// Index of the repetition.
    pub repetition: u32,
    /// Start time.
    pub t: f64,
    /// False if a disconnection or the user ended the repetition; partial results are included.
    pub complete: bool,
    /// Duration of the job, s.
    pub seconds: Option<f64>,
    /// Measured bytes received.
    pub bytes: u64,
    /// Time from the request to the first measured byte, s; only for transfers down.
    pub first_byte_s: Option<f64>,
    /// Duration of each complete transaction, s.
    pub response_s: Vec<f64>,
    /// RTT of each echoed probe in order of arrival, s.
    pub rtt_s: Vec<f64>,
    /// Send time of each echoed probe in order of arrival.
    pub rtt_t: Vec<f64>,
    /// Number of probes sent.
    pub probes: u32,
    /// Number of probes echoed twice.
    pub doubled: u32,
    /// Pauses between bytes, at the receiving end.
    pub pauses: Vec<Pause>,
    /// Estimate of the bottleneck buffer.
    pub buffer: Option<Estimate>,
    /// Kernel statistics of the client.
    pub client: Kernel,
    /// Report of the server.
    pub server: Report,
}

/// Entry of a lost or failed connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disconnection {
    /// Time of detection.
    pub t: f64,
    /// Time when a new connection was accepted; None: never.
    pub until: Option<f64>,
    /// Index of the step in the plan.
    pub step: usize,
    /// Index of the repetition.
    pub repetition: u32,
    /// Kind: `lost`, `refused` or `stalled`.
    pub kind: String,
    /// Part of the path that failed.
    #[serde(default)]
    pub cause: Cause,
    /// Error text of the system.
    pub evidence: String,
    /// Report of the equipment, if a command queried it.
    #[serde(default)]
    pub account: Option<String>,
    /// Number of connection attempts.
    pub attempts: u32,
}

/// Entry of the server's final kernel statistics of a connection, received on a later connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelStats {
    /// Index of the [`Run`] entry in the log.
    pub run: usize,
    /// `TCP_INFO`, by kernel field names.
    pub info: BTreeMap<String, u64>,
}

/// Totals of connections without measured bytes: greetings, and connections of datagram echoes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnmeasuredTotals {
    /// Number of connections.
    pub connections: u32,
    /// Data segments sent by the client, retransmissions included.
    pub segments: u64,
    /// Retransmitted segments.
    pub retransmissions: u64,
}

/// Last entry of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Time of the end.
    pub t: f64,
    /// The plan was completed.
    pub complete: bool,
    /// Increase of the client's network counters, by all traffic.
    pub counters: BTreeMap<String, u64>,
    /// Packets missed by the capture; None: no capture.
    pub capture_missed: Option<u64>,
    /// Connections without measured bytes, by statistics of the client's kernel.
    #[serde(default)]
    pub others: UnmeasuredTotals,
}

/// Entry of a command that set up or released the link around the measurement: dial-up, attach (feature WL-07).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkCommand {
    /// The command ran before the first connection; otherwise after the last.
    pub before: bool,
    /// Command line for `/bin/sh`.
    pub command: String,
    /// Duration, s.
    pub seconds: f64,
    /// Exit status; 128 plus the signal number if a signal ended the command.
    pub status: i32,
}

/// Entry of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// Start of the measurement.
    Begin(Box<StartEntry>),
    /// Repetition of a test.
    Run(Box<Run>),
    /// Server's final statistics of a repetition.
    Account(KernelStats),
    /// Disconnection.
    Disconnection(Disconnection),
    /// Command that set up or released the link.
    Link(LinkCommand),
    /// Event of the modem beside the measurement.
    Modem(ModemEvent),
    /// End of the measurement.
    End(End),
}

/// Log file, open for writing.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Creates the file, which must not exist.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn create(path: &Path) -> Result<Journal, Error> {
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        let file = file.map_err(|source| Error::Write { path: path.to_owned(), source })?;
        Ok(Journal { path: path.to_owned(), file })
    }

    /// Appends an entry in one write. It survives a kill of this process after the return.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn add(&mut self, entry: &Entry) -> Result<(), Error> {
        let mut line = serde_json::to_vec(entry).unwrap_or_default();
        line.push(b'\n');
        self.file.write_all(&line).map_err(|source| Error::Write { path: self.path.clone(), source })
    }
}

/// Reads a log file; a truncated last line is discarded.
///
/// # Errors
/// [`Error::Read`]; [`Error::Damaged`] for an invalid line other than the last.
pub fn read(path: &Path) -> Result<Vec<Entry>, Error> {
    let unreadable = |source| Error::Read { path: path.to_owned(), source };
    parse(path, BufReader::new(File::open(path).map_err(unreadable)?))
}

/// Reads log entries from a stream; `path` is for error messages.
///
/// # Errors
/// The errors of [`read`].
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
