//! Join of sender-side and receiver-side captures: matching of packets, clock offset, and new verdicts from observed
//! arrivals.
//!
//! Packets are matched by IP identification, sequence numbers and timestamps. A retransmission whose copies cannot be
//! matched keeps the verdict of the sender-side capture.

use super::discarded::discarded;
use super::flow::{Flow, FlowDirection, RecoveryVerdict, Retransmission};
use crate::facts::copies::Evidence;
use crate::facts::ranges;
use crate::verdict::Need;
use base::truth::SpuriousCause;
use base::{Span, Time};
use std::collections::BTreeMap;

/// Packet as captured, for matching.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sighting {
    /// Capture time.
    pub t: Time,
    /// First byte.
    pub seq: u64,
    /// One past the last byte; equals `seq` without payload.
    pub end: u64,
    /// Acknowledgement number, as on the wire.
    pub ack: u32,
    /// IP identification; `None` for IPv6 and for 0.
    pub id: Option<u16>,
    /// TSval.
    pub stamp: Option<u32>,
    /// Timestamp echo (TSecr).
    pub echo: Option<u32>,
}

/// Clock offset between two captures.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Offset {
    /// Receiver-side clock less sender-side clock, ns, if the shortest one-way delays of both directions are equal.
    pub ahead_ns: i64,
    /// Sum of the shortest one-way delays: the offset is uncertain by half of it.
    pub round_trip: Span,
}

/// Matches each of `flows` with a connection of the other capture and renews its verdicts. Returns the number matched.
pub fn join(flows: &mut [(usize, Flow)], others: &[(usize, Flow)]) -> usize {
    let mut found = 0;
    let mut taken = vec![false; others.len()];
    for (_, flow) in flows.iter_mut() {
        let same = |o: &Flow| {
            o.client == flow.client && o.server == flow.server
                || o.client == flow.server && o.server == flow.client
        };
        let Some(at) =
            (0..others.len()).find(|&i| !taken[i] && same(&others[i].1) && shares(flow, &others[i].1))
        else {
            continue;
        };
        taken[at] = true;
        found += 1;
        pair(flow, &others[at].1);
    }
    found
}

/// Whether both have data at equal sequence numbers: ports are reused by later connections.
fn shares(a: &Flow, b: &Flow) -> bool {
    let swapped = a.client != b.client;
    (0..2).any(|i| {
        let (x, y) = (&a.directions[i], &b.directions[if swapped { 1 - i } else { i }]);
        let known: std::collections::BTreeSet<u32> = y.sightings.iter().map(|s| wire(y, s.seq)).collect();
        x.sightings.iter().any(|s| known.contains(&wire(x, s.seq)))
    })
}

fn wire(direction: &FlowDirection, seq: u64) -> u32 {
    direction.origin.wrapping_add(seq as u32)
}

/// Joins one connection with its counterpart.
fn pair(flow: &mut Flow, other: &Flow) {
    let swapped = flow.client != other.client;
    for i in 0..2 {
        let j = if swapped { 1 - i } else { i };
        let (there, back) = (&other.directions[j], &other.directions[1 - j]);
        // The verdicts of a direction come from the capture of its sender.
        if flow.directions[i].sightings.is_empty() || flow.directions[i].data_packets == 0 {
            continue;
        }
        let arrivals = self::arrivals(&flow.directions[i], there, &discarded(there, back));
        let answers = self::arrivals(&flow.directions[1 - i], back, &[]);
        let offset = offset(&flow.directions[i], &arrivals, &flow.directions[1 - i], &answers);
        flow.directions[i].clock_offset = offset;
        judge(flow, i, &arrivals, &answers, offset);
    }
}

/// Fate of a packet in the other capture.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Arrival {
    /// Captured at the receiver at this time.
    At(Time),
    /// Captured at the receiver at this time, and discarded by PAWS.
    Old(Time),
    /// Not captured at the receiver.
    Not,
    /// Indistinguishable from other packets.
    Unsure,
}

