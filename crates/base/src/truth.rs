//! Ledger of ground truth: fate of every copy of a data segment, verdicts on retransmissions, and causes of
//! spurious timeouts.
//!
//! A simulator knows what no endpoint knows: whether an earlier copy of a retransmitted segment reached the
//! receiver. One [`Ledger`] per flow and direction keeps a bit per data packet, the window of first
//! transmissions, and the retransmissions.
//!
//! Terms of the glossary in `docs/`: a retransmission is *unneeded* if earlier copies of all its bytes reach
//! the receiver at any time. A timeout is *spurious* if the segment that it retransmits is such a
//! retransmission; its cause is `delayed`, `ack_lost` or `ack_delayed`.

use crate::time::Time;
use std::cell::OnceCell;
use std::collections::{BTreeSet, VecDeque};

crate::named! {
    /// Cause of a data segment's transmission.
    pub enum Cause {
        /// First transmission.
        New = "new",
        /// Retransmission of the oldest outstanding segment at a timeout.
        Timeout = "timeout",
        /// Go-back-N retransmission after a timeout.
        GoBackN = "go-back-n",
        /// Retransmission of unknown cause, seen from outside.
        Resent = "resent",
        /// Fast retransmit after duplicate ACKs.
        Fast = "fast-retransmit",
        /// Retransmission in recovery, at a partial ACK or a hole shown by SACK.
        Recovery = "recovery",
        /// Zero-window probe with the next byte.
        WindowProbe = "window-probe",
    }
}

crate::named! {
    /// Cause of a spurious timeout.
    pub enum SpuriousCause {
        /// The data were still in flight.
        Delayed = "delayed",
        /// The data had arrived; their ACK was lost.
        AckLost = "ack_lost",
        /// The data had arrived; their ACK was in flight.
        AckDelayed = "ack_delayed",
    }
}

#[derive(Clone, Copy, Debug)]
struct Copy {
    seq: u64,
    end: u64,
    ordinal: u32,
}

/// A retransmitted data segment.
#[derive(Clone, Copy, Debug)]
struct Again {
    t: Time,
    copy: Copy,
    cause: Cause,
    /// Range of its first transmissions in `Ledger::first_copies`.
    firsts: (u32, u32),
    /// Cumulative ACK when it was sent.
    acked: u64,
    /// Whether all of it had reached the receiver before it was sent.
    had_arrived: bool,
    /// Time at which the receiver sent the first covering ACK that arrived after its transmission.
    ack_born: Option<Time>,
}

/// Distance of the sequence-number bases of a flow's connections: the `n`-th connection (from 0) counts from
/// `n` times this.
pub const CONNECTION: u64 = 1 << 44;

/// Room for retransmissions at the first one.
const FIRST_ROOM: usize = 16;

/// Outstanding data of one connection.
#[derive(Default, Debug)]
struct Window {
    outstanding: VecDeque<Copy>,
    acked: u64,
}

/// Drop of a data packet in the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataDrop {
    /// Ordinal among the flow's data packets.
    pub ordinal: u32,
    /// Id of the element that dropped it.
    pub element: u32,
    /// Whether a queue or its AQM dropped the packet; the link did not carry it.
    pub queued: bool,
}

/// Ground truth of one flow's data direction.
#[derive(Default, Debug)]
pub struct Ledger {
    /// First transmissions not yet acknowledged, in order of sequence number.
    outstanding: VecDeque<Copy>,
    first_copies: Vec<Copy>,
    /// Cumulative ACK.
    acked: u64,
    /// State of the flow's other connections, from the second on; the connection being processed is swapped
    /// in.
    others: Vec<Window>,
    again: Vec<Again>,
    /// One bit per data ordinal: set if it reached the receiver.
    arrived: Vec<u64>,
    /// Index of the first entry of `again` without an ACK that covers it.
    unacked_from: usize,
    /// Drops of data packets, in order.
    pub drops: Vec<DataDrop>,
    /// Data packets dropped by queues.
    pub queue_drops: u64,
    /// Data packets lost for other reasons.
    pub other_drops: u64,
    /// Pure ACKs dropped anywhere.
    pub ack_drops: u64,
    /// Sum of the queueing delays of data packets, ns.
    pub queue_delay_ns: u64,
    /// Number of delays in `queue_delay_ns`.
    pub queue_waits: u64,
}

/// Verdict on one retransmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retransmission {
    /// Time of transmission.
    pub t: Time,
    /// First byte.
    pub seq: u64,
    /// One past the last byte.
    pub end: u64,
    /// Ordinal among the flow's data packets.
    pub ordinal: u32,
    /// Cause of transmission.
    pub cause: Cause,
    /// Whether earlier copies of all its bytes ever reached the receiver.
    pub unneeded: bool,
    /// If unneeded: why the sender could not know.
    pub spurious: Option<SpuriousCause>,
}

