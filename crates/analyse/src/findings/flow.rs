//! Connection report of the analyser: counters, options and RTT for each direction, and lists of retransmissions,
//! timeouts, delay spikes, idle times and loss bursts.
//!
//! Lists ascend in time. Offsets are relative to the initial sequence number of their direction: the SYN has offset 0,
//! data begin at 1.

use super::fault::Fault;
use super::idle::{Idle, IdleCause};
use super::join::{Offset, Sighting};
use super::profile::Advice;
use crate::facts::copies::Evidence;
use crate::facts::reason::Reason;
use crate::facts::rtt::RttSummary;
use crate::intake::capture_point::CapturePoint;
use crate::intake::observation::Endpoint;
use crate::verdict::Need;
use base::truth::SpuriousCause;
use base::{Span, Time};

base::named! {
    /// Verdict on a timeout or a fast retransmit.
    pub enum RecoveryVerdict {
        /// The retransmission was unneeded.
        Spurious = "spurious",
        /// The retransmission was needed.
        Genuine = "genuine",
        /// No verdict.
        Unknown = "unknown",
    }
}

impl From<Need> for RecoveryVerdict {
    fn from(need: Need) -> RecoveryVerdict {
        match need {
            Need::Needed => RecoveryVerdict::Genuine,
            Need::Unneeded => RecoveryVerdict::Spurious,
            Need::Unknown => RecoveryVerdict::Unknown,
        }
    }
}

/// Report of one connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Client; without a captured SYN, the end with the larger port.
    pub client: Endpoint,
    /// Server.
    pub server: Endpoint,
    /// The SYN was captured.
    pub opened: bool,
    /// Time of the first packet.
    pub first: Time,
    /// Time of the last packet.
    pub last: Time,
    /// Packets of both directions, without the capture's duplicate frames.
    pub packets: u64,
    /// Bytes of these packets, with IP headers.
    pub bytes: u64,
    /// Packets captured more than once.
    pub captured_twice: u64,
    /// Longest time between a packet and its duplicate frame.
    pub copies_apart: Span,
    /// A RST was captured.
    pub reset: bool,
    /// Directions: client to server, and server to client.
    pub directions: [FlowDirection; 2],
}

/// Report of one direction: data segments of the sender, and ACKs of the receiver.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FlowDirection {
    /// Packets of this direction.
    pub packets: u64,
    /// Bytes of these packets, with IP headers.
    pub bytes: u64,
    /// Packets with data.
    pub data_packets: u64,
    /// Wire segments with data: more than packets where offload merged several segments into one captured frame.
    pub data_segments: u64,
    /// Payload bytes, retransmissions included.
    pub data_bytes: u64,
    /// Payload bytes acknowledged; without ACKs in the capture, distinct bytes sent.
    pub delivered_bytes: u64,
    /// Times of the first and last packet with data.
    pub data_span: Option<(Time, Time)>,
    /// Retransmitted SYNs and FINs.
    pub control_again: u64,
    /// Keep-alive probes (RFC 9293 section 3.8.4).
    pub keep_alives: u64,
    /// Zero-window probes (RFC 9293 section 3.8.6.1).
    pub window_probes: u64,
    /// Reordered packets that are not retransmissions.
    pub out_of_order: u64,
    /// Bytes missing from the capture although later bytes were captured.
    pub missing_bytes: u64,
    /// Bytes acknowledged but not captured.
    pub acknowledged_unseen: u64,
    /// Segments whose first copies were sent before the capture began.
    pub before_capture: u64,
    /// Packets with sequence numbers outside of the connection.
    pub strange: u64,
    /// Duplicate ACKs received.
    pub duplicate_acks: u64,
    /// ACKs with a DSACK block (RFC 2883).
    pub dsacks: u64,
    /// Packets of the receiver lost before the capture point, if the receiver counts packets in the IP identification
    /// (ADR 0032).
    pub replies_lost: Option<u64>,
    /// Options of the sender and of the handshake.
    pub options: Options,
    /// Position of the capture point on the path.
    pub place: CapturePoint,
    /// RTT between the capture point and the receiver.
    pub rtt: Option<RttSummary>,
    /// Retransmissions with their verdicts.
    pub retransmissions: Vec<Retransmission>,
    /// Retransmission timeouts.
    pub timeouts: Vec<Timeout>,
    /// Fast retransmits.
    pub fast_retransmits: Vec<FastRetransmit>,
    /// Go-back-N runs after timeouts.
    pub go_back_n: Vec<GoBackN>,
    /// Delay spikes and outages.
    pub spikes: Vec<Spike>,
    /// Idle periods of the sender, with their causes.
    pub idles: Vec<Idle>,
    /// Total duration of idle periods by cause.
    pub time: TimeSpent,
    /// Loss bursts.
    pub bursts: Vec<Burst>,
    /// Bottleneck rate from closely spaced ACKs, bit/s.
    pub bottleneck_bps: Option<f64>,
    /// Bytes in flight when the earliest lost segment was sent: an estimate of the bottleneck buffer.
    pub buffer_bytes: Option<u64>,
    /// Implementation faults.
    pub faults: Vec<Fault>,
    /// Conformance with RFC 3481, point by point.
    pub profile: Vec<Advice>,
    /// Data segments, if `Limits::points` is set.
    pub transmissions: Vec<Transmission>,
    /// ACKs, if `Limits::points` is set.
    pub acks: Vec<AckPoint>,
    /// Packets for the join with another capture, if `Limits::arrivals` is set.
    pub sightings: Vec<Sighting>,
    /// Sequence number on the wire that has offset 0.
    pub origin: u32,
    /// Clock offset of the receiver-side capture, after the join.
    pub clock_offset: Option<Offset>,
}

