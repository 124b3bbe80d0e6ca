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
mod verdict;

use crate::clockwork::Clockwork;
use crate::copies::{Copies, Copy, Evidence, Fate};
use crate::digest::AckDigest;
use crate::ranges::Ranges;
use crate::rtt::Rtt;
use base::{Span, Time};

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

/// A retransmission on which the verdict is open.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) copy: Copy,
    /// Where its result is kept.
    pub(crate) result: usize,
    /// What was acknowledged when it was sent.
    acked: u64,
    /// When an acknowledgement covered it, and up to where that went.
    pub(crate) covered: Option<(Time, u64)>,
    /// The stamp of that acknowledgement.
    answer: Option<u32>,
    /// Which copies may have arrived first, if several may.
    candidates: Vec<u64>,
    /// Duplicates reported of its bytes.
    reports: u32,
    /// Acknowledgements without news since it can have been answered.
    duplicates: u32,
    settled: Option<(Need, Evidence)>,
    /// Since when something later is known to have arrived.
    passed: Option<Time>,
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
    pub(crate) open: Vec<Open>,
    /// The highest serial that is known to have reached the receiver, or to lie before what has.
    front: u64,
    /// Up to here missing copies were last called lost.
    lost_before: u64,
    /// How far packets were seen to overtake each other, in serials.
    pub(crate) disorder: u64,
    /// Duplicates were reported in this direction.
    pub(crate) reports_duplicates: bool,
    /// SACK was agreed on, and nothing shows that the receiver does not report duplicates.
    pub(crate) may_report: bool,
    /// The capture has ended.
    over: bool,
    /// Timestamps are in use.
    pub(crate) stamped: bool,
}

/// More open verdicts than this are not kept; the oldest is closed as it stands.
const MOST: usize = 1 << 12;

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
        self.open.push(Open {
            copy,
            result,
            acked,
            covered: settled.map(|_| (copy.t, copy.end)),
            answer: None,
            candidates: Vec::new(),
            reports: 0,
            duplicates: 0,
            settled,
            passed: None,
        });
        // What is known has changed for this one alone, unless the front has moved on.
        let from = if self.lost_before == self.limit() { self.open.len() - 1 } else { 0 };
        self.lose(copies, acked, state.sacked, from);
        (self.open.len() > MOST).then(|| {
            let oldest = self.open.remove(0);
            self.rule(copies, &oldest, state.clock)
        })
    }

    /// What lies before the front and is missing is lost, where packets keep their order. Missing is the byte that the
    /// receiver asks for and, of what lies beyond, what SACK leaves out; without SACK nobody knows of the rest.
    /// Looked at are the verdicts that are open `from` there on.
    fn lose(&mut self, copies: &mut Copies, ack: u64, sacked: &Ranges, from: usize) {
        let limit = self.limit();
        self.lost_before = limit;
        for open in &self.open[from..] {
            if open.covered.is_some() || open.copy.end <= ack {
                continue;
            }
            let (seq, end) = (open.copy.seq.max(ack), open.copy.end);
            if sacked.holds(seq, end) || (sacked.top().is_none_or(|top| top <= seq) && seq > ack) {
                continue;
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
        self.lose(copies, d.ack, state.sacked, 0);
        for open in &mut self.open {
            if d.duplicate && d.newly == 0 && !is_too_late(&open.copy, d.t, state.rtt) {
                open.duplicates += 1;
            }
            if open.passed.is_none() && self.front > open.copy.serial + self.disorder {
                open.passed = Some(d.t);
            }
        }
        self.close(copies, d, state, out);
    }

    /// What is missing and was sent before is lost.
    fn limit(&self) -> u64 {
        self.front.saturating_sub(self.disorder)
    }

    fn raise(&mut self, to: u64) {
        self.front = self.front.max(to);
    }

    fn close(&mut self, copies: &mut Copies, d: &AckDigest, state: &State<'_>, out: &mut Vec<Ruling>) {
        let wait = state.rtt.least_of_all().unwrap_or(Span::ZERO);
        let mut i = 0;
        while i < self.open.len() {
            let open = &self.open[i];
            let done = open.covered.is_some_and(|(t, _)| d.t.since(t) > wait)
                && open.passed.is_some_and(|t| d.t.since(t) > wait);
            if done {
                let open = self.open.remove(i);
                out.push(self.rule(copies, &open, state.clock));
            } else {
                i += 1;
            }
        }
    }
}

/// It cannot have been answered yet: that would be sooner than any round trip. A part is left to chance: the samples
/// had to wait for other packets.
fn is_too_late(c: &Copy, t: Time, rtt: &Rtt) -> bool {
    rtt.least(c.end - c.seq).is_some_and(|least| t.since(c.t).as_nanos() < least.as_nanos() / 4 * 3)
}

/// Notes what became of a copy; what was seen outweighs what follows from order.
fn set(copies: &mut Copies, serial: u64, fate: Fate) {
    if let Some(copy) = copies.get_mut(serial) {
        copy.fate = match (copy.fate, fate) {
            (Fate::Arrived(_), _) => copy.fate,
            _ => fate,
        };
    }
}
