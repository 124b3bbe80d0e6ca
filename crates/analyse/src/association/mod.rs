//! SCTP associations of a capture (RFC 9260): retransmissions, timeouts, gap reports and RTT of each direction.
//!
//! Transmission sequence numbers identify each retransmitted chunk, and duplicate TSN reports show which were
//! unneeded. A capture at several interfaces shows a packet several times. Each interface has associations of
//! its own; [`Associations::finish`] keeps the one nearest to the sender of the data.

use crate::Endpoint;
use base::wire::sctp::{self, RawChunk, RawSack, kind};
use base::wire::{self, IpHead};
use base::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Upper limit of DATA chunks, and of SACKs, stored as points for each direction.
const MOST_POINTS: usize = 200_000;
/// Upper limit of associations; packets of further associations are ignored.
const MOST: usize = 4096;
/// Extended TSN of the first chunk seen; lower values are left for earlier TSNs.
const FIRST: u64 = 1 << 20;
/// Miss indications that trigger a fast retransmit (RFC 9260 section 7.2.4).
const MISSING: u32 = 3;

/// Trigger of a retransmitted chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResendReason {
    /// Fast retransmit after enough miss indications.
    Fast,
    /// The retransmission timer expired: no other trigger was seen.
    Timeout,
    /// Further chunks of the flight that a fast retransmit or timeout repairs.
    Repair,
}

/// Verdict on a T3-rtx timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeoutVerdict {
    /// The receiver reported a duplicate of the retransmitted chunk: the first copy had arrived.
    Spurious,
    /// The retransmitted chunk was acknowledged without a duplicate report.
    Genuine,
    /// The retransmitted chunk was not acknowledged in the capture.
    Unknown,
}

/// T3-rtx timeout (RFC 9260 section 6.3.3).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Timeout {
    /// Time of the first retransmitted chunk.
    pub t: Time,
    /// TSN of the first retransmitted chunk, relative to the first TSN seen.
    pub tsn: u64,
    /// Time since the previous DATA chunk.
    pub waited: Span,
    /// Verdict from later SACKs.
    pub judged: TimeoutVerdict,
}

/// Transmission of a DATA chunk, for plots.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Capture time.
    pub t: Time,
    /// TSN relative to the first TSN seen.
    pub tsn: u64,
    /// Trigger, if the chunk is a retransmission.
    pub again: Option<ResendReason>,
}

/// SACK chunk, for plots.
#[derive(Clone, PartialEq, Debug)]
pub struct Ack {
    /// Capture time.
    pub t: Time,
    /// One past the cumulative TSN ACK, relative to the first TSN seen.
    pub below: u64,
    /// Gap ack blocks as half-open TSN ranges, relative to the first TSN seen.
    pub gaps: Vec<(u64, u64)>,
    /// The SACK reports duplicate TSNs.
    pub duplicates: bool,
}

/// RTT statistics of chunks sent once, seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Rtt {
    /// Number of samples.
    pub samples: u64,
    /// Minimum.
    pub min_s: f64,
    /// Mean.
    pub mean_s: f64,
    /// Maximum.
    pub max_s: f64,
}