impl FlowDirection {
    /// Number of retransmissions with the verdict `need`.
    pub fn count(&self, need: Need) -> u64 {
        self.retransmissions.iter().filter(|r| r.need == need).count() as u64
    }

    /// Number of timeouts with the verdict `kind`.
    pub fn timeouts_of(&self, kind: RecoveryVerdict) -> u64 {
        self.timeouts.iter().filter(|t| t.kind == kind).count() as u64
    }

    /// Delivered bytes over the time from the first to the last data segment, bit/s.
    pub fn goodput_bps(&self) -> Option<f64> {
        self.rate(self.delivered_bytes)
    }

    /// Payload bytes sent, retransmissions included, over the time from the first to the last data segment, bit/s.
    pub fn throughput_bps(&self) -> Option<f64> {
        self.rate(self.data_bytes)
    }

    fn rate(&self, bytes: u64) -> Option<f64> {
        let (from, until) = self.data_span?;
        let span = until.since(from).as_secs_f64();
        (span > 0.0).then(|| bytes as f64 * 8.0 / span)
    }
}

/// Options of the handshake and their use in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// MSS option of the receiver, if its SYN was captured.
    pub mss: Option<u16>,
    /// Longest segment sent, bytes.
    pub longest: u32,
    /// Window scale of the receiver, if both ends scale.
    pub scale: Option<u8>,
    /// SACK was negotiated; `None`: the handshake was not captured.
    pub sack: Option<bool>,
    /// Timestamps are in use.
    pub timestamps: bool,
    /// ECN was negotiated; `None`: the handshake was not captured.
    pub ecn: Option<bool>,
    /// Largest window offered by the receiver, bytes.
    pub window: u64,
    /// The window scale is known.
    pub window_known: bool,
}

/// Retransmission of a data segment, with its verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retransmission {
    /// Time of the retransmission.
    pub t: Time,
    /// First byte.
    pub seq: u64,
    /// One past the last byte.
    pub end: u64,
    /// Cumulative ACK when the segment was resent.
    pub acked: u64,
    /// Time of the first transmission of the segment's first byte, if captured.
    pub original: Option<Time>,
    /// Bytes in flight after the first transmission.
    pub flight: u64,
    /// Trigger of the retransmission.
    pub reason: Reason,
    /// Longest time that the retransmission timer can have run.
    pub waited: Span,
    /// Duplicate ACKs before the retransmission.
    pub duplicates: u64,
    /// Verdict.
    pub need: Need,
    /// Evidence of the verdict.
    pub evidence: Evidence,
    /// Time of the ACK that covered the segment.
    pub answered: Option<Time>,
    /// Time when the covering ACK left the receiver, on the capture clock, if timestamps reveal it.
    pub answer_left: Option<Time>,
    /// Posterior probability that the retransmission was unneeded, if the HMM evaluated its episode.
    pub likelihood: Option<f64>,
}