impl Ledger {
    /// Records the transmission of a data segment.
    #[inline]
    pub fn sent(&mut self, t: Time, seq: u64, end: u64, ordinal: u32, cause: Cause) {
        if seq >= CONNECTION {
            return self.beside(seq, |ledger| ledger.note_sent(t, seq, end, ordinal, cause));
        }
        self.note_sent(t, seq, end, ordinal, cause);
    }

    /// Calls `act` with the state of the connection of `seq`, which must not be the flow's first connection.
    #[cold]
    fn beside(&mut self, seq: u64, act: impl FnOnce(&mut Self)) {
        let index = (seq / CONNECTION) as usize - 1;
        if index >= self.others.len() {
            self.others.resize_with(index + 1, Window::default);
        }
        self.swap(index);
        act(self);
        self.swap(index);
    }

    fn swap(&mut self, index: usize) {
        let other = &mut self.others[index];
        std::mem::swap(&mut self.outstanding, &mut other.outstanding);
        std::mem::swap(&mut self.acked, &mut other.acked);
    }

    #[inline]
    fn note_sent(&mut self, t: Time, seq: u64, end: u64, ordinal: u32, cause: Cause) {
        match cause {
            Cause::New => self.outstanding.push_back(Copy { seq, end, ordinal }),
            Cause::WindowProbe => {} // A probe is neither new data nor a retransmission.
            // Field by field, so that a new copy is written directly into its place.
            _ => self.sent_again(t, seq, end, ordinal, cause),
        }
    }

    #[cold]
    fn sent_again(&mut self, t: Time, seq: u64, end: u64, ordinal: u32, cause: Cause) {
        let copy = Copy { seq, end, ordinal };
        if self.again.capacity() == 0 {
            self.again.reserve(FIRST_ROOM);
            self.first_copies.reserve(FIRST_ROOM);
        }
        let from = self.first_copies.len();
        // A timeout retransmits the first outstanding segment.
        let mut at = match self.outstanding.front() {
            Some(first) if first.end > seq => 0,
            _ => self.outstanding.partition_point(|c| c.end <= seq),
        };
        while let Some(c) = self.outstanding.get(at)
            && c.seq < end
        {
            self.first_copies.push(*c);
            at += 1;
        }
        let acked = self.acked;
        let firsts = self.first_copies.get(from..).unwrap_or_default();
        let had_arrived = match firsts {
            // Nearly always: a segment is retransmitted as it was sent.
            [first] if first.seq <= seq && end <= first.end && acked < end => self.has_arrived(first.ordinal),
            _ => {
                let arrived = firsts.iter().filter(|c| self.has_arrived(c.ordinal));
                covered(seq.max(acked), end, arrived.copied())
            }
        };
        let firsts = (from as u32, self.first_copies.len() as u32);
        self.again.push(Again { t, copy, cause, firsts, acked, had_arrived, ack_born: None });
    }

    /// Records the arrival of a data packet at the receiver.
    #[inline]
    pub fn received(&mut self, ordinal: u32) {
        let word = ordinal as usize / 64;
        if word >= self.arrived.len() {
            self.arrived.resize((word + 1).next_power_of_two(), 0);
        }
        self.arrived[word] |= 1 << (ordinal % 64);
    }

    /// Records the arrival of a cumulative ACK up to `ack`, which left the receiver at `born`.
    #[inline]
    pub fn acked(&mut self, ack: u64, born: Time) {
        if ack >= CONNECTION {
            return self.beside(ack, |ledger| ledger.note_acked(ack, born));
        }
        self.note_acked(ack, born);
    }

    #[inline]
    fn note_acked(&mut self, ack: u64, born: Time) {
        self.acked = self.acked.max(ack);
        while self.outstanding.front().is_some_and(|c| c.end <= ack) {
            self.outstanding.pop_front();
        }
        if self.unacked_from < self.again.len() {
            self.note_ack(ack, born);
        }
    }

    #[cold]
    fn note_ack(&mut self, ack: u64, born: Time) {
        for again in &mut self.again[self.unacked_from..] {
            let same = again.copy.seq / CONNECTION == ack / CONNECTION;
            if again.ack_born.is_none() && same && again.copy.end <= ack {
                again.ack_born = Some(born);
            }
        }
        while self.again.get(self.unacked_from).is_some_and(|a| a.ack_born.is_some()) {
            self.unacked_from += 1;
        }
    }

    /// Bytes acknowledged so far, summed over the flow's connections.
    pub fn acknowledged(&self) -> u64 {
        let of = |acked: u64| acked % CONNECTION;
        of(self.acked) + self.others.iter().map(|window| of(window.acked)).sum::<u64>()
    }

