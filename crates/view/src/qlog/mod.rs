//! qlog: events that a QUIC stack logged (draft-ietf-quic-qlog-main-schema), read from JSON and JSON text sequences.
//!
//! Packets sent, received, lost and acknowledged, expired timers and the sender's metrics are taken; other events are
//! counted. A packet that was called lost and acknowledged later is a spurious loss: both are in the log, so nothing is
//! guessed. Names with the categories of older drafts (`transport:`, `recovery:`) and of newer ones (`quic:`) are read.

mod events;
mod picture;

pub use picture::picture;

use serde_json::Value;
use std::collections::BTreeMap;

/// A file with more is refused: it is read whole.
pub const MOST_BYTES: usize = 512 << 20;
/// Traces of one file.
const MOST_TRACES: usize = 1000;
/// Record separator of JSON text sequences (RFC 7464).
const SEPARATOR: u8 = 0x1e;

/// Space of packet numbers (RFC 9000 section 12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT and 1-RTT packets.
    Application,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// Seconds from the trace's first event.
    pub t: f64,
    /// Packet number space.
    pub space: Space,
    /// Its number.
    pub number: u64,
    /// Bytes; 0 if not logged.
    pub bytes: u64,
    /// Time at which it was declared lost.
    pub lost: Option<f64>,
    /// Time of its acknowledgement.
    pub acknowledged: Option<f64>,
}

impl Sent {
    /// It was called lost, and acknowledged later.
    pub fn spurious(&self) -> bool {
        self.lost.zip(self.acknowledged).is_some_and(|(lost, acknowledged)| acknowledged >= lost)
    }
}

/// Values of the sender's recovery from a moment on; times in seconds, amounts in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Time.
    pub t: f64,
    /// Smoothed round trip.
    pub smoothed_rtt: Option<f64>,
    /// The last round trip.
    pub latest_rtt: Option<f64>,
    /// Least round trip.
    pub min_rtt: Option<f64>,
    /// Variation.
    pub rtt_variance: Option<f64>,
    /// Congestion window.
    pub congestion_window: Option<u64>,
    /// Bytes under way.
    pub bytes_in_flight: Option<u64>,
    /// Slow-start threshold.
    pub ssthresh: Option<u64>,
}

/// An acknowledgement that was received: when, where, and the largest number in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// Seconds.
    pub t: f64,
    /// Whose numbers.
    pub space: Space,
    /// The largest number it acknowledges.
    pub largest: u64,
}

/// Log of one end of one connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Its title; may be empty.
    pub title: String,
    /// Vantage point: `client`, `server`, `network`; may be empty.
    pub vantage: String,
    /// Events, all kinds.
    pub events: u64,
    /// Seconds from its first event to its last.
    pub seconds: f64,
    /// Packets sent, in the order of the log.
    pub sent: Vec<Sent>,
    /// Packets received, and their bytes as far as logged.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Acknowledgements received.
    pub acks: Vec<Ack>,
    /// Losses of packets that were not seen to be sent.
    pub strange_losses: u64,
    /// Expiries of probe timers, seconds.
    pub probes: Vec<f64>,
    /// The sender's metrics, whenever they changed.
    pub metrics: Vec<Metrics>,
    /// Times at which the congestion state changed, and to what.
    pub states: Vec<(f64, String)>,
    /// Events that could not be read.
    pub unread: u64,
}

impl Trace {
    /// Packets that were called lost.
    pub fn lost(&self) -> usize {
        self.sent.iter().filter(|packet| packet.lost.is_some()).count() + self.strange_losses as usize
    }
    /// Of those, how many were acknowledged later.
    pub fn spurious_losses(&self) -> usize {
        self.sent.iter().filter(|packet| packet.spurious()).count()
    }
    /// Bytes sent, as far as logged.
    pub fn sent_bytes(&self) -> u64 {
        self.sent.iter().fold(0, |sum, packet| sum.saturating_add(packet.bytes))
    }
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Qlog {
    /// `qlog_version`; may be empty in newer drafts, which have a schema instead.
    pub version: String,
    /// Its traces.
    pub traces: Vec<Trace>,
    /// Anomalies that were skipped.
    pub notices: Vec<String>,
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QlogError {
    /// More bytes than [`MOST_BYTES`].
    #[error("it has {0} bytes; {MOST_BYTES} are read")]
    TooLarge(usize),
    /// No JSON, with the place.
    #[error("no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// No record of a sequence is JSON.
    #[error("no record of it is JSON")]
    NoRecord,
    /// The record of this number ought to be the header, and is not.
    #[error("record {0}: {1}")]
    Record(usize, #[source] Box<QlogError>),
    /// JSON of another kind than an object.
    #[error("no object, and a qlog begins with one")]
    NoObject,
    /// An object without the keys of a header.
    #[error("it has neither qlog_version nor file_schema, so it is no qlog")]
    NoHeader,
    /// A header without traces.
    #[error("it has no list of traces")]
    NoTraces,
}

/// Whether bytes begin as a qlog does and no capture can.
pub fn begins(bytes: &[u8]) -> bool {
    matches!(bytes.iter().find(|byte| !byte.is_ascii_whitespace()), Some(b'{' | &SEPARATOR))
}

/// Reads a file.
///
/// # Errors
/// With the place: no JSON, no qlog, too large.
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
        // A line for each event, as some stacks write it.
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

/// A header and then events, one a record.
fn sequence<'a>(records: impl Iterator<Item = &'a [u8]>) -> Result<Qlog, QlogError> {
    let mut qlog = Qlog::default();
    let mut reader: Option<events::Reader> = None;
    let mut broken = 0_u64;
    let records = records.map(<[u8]>::trim_ascii).filter(|record| !record.is_empty());
    for (at, record) in records.enumerate() {
        let Ok(value) = serde_json::from_slice::<Value>(record) else {
            // The last record of a log that was cut is usual.
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

/// Everything in one document.
fn contained(document: &Value) -> Result<Qlog, QlogError> {
    header(document)?;
    let mut qlog = Qlog { version: text(&document["qlog_version"]), ..Qlog::default() };
    let Some(traces) = document["traces"].as_array() else {
        // A sequence of one record: a header without events.
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

/// Packets that are not acknowledged yet: place in the list of those sent.
pub(crate) type Open = BTreeMap<(Space, u64), usize>;