/// Statistics of one direction of an association.
#[derive(Clone, Debug, Default)]
pub struct AssociationDirection {
    /// SCTP packets.
    pub packets: u64,
    /// DATA chunks, retransmissions included.
    pub chunks: u64,
    /// Bytes of user data, retransmissions included.
    pub bytes: u64,
    /// Bytes of user data that were acknowledged cumulatively.
    pub acknowledged_bytes: u64,
    /// User messages: first fragments (B bit), retransmissions excluded.
    pub messages: u64,
    /// Streams that carried data.
    pub streams: u64,
    /// Retransmitted DATA chunks.
    pub resent: u64,
    /// Retransmissions that the receiver reported as duplicates.
    pub unneeded: u64,
    /// Fast retransmits: losses found by miss indications.
    pub fast_retransmits: u64,
    /// Timeouts, ascending in time.
    pub timeouts: Vec<Timeout>,
    /// SACKs received.
    pub sacks: u64,
    /// SACKs with gap ack blocks.
    pub gap_sacks: u64,
    /// Gap ack blocks of all SACKs.
    pub gap_blocks: u64,
    /// Duplicate TSNs reported by SACKs.
    pub duplicates: u64,
    /// SACKs with an advertised window of zero.
    pub closed_windows: u64,
    /// HEARTBEAT chunks sent.
    pub heartbeats: u64,
    /// HEARTBEAT ACK chunks received.
    pub heartbeats_answered: u64,
    /// FORWARD TSN chunks.
    pub forwards: u64,
    /// Number of destination addresses.
    pub destinations: u64,
    /// RTT of chunks sent once.
    pub rtt: Option<Rtt>,
    /// Time of the first DATA chunk, and of the latest DATA chunk or SACK that advanced the cumulative TSN.
    pub span: Option<(Time, Time)>,
    /// Transmissions of DATA chunks, if points are stored.
    pub points: Vec<Point>,
    /// SACKs, if points are stored.
    pub acks: Vec<Ack>,
}

impl AssociationDirection {
    /// Number of timeouts with the verdict `judged`.
    pub fn judged(&self, judged: TimeoutVerdict) -> usize {
        self.timeouts.iter().filter(|timeout| timeout.judged == judged).count()
    }
    /// Sum of the waiting times of all timeouts.
    pub fn waited(&self) -> Span {
        self.timeouts.iter().fold(Span::ZERO, |sum, timeout| sum + timeout.waited)
    }
    /// Acknowledged bytes over the time of `span`, bit/s; None with fewer than two chunks.
    pub fn goodput_bps(&self) -> Option<f64> {
        let (from, until) = self.span?;
        let seconds = until.since(from).as_secs_f64();
        (seconds > 0.0).then(|| self.acknowledged_bytes as f64 * 8.0 / seconds)
    }
}

/// SCTP association with statistics of both directions.
#[derive(Clone, Debug)]
pub struct Association {
    /// Endpoints; the initiator first, if known.
    pub ends: [Endpoint; 2],
    /// An INIT chunk was captured.
    pub opened: bool,
    /// "shutdown" or "abort"; none if the capture contains no end.
    pub ended: Option<&'static str>,
    /// Time of the first packet.
    pub first: Time,
    /// Time of the last packet.
    pub last: Time,
    /// Directions: from the first endpoint, and from the second.
    pub directions: [AssociationDirection; 2],
    /// Capture interface index.
    pub interface: u32,
}

impl Association {
    /// Index of the direction that carried more bytes of user data.
    pub fn main(&self) -> usize {
        usize::from(self.directions[1].bytes > self.directions[0].bytes)
    }
}

/// Unacknowledged chunk: last transmission, number of transmissions, miss indications, length, gap-reported.
#[derive(Clone, Copy)]
struct Outstanding {
    last: Time,
    times: u32,
    missing: u32,
    len: u32,
    reported: bool,
}

/// Scoreboard of one direction: extended TSNs and outstanding chunks.
#[derive(Default)]
struct DirectionTracker {
    direction: AssociationDirection,
    /// TSN on the wire that has the extended TSN 0.
    base: Option<u32>,
    /// One past the highest TSN sent.
    next: u64,
    below: u64,
    outstanding: BTreeMap<u64, Outstanding>,
    /// Recovery ends when TSNs below this are acknowledged.
    repairs_to: u64,
    /// Time of the last DATA chunk.
    busy: Option<Time>,
    streams: BTreeSet<u16>,
    destinations: BTreeSet<std::net::IpAddr>,
    rtt_sum: f64,
}

impl DirectionTracker {
    fn offset(&mut self, near: u64, tsn: u32) -> u64 {
        // Chunks sent before the first TSN seen get extended TSNs below [`FIRST`].
        let base = *self.base.get_or_insert(tsn.wrapping_sub(FIRST as u32));
        wire::unwrap(near.max(FIRST), tsn.wrapping_sub(base))
    }