    /// Whether the data packet with this ordinal reached the receiver.
    pub fn has_arrived(&self, ordinal: u32) -> bool {
        self.arrived.get(ordinal as usize / 64).is_some_and(|w| w & (1 << (ordinal % 64)) != 0)
    }

    /// Number of retransmissions.
    pub fn retransmissions(&self) -> usize {
        self.again.len()
    }

    /// Verdicts on all retransmissions, in order of transmission. Valid once no packet is in flight: a copy
    /// in flight counts as lost.
    pub fn verdicts(&self) -> Vec<Retransmission> {
        // Earlier retransmissions of the same bytes are found by their first byte, where a verdict needs them.
        let index = OnceCell::new();
        let all = || {
            let mut by_seq: Vec<(u64, usize)> =
                self.again.iter().enumerate().map(|(i, a)| (a.copy.seq, i)).collect();
            by_seq.sort_unstable();
            let longest = self.again.iter().map(|a| a.copy.end - a.copy.seq).max().unwrap_or(0);
            (by_seq, longest)
        };
        let mut out = Vec::with_capacity(self.again.len());
        for (i, a) in self.again.iter().enumerate() {
            let (seq, end) = (a.copy.seq, a.copy.end);
            let earlier = || {
                let (by_seq, longest) = index.get_or_init(all);
                let near = by_seq.partition_point(|&(start, _)| start < seq.saturating_sub(*longest));
                let near = by_seq[near..].iter().take_while(move |&&(start, _)| start < end);
                near.filter(move |&&(_, j)| j < i).map(|&(_, j)| self.again[j].copy)
            };
            out.push(self.judge(a, earlier));
        }
        out
    }

    /// Verdict on the retransmission `index`, counted from 0, as [`Ledger::verdicts`] would give it now; `None` for one
    /// that was not sent. `known` belongs to this ledger and indexes retransmissions of earlier calls.
    pub fn verdict(&self, index: usize, known: &mut RetransmissionIndex) -> Option<Retransmission> {
        let a = self.again.get(index)?;
        for a in self.again.get(known.by_seq.len()..=index).unwrap_or_default() {
            known.by_seq.insert((a.copy.seq, known.by_seq.len()));
            known.longest = known.longest.max(a.copy.end - a.copy.seq);
        }
        let near = known.by_seq.range((a.copy.seq.saturating_sub(known.longest), 0)..(a.copy.end, 0));
        let earlier = || near.filter(|&&(_, j)| j < index).map(|&(_, j)| self.again[j].copy);
        Some(self.judge(a, earlier))
    }

    /// Verdict on a retransmission; `earlier` finds earlier retransmissions of its bytes, which matter only if not all
    /// of them arrived with their first transmission.
    fn judge<I: Iterator<Item = Copy> + Clone>(
        &self,
        a: &Again,
        earlier: impl FnOnce() -> I,
    ) -> Retransmission {
        let (seq, end) = (a.copy.seq.max(a.acked), a.copy.end);
        let firsts = &self.first_copies[a.firsts.0 as usize..a.firsts.1 as usize];
        let reached = |c: &Copy| self.has_arrived(c.ordinal);
        let arrived = firsts.iter().copied().filter(reached);
        let unneeded = match firsts {
            [first] if first.seq <= seq && end <= first.end && reached(first) => true,
            _ => {
                covered(seq, end, arrived.clone())
                    || covered(seq, end, arrived.chain(earlier().filter(reached)))
            }
        };
        let spurious = unneeded.then(|| match (a.had_arrived, a.ack_born) {
            (false, _) => SpuriousCause::Delayed,
            (true, Some(born)) if born <= a.t => SpuriousCause::AckDelayed,
            (true, _) => SpuriousCause::AckLost,
        });
        let Copy { seq, end, ordinal } = a.copy;
        Retransmission { t: a.t, seq, end, ordinal, cause: a.cause, unneeded, spurious }
    }
}

/// Index of a ledger's retransmissions by their first byte, for verdicts while the run goes on.
#[derive(Default, Debug)]
pub struct RetransmissionIndex {
    /// First byte, and number from 0 in the order of transmission.
    by_seq: BTreeSet<(u64, usize)>,
    /// Length of the longest retransmission, bytes.
    longest: u64,
}

