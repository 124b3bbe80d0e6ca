//! Feasibility constraints of event courses: which packets of an episode can still be lost, given later ACKs and
//! DSACKs.
//!
//! Bytes covered by an ACK arrived before it, and bytes reported by a DSACK arrived twice. A copy cannot be lost if no
//! other copy can have arrived in time. Early pruning of infeasible courses keeps feasible ones in the beam.

use super::hmm::{ObservedAck, SentPacket};
use super::transitions::reachable;
use super::union_find::Skip;
use base::Span;
use std::collections::BTreeMap;

/// Constraints for the packets of one episode.
#[derive(Debug, Default)]
pub(crate) struct LossConstraints {
    of: Vec<LossConstraint>,
    /// DSACKs of the episode: byte range and index of the ACK, ascending.
    reports: Vec<((u64, u64), u32)>,
}

/// Constraint on the loss of one packet.
#[derive(Clone, Copy, Debug, Default)]
struct LossConstraint {
    /// An ACK covers the bytes of this packet, and every later copy was sent too late to trigger it.
    last: bool,
    /// Later copies of exactly these bytes.
    after: u32,
    /// Range in `LossConstraints::reports` of the DSACKs for these bytes.
    reports: (u32, u32),
}

impl LossConstraints {
    /// Constraints for the packets `sent`, given the ACKs; `least`: minimum RTT.
    pub(crate) fn of(sent: &[SentPacket], acks: &[ObservedAck], least: Span) -> LossConstraints {
        let mut reports: Vec<((u64, u64), u32)> =
            (0..).zip(acks).filter_map(|(k, h)| Some((h.dsack?, k))).collect();
        reports.sort_unstable();
        let mut by_seq: Vec<(u64, u32)> = (0..).zip(sent).map(|(i, s)| (s.seq, i)).collect();
        by_seq.sort_unstable();
        let longest = sent.iter().map(|s| s.end - s.seq).max().unwrap_or(0);
        let first_ack = first_covered(sent, acks, &by_seq);
        let rows = SeqRows::of(&by_seq, sent);
        let after = copies_after(sent);
        let of = sent.iter().enumerate().map(|(i, s)| {
            let answer = first_ack[i].and_then(|k| acks.get(k as usize));
            let in_time = answer.is_some_and(|h| {
                rows.later(&by_seq, sent, i, longest).any(|other| reachable(h, other.t, least))
            });
            let place = |at: u32| reports.partition_point(|r| *r < ((s.seq, s.end), at)) as u32;
            let end = reports.partition_point(|r| r.0 <= (s.seq, s.end)) as u32;
            LossConstraint { last: answer.is_some() && !in_time, after: after[i], reports: (place(0), end) }
        });
        LossConstraints { of: of.collect(), reports }
    }

    /// Whether packet `i` may be lost after `acks` ACKs are explained. `there`: its bytes arrived with another copy.
    pub(crate) fn may_lose(&self, i: usize, acks: u32, there: bool) -> bool {
        let LossConstraint { last, after, reports: (from, to) } = self.of[i];
        if last && !there {
            return false;
        }
        let reports = &self.reports[from as usize..to as usize];
        let open = reports.len() - reports.partition_point(|r| r.1 < acks);
        open == 0 || after as usize + usize::from(there) > open
    }
}

/// First index of each group of packets with equal first byte, in the list sorted by first byte.
struct SeqRows(Vec<u32>);

/// Upper limit of groups searched for one packet. More groups overlap only if segment boundaries shift by single
/// bytes; further groups are ignored.
const MOST_ROWS: usize = 64;

impl SeqRows {
    fn of(by_seq: &[(u64, u32)], sent: &[SentPacket]) -> SeqRows {
        let begins = |k: &u32| *k == 0 || by_seq[*k as usize].0 != by_seq[*k as usize - 1].0;
        SeqRows((0..sent.len() as u32).filter(begins).collect())
    }