    fn data(&mut self, t: Time, data: &sctp::RawData, begins: bool, keep: bool) {
        let tsn = self.offset(self.next, data.tsn);
        self.direction.chunks += 1;
        self.direction.bytes += u64::from(data.len);
        self.streams.insert(data.stream);
        let first = self.direction.span.map_or(t, |(first, _)| first);
        self.direction.span = Some((first, t));
        let new = tsn >= self.next;
        self.direction.messages += u64::from(new && begins);
        let again = (!new).then(|| self.why(t, tsn));
        self.next = self.next.max(tsn + 1);
        let known = self.outstanding.get(&tsn).copied();
        let times = known.map_or(u32::from(!new), |chunk| chunk.times) + 1;
        if new || known.is_some() {
            let chunk = Outstanding { last: t, times, missing: 0, len: data.len, reported: false };
            self.outstanding.insert(tsn, chunk);
        }
        self.direction.resent += u64::from(!new);
        self.busy = Some(t);
        if keep && self.direction.points.len() < MOST_POINTS {
            self.direction.points.push(Point { t, tsn, again });
        }
    }

    /// Trigger of a retransmission: miss indications, recovery in progress, otherwise a timeout.
    fn why(&mut self, t: Time, tsn: u64) -> ResendReason {
        let lowest = self.outstanding.iter().find(|(_, chunk)| !chunk.reported).map(|(tsn, _)| *tsn);
        let chunk = self.outstanding.get(&tsn).copied();
        if chunk.is_some_and(|chunk| chunk.missing >= MISSING && chunk.times == 1) {
            self.direction.fast_retransmits +=
                u64::from(tsn >= self.repairs_to || self.below >= self.repairs_to);
            self.repairs_to = self.next;
            return ResendReason::Fast;
        }
        let repairing = self.below < self.repairs_to && tsn < self.repairs_to;
        // During recovery, only a second retransmission of the lowest chunk indicates another timeout.
        if repairing && (lowest != Some(tsn) || chunk.is_none_or(|chunk| chunk.times == 1)) {
            return ResendReason::Repair;
        }
        let waited = self.busy.map_or(Span::ZERO, |busy| t.since(busy));
        self.direction.timeouts.push(Timeout { t, tsn, waited, judged: TimeoutVerdict::Unknown });
        self.repairs_to = self.next;
        ResendReason::Timeout
    }

    fn sack(&mut self, t: Time, sack: &RawSack, keep: bool) {
        self.direction.sacks += 1;
        self.direction.gap_sacks += u64::from(!sack.gaps.is_empty());
        self.direction.gap_blocks += sack.gaps.len() as u64;
        self.direction.closed_windows += u64::from(sack.window == 0);
        let below = self.offset(self.below, sack.cumulative) + 1;
        let gaps: Vec<(u64, u64)> =
            sack.gaps.iter().map(|&(a, b)| (self.offset(below, a), self.offset(below, b) + 1)).collect();
        let mut highest = None;
        let moved = below > self.below;
        if let (true, Some((first, _))) = (moved, self.direction.span) {
            self.direction.span = Some((first, t));
        }
        self.below = self.below.max(below);
        let kept = self.outstanding.split_off(&below);
        for (tsn, chunk) in std::mem::replace(&mut self.outstanding, kept) {
            self.direction.acknowledged_bytes += u64::from(chunk.len);
            if !chunk.reported {
                self.sample(t, &chunk);
                highest = highest.max(Some(tsn));
            }
            let timeouts = self.direction.timeouts.iter_mut().rev();
            for timeout in
                timeouts.take_while(|timeout| timeout.tsn >= tsn).filter(|timeout| timeout.tsn == tsn)
            {
                timeout.judged = TimeoutVerdict::Genuine;
            }
        }
        for &(from, to) in &gaps {
            let newly: Vec<u64> = self
                .outstanding
                .range(from..to.max(from))
                .filter(|(_, c)| !c.reported)
                .map(|(tsn, _)| *tsn)
                .collect();
            for tsn in newly {
                let Some(chunk) = self.outstanding.get_mut(&tsn) else { continue };
                chunk.reported = true;
                let chunk = *chunk;
                self.sample(t, &chunk);
                highest = highest.max(Some(tsn));
            }
        }
        let repairing = self.below < self.repairs_to && moved;
        let counted = if repairing { gaps.last().map(|(_, to)| *to) } else { highest };
        if let (Some(highest), false) = (counted, gaps.is_empty()) {
            let below = self.outstanding.range_mut(..highest).filter(|(_, chunk)| !chunk.reported);
            below.for_each(|(_, chunk)| chunk.missing += 1);
        }
        for tsn in &sack.duplicates {
            let tsn = self.offset(self.below, *tsn);
            self.direction.duplicates += 1;
            self.direction.unneeded += 1;
            // A chunk that timed out twice has two extra copies, each reported separately.
            let open =
                |timeout: &&mut Timeout| timeout.tsn == tsn && timeout.judged != TimeoutVerdict::Spurious;
            let of = self.direction.timeouts.iter_mut().rev().find(open);
            if let Some(timeout) = of {
                timeout.judged = TimeoutVerdict::Spurious;
            }
        }
        if keep && self.direction.acks.len() < MOST_POINTS {
            self.direction.acks.push(Ack { t, below, gaps, duplicates: !sack.duplicates.is_empty() });
        }
    }

