//! In-order rules: verdicts on the retransmissions of an episode that follow from in-order delivery alone, without the
//! search of the hidden Markov model.
//!
//! On a path without reordering, an ACK shows that every packet sent before its trigger has arrived or is lost. If
//! this decides each retransmission, all event courses agree.
//!
//! A receiver lists the most recently changed SACK block first (RFC 2018 section 4), so a range absent from a list
//! with free space is missing. The other rules follow from the order of packets, not from an RFC. Reordering, DSACK
//! (RFC 2883), resegmentation and contradictions are left to [`super::hmm`].

use super::hmm::{LONG, LossContext, LossCounts, ModelRates, ObservedAck, Outcome, PacketFate, SentPacket};
use super::transitions::{reachable, since_last};
use super::union_find::Skip;
use base::Span;

/// Index that stands for no packet.
const NONE: u32 = u32::MAX;
/// Least number of SACK blocks that a receiver lists, beside timestamps and a DSACK block.
const LISTED: usize = 2;

/// Byte range sent more than once.
#[derive(Clone, Copy, Debug)]
struct ResentBytes {
    seq: u64,
    end: u64,
    /// Index of the first copy not known to be lost.
    alive: u32,
    /// Index of the first ACK that covers the range.
    covered_by: Option<usize>,
}

impl ResentBytes {
    /// Marks the range as covered by the ACK of index `k`, and moves `front` past the copy that arrived. None if the
    /// ACK came less than `least` after that copy.
    fn cover(
        &mut self,
        (k, ack, least): (usize, &ObservedAck, Span),
        sent: &[SentPacket],
        front: &mut usize,
    ) -> Option<()> {
        if self.covered_by.is_some() {
            return Some(());
        }
        self.covered_by = Some(k);
        let copy = sent.get(self.alive as usize)?;
        *front = (*front).max(self.alive as usize + 1);
        reachable(ack, copy.t, least).then_some(())
    }
}

/// Verdict on each retransmission, and loss counts, if the order decides all of them. `start`: cumulative ACK before
/// the first ACK of the episode.
pub(crate) fn decide(
    sent: &[SentPacket],
    acks: &[ObservedAck],
    start: u64,
    rates: &ModelRates,
) -> Option<Outcome> {
    // After a DSACK, two copies arrived; only the search can determine which.
    if rates.loose || acks.iter().any(|h| h.dsack.is_some()) {
        return None;
    }
    let mut rules = OrderRules::default();
    rules.group(sent, start)?;
    rules.follow(sent, acks, start, rates)?;
    let mut odds = Vec::new();
    for (i, s) in sent.iter().enumerate() {
        let Some((result, _)) = s.result else { continue };
        let before = rules.before[i];
        if before == NONE {
            return None;
        }
        let covered_by = rules.resent[rules.of[i] as usize].covered_by;
        if rules.lost[before as usize] {
            odds.push((result, 0.0));
        } else if covered_by.is_some_and(|answer| acks[answer].t < s.t) {
            odds.push((result, 1.0));
        } else {
            return None;
        }
    }
    Some(Outcome { odds, score: 0.0, counts: rules.counts(sent, rates.sack), echo_mismatch: 0.0 })
}

/// State of the in-order rules.
#[derive(Debug, Default)]
struct OrderRules {
    /// Byte ranges sent more than once, ascending.
    resent: Vec<ResentBytes>,
    /// For each packet, the index of its range in `resent`.
    of: Vec<u32>,
    /// For each packet, the previous copy of its bytes.
    before: Vec<u32>,
    /// For each packet, the next copy of its bytes.
    after: Vec<u32>,
    /// For each packet, whether it was lost.
    lost: Vec<bool>,
    /// For each packet, whether it probably triggered an observed ACK.
    cause: Vec<bool>,
    /// Indices of the packets with new bytes.
    firsts: Vec<u32>,
    /// One past the index of the packet that probably triggered the last ACK.
    answered: usize,
}

