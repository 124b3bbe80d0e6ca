//! Connection report: plain data in order of time.
//!
//! Plain data, in the order of time: offsets count from the first sequence number of their direction, so that the SYN
//! is 0 and data begin at 1.

use super::fault::Fault;
use super::idle::{Idle, IdleCause};
use super::join::{Offset, Sighting};
use super::profile::Advice;
use crate::facts::copies::Evidence;
use crate::facts::reason::Reason;
use crate::facts::rtt::RttSummary;
use crate::intake::observation::Endpoint;
use crate::intake::place::Place;
use crate::verdict::Need;
use base::truth::SpuriousCause;
use base::{Span, Time};

base::named! {
    /// The verdict on a timeout or a fast retransmit.
    pub enum Kind {
        /// What was resent was not needed.
        Spurious = "spurious",
        /// It was.
        Genuine = "genuine",
        /// The capture does not tell.
        Unknown = "unknown",
    }
}

impl From<Need> for Kind {
    fn from(need: Need) -> Kind {
        match need {
            Need::Needed => Kind::Genuine,
            Need::Unneeded => Kind::Spurious,
            Need::Unknown => Kind::Unknown,
        }
    }
}

/// A connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Who opened it; where that was not seen, who is likely to have.
    pub client: Endpoint,
    /// The other end.
    pub server: Endpoint,
    /// Its beginning was seen.
    pub opened: bool,
    /// First and last packet.
    pub first: Time,
    /// See there.
    pub last: Time,
    /// Packets of both directions, those without copies that the capture made.
    pub packets: u64,
    /// Bytes of them, IP headers counted.
    pub bytes: u64,
    /// Packets that the capture holds twice.
    pub captured_twice: u64,
    /// The longest time between a packet and a copy of it.
    pub copies_apart: Span,
    /// It was reset.
    pub reset: bool,
    /// From the client to the server, and back.
    pub ways: [Way; 2],
}

/// One direction of a connection: data that way, acknowledgements the other way.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Way {
    /// Packets this way, and their bytes, IP headers counted.
    pub packets: u64,
    /// See there.
    pub bytes: u64,
    /// Packets with data.
    pub data_packets: u64,
    /// Bytes of data, each as often as it was sent.
    pub data_bytes: u64,
    /// Bytes of data that were acknowledged; where no acknowledgements were seen, the different ones sent.
    pub delivered_bytes: u64,
    /// First and last packet with data.
    pub data_span: Option<(Time, Time)>,
    /// SYNs and FINs that were sent again.
    pub control_again: u64,
    /// Probes of a connection that is idle.
    pub keep_alives: u64,
    /// Probes of a window that is closed.
    pub window_probes: u64,
    /// Packets that came after later ones and were no retransmissions.
    pub out_of_order: u64,
    /// Bytes that the capture does not hold although later ones were sent.
    pub missing_bytes: u64,
    /// Bytes acknowledged that the capture never showed.
    pub acknowledged_unseen: u64,
    /// Segments whose first copies were sent before the capture began.
    pub before_capture: u64,
    /// Sequence numbers that fit nowhere.
    pub strange: u64,
    /// Acknowledgements without news that came back.
    pub duplicate_acks: u64,
    /// Of those, how many reported a duplicate (RFC 2883).
    pub dsacks: u64,
    /// Packets that the receiver sent and that were lost on the way here, where it numbers what it sends (ADR 0032).
    pub replies_lost: Option<u64>,
    /// What the sender of the data offered and what was agreed.
    pub options: Options,
    /// Where the capture stands.
    pub place: Place,
    /// Round trips from here to the receiver and back.
    pub rtt: Option<RttSummary>,
    /// Each retransmission, with its verdict.
    pub retransmissions: Vec<Retransmission>,
    /// Each expiry of the retransmission timer.
    pub timeouts: Vec<Timeout>,
    /// Each fast retransmit.
    pub fast_retransmits: Vec<FastRetransmit>,
    /// What was resent in a row after a timeout.
    pub go_back_n: Vec<GoBackN>,
    /// When nothing came back for long.
    pub spikes: Vec<Spike>,
    /// When the sender was silent, and why.
    pub idles: Vec<Idle>,
    /// Time by what held the sender up, all pauses counted.
    pub time: TimeSpent,
    /// Segments that were lost side by side.
    pub bursts: Vec<Burst>,
    /// How fast data came through where acknowledgements followed each other closely, bit/s.
    pub bottleneck_bps: Option<f64>,
    /// Bytes outstanding when the first segment was sent that was lost.
    pub buffer_bytes: Option<u64>,
    /// What no sender should do.
    pub faults: Vec<Fault>,
    /// RFC 3481, point by point.
    pub profile: Vec<Advice>,
    /// Every data segment, if that was asked for.
    pub transmissions: Vec<Transmission>,
    /// Every acknowledgement that came back, if that was asked for.
    pub acks: Vec<AckPoint>,
    /// Every packet, to be matched with those of another capture, if that was asked for.
    pub sightings: Vec<Sighting>,
    /// What offset 0 is on the wire.
    pub origin: u32,
    /// How the clock of the other capture stands to this one's, once they are joined.
    pub clock_offset: Option<Offset>,
}

impl Way {
    /// How many retransmissions have this verdict.
    pub fn count(&self, need: Need) -> u64 {
        self.retransmissions.iter().filter(|r| r.need == need).count() as u64
    }

    /// How many timeouts have this verdict.
    pub fn timeouts_of(&self, kind: Kind) -> u64 {
        self.timeouts.iter().filter(|t| t.kind == kind).count() as u64
    }

    /// Data delivered, in bits per second of the time that data were sent.
    pub fn goodput_bps(&self) -> Option<f64> {
        self.rate(self.delivered_bytes)
    }