    /// Adds the RTT of a chunk that was sent once.
    fn sample(&mut self, t: Time, chunk: &Outstanding) {
        if chunk.times != 1 {
            return;
        }
        let seconds = t.since(chunk.last).as_secs_f64();
        let rtt = self.direction.rtt.get_or_insert(Rtt { min_s: f64::INFINITY, ..Rtt::default() });
        rtt.samples += 1;
        rtt.min_s = rtt.min_s.min(seconds);
        rtt.max_s = rtt.max_s.max(seconds);
        self.rtt_sum += seconds;
        rtt.mean_s = self.rtt_sum / rtt.samples as f64;
    }
}

/// Association with the scoreboards of both directions.
struct AssociationTracker {
    association: Association,
    follows: [DirectionTracker; 2],
}

/// Direction of a packet: interface, ports and verification tag.
type Key = (u32, u16, u16, u32);

/// Associations of a capture.
#[derive(Default)]
pub struct Associations {
    all: Vec<AssociationTracker>,
    by_tag: BTreeMap<Key, (usize, usize)>,
    keep: bool,
    packets: u64,
}

impl Associations {
    /// An empty table. `points`: stores chunks and SACKs for plots.
    pub fn new(points: bool) -> Self {
        Associations { keep: points, ..Associations::default() }
    }

    /// Number of SCTP packets.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Processes a frame; true if it carries SCTP.
    pub fn push(&mut self, frame: &capture::Frame<'_>) -> bool {
        let Ok(packet) = frame.decode() else { return false };
        let (ip, at) = (packet.ip, packet.network + packet.ip.header as usize);
        if ip.protocol != wire::SCTP {
            return false;
        }
        self.packets += 1;
        let bytes = frame.bytes.get(at..).unwrap_or_default();
        let end = ((ip.size - ip.header) as usize).min(bytes.len());
        let t = Time::from_nanos(u64::try_from(frame.time_ns).unwrap_or(0));
        self.packet(t, frame.interface, &ip, bytes.get(..end).unwrap_or_default());
        true
    }

