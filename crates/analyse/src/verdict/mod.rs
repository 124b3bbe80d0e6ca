//! Verdict on a retransmission: needed or not, inferred from the ACKs.
//!
//! It was not if an earlier copy of all its bytes ever reaches the receiver. What reached it is inferred from what it
//! answers.
//!
//! An acknowledgement is caused by the arrival of one packet, its trigger, and tells what had arrived by then.
//! So each one bounds what was on the way: no copy can be the trigger that was sent less than a round trip ago,
//! nor one whose timestamp is later than the one echoed; and where packets keep their order, all that was sent
//! before the trigger has arrived or is lost. From the bounds follows the fate of copies, from the fates the
//! verdict. A verdict stays open until something sent later was answered and a moment more has passed.

mod cover;
mod duplicates;
mod open;
mod ruling;

use crate::facts::copies::{Copies, Copy, Evidence, Fate};
use crate::facts::digest::AckDigest;
use crate::facts::ranges::Ranges;
use crate::facts::rtt::Rtt;
use crate::facts::ts_clock::Clockwork;
use base::{Span, Time};
use open::{Open, OpenSet};

base::named! {
    /// The verdict on a retransmission.
    pub enum Need {
        /// No earlier copy of some of its bytes reached the receiver.
        Needed = "needed",
        /// An earlier copy of all its bytes reached the receiver.
        Unneeded = "unneeded",
        /// The capture does not tell.
        Unknown = "unknown",
    }
}

/// A verdict that is ready.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ruling {
    pub(crate) result: usize,
    pub(crate) need: Need,
    pub(crate) evidence: Evidence,
    /// When an acknowledgement covered it.
    pub(crate) covered: Option<Time>,
    /// When that left the receiver, on the clock of the capture, where timestamps tell.
    pub(crate) left: Option<Time>,
}

/// Whoever judges.
#[derive(Default, Debug)]
pub(crate) struct Judge {
    pub(crate) open: OpenSet,
    /// The highest serial that is known to have reached the receiver, or to lie before what has.
    front: u64,
    /// Up to here missing copies were last called lost, and where the blocks of SACK ended then.
    lost_before: u64,
    lost_top: u64,
    lost_at: u64,
    /// Up to here acknowledgements have narrowed down which copies came first.
    narrowed: u64,
    /// When an acknowledgement without any news last came.
    idle_duplicate: Option<Time>,
    /// When something last came from the receiver before which, by its numbers, packets of its own were lost.
    pub(crate) answers_lost: Option<Time>,
    /// When the capture was last known to have missed packets or options.
    pub(crate) torn: Option<Time>,
    /// How far packets were seen to overtake each other, in serials.
    pub(crate) disorder: u64,
    /// Duplicates were reported in this direction.
    pub(crate) reports_duplicates: bool,
    /// SACK was agreed on, and nothing shows that the receiver does not report duplicates.
    pub(crate) may_report: bool,
    /// The opening shows that SACK is not used.
    pub(crate) without_sack: bool,
    /// The capture has ended.
    over: bool,
    /// Timestamps are in use.
    pub(crate) stamped: bool,
}

/// More open verdicts than this are not kept; the oldest is closed as it stands.
const MOST: usize = 1 << 12;
/// Nor of one segment: senders give up after fewer.
const MOST_OF_ONE: usize = 64;

/// What a sender knows beside the acknowledgement.
pub(crate) struct State<'a> {
    pub(crate) sacked: &'a Ranges,
    pub(crate) rtt: &'a Rtt,
    /// Acknowledgements without news before this one.
    pub(crate) duplicates: u64,
    /// The receiver's clock.
    pub(crate) clock: &'a Clockwork,
    /// What it said in this acknowledgement.
    pub(crate) stamp: Option<u32>,
}

impl Judge {
    /// A segment was sent again.
    #[allow(clippy::too_many_arguments, reason = "each is one fact")]
    pub(crate) fn resent(
        &mut self,
        copies: &mut Copies,
        copy: Copy,
        result: usize,
        acked: u64,
        state: &State<'_>,
    ) -> Option<Ruling> {
        let settled = if copy.end <= acked {
            Some((Need::Unneeded, Evidence::Acked))
        } else if state.sacked.holds(copy.seq.max(acked), copy.end) {
            Some((Need::Unneeded, Evidence::Sacked))
        } else {
            None
        };
        // What was known before the first was resent.
        if let Some(first) = copies.first_of(acked) {
            self.front = self.front.max((first.serial + state.duplicates).saturating_sub(1).min(copy.serial));
        }
        if let Some(top) = state.sacked.top().and_then(|top| copies.first_of(top - 1)) {
            self.front = self.front.max(top.serial);
        }
        let alone = self.open.is_empty();
        let covered = settled.map(|_| (copy.t, copy.end));
        let open = Open {
            copy,
            result,
            acked,
            covered,
            answer: None,
            candidates: Vec::new(),
            reports: 0,
            settled,
            passed: None,
        };
        self.open.insert(open, copy.t);
        if alone {
            // Nothing else waits for what was lost before.
            (self.lost_before, self.lost_top) = (self.limit(), state.sacked.top().unwrap_or(0));
            self.lost_at = acked;
            self.narrowed = acked;
        }
        self.lose_of(copies, acked, state.sacked, copy.serial);
        self.lose(copies, acked, state.sacked);
        let same = self.open.of(copy.seq, copy.seq + 1);
        let oldest = if self.open.len() > MOST { self.open.first() } else { None };
        let oldest = oldest.or_else(|| same.first().copied().filter(|_| same.len() > MOST_OF_ONE))?;
        let oldest = self.open.remove(oldest)?;
        Some(self.rule(copies, &oldest, state))
    }