impl OrderRules {
    /// Groups packets with equal bytes; None if the sender changed segment boundaries.
    fn group(&mut self, sent: &[SentPacket], start: u64) -> Option<()> {
        let none = || vec![NONE; sent.len()];
        (self.of, self.before, self.after) = (none(), none(), none());
        (self.lost, self.cause) = (vec![false; sent.len()], vec![false; sent.len()]);
        let OrderRules { resent, of, before, after, firsts, .. } = self;
        let mut top = start;
        for (i, s) in sent.iter().enumerate() {
            // A FIN without data has no bytes.
            if s.end > top || s.seq == s.end {
                if s.seq < top && !firsts.is_empty() {
                    return None;
                }
                top = s.end;
                firsts.push(i as u32);
                continue;
            }
            let at = firsts.partition_point(|&f| sent[f as usize].seq < s.seq);
            let first = *firsts.get(at)? as usize;
            if (sent[first].seq, sent[first].end) != (s.seq, s.end) {
                return None;
            }
            // `of` of the first copy temporarily contains the index of the last copy so far.
            let last = if of[first] == NONE { first as u32 } else { of[first] };
            (after[last as usize], before[i], of[first]) = (i as u32, last, i as u32);
        }
        for &first in firsts.iter().filter(|f| after[**f as usize] != NONE) {
            let s = &sent[first as usize];
            let mut copy = first;
            while copy != NONE {
                of[copy as usize] = resent.len() as u32;
                copy = after[copy as usize];
            }
            resent.push(ResentBytes { seq: s.seq, end: s.end, alive: first, covered_by: None });
        }
        Some(())
    }

    /// Processes the ACKs in order; None if they contradict in-order delivery.
    fn follow(
        &mut self,
        sent: &[SentPacket],
        acks: &[ObservedAck],
        start: u64,
        rates: &ModelRates,
    ) -> Option<()> {
        let OrderRules { resent, of, after, lost, cause, firsts, .. } = self;
        // Cumulative ACK; highest byte covered or SACKed; first entry of `resent` above the cumulative ACK;
        // consecutive duplicate ACKs.
        let (mut acked, mut top, mut low, mut dups) = (start, start, 0, 0);
        // `front`: one past the earliest possible trigger of the last ACK. `settled`: index below which all fates are
        // known.
        let (mut front, mut settled, mut answered, mut first) = (0, 0, 0, 0);
        // Entries of `resent` that no SACK block has covered.
        let mut open = Skip::new(resent.len());
        for (k, h) in acks.iter().enumerate() {
            let was = front;
            let ack = (k, h, rates.least);
            while let Some(bytes) = resent.get_mut(low).filter(|a| a.end <= h.ack) {
                bytes.cover(ack, sent, &mut front)?;
                low += 1;
            }
            if resent.get(low).is_some_and(|a| a.seq < h.ack) {
                return None;
            }
            for &(left, right) in &h.blocks[..h.count] {
                let from = resent.partition_point(|a| a.end <= left);
                let to = resent.partition_point(|a| a.seq < right);
                // Only the outermost ranges can reach beyond the block.
                let cut = |a: &ResentBytes| a.seq < left || right < a.end;
                if from < to && (cut(&resent[from]) || cut(&resent[to - 1])) {
                    return None;
                }
                let mut at = open.next(from.min(to));
                while at < to {
                    resent[at].cover(ack, sent, &mut front)?;
                    open.done(at);
                    at = open.next(at + 1);
                }
            }
            let highest = h.blocks[..h.count].iter().map(|b| b.1).fold(h.ack, u64::max);
            if highest > top {
                top = highest;
                while sent[*firsts.get(first)? as usize].end < highest {
                    first += 1;
                }
                let cause = firsts[first] as usize;
                if of[cause] == NONE {
                    front = front.max(cause + 1);
                    if !reachable(h, sent[cause].t, rates.least) {
                        return None;
                    }
                }
            }
            let moves = |s: &SentPacket| s.seq <= h.ack && h.ack < s.end;
            if h.ack == acked && h.count == 0 && !h.free {
                // A single duplicate ACK may have another trigger.
                dups += 1;
                if dups > 1 {
                    front += 1;
                    while front > 0 && sent.get(front - 1).is_some_and(|s| moves(s) || lost[front - 1]) {
                        front += 1;
                    }
                    if front > sent.len() {
                        return None;
                    }
                }
            } else if h.ack > acked {
                (acked, dups) = (h.ack, 0);
            }
            // Each ACK has a trigger of its own.
            answered = front.max(answered + usize::from(!h.free)).min(sent.len());
            while answered < sent.len()
                && answered > front
                && (lost[answered - 1] || moves(&sent[answered - 1]))
            {
                answered += 1;
            }
            if let Some(at) = answered.checked_sub(1) {
                cause[at] = true;
            }
            let all_listed = rates.sack && (h.count < LISTED + 1 || front - was <= LISTED);
            while settled < front {
                let id = of[settled];
                if let Some(bytes) = resent.get_mut(id as usize).filter(|a| a.covered_by.is_none()) {
                    if !all_listed && !moves(&sent[settled]) {
                        break;
                    }
                    lost[settled] = true;
                    bytes.alive = after[settled];
                }
                settled += 1;
            }
        }
        self.answered = answered;
        Some(())
    }