/// For each packet of `here`, in order: its fate in the capture `there`. `old`: discards by PAWS in `there`.
fn arrivals(here: &FlowDirection, there: &FlowDirection, old: &[bool]) -> Vec<Arrival> {
    let shift = i64::from(there.origin.wrapping_sub(here.origin) as i32);
    let moved = |s: &Sighting| (s.seq.saturating_add_signed(shift), s.end.saturating_add_signed(shift));
    type Mark = (u64, u64, Option<u16>, Option<u32>);
    let mut seen: BTreeMap<Mark, Vec<Arrival>> = BTreeMap::new();
    for (n, s) in there.sightings.iter().enumerate().rev() {
        let (seq, end) = moved(s);
        let is_old = old.get(n).copied().unwrap_or(false);
        let arrival = if is_old { Arrival::Old(s.t) } else { Arrival::At(s.t) };
        seen.entry((seq, end, s.id, s.stamp)).or_default().push(arrival);
    }
    let sent_alike = {
        let mut count: BTreeMap<Mark, usize> = BTreeMap::new();
        for s in &here.sightings {
            *count.entry((s.seq, s.end, s.id, s.stamp)).or_default() += 1;
        }
        count
    };
    let pieces = Pieces::of(there, shift, old);
    here.sightings
        .iter()
        .map(|s| {
            let mark = (s.seq, s.end, s.id, s.stamp);
            let alike = sent_alike.get(&mark).copied().unwrap_or(1);
            match seen.get_mut(&mark) {
                // Identical packets: if as many were captured as were sent, each arrived; otherwise the fate of each
                // is unknown.
                Some(times) if alike > 1 && s.id.is_none() && times.len() < alike => Arrival::Unsure,
                Some(times) => times.pop().unwrap_or(Arrival::Not),
                None => pieces.whole(s).map_or(Arrival::Not, Arrival::At),
            }
        })
        .collect()
}

/// Segments into which a network card split a packet, found by their bytes and consecutive identifications.
struct Pieces {
    by_seq: BTreeMap<u64, Vec<(u64, Option<u16>, Time)>>,
}

impl Pieces {
    fn of(there: &FlowDirection, shift: i64, old: &[bool]) -> Pieces {
        let mut by_seq: BTreeMap<u64, Vec<(u64, Option<u16>, Time)>> = BTreeMap::new();
        for (n, s) in there.sightings.iter().enumerate() {
            if s.end == s.seq || old.get(n).is_some_and(|old| *old) {
                continue;
            }
            let (seq, end) = (s.seq.saturating_add_signed(shift), s.end.saturating_add_signed(shift));
            by_seq.entry(seq).or_default().push((end, s.id, s.t));
        }
        Pieces { by_seq }
    }

    /// Time when the last segment of packet `s` was captured, if all were.
    fn whole(&self, s: &Sighting) -> Option<Time> {
        let (mut at, mut step, mut last) = (s.seq, 0u16, Time::ZERO);
        let id = s.id?;
        while at < s.end {
            let piece =
                self.by_seq.get(&at)?.iter().find(|p| p.1 == Some(id.wrapping_add(step)) && p.0 <= s.end)?;
            if piece.0 <= at {
                return None;
            }
            (at, step, last) = (piece.0, step.wrapping_add(1), last.max(piece.2));
        }
        (step > 1).then_some(last)
    }
}

fn offset(
    data: &FlowDirection,
    arrivals: &[Arrival],
    acks: &FlowDirection,
    answers: &[Arrival],
) -> Option<Offset> {
    let least = |direction: &FlowDirection, seen: &[Arrival]| {
        direction
            .sightings
            .iter()
            .zip(seen)
            .filter_map(|(s, a)| match a {
                Arrival::At(t) | Arrival::Old(t) => Some(t.as_nanos() as i64 - s.t.as_nanos() as i64),
                _ => None,
            })
            .fold((i64::MAX, i64::MIN), |(low, high), d| (low.min(d), high.max(d)))
    };
    // `there`: clock offset plus one-way delay. `back`: clock offset less one-way delay.
    let (there, back) = (least(data, arrivals).0, least(acks, answers).1);
    if there == i64::MAX || back == i64::MIN {
        return None;
    }
    let round_trip = Span::from_nanos(there.saturating_sub(back).max(0) as u64);
    Some(Offset { ahead_ns: there / 2 + back / 2, round_trip })
}

