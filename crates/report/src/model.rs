//! Data model of a time-sequence picture: segments, ACKs, timeouts, outages, panels.
//!
//! All times are seconds from t = 0, the start of the first workload. All sequence numbers are stream
//! offsets in bytes and never wrap; an event covers the bytes `seq..end`. Lists need not be sorted.

use serde::{Deserialize, Serialize};

/// One flow over time: transmissions of the sender, arrivals at the receiver, and the sender's state
/// variables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// Heading, for example the name of the sender's variant.
    pub title: String,
    /// Line of text below the heading: the path and its events.
    #[serde(default)]
    pub subtitle: String,
    /// Name of the flow.
    #[serde(default)]
    pub flow: String,
    /// Payload bytes of a full segment; the unit of an axis in segments.
    pub segment_bytes: u32,
    /// Whether the flow consists of datagrams: no acknowledgements, no retransmissions.
    #[serde(default, skip_serializing_if = "is_false")]
    pub datagrams: bool,
    /// Data segments as they leave the sender.
    #[serde(default)]
    pub sent: Vec<Sent>,
    /// Data segments as they reach the receiver.
    #[serde(default)]
    pub received: Vec<Received>,
    /// Acknowledgements as they reach the sender.
    #[serde(default)]
    pub acks: Vec<Ack>,
    /// Data segments lost on the path.
    #[serde(default)]
    pub drops: Vec<Drop>,
    /// Expiries of the retransmission timer.
    #[serde(default)]
    pub timeouts: Vec<Timeout>,
    /// Retransmissions started by duplicate acknowledgements.
    #[serde(default)]
    pub fast_retransmits: Vec<FastRetransmit>,
    /// Intervals in which the path was disturbed: delay spikes, outages, handovers.
    #[serde(default)]
    pub spikes: Vec<Interval>,
    /// Window samples of the sender, at each change.
    #[serde(default)]
    pub window: Vec<WindowSample>,
    /// Timer samples of the sender, at each change.
    #[serde(default)]
    pub timer: Vec<TimerSample>,
    /// Panels with lines over time below the sequence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub panels: Vec<Panel>,
    /// Events of lower layers, one row per layer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    /// Left end of the time axis, s.
    #[serde(default)]
    pub from: f64,
    /// Right end of the time axis, s; events after it extend the axis.
    #[serde(default)]
    pub until: f64,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Kind of a transmission of a data segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SegmentKind {
    /// First transmission.
    #[default]
    New,
    /// Retransmission of which no earlier copy arrives.
    Retransmission,
    /// Unneeded retransmission: an earlier copy of all its bytes reaches the receiver.
    Unneeded,
    /// A retransmission without a verdict: the capture lacks evidence.
    Unknown,
}

/// Verdict on a timeout or a fast retransmit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Truth {
    /// The segment that it retransmits was unneeded.
    Spurious,
    /// The retransmission was needed.
    #[default]
    Genuine,
    /// Unknown: the capture lacks evidence.
    Unknown,
}

/// Transmission of a data segment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Time, s.
    pub t: f64,
    /// First byte.
    pub seq: u64,
    /// One past the last byte.
    pub end: u64,
    /// Kind of the transmission.
    pub kind: SegmentKind,
}

/// Arrival of a data segment at the receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Received {
    /// Time, s.
    pub t: f64,
    /// First byte.
    pub seq: u64,
    /// One past the last byte.
    pub end: u64,
    /// Whether the receiver had all its bytes before.
    #[serde(default)]
    pub duplicate: bool,
}

/// Arrival of an acknowledgement at the sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ack {
    /// Time, s.
    pub t: f64,
    /// Next byte that the receiver expects.
    pub ack: u64,
    /// One past the last byte that the advertised window allows; 0 if unknown.
    #[serde(default)]
    pub window_end: u64,
    /// Selectively acknowledged ranges, each `[first byte, one past the last]`.
    #[serde(default)]
    pub sacks: Vec<[u64; 2]>,
    /// Whether it repeats the previous acknowledgement.
    #[serde(default)]
    pub duplicate: bool,
}

/// Loss of a data segment on the path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drop {
    /// Time, s.
    pub t: f64,
    /// First byte.
    pub seq: u64,
    /// One past the last byte.
    pub end: u64,
    /// Place and reason, for example `radio: queue full`.
    #[serde(default)]
    pub place: String,
}

/// Expiry of the retransmission timer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeout {
    /// Time, s.
    pub t: f64,
    /// First byte of the retransmitted segment.
    pub seq: u64,
    /// Ground-truth verdict.
    pub truth: Truth,
    /// Cause of a spurious timeout: `delayed`, `ack_lost` or `ack_delayed`.
    #[serde(default)]
    pub cause: Option<String>,
    /// Verdict of the sender's detector: `spurious`, `genuine`, or the name of the detector that called
    /// it spurious (`eifel`, `frto`, `dsack`); `unknown` if its verdict was not observed.
    #[serde(default)]
    pub detected: Option<String>,
    /// Time of the detector's verdict, s.
    #[serde(default)]
    pub detected_at: Option<f64>,
}

/// Fast retransmit after duplicate acknowledgements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FastRetransmit {
    /// Time, s.
    pub t: f64,
    /// First byte of the retransmitted segment.
    pub seq: u64,
    /// Ground-truth verdict.
    pub truth: Truth,
}

/// A named interval of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Start, s.
    pub from: f64,
    /// End, s.
    pub until: f64,
    /// Name of the event, for example `cell reselection`.
    #[serde(default)]
    pub name: String,
}