    /// What lies before the front and is missing is lost, where packets keep their order. Looked at is what the front has passed
    /// since, and what has become the subject of acknowledgements since.
    fn lose(&mut self, copies: &mut Copies, ack: u64, sacked: &Ranges) {
        let limit = self.limit();
        let mut some: Vec<u64> = Vec::new();
        if limit > self.lost_before {
            let passed = limit - self.lost_before;
            if passed > self.open.waiting_len() as u64 {
                some.extend(self.open.all_waiting());
            } else {
                for copy in (self.lost_before..limit).filter_map(|serial| copies.get(serial)) {
                    some.extend(self.open.waiting(copy.seq, copy.end));
                }
            }
        }
        let top = sacked.top().unwrap_or(0);
        if top > self.lost_top {
            some.extend(self.open.waiting(self.lost_top, top));
        }
        if ack != self.lost_at {
            some.extend(self.open.waiting(ack, ack + 1));
        }
        (self.lost_before, self.lost_top, self.lost_at) = (limit, top, ack);
        some.sort_unstable();
        some.dedup();
        for serial in some {
            self.lose_of(copies, ack, sacked, serial);
        }
    }

    /// The same for one retransmission. Missing is the byte that the receiver asks for and, of what lies beyond, what SACK leaves
    /// out; without SACK nothing is known of the rest.
    fn lose_of(&self, copies: &mut Copies, ack: u64, sacked: &Ranges, serial: u64) {
        let limit = self.limit();
        let Some(open) = self.open.get(serial) else { return };
        if open.covered.is_some() || open.copy.end <= ack {
            return;
        }
        let (seq, end) = (open.copy.seq.max(ack), open.copy.end);
        if sacked.holds(seq, end) || (sacked.top().is_none_or(|top| top <= seq) && seq > ack) {
            return;
        }
        let gone: Vec<u64> = copies
            .of(seq, end)
            .filter(|c| c.serial < limit && c.fate == Fate::Open && !sacked.holds(c.seq.max(ack), c.end))
            .map(|c| c.serial)
            .collect();
        for serial in gone {
            set(copies, serial, Fate::Lost(Evidence::Order));
        }
    }

    /// An acknowledgement came while verdicts are open. The verdicts that are ready.
    pub(crate) fn on_ack(
        &mut self,
        copies: &mut Copies,
        d: &AckDigest,
        state: &State<'_>,
        out: &mut Vec<Ruling>,
    ) {
        let before = self.front;
        // The trigger is at most this.
        let mut latest = u64::MAX;
        if d.advances()
            && let Some(filler) = self.filler(copies, d, state.rtt)
        {
            self.comes_now(copies, filler);
            if d.hole || d.held {
                latest = filler;
            }
            self.raise(filler);
        }
        if d.advances()
            && let Some(first) = copies.first_of(d.ack - 1)
        {
            self.raise(first.serial);
        }
        for &(_, right) in d.news() {
            if let Some(first) = copies.first_of(right - 1) {
                self.raise(first.serial);
            }
        }
        if d.duplicate {
            self.raise(before + 1);
        }
        if let Some((left, right)) = d.dsack {
            self.duplicate(copies, d, left, right, Evidence::Dsack, None, state.rtt);
        } else if d.duplicate && d.echo_moved {
            self.echoed(copies, d, state.rtt);
        }
        self.cover(copies, d, latest, state);
        self.edges(copies, d.ack);
        self.lose(copies, d.ack, state.sacked);
        if d.duplicate && d.newly == 0 {
            self.idle_duplicate = Some(d.t);
        }
        self.open.pass(self.front, self.disorder, d.t);
        let wait = state.rtt.least_of_all().unwrap_or(Span::ZERO);
        while let Some(open) = self.open.next_ready(d.t, wait) {
            out.push(self.rule(copies, &open, state));
        }
    }

    /// What is missing and was sent before is lost.
    fn limit(&self) -> u64 {
        self.front.saturating_sub(self.disorder)
    }

    fn raise(&mut self, to: u64) {
        self.front = self.front.max(to);
    }
}

/// It cannot have been answered yet: that would be sooner than any round trip. A part is left to chance: the samples
/// had to wait for other packets.
fn is_too_late(c: &Copy, t: Time, rtt: &Rtt) -> bool {
    rtt.floor(c.end - c.seq).is_some_and(|least| t.since(c.t).as_nanos() < least.as_nanos() / 4 * 3)
}

/// Notes what became of a copy; what was seen outweighs what follows from order.
fn set(copies: &mut Copies, serial: u64, fate: Fate) {
    let Some(copy) = copies.get_mut(serial) else { return };
    if matches!(copy.fate, Fate::Arrived(_)) {
        return;
    }
    copy.fate = fate;
    if let Fate::Arrived(_) = fate {
        let bytes = (copy.seq, copy.end);
        copies.arrived.push(bytes);
    }
}
