//! qlog files of QUIC stacks (draft-ietf-quic-qlog-main-schema): parser of JSON and JSON text sequences, traces with
//! packets, acknowledgements, losses, timers and recovery metrics.
//!
//! Other events are only counted. A packet that is declared lost and acknowledged later is a spurious loss. Event
//! names with categories of older drafts (`transport:`, `recovery:`) and of newer ones (`quic:`) are known.
//! guessed. Names with the categories of older drafts (`transport:`, `recovery:`) and of newer ones (`quic:`) are read.

mod events;
mod picture;

pub use picture::picture;

use serde_json::Value;
use std::collections::BTreeMap;

/// Largest file, bytes, since a file is read as a whole.
pub const MOST_BYTES: usize = 512 << 20;
/// Upper limit of traces of one file.
const MOST_TRACES: usize = 1000;
/// Record separator of JSON text sequences (RFC 7464).
const SEPARATOR: u8 = 0x1e;

/// Packet number space (RFC 9000 section 12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT and 1-RTT packets.
    Application,
}

/// Packet sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// Send time, s from the first event of the trace.
    pub t: f64,
    /// Packet number space.
    pub space: Space,
    /// Packet number.
    pub number: u64,
    /// Length, bytes; 0 if it is not logged.
    pub bytes: u64,
    /// Time at which the packet was declared lost, s.
    pub lost: Option<f64>,
    /// Time at which the packet was acknowledged, s.
    pub acknowledged: Option<f64>,
}

impl Sent {
    /// Whether the packet was declared lost, and acknowledged later.
    pub fn spurious(&self) -> bool {
        self.lost.zip(self.acknowledged).is_some_and(|(lost, acknowledged)| acknowledged >= lost)
    }
}

/// Metrics of the sender's recovery from a time on; times in seconds, amounts in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Time, s from the first event of the trace.
    pub t: f64,
    /// Smoothed RTT.
    pub smoothed_rtt: Option<f64>,
    /// Latest RTT sample.
    pub latest_rtt: Option<f64>,
    /// Minimum RTT.
    pub min_rtt: Option<f64>,
    /// RTT variation.
    pub rtt_variance: Option<f64>,
    /// Congestion window.
    pub congestion_window: Option<u64>,
    /// Bytes in flight.
    pub bytes_in_flight: Option<u64>,
    /// Slow-start threshold.
    pub ssthresh: Option<u64>,
}

/// Acknowledgement received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// Time, s from the first event of the trace.
    pub t: f64,
    /// Packet number space.
    pub space: Space,
    /// Largest acknowledged packet number.
    pub largest: u64,
}

/// Log of one end of a connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Title; may be empty.
    pub title: String,
    /// Vantage point: `client`, `server`, `network`; may be empty.
    pub vantage: String,
    /// Number of events of all kinds.
    pub events: u64,
    /// Time from the first to the last event, s.
    pub seconds: f64,
    /// Packets sent, in the order of the log.
    pub sent: Vec<Sent>,
    /// Number of packets received.
    pub received: u64,
    /// Bytes received, as far as logged.
    pub received_bytes: u64,
    /// Acknowledgements received.
    pub acks: Vec<Ack>,
    /// Losses of packets that were not logged as sent.
    pub strange_losses: u64,
    /// Expiries of probe timers, s.
    pub probes: Vec<f64>,
    /// Metrics of the sender's recovery, at each change.
    pub metrics: Vec<Metrics>,
    /// Changes of the congestion state: time in s, new state.
    pub states: Vec<(f64, String)>,
    /// Events that could not be read.
    pub unread: u64,
}

impl Trace {
    /// Number of packets declared lost.
    pub fn lost(&self) -> usize {
        self.sent.iter().filter(|packet| packet.lost.is_some()).count() + self.strange_losses as usize
    }
    /// Number of packets declared lost and acknowledged later.
    pub fn spurious_losses(&self) -> usize {
        self.sent.iter().filter(|packet| packet.spurious()).count()
    }
    /// Bytes sent, as far as logged.
    pub fn sent_bytes(&self) -> u64 {
        self.sent.iter().fold(0, |sum, packet| sum.saturating_add(packet.bytes))
    }
}

/// Content of a qlog file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Qlog {
    /// `qlog_version`; may be empty in files of newer drafts, which have a schema instead.
    pub version: String,
    /// Traces of the file.
    pub traces: Vec<Trace>,
    /// Descriptions of skipped anomalies.
    pub notices: Vec<String>,
}