    fn packet(&mut self, t: Time, interface: u32, ip: &IpHead, bytes: &[u8]) {
        let Some((head, chunks)) = sctp::read(bytes) else { return };
        let chunks: Vec<RawChunk<'_>> = chunks.collect();
        let opening = chunks.first().is_some_and(|chunk| chunk.kind == kind::INIT);
        let ends = [
            Endpoint { address: ip.source, port: head.source },
            Endpoint { address: ip.destination, port: head.destination },
        ];
        let key = (interface, head.source, head.destination, head.tag);
        let Some((index, side)) = self.find(key, ends, opening, t) else { return };
        // The verification tag in an INIT or INIT ACK identifies packets of the opposite direction.
        if let Some((tag, _)) = chunks.first().and_then(RawChunk::init) {
            self.by_tag.insert((interface, head.destination, head.source, tag), (index, 1 - side));
        }
        let keep = self.keep;
        let Some(AssociationTracker { association, follows }) = self.all.get_mut(index) else { return };
        association.last = association.last.max(t);
        association.opened |= opening;
        follows[side].direction.packets += 1;
        follows[side].destinations.insert(ip.destination);
        for chunk in &chunks {
            if let Some(data) = chunk.data() {
                follows[side].data(t, &data, chunk.flags & 2 != 0, keep);
            } else if let Some(sack) = chunk.sack() {
                follows[1 - side].sack(t, &sack, keep);
            }
            match chunk.kind {
                kind::HEARTBEAT => follows[side].direction.heartbeats += 1,
                kind::HEARTBEAT_ACK => follows[1 - side].direction.heartbeats_answered += 1,
                kind::FORWARD_TSN => follows[side].direction.forwards += 1,
                kind::ABORT => association.ended = Some("abort"),
                kind::SHUTDOWN_COMPLETE if association.ended.is_none() => {
                    association.ended = Some("shutdown")
                }
                _ => {}
            }
        }
    }

    /// Finds the association and direction of a packet, or adds a new association.
    fn find(&mut self, key: Key, ends: [Endpoint; 2], opening: bool, t: Time) -> Option<(usize, usize)> {
        let (interface, source, destination, tag) = key;
        if !opening && let Some(known) = self.by_tag.get(&key) {
            return Some(*known);
        }
        let turned = [ends[1], ends[0]];
        let ended = |open: &AssociationTracker| open.association.ended.is_some();
        // Repeated INITs, and associations whose handshake was not captured.
        let same = |open: &&AssociationTracker| {
            let a = &open.association;
            a.interface == interface && (a.ends == ends || a.ends == turned) && !(opening && ended(open))
        };
        let found =
            self.all.iter().rev().take(64).position(|open| same(&open)).map(|back| self.all.len() - 1 - back);
        let index = match found {
            Some(index) => index,
            None if self.all.len() >= MOST => return None,
            None => {
                let association = Association {
                    ends,
                    opened: false,
                    ended: None,
                    first: t,
                    last: t,
                    directions: Default::default(),
                    interface,
                };
                self.all.push(AssociationTracker { association, follows: Default::default() });
                self.all.len() - 1
            }
        };
        let side = usize::from(self.all[index].association.ends != ends);
        if !opening {
            self.by_tag.insert((interface, source, destination, tag), (index, side));
        }
        Some((index, side))
    }

    /// All associations. An association seen at several interfaces is reported once: at the interface nearest to the
    /// sender of the data.
    pub fn finish(self) -> Vec<Association> {
        let mut all: Vec<Association> = Vec::new();
        for AssociationTracker { mut association, follows } in self.all {
            association.directions = follows.map(|follow| {
                let (streams, destinations) = (follow.streams.len() as u64, follow.destinations.len() as u64);
                let mut direction = AssociationDirection { streams, destinations, ..follow.direction };
                let number = |tsn: u64| tsn.saturating_sub(FIRST);
                direction.timeouts.iter_mut().for_each(|timeout| timeout.tsn = number(timeout.tsn));
                direction.points.iter_mut().for_each(|point| point.tsn = number(point.tsn));
                for ack in &mut direction.acks {
                    ack.below = number(ack.below);
                    ack.gaps.iter_mut().for_each(|gap| *gap = (number(gap.0), number(gap.1)));
                }
                direction
            });
            let same = |other: &&mut Association| {
                let turned = [other.ends[1], other.ends[0]];
                let overlap = other.first <= association.last && association.first <= other.last;
                let ends = association.ends == other.ends || association.ends == turned;
                ends && overlap && other.interface != association.interface
            };
            match all.iter_mut().find(same) {
                None => all.push(association),
                Some(other) => {
                    // Packets lost on the path do not reach later interfaces, and the RTT is longest at the sender.
                    let rank = |a: &Association| {
                        let direction = &a.directions[a.main()];
                        (direction.chunks, direction.rtt.map_or(0, |rtt| (rtt.mean_s * 1e9) as u64))
                    };
                    if rank(&association) > rank(other) {
                        *other = association;
                    }
                }
            }
        }
        all
    }
}