fn judge(flow: &mut Flow, i: usize, arrivals: &[Arrival], answers: &[Arrival], offset: Option<Offset>) {
    let (data, acks) = (flow.directions[i].sightings.clone(), flow.directions[1 - i].sightings.clone());
    let direction = &mut flow.directions[i];
    // Indices of the transmissions by first byte, in order of time.
    let mut by_seq: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let longest = data.iter().map(|s| s.end - s.seq).max().unwrap_or(0);
    let mut again = direction.retransmissions.iter_mut().peekable();
    for (n, s) in data.iter().enumerate() {
        if s.end == s.seq {
            continue;
        }
        while again.next_if(|r| r.t < s.t).is_some() {}
        // Of two transmissions at one instant, the second is the retransmission.
        let twin = |x: &Sighting| (x.seq, x.end) == (s.seq, s.end);
        let new = by_seq
            .range(s.seq.saturating_sub(longest)..s.end)
            .all(|(_, at)| at.iter().all(|&k| data[k].end <= s.seq));
        if new && data[n + 1..].iter().take_while(|x| x.t == s.t).any(twin) {
            by_seq.entry(s.seq).or_default().push(n);
            continue;
        }
        if let Some(r) = again.next_if(|r| r.t == s.t && r.seq == s.seq && r.end == s.end) {
            let earlier: Vec<usize> = by_seq
                .range(s.seq.saturating_sub(longest)..s.end)
                .flat_map(|(_, at)| at.iter().copied())
                .filter(|&k| data[k].end > s.seq)
                .collect();
            if let Some(need) = need(s, r, &data, &earlier, arrivals) {
                (r.need, r.evidence) = (need, Evidence::Receiver);
            }
        }
        let same = by_seq.entry(s.seq).or_default();
        if same.len() < MOST_OF_ONE {
            same.push(n);
        }
    }
    let origin = direction.origin;
    let verdicts: Vec<Retransmission> = direction.retransmissions.clone();
    let of = |t: Time, seq: u64| {
        let from = verdicts.partition_point(|r| r.t < t);
        verdicts[from..].iter().take_while(|r| r.t == t).find(|r| r.seq == seq)
    };
    let sent = Sent { data: &data, by_seq: &by_seq, longest };
    for timeout in &mut direction.timeouts {
        let Some(r) = of(timeout.t, timeout.seq) else { continue };
        (timeout.kind, timeout.evidence) = (RecoveryVerdict::from(r.need), r.evidence);
        timeout.cause = None;
        if r.need == Need::Unneeded
            && let Some(offset) = offset
        {
            timeout.cause = cause(r, origin, &sent, arrivals, &acks, answers, offset);
        }
    }
    for fast in &mut direction.fast_retransmits {
        if let Some(r) = of(fast.t, fast.seq) {
            (fast.kind, fast.evidence) = (RecoveryVerdict::from(r.need), r.evidence);
        }
    }
    super::outcome::again(direction);
}

/// Upper limit of stored copies of one segment; senders abort after fewer.
const MOST_OF_ONE: usize = 64;

/// Data packets, and the indices of packets by first byte.
struct Sent<'a> {
    data: &'a [Sighting],
    by_seq: &'a BTreeMap<u64, Vec<usize>>,
    longest: u64,
}

impl Sent<'_> {
    fn overlapping(&self, seq: u64, end: u64) -> impl Iterator<Item = usize> {
        let near = self.by_seq.range(seq.saturating_sub(self.longest)..end);
        near.flat_map(|(_, at)| at.iter().copied()).filter(move |k| self.data[*k].end > seq)
    }
}

fn need(
    s: &Sighting,
    r: &Retransmission,
    data: &[Sighting],
    earlier: &[usize],
    arrivals: &[Arrival],
) -> Option<Need> {
    if r.evidence == Evidence::Acked || r.evidence == Evidence::Sacked {
        return Some(Need::Unneeded);
    }
    let from = s.seq.max(r.acked);
    let of = |keep: &dyn Fn(Arrival) -> bool| -> Vec<(u64, u64)> {
        earlier.iter().filter(|&&k| keep(arrivals[k])).map(|&k| (data[k].seq, data[k].end)).collect()
    };
    if ranges::cover(from, s.end, &mut of(&|a| matches!(a, Arrival::At(_)))) {
        return Some(Need::Unneeded);
    }
    (!ranges::cover(from, s.end, &mut of(&|a| matches!(a, Arrival::At(_) | Arrival::Unsure))))
        .then_some(Need::Needed)
}

/// Cause of a spurious timeout, from the arrivals at both ends.
fn cause(
    r: &Retransmission,
    origin: u32,
    sent: &Sent<'_>,
    arrivals: &[Arrival],
    acks: &[Sighting],
    answers: &[Arrival],
    offset: Offset,
) -> Option<SpuriousCause> {
    let here = |t: Time| Time::from_nanos(t.as_nanos().saturating_add_signed(-offset.ahead_ns));
    let arrived = |k: &usize| matches!(arrivals[*k], Arrival::At(t) if here(t) <= r.t);
    let data = sent.data;
    let mut before: Vec<(u64, u64)> = sent
        .overlapping(r.seq, r.end)
        .filter(|k| data[*k].t < r.t && arrived(k))
        .map(|k| (data[k].seq, data[k].end))
        .collect();
    if !ranges::cover(r.seq.max(r.acked), r.end, &mut before) {
        return Some(SpuriousCause::Delayed);
    }
    let end = origin.wrapping_add(r.end as u32);
    let from = acks.partition_point(|a| a.t <= r.t);
    let first = (from..acks.len()).find(|&k| acks[k].ack.wrapping_sub(end) < 1 << 31)?;
    Some(match answers[first] {
        Arrival::At(left) if here(left) <= r.t => SpuriousCause::AckDelayed,
        Arrival::At(_) => SpuriousCause::AckLost,
        _ => return None,
    })
}