/// Reason why a file is not a readable qlog.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QlogError {
    /// The file has more bytes than [`MOST_BYTES`].
    #[error("it has {0} bytes; {MOST_BYTES} are read")]
    TooLarge(usize),
    /// The file is not JSON: position of the error.
    #[error("no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// No record of the sequence is JSON.
    #[error("no record of it is JSON")]
    NoRecord,
    /// The first record, with its number, is not a valid header.
    #[error("record {0}: {1}")]
    Record(usize, #[source] Box<QlogError>),
    /// The JSON value is not an object.
    #[error("no object, and a qlog begins with one")]
    NoObject,
    /// The object lacks the keys of a header.
    #[error("it has neither qlog_version nor file_schema, so it is no qlog")]
    NoHeader,
    /// The header lacks traces.
    #[error("it has no list of traces")]
    NoTraces,
}

/// Whether the bytes may begin a qlog file, and cannot begin a capture.
pub fn begins(bytes: &[u8]) -> bool {
    matches!(bytes.iter().find(|byte| !byte.is_ascii_whitespace()), Some(b'{' | &SEPARATOR))
}

/// Parses a qlog file.
///
/// # Errors
/// The file is too large, not JSON, or not qlog.
pub fn read(bytes: &[u8]) -> Result<Qlog, QlogError> {
    if bytes.len() > MOST_BYTES {
        return Err(QlogError::TooLarge(bytes.len()));
    }
    let separated = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&SEPARATOR);
    if separated {
        return sequence(bytes.split(|byte| *byte == SEPARATOR));
    }
    match serde_json::from_slice::<Value>(bytes) {
        Ok(document) => contained(&document),
        // Some stacks write one event per line.
        Err(error) if error.line() > 1 && first_line(bytes) => {
            sequence(bytes.split(|byte| *byte == b'\n')).map_err(|_| error.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether the first line is JSON by itself.
fn first_line(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    line.is_some_and(|line| serde_json::from_slice::<Value>(line).is_ok_and(|value| value.is_object()))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().chars().take(200).collect()
}

/// Parses a sequence: a header record, then one event per record.
fn sequence<'a>(records: impl Iterator<Item = &'a [u8]>) -> Result<Qlog, QlogError> {
    let mut qlog = Qlog::default();
    let mut reader: Option<events::Reader> = None;
    let mut broken = 0_u64;
    let records = records.map(<[u8]>::trim_ascii).filter(|record| !record.is_empty());
    for (at, record) in records.enumerate() {
        let Ok(value) = serde_json::from_slice::<Value>(record) else {
            // The last record of a log is often truncated.
            broken += 1;
            continue;
        };
        match &mut reader {
            None => {
                header(&value).map_err(|why| QlogError::Record(at + 1, Box::new(why)))?;
                qlog.version = text(&value["qlog_version"]);
                let trace = &value["trace"];
                reader = Some(events::Reader::new(trace, &value));
            }
            Some(reader) => reader.push(&value),
        }
    }
    let Some(reader) = reader else { return Err(QlogError::NoRecord) };
    if broken > 0 {
        qlog.notices.push(format!("{broken} records are no JSON and were passed over"));
    }
    qlog.traces.push(reader.finish(&mut qlog.notices));
    Ok(qlog)
}

fn header(value: &Value) -> Result<(), QlogError> {
    let object = value.as_object().ok_or(QlogError::NoObject)?;
    let known = ["qlog_version", "qlog_format", "file_schema", "serialization_format"];
    if known.iter().any(|key| object.contains_key(*key)) {
        return Ok(());
    }
    Err(QlogError::NoHeader)
}

/// Parses one JSON document with all traces.
fn contained(document: &Value) -> Result<Qlog, QlogError> {
    header(document)?;
    let mut qlog = Qlog { version: text(&document["qlog_version"]), ..Qlog::default() };
    let Some(traces) = document["traces"].as_array() else {
        // A document with a header but no events.
        if document["trace"].is_object() {
            let reader = events::Reader::new(&document["trace"], document);
            qlog.traces.push(reader.finish(&mut qlog.notices));
            return Ok(qlog);
        }
        return Err(QlogError::NoTraces);
    };
    for trace in traces.iter().take(MOST_TRACES) {
        if trace["event_fields"].is_array() {
            qlog.notices.push("a trace has event_fields: drafts before 0.3 are not read".to_owned());
            continue;
        }
        let Some(list) = trace["events"].as_array() else {
            let why = trace["error_description"].as_str().unwrap_or("it has no events");
            qlog.notices
                .push(format!("a trace was passed over: {}", why.chars().take(200).collect::<String>()));
            continue;
        };
        let mut reader = events::Reader::new(trace, document);
        list.iter().for_each(|event| reader.push(event));
        qlog.traces.push(reader.finish(&mut qlog.notices));
    }
    if traces.len() > MOST_TRACES {
        qlog.notices.push(format!("{} traces; the first {MOST_TRACES} were read", traces.len()));
    }
    Ok(qlog)
}

/// Packets without acknowledgement, with their index in the list of sent packets.
pub(crate) type Open = BTreeMap<(Space, u64), usize>;