/// Window of the sender from this time on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowSample {
    /// Time, s.
    pub t: f64,
    /// Congestion window, bytes of payload.
    pub cwnd: u64,
    /// Slow-start threshold, bytes of payload; absent while unlimited.
    #[serde(default)]
    pub ssthresh: Option<u64>,
    /// Payload bytes sent and not yet acknowledged.
    pub flight: u64,
}

/// Timer estimate of the sender from this time on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimerSample {
    /// Time, s.
    pub t: f64,
    /// Retransmission timeout with its back-off, s.
    pub rto: f64,
    /// Smoothed round-trip time, s.
    pub srtt: f64,
    /// Variation of the round-trip time, s.
    pub rttvar: f64,
}

/// Lines over time with a common ordinate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// Quantity on the axis, for example `bytes`.
    pub unit: String,
    /// Lines of the panel.
    pub series: Vec<Series>,
}

/// A line: one value over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Label.
    pub name: String,
    /// Colour.
    pub ink: Ink,
    /// Line style.
    pub style: Style,
    /// Time (s) and value, in time order. A value that is not finite is a gap.
    pub points: Vec<[f64; 2]>,
}

/// Colours of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ink {
    /// Dark: the main lines.
    #[default]
    Main,
    /// Green: lines for comparison.
    Other,
    /// Grey: a limit or a reference.
    Limit,
}

/// Line style.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// The value stays until it changes.
    #[default]
    Stairs,
    /// Each value is a dot.
    Dots,
}

/// A layer below the transport, or a source of events in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// Name, for example `radio`.
    pub name: String,
    /// Events of the layer.
    pub events: Vec<LayerEvent>,
}

/// Event of a lower layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayerEvent {
    /// Time, s.
    pub t: f64,
    /// End of the event, s, if it has a duration.
    #[serde(default)]
    pub until: Option<f64>,
    /// Name of the event, for example `cell reselection`.
    pub event: String,
    /// Further text; may be empty.
    #[serde(default)]
    pub detail: String,
    /// Number of a counted event, for example of a radio block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<f64>,
}

impl LayerEvent {
    /// An event without a number, from `t` to `until`, s.
    #[must_use]
    pub fn named(t: f64, until: Option<f64>, event: &str, detail: String) -> Self {
        LayerEvent { t, until, event: event.to_owned(), detail, number: None }
    }

    /// End of the event, s; equal to its start for an instant.
    #[must_use]
    pub fn end(&self) -> f64 {
        self.until.filter(|until| until.is_finite()).map_or(self.t, |until| until.max(self.t))
    }
}

impl Picture {
    /// Right end of the time axis, s: `until`, or the last event if that is later.
    #[must_use]
    pub fn end(&self) -> f64 {
        let events = (self.sent.iter().map(|e| e.t))
            .chain(self.received.iter().map(|e| e.t))
            .chain(self.acks.iter().map(|e| e.t))
            .chain(self.drops.iter().map(|e| e.t))
            .chain(self.timeouts.iter().map(|e| e.t))
            .chain(self.window.iter().map(|e| e.t))
            .chain(self.timer.iter().map(|e| e.t));
        events.filter(|t| t.is_finite()).fold(if self.until.is_finite() { self.until } else { 0.0 }, f64::max)
    }

    /// Highest byte sent, received or acknowledged, plus one.
    #[must_use]
    pub fn top(&self) -> u64 {
        let sent = self.sent.iter().map(|e| e.end);
        let received = self.received.iter().map(|e| e.end);
        sent.chain(received).chain(self.acks.iter().map(|e| e.ack)).max().unwrap_or(0)
    }

    /// Left end of the time axis, s, never beyond the right one.
    pub(crate) fn begin(&self) -> f64 {
        if self.from.is_finite() { self.from.min(self.end()) } else { 0.0 }
    }

    /// Lowest byte on the axis of sequence numbers: 0 if the picture shows the start of the flow.
    pub(crate) fn bottom(&self) -> u64 {
        if self.begin() <= 0.0 {
            return 0;
        }
        let sent = self.sent.iter().map(|e| e.seq);
        let received = self.received.iter().map(|e| e.seq);
        sent.chain(received).chain(self.acks.iter().map(|e| e.ack)).min().unwrap_or(0)
    }

    /// Bytes per segment, never zero.
    pub(crate) fn segment(&self) -> f64 {
        f64::from(self.segment_bytes.max(1))
    }

    /// Number of full segments in a packet of the picture: captures of senders with segmentation offload
    /// (TSO) show several segments as one packet. With a unit of 1 (sequence numbers that are not bytes) each
    /// packet counts as one.
    pub(crate) fn pieces(&self, sent: &Sent) -> usize {
        match u64::from(self.segment_bytes) {
            0 | 1 => 1,
            segment => (sent.end.saturating_sub(sent.seq).div_ceil(segment) as usize).max(1),
        }
    }

    /// Number of the segment that contains byte `seq`; the first segment is 1.
    pub(crate) fn ordinal(&self, seq: u64) -> u64 {
        seq / u64::from(self.segment_bytes.max(1)) + 1
    }
}

/// The items with a finite time, in order of time.
pub(crate) fn sorted<T>(items: &[T], time: impl Fn(&T) -> f64) -> Vec<&T> {
    let mut keys: Vec<(f64, usize)> =
        items.iter().map(time).zip(0..).filter(|key| key.0.is_finite()).collect();
    order(&mut keys);
    keys.iter().map(|&(_, at)| &items[at]).collect()
}

/// Stable sort by time, one instance for all item types: sorts are the larger part of the compile time here.
fn order(keys: &mut [(f64, usize)]) {
    keys.sort_by(|a, b| a.0.total_cmp(&b.0));
}