    /// Data sent, retransmissions counted, in bits per second.
    pub fn throughput_bps(&self) -> Option<f64> {
        self.rate(self.data_bytes)
    }

    fn rate(&self, bytes: u64) -> Option<f64> {
        let (from, until) = self.data_span?;
        let span = until.since(from).as_secs_f64();
        (span > 0.0).then(|| bytes as f64 * 8.0 / span)
    }
}

/// What was agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// Largest segment that the receiver takes, if its SYN was seen.
    pub mss: Option<u16>,
    /// Longest segment that was sent.
    pub longest: u32,
    /// Both ends scale windows, and by how much the receiver does.
    pub scale: Option<u8>,
    /// SACK may be used; `None`: the SYNs were not seen.
    pub sack: Option<bool>,
    /// Timestamps are used.
    pub timestamps: bool,
    /// ECN was agreed on; `None`: the SYNs were not seen.
    pub ecn: Option<bool>,
    /// The greatest window that the receiver offered, bytes.
    pub window: u64,
    /// True if the scale of windows is known.
    pub window_known: bool,
}

/// A segment that was sent again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retransmission {
    /// When.
    pub t: Time,
    /// First byte.
    pub seq: u64,
    /// One past the last.
    pub end: u64,
    /// What was acknowledged when it was sent.
    pub acked: u64,
    /// When its first byte had been sent for the first time, where that was seen.
    pub original: Option<Time>,
    /// How many bytes had been outstanding then.
    pub flight: u64,
    /// Why it was sent.
    pub reason: Reason,
    /// How long the timer can have run.
    pub waited: Span,
    /// Acknowledgements without news before it.
    pub duplicates: u64,
    /// The verdict.
    pub need: Need,
    /// How that is known.
    pub evidence: Evidence,
    /// When an acknowledgement covered it.
    pub answered: Option<Time>,
    /// When that acknowledgement left the receiver, on the capture's clock, where timestamps tell.
    pub answer_left: Option<Time>,
    /// How likely it was unneeded by all courses of events together, where those were weighed.
    pub likelihood: Option<f64>,
}

/// An expiry of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timeout {
    /// When.
    pub t: Time,
    /// The oldest byte outstanding.
    pub seq: u64,
    /// The verdict.
    pub kind: Kind,
    /// How that is known.
    pub evidence: Evidence,
    /// Why it was spurious, where that can be seen.
    pub cause: Option<SpuriousCause>,
    /// How long the timer had run.
    pub waited: Span,
    /// When an acknowledgement ended the wait.
    pub until: Option<Time>,
}

/// A fast retransmit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FastRetransmit {
    /// When.
    pub t: Time,
    /// The byte.
    pub seq: u64,
    /// The verdict.
    pub kind: Kind,
    /// How that is known.
    pub evidence: Evidence,
    /// After so many duplicates.
    pub duplicates: u64,
}

/// What was resent in a row after a timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoBackN {
    /// First segment.
    pub t: Time,
    /// Last segment.
    pub until: Time,
    /// The verdict on the timeout before it.
    pub kind: Kind,
    /// Segments, the one of the timeout included.
    pub segments: u64,
    /// Of those, unneeded.
    pub unneeded: u64,
}

base::named! {
    /// What a silence of the path was.
    pub enum SpikeKind {
        /// What was awaited came late.
        Delay = "delay-spike",
        /// What was awaited, or its acknowledgement, was lost, and so was what was sent more than a round trip later.
        Outage = "outage",
        /// What was awaited was lost, and the sender itself was silent until its timer expired: of the path nothing is
        /// known meanwhile.
        Timer = "waiting-for-timer",
        /// The capture does not tell.
        Unknown = "unknown",
    }
}

/// Nothing came back for long although something was outstanding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spike {
    /// Since when.
    pub t: Time,
    /// Until when.
    pub until: Time,
    /// What it was.
    pub kind: SpikeKind,
    /// The oldest byte outstanding.
    pub seq: u64,
    /// The round trip that was usual.
    pub usual: Span,
    /// How long after its beginning the sender last said something that did not end it.
    pub spoken: Span,
}

/// How long what held the sender up.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct TimeSpent {
    spans: [Span; IdleCause::ALL.len()],
}

impl TimeSpent {
    /// Adds a pause.
    pub(crate) fn add(&mut self, cause: IdleCause, span: Span) {
        self.spans[cause as usize] += span;
    }
    /// Puts time down to another cause.
    pub(crate) fn moved(&mut self, from: IdleCause, to: IdleCause, span: Span) {
        let before = self.of(from);
        self.spans[from as usize] = before - before.min(span);
        self.add(to, before.min(span));
    }
    /// How long.
    pub fn of(&self, cause: IdleCause) -> Span {
        self.spans[cause as usize]
    }
}

/// Segments that were lost side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// When the first was sent.
    pub t: Time,
    /// When the last was sent.
    pub until: Time,
    /// How many.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A data segment, for pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transmission {
    /// When.
    pub t: Time,
    /// First byte.
    pub seq: u64,
    /// One past the last.
    pub end: u64,
    /// Its place in `retransmissions`, if it is one.
    pub again: Option<u32>,
    /// Bytes outstanding after it.
    pub flight: u64,
}

/// An acknowledgement, for pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckPoint {
    /// When.
    pub t: Time,
    /// Next byte expected.
    pub ack: u64,
    /// Where the window ends, if its scale is known.
    pub window_end: Option<u64>,
    /// Says nothing new.
    pub duplicate: bool,
    /// SACK blocks, as many as `sacks` says.
    pub sack: [(u64, u64); 4],
    /// How many.
    pub sacks: u8,
}