/// Whether the copies together contain every byte of `[seq, end)`.
fn covered(seq: u64, end: u64, copies: impl Iterator<Item = Copy> + Clone) -> bool {
    // Extends the covered range from `seq` on; in most cases one copy covers all or none covers anything.
    let mut upto = seq;
    while upto < end {
        let reach = copies.clone().filter(|c| c.seq <= upto).map(|c| c.end).max();
        match reach {
            Some(reach) if reach > upto => upto = reach,
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn t(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_delayed_original_makes_the_retransmission_unneeded_even_if_that_is_lost() {
        let mut l = Ledger::default();
        l.sent(t(0), 1, 1001, 1, Cause::New);
        l.sent(t(3000), 1, 1001, 2, Cause::Timeout);
        l.received(1); // the original, late; ordinal 2 never arrives
        l.acked(1001, t(5000));
        let v = l.verdicts();
        assert!(v[0].unneeded);
        assert_eq!(v[0].spurious, Some(SpuriousCause::Delayed));
    }

    #[test]
    fn a_lost_original_makes_it_genuine() {
        let mut l = Ledger::default();
        l.sent(t(0), 1, 1001, 1, Cause::New);
        l.sent(t(3000), 1, 1001, 2, Cause::Timeout);
        l.received(2);
        l.acked(1001, t(3500));
        assert!(!l.verdicts()[0].unneeded);
    }

    #[test]
    fn a_second_retransmission_is_unneeded_if_the_first_arrives() {
        let mut l = Ledger::default();
        l.sent(t(0), 1, 1001, 1, Cause::New);
        l.sent(t(3000), 1, 1001, 2, Cause::Timeout);
        l.sent(t(9000), 1, 1001, 3, Cause::Timeout);
        l.received(2);
        let v = l.verdicts();
        assert!(!v[0].unneeded);
        assert!(v[1].unneeded);
        assert_eq!(v[1].spurious, Some(SpuriousCause::Delayed));
    }

    #[test]
    fn lost_and_delayed_acks_are_told_apart_by_the_birth_of_the_ack() {
        for (born, cause) in [(t(2000), SpuriousCause::AckDelayed), (t(3500), SpuriousCause::AckLost)] {
            let mut l = Ledger::default();
            l.sent(t(0), 1, 1001, 1, Cause::New);
            l.received(1);
            l.sent(t(3000), 1, 1001, 2, Cause::Timeout);
            l.acked(1001, born);
            assert_eq!(l.verdicts()[0].spurious, Some(cause));
        }
    }

    #[test]
    fn what_is_resent_after_its_acknowledgement_is_unneeded() {
        let mut l = Ledger::default();
        l.sent(t(0), 1, 1001, 1, Cause::New);
        l.received(1);
        l.acked(1001, t(500));
        l.sent(t(1000), 1, 1001, 2, Cause::GoBackN);
        assert!(l.verdicts()[0].unneeded);
    }

    #[test]
    fn connections_of_one_flow_do_not_acknowledge_for_each_other() {
        let second = CONNECTION;
        let mut l = Ledger::default();
        l.sent(t(0), 1, 1001, 1, Cause::New);
        l.sent(t(0), second + 1, second + 1001, 2, Cause::New);
        l.received(2);
        l.acked(second + 1001, t(500));
        l.sent(t(3000), 1, 1001, 3, Cause::Timeout);
        l.sent(t(3000), second + 1, second + 1001, 4, Cause::Timeout);
        l.received(3);
        l.acked(1001, t(3500));
        let v = l.verdicts();
        assert_eq!(v.iter().map(|v| v.unneeded).collect::<Vec<_>>(), [false, true]);
        assert_eq!(v[1].spurious, Some(SpuriousCause::AckLost));
    }

    #[test]
    fn a_retransmission_that_spans_two_originals_needs_both() {
        let mut l = Ledger::default();
        l.sent(t(0), 1, 501, 1, Cause::New);
        l.sent(t(0), 501, 1001, 2, Cause::New);
        l.sent(t(10), 1, 1001, 3, Cause::Timeout);
        l.received(1);
        assert!(!l.verdicts()[0].unneeded);
        l.received(2);
        assert!(l.verdicts()[0].unneeded);
    }

    proptest! {
        /// Verdicts in any order are those of all retransmissions at once.
        #[test]
        fn single_verdicts_are_those_of_all(
            steps in proptest::collection::vec((0u8..4, 0u64..20, 1u64..5), 1..60),
            order in proptest::collection::vec(0usize..60, 0..60),
        ) {
            let (mut ledger, mut next, mut ordinal) = (Ledger::default(), 0, 0);
            for (i, (what, place, len)) in steps.into_iter().enumerate() {
                let now = t(i as u64);
                match what {
                    0 => {
                        ordinal += 1;
                        ledger.sent(now, next, next + len, ordinal, Cause::New);
                        next += len;
                    }
                    1 if place < next => {
                        ordinal += 1;
                        ledger.sent(now, place, (place + len).min(next), ordinal, Cause::GoBackN);
                    }
                    2 => ledger.received(place as u32),
                    _ => ledger.acked(place.min(next), now),
                }
            }
            let (all, mut known) = (ledger.verdicts(), RetransmissionIndex::default());
            for index in order.into_iter().chain(0..all.len()) {
                prop_assert_eq!(ledger.verdict(index, &mut known), all.get(index).copied());
            }
        }
    }
}