    /// Loss counts of packets and ACKs.
    fn counts(&self, sent: &[SentPacket], sack: bool) -> LossCounts {
        let mut counts = LossCounts::default();
        let (mut lost, mut acks_lost, mut waits) = (0u8, 0u8, false);
        let mut holes = 0u32;
        for (i, &gone) in self.lost.iter().enumerate().take(self.answered) {
            let fate = match (gone, self.cause[i]) {
                (true, _) => PacketFate::Lost,
                (false, true) => PacketFate::AckObserved,
                // Without SACK, packets with an ACK of their own are unknown.
                (false, false) if !sack || holes == 0 && !waits => PacketFate::AckDelayed,
                (false, false) => PacketFate::AckLost,
            };
            let gap = since_last(sent, i);
            counts.add(
                LossContext::of(lost, acks_lost, gap),
                LossContext::of(acks_lost, lost, gap),
                fate,
                1.0,
            );
            (lost, waits) = match fate {
                PacketFate::Lost => ((lost + 1).min(LONG), waits),
                _ => (0, fate == PacketFate::AckDelayed),
            };
            match fate {
                PacketFate::AckObserved => acks_lost = 0,
                PacketFate::AckLost => acks_lost = (acks_lost + 1).min(LONG),
                PacketFate::Lost | PacketFate::AckDelayed => {}
            }
            // A lost first copy opens a gap; the next copy that arrives closes it.
            match (gone, self.of[i] != NONE && self.before[i] != NONE) {
                (true, false) => holes += 1,
                (false, true) if self.lost[self.before[i] as usize] => holes = holes.saturating_sub(1),
                _ => {}
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hypotheses::hmm;
    use crate::hypotheses::receiver_model::{EchoRule, RangeSets, ReceiverModel};
    use crate::hypotheses::timing::PathTiming;
    use base::{Span, Time};
    use proptest::prelude::*;

    const SEGMENT: u64 = 100;
    const TRIP: Span = Span::from_millis(100);

    /// Packets and ACKs, and for each retransmission whether its bytes had arrived before it.
    struct Course {
        sent: Vec<SentPacket>,
        acks: Vec<ObservedAck>,
        truth: Vec<bool>,
    }

    /// Simulates packets, given as (segment number, arrives, its ACK arrives), at a receiver.
    fn course(packets: &[(u64, bool, bool)], sack: bool) -> Course {
        let mut held = RangeSets::default();
        let mut receiver =
            ReceiverModel { next: 1, held: 0, ts_recent: 0, last_ack_sent: 1, ack_pending: false };
        let mut recent: Vec<u64> = Vec::new();
        let mut c = Course { sent: Vec::new(), acks: Vec::new(), truth: Vec::new() };
        let mut top = 1;
        for (i, &(segment, arrives, answered)) in packets.iter().enumerate() {
            let (seq, end) = (1 + segment * SEGMENT, 1 + (segment + 1) * SEGMENT);
            let t = Time::ZERO + Span::from_millis(10 * i as u64);
            let result = (end <= top).then_some((c.truth.len(), 1));
            if result.is_some() {
                c.truth.push(receiver.holds(&held, seq, end));
            }
            top = top.max(end);
            c.sent.push(SentPacket { seq, end, t, stamp: None, result });
            if !arrives {
                continue;
            }
            receiver = receiver.takes(&mut held, seq, end, None, EchoRule::Reaches).receiver.answers();
            recent.insert(0, seq);
            if !answered {
                continue;
            }
            let t = t + TRIP;
            let mut h = ObservedAck::plain(t, receiver.next);
            // The most recently changed block is listed first (RFC 2018 section 4).
            for seq in recent.iter().filter(|_| sack) {
                let block = held.get(receiver.held).iter().find(|b| (b.0..b.1).contains(seq));
                if let Some(&block) = block.filter(|b| h.count < 4 && !h.blocks[..h.count].contains(b)) {
                    h.blocks[h.count] = block;
                    h.count += 1;
                }
            }
            c.acks.push(h);
        }
        c
    }

    /// Result of the full search in the hidden Markov model.
    fn weighed(c: &Course, sack: bool) -> Option<Outcome> {
        let start = ReceiverModel { next: 1, held: 0, ts_recent: 0, last_ack_sent: 1, ack_pending: false };
        let before = hmm::Preceding::default();
        hmm::weigh(&c.sent, &c.acks, start, before, &rates(sack), hmm::WIDE, &mut 0)
    }

    fn rates(sack: bool) -> ModelRates {
        ModelRates {
            loss: [0.03, 0.5, 0.9, 0.2, 0.5, 0.9, 0.2, 0.5, 0.9, 0.2],
            ack_loss: [0.01, 0.5, 0.9, 0.1, 0.5, 0.9, 0.1, 0.5, 0.9, 0.1],
            rule: EchoRule::Reaches,
            sack,
            delays: 0.0,
            stretch_ack: 0.0,
            omits_dsack: 0.3,
            least: TRIP,
            pace: PathTiming { trip: TRIP, usual: TRIP, byte_ns: 0.0, spread: Span::from_millis(5) },
            loose: false,
            foreign: 0.0,
        }
    }

    /// Segments 0 to 9 without those in `lost`, then `resent`, then two more.
    fn trouble(lost: &[u64], resent: &[u64]) -> Vec<(u64, bool, bool)> {
        let first = (0..10).map(|n| (n, !lost.contains(&n), true));
        let later = resent.iter().copied().chain([10, 11]).map(|n| (n, true, true));
        first.chain(later).collect()
    }

    #[test]
    fn a_segment_below_duplicates_was_lost() {
        for sack in [true, false] {
            let c = course(&trouble(&[3, 6], &[3, 6]), sack);
            let outcome = decide(&c.sent, &c.acks, 1, &rates(sack)).expect("order says all");
            assert_eq!(outcome.odds, [(0, 0.0), (1, 0.0)]);
            assert_eq!(c.truth, [false, false]);
        }
    }

    #[test]
    fn what_nothing_came_back_for_is_left_open() {
        // The ACKs of all segments may have been lost as well.
        let lost: Vec<u64> = (3..10).collect();
        let c = course(&trouble(&lost, &lost), true);
        assert!(decide(&c.sent, &c.acks, 1, &rates(true)).is_none());
    }

    proptest! {
        /// Order verdicts match the truth and the full search.
        #[test]
        fn it_is_what_happened(
            fates in proptest::collection::vec((0u8..10, 0u8..10), 60),
            resent in proptest::collection::vec(0u64..20, 0..12),
            sack in any::<bool>(),
        ) {
            let order = (0..20).chain(resent).chain(20..24).chain(0..24).zip(&fates);
            let packets: Vec<(u64, bool, bool)> = order.map(|(n, f)| (n, f.0 > 1, f.1 > 0)).collect();
            let c = course(&packets, sack);
            if let Some(outcome) = decide(&c.sent, &c.acks, 1, &rates(sack)) {
                for &(result, odds) in &outcome.odds {
                    prop_assert_eq!(odds, if c.truth[result] { 1.0 } else { 0.0 });
                }
                if let Some(weighed) = weighed(&c, sack) {
                    for &(result, odds) in &outcome.odds {
                        let other = weighed.odds.iter().find(|o| o.0 == result).expect("asked");
                        prop_assert!((other.1 - odds).abs() < 0.01, "{} weighed, {} by order", other.1, odds);
                    }
                }
            }
        }
    }
}