/// Expiry of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timeout {
    /// Time of the expiry.
    pub t: Time,
    /// First byte of the resent segment.
    pub seq: u64,
    /// Verdict.
    pub kind: RecoveryVerdict,
    /// Evidence of the verdict.
    pub evidence: Evidence,
    /// Cause of a spurious timeout, if known.
    pub cause: Option<SpuriousCause>,
    /// Time that the timer had run.
    pub waited: Span,
    /// Time of the ACK that covered the resent segment.
    pub until: Option<Time>,
}

/// Fast retransmit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FastRetransmit {
    /// Time of the retransmission.
    pub t: Time,
    /// First byte.
    pub seq: u64,
    /// Verdict.
    pub kind: RecoveryVerdict,
    /// Evidence of the verdict.
    pub evidence: Evidence,
    /// Duplicate ACKs before the retransmission.
    pub duplicates: u64,
}

/// Go-back-N: segments resent in order after a timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoBackN {
    /// Time of the first segment.
    pub t: Time,
    /// Time of the last segment.
    pub until: Time,
    /// Verdict on the timeout.
    pub kind: RecoveryVerdict,
    /// Number of segments, including the segment resent by the timeout.
    pub segments: u64,
    /// Number of unneeded retransmissions.
    pub unneeded: u64,
}

base::named! {
    /// Kind of a silence (no ACKs although data are outstanding).
    pub enum SpikeKind {
        /// The awaited data arrived late.
        Delay = "delay-spike",
        /// The awaited data or their ACK were lost, as were data sent more than one RTT later.
        Outage = "outage",
        /// The awaited data were lost, and the sender sent nothing until its timer expired. The state of the path in
        /// that time is unknown.
        Timer = "waiting-for-timer",
        /// No verdict.
        Unknown = "unknown",
    }
}

/// Silence: no ACK for long although data were outstanding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spike {
    /// Time of the ACK before the silence, or of the oldest outstanding segment if that is later.
    pub t: Time,
    /// Time of the ACK that ended the silence.
    pub until: Time,
    /// Kind of silence.
    pub kind: SpikeKind,
    /// First byte outstanding.
    pub seq: u64,
    /// Smoothed RTT before the silence.
    pub usual: Span,
    /// Time from the start of the silence to the last segment sent in it, not counting the segment that ended it.
    pub spoken: Span,
}

/// Total duration of idle periods by cause.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct TimeSpent {
    spans: [Span; IdleCause::ALL.len()],
}

impl TimeSpent {
    /// Adds an idle period.
    pub(crate) fn add(&mut self, cause: IdleCause, span: Span) {
        self.spans[cause as usize] += span;
    }
    /// Moves time from the cause `from` to the cause `to`.
    pub(crate) fn moved(&mut self, from: IdleCause, to: IdleCause, span: Span) {
        let before = self.of(from);
        self.spans[from as usize] = before - before.min(span);
        self.add(to, before.min(span));
    }
    /// Total duration of idle periods of this cause.
    pub fn of(&self, cause: IdleCause) -> Span {
        self.spans[cause as usize]
    }
}

/// Loss burst: lost segments that are adjacent in the sequence and were sent in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// Time when the first lost segment was sent.
    pub t: Time,
    /// Time when the last lost segment was sent.
    pub until: Time,
    /// Number of lost segments.
    pub segments: u64,
    /// Number of lost bytes.
    pub bytes: u64,
}

/// Transmission of a data segment, for pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transmission {
    /// Capture time.
    pub t: Time,
    /// First byte.
    pub seq: u64,
    /// One past the last byte.
    pub end: u64,
    /// Index in `retransmissions`, if the segment is a retransmission.
    pub again: Option<u32>,
    /// Bytes in flight after the transmission.
    pub flight: u64,
}

/// ACK, for pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckPoint {
    /// Capture time.
    pub t: Time,
    /// Cumulative ACK.
    pub ack: u64,
    /// Right edge of the offered window, if the window scale is known.
    pub window_end: Option<u64>,
    /// The cumulative ACK does not advance.
    pub duplicate: bool,
    /// SACK blocks; the first `sacks` are valid.
    pub sack: [(u64, u64); 4],
    /// Number of SACK blocks.
    pub sacks: u8,
}