    /// For each group, the first packet after `i` that shares bytes with packet `i`.
    fn later<'a>(
        &'a self,
        by_seq: &'a [(u64, u32)],
        sent: &'a [SentPacket],
        i: usize,
        longest: u64,
    ) -> impl Iterator<Item = &'a SentPacket> {
        let s = &sent[i];
        let first = self.0.partition_point(|k| by_seq[*k as usize].0 + longest <= s.seq);
        let rows =
            (first..self.0.len()).take_while(|r| by_seq[self.0[*r] as usize].0 < s.end).take(MOST_ROWS);
        rows.filter_map(move |r| {
            let end = self.0.get(r + 1).map_or(by_seq.len(), |k| *k as usize);
            let row = &by_seq[self.0[r] as usize..end];
            let after = row.partition_point(|b| b.1 as usize <= i);
            row[after..].iter().map(|b| &sent[b.1 as usize]).take(MOST_ROWS).find(|o| o.end > s.seq)
        })
    }
}

/// For each packet, the number of later copies of exactly its bytes.
fn copies_after(sent: &[SentPacket]) -> Vec<u32> {
    let mut seen: BTreeMap<(u64, u64), u32> = BTreeMap::new();
    let mut after = vec![0; sent.len()];
    for (i, s) in sent.iter().enumerate().rev() {
        let count = seen.entry((s.seq, s.end)).or_default();
        after[i] = *count;
        *count += 1;
    }
    after
}

/// For each packet, the first ACK that covers all its bytes.
fn first_covered(sent: &[SentPacket], acks: &[ObservedAck], by_seq: &[(u64, u32)]) -> Vec<Option<u32>> {
    let mut first_ack: Vec<Option<u32>> = vec![None; sent.len()];
    let mut open = Skip::new(sent.len());
    let mut before: &[(u64, u64)] = &[];
    for (k, h) in (0..).zip(acks) {
        let blocks = &h.blocks[..h.count];
        for block in blocks.iter().filter(|b| !before.contains(b)) {
            let mut at = open.next(by_seq.partition_point(|b| b.0 < block.0));
            while let Some(&(seq, i)) = by_seq.get(at).filter(|b| b.0 < block.1) {
                debug_assert!(seq >= block.0, "sorted by first byte");
                if sent[i as usize].end <= block.1 {
                    first_ack[i as usize] = Some(k);
                    open.done(at);
                }
                at = open.next(at + 1);
            }
        }
        before = blocks;
    }
    for (i, s) in sent.iter().enumerate() {
        let covered = acks.partition_point(|h| h.ack < s.end);
        if covered < acks.len() && first_ack[i].is_none_or(|k| k as usize > covered) {
            first_ack[i] = Some(covered as u32);
        }
    }
    first_ack
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Time;

    fn sent(ms: u64, n: u64) -> SentPacket {
        let t = Time::ZERO + Span::from_millis(ms);
        SentPacket { seq: n * 100, end: (n + 1) * 100, t, stamp: None, result: None }
    }

    fn acks(ms: u64, ack: u64, dsack: Option<(u64, u64)>) -> ObservedAck {
        let t = Time::ZERO + Span::from_millis(ms);
        ObservedAck { dsack, ..ObservedAck::plain(t, ack) }
    }

    #[test]
    fn the_last_copy_of_what_is_told_of_arrives() {
        let sent = [sent(0, 0), sent(10, 1), sent(1000, 0), sent(1150, 1)];
        let constraints = LossConstraints::of(&sent, &[acks(1200, 200, None)], Span::from_millis(200));
        let may: Vec<bool> = (0..4).map(|i| constraints.may_lose(i, 0, false)).collect();
        // The last packet was sent too late to trigger the ACK, so the copy before it cannot be lost.
        assert_eq!(may, [true, false, false, false]);
        assert!((0..4).all(|i| constraints.may_lose(i, 0, true)));
    }

    #[test]
    fn two_copies_of_what_came_twice_arrive() {
        let sent = [sent(0, 0), sent(1000, 0), sent(2000, 0)];
        let constraints =
            LossConstraints::of(&sent, &[acks(2200, 100, Some((0, 100)))], Span::from_millis(200));
        assert!(constraints.may_lose(0, 0, false));
        assert!(!constraints.may_lose(1, 0, false) && constraints.may_lose(1, 0, true));
        assert!(!constraints.may_lose(2, 0, true));
        // Once the DSACK is explained, both copies may be lost.
        assert!(constraints.may_lose(2, 1, true));
    }
}
