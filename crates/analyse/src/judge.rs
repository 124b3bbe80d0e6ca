//! Was this retransmission needed? It was not if an earlier copy of all its bytes ever reaches the receiver. What
//! reached it is inferred from what it answers.
//!
//! An acknowledgement is caused by the arrival of one packet, its trigger, and tells what had arrived by then.
//! So each one bounds what was on the way: no copy can be the trigger that was sent less than a round trip ago,
//! nor one whose timestamp is later than the one echoed; and where packets keep their order, all that was sent
//! before the trigger has arrived or is lost. From the bounds follows the fate of copies, from the fates the
//! verdict. A verdict stays open until something sent later was answered and a moment more has passed.

use crate::clockwork::Clockwork;
use crate::copies::{Copies, Copy, Evidence, Fate, later};
use crate::digest::AckDigest;
use crate::ranges::{self, Ranges};
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

impl Open {
    /// Only copies with a serial below `limit` can have covered it. True if that says something.
    fn came_before(&mut self, copies: &mut Copies, limit: u64) -> bool {
        let kept: Vec<u64> = self.candidates.iter().copied().filter(|s| *s < limit).collect();
        if kept.is_empty() || kept.len() == self.candidates.len() {
            return false;
        }
        if kept.iter().all(|s| *s < self.copy.serial) {
            self.settled.get_or_insert((Need::Unneeded, Evidence::Order));
        }
        if let [one] = kept[..] {
            set(copies, one, Fate::Arrived(Evidence::Order));
        }
        self.candidates = kept;
        true
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
    pub(crate) open: Vec<Open>,
    /// The highest serial that is known to have reached the receiver, or to lie before what has.
    front: u64,
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
        self.lose(copies, acked, state.sacked);
        (self.open.len() > MOST).then(|| {
            let oldest = self.open.remove(0);
            self.rule(copies, &oldest, state.clock)
        })
    }

    /// What lies before the front and is missing is lost, where packets keep their order. Missing is the byte that the
    /// receiver asks for and, of what lies beyond, what SACK leaves out; without SACK nobody knows of the rest.
    fn lose(&mut self, copies: &mut Copies, ack: u64, sacked: &Ranges) {
        let limit = self.front.saturating_sub(self.disorder);
        for open in &self.open {
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
        self.lose(copies, d.ack, state.sacked);
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

    fn raise(&mut self, to: u64) {
        self.front = self.front.max(to);
    }

    /// The copy that filled the left edge: the one that the echo names, or the only one that can have been. Those sent
    /// before it had not arrived.
    fn filler(&self, copies: &mut Copies, d: &AckDigest, rtt: &Rtt) -> Option<u64> {
        let edge = d.before;
        let only = |mut all: Box<dyn Iterator<Item = u64> + '_>| match (all.next(), all.next()) {
            (Some(one), None) => Some(one),
            _ => None,
        };
        let named = d.echo.and_then(|echo| {
            only(Box::new(copies.stamped(echo).filter(|c| c.seq <= edge && edge < c.end).map(|c| c.serial)))
        });
        let possible = |c: &&Copy| !matches!(c.fate, Fate::Lost(_)) && !is_too_late(c, d.t, rtt);
        let filler =
            named.or_else(|| only(Box::new(copies.of(edge, edge + 1).filter(possible).map(|c| c.serial))))?;
        let how = if named.is_some() { Evidence::Echo } else { Evidence::Order };
        let earlier: Vec<u64> = copies.of(edge, edge + 1).map(|c| c.serial).filter(|s| *s < filler).collect();
        let open: Vec<u64> =
            earlier.into_iter().filter(|s| copies.get(*s).is_some_and(|c| c.fate == Fate::Open)).collect();
        // Of several in a row nobody knows whether they or their answers were lost.
        if let [one] = open[..] {
            set(copies, one, Fate::Lost(how));
        }
        set(copies, filler, Fate::Arrived(how));
        Some(filler)
    }

    /// An acknowledgement without news echoes a later timestamp than those before: a duplicate moved it.
    fn echoed(&mut self, copies: &mut Copies, d: &AckDigest, rtt: &Rtt) {
        let Some(echo) = d.echo else { return };
        let trigger = copies
            .stamped(echo)
            .filter(|c| c.end <= d.ack && self.open.iter().any(|o| o.copy.serial == c.serial))
            .find(|c| !matches!(c.fate, Fate::Arrived(_)))
            .map(|c| (c.seq, c.end, c.serial));
        if let Some((seq, end, serial)) = trigger {
            self.duplicate(copies, d, seq, end, Evidence::Duplicate, Some(serial), rtt);
        }
    }

    /// A duplicate of these bytes arrived.
    #[allow(clippy::too_many_arguments, reason = "each is one fact")]
    fn duplicate(
        &mut self,
        copies: &mut Copies,
        d: &AckDigest,
        left: u64,
        right: u64,
        evidence: Evidence,
        trigger: Option<u64>,
        rtt: &Rtt,
    ) {
        let mut group: Vec<(u64, Option<u32>)> = copies
            .of(left, right)
            .filter(|c| c.seq <= left && right <= c.end && !is_too_late(c, d.t, rtt))
            .map(|c| (c.serial, c.stamp))
            .collect();
        group.sort_unstable();
        if group.len() < 2 {
            return;
        }
        self.raise(group[1].0);
        let named = |g: &&(u64, Option<u32>)| d.echo.is_some() && g.1 == d.echo && right <= d.ack;
        let trigger = trigger.or_else(|| {
            let mut named = group[1..].iter().filter(named);
            match (named.next(), named.next()) {
                (Some(one), None) => Some(one.0),
                _ => None,
            }
        });
        let trigger = trigger.or((group.len() == 2).then(|| group[1].0));
        let mut reports = 0;
        for open in self.open.iter_mut().filter(|o| o.copy.overlaps(left, right)) {
            open.reports += 1;
            reports = reports.max(open.reports);
        }
        if reports as usize >= group.len() - 1 {
            for (serial, _) in &group {
                set(copies, *serial, Fate::Arrived(evidence));
            }
        }
        if let Some(trigger) = trigger {
            self.comes_now(copies, trigger);
            self.raise(trigger);
            set(copies, trigger, Fate::Arrived(evidence));
            if group[1].0 == trigger {
                set(copies, group[0].0, Fate::Arrived(evidence));
            }
        }
        // One before the trigger arrived: most likely the first that is not known to be lost.
        let last = trigger.or(group.last().map(|g| g.0)).unwrap_or(0);
        let gone =
            |serial: u64| copies.get(serial).is_none_or(|c| matches!(c.fate, Fate::Lost(Evidence::Order)));
        let first = group.iter().map(|g| g.0).find(|s| *s < last && !gone(*s));
        if let Some(first) = first {
            set(copies, first, Fate::Arrived(evidence));
        }
        // Two of them arrived: one of those before the last, and before the trigger.
        let sure = trigger.or(group.last().map(|g| g.0));
        let whole = |o: &&mut Open| {
            Some(o.copy.serial) == sure && left <= o.copy.seq.max(o.acked) && o.copy.end <= right
        };
        if let Some(open) = self.open.iter_mut().find(whole) {
            open.settled = Some((Need::Unneeded, evidence));
        }
    }

    /// Which copy of what is covered now came first?
    fn cover(&mut self, copies: &mut Copies, d: &AckDigest, latest: u64, state: &State<'_>) {
        for i in 0..self.open.len() {
            let open = &self.open[i];
            if open.covered.is_some() {
                continue;
            }
            let (seq, end) = (open.copy.seq.max(open.acked), open.copy.end);
            if end > d.ack && !state.sacked.holds(seq.max(d.ack), end) {
                continue;
            }
            let mut evidence = Evidence::Order;
            let mut all = Vec::new();
            let (mut lost, mut after) = (Vec::new(), Vec::new());
            for c in copies.of(seq, end) {
                if is_too_late(c, d.t, state.rtt) {
                    evidence = Evidence::Early;
                } else if c.serial > latest {
                    after.push(c.serial);
                } else if let (Some(stamp), Some(echo)) = (c.stamp, d.echo)
                    && c.seq <= d.before
                    && d.advances()
                    && later(stamp, echo)
                {
                    evidence = Evidence::Echo;
                } else if let Fate::Lost(_) = c.fate {
                    lost.push(c.serial);
                } else {
                    all.push(c.serial);
                }
            }
            if all.is_empty() && !after.is_empty() {
                // The answers in between were lost.
                all = after;
            } else if all.is_empty() {
                // What seemed to be lost was overtaken.
                if let Some(&last) = lost.iter().max() {
                    self.disorder = self.disorder.max(self.front.saturating_sub(last));
                }
                all = lost;
            }
            let jumped = self.answers_are_missing(copies, i, d, state);
            let open = &mut self.open[i];
            open.covered = Some((d.t, d.ack));
            open.answer = state.stamp;
            let own = open.copy.serial;
            if jumped {
                open.settled = Some((Need::Unneeded, Evidence::Jump));
            } else if !all.is_empty() && all.iter().all(|s| *s < own) {
                open.settled.get_or_insert((Need::Unneeded, evidence));
            }
            match all[..] {
                [one] => set(copies, one, Fate::Arrived(evidence)),
                _ => open.candidates = all,
            }
        }
    }

    /// Answers are missing: what was sent before the retransmission, and only once, has arrived, and nothing that came
    /// back can have answered it until now. Then acknowledgements were lost, and the earlier copies have most likely
    /// arrived too.
    fn answers_are_missing(&self, copies: &Copies, i: usize, d: &AckDigest, state: &State<'_>) -> bool {
        let open = &self.open[i];
        if !d.advances() {
            return false;
        }
        let earlier =
            |c: &Copy| c.serial < open.copy.serial && !matches!(c.fate, Fate::Lost(Evidence::Order));
        if !copies.of(open.copy.seq.max(open.acked), open.copy.end).any(earlier) {
            return false;
        }
        let unanswered = |c: &&Copy| {
            let due = c.t + state.rtt.least(c.end - c.seq).unwrap_or_default();
            c.serial < open.copy.serial && c.end <= d.ack && d.heard.is_none_or(|heard| heard < due)
        };
        let once = |c: &&Copy| copies.of(c.seq, c.end).count() == 1;
        let missing = copies.of(d.before, d.ack).filter(unanswered).filter(once).take(2).count();
        missing >= if d.held { 1 } else { 2 }
    }

    /// What was not there when a retransmission was covered came later: so did all that was sent after it.
    fn edges(&mut self, copies: &mut Copies, ack: u64) {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for open in &mut self.open {
                let Some((_, edge)) = open.covered else { continue };
                if open.candidates.len() < 2 || edge >= ack {
                    continue;
                }
                if let Some(first) = first_arrival(copies, edge) {
                    changed |= open.came_before(copies, first + self.disorder);
                }
            }
        }
    }

    /// The packet with this serial comes only now: so did all that was sent after it, and what was covered before was
    /// covered by earlier ones.
    fn comes_now(&mut self, copies: &mut Copies, serial: u64) {
        for open in &mut self.open {
            if open.candidates.len() > 1 {
                open.came_before(copies, serial + self.disorder);
            }
        }
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

    /// The verdict as it stands.
    pub(crate) fn rule(&self, copies: &mut Copies, open: &Open, clock: &Clockwork) -> Ruling {
        let (need, evidence) = open
            .settled
            .or_else(|| by_fates(copies, open))
            .or_else(|| self.by_silence(copies, open))
            .unwrap_or((Need::Unknown, Evidence::Nothing));
        let covered = open.covered.map(|c| c.0);
        let left = covered.zip(open.answer).and_then(|(t, stamp)| clock.left(t, stamp));
        Ruling { result: open.result, need, evidence, covered, left }
    }

    /// It was answered, later ones were answered, and no duplicate came back: it was the one that counted.
    fn by_silence(&self, copies: &mut Copies, open: &Open) -> Option<(Need, Evidence)> {
        open.covered?;
        let reports = self.reports_duplicates || self.may_report;
        if open.passed.is_none() && !(self.over && reports) {
            return None;
        }
        let quiet = open.reports == 0 && (reports || open.duplicates == 0);
        // Another one is known to have counted; whether this one arrived after it, only reports would tell.
        let other = |c: &Copy| c.serial != open.copy.serial && c.fate == Fate::Arrived(Evidence::Echo);
        if !reports && copies.of(open.copy.seq.max(open.acked), open.copy.end).any(other) {
            return None;
        }
        if !quiet || !open.candidates.contains(&open.copy.serial) {
            return None;
        }
        let earlier: Vec<u64> = open.candidates.iter().copied().filter(|s| *s < open.copy.serial).collect();
        for serial in earlier {
            set(copies, serial, Fate::Lost(Evidence::Silence));
        }
        Some((Need::Needed, Evidence::Silence))
    }

    /// What is open when the capture ends.
    pub(crate) fn finish(&mut self, copies: &mut Copies, clock: &Clockwork, out: &mut Vec<Ruling>) {
        self.over = true;
        for open in std::mem::take(&mut self.open) {
            out.push(self.rule(copies, &open, clock));
        }
    }
}

/// It cannot have been answered yet: that would be sooner than any round trip. A part is left to chance: the samples
/// had to wait for other packets.
fn is_too_late(c: &Copy, t: Time, rtt: &Rtt) -> bool {
    rtt.least(c.end - c.seq).is_some_and(|least| t.since(c.t).as_nanos() < least.as_nanos() / 4 * 3)
}

/// The copy of this byte that came first, if that is known.
fn first_arrival(copies: &Copies, byte: u64) -> Option<u64> {
    let mut all = copies.of(byte, byte + 1);
    match (all.next(), all.next()) {
        (Some(only), None) => Some(only.serial),
        _ => {
            let arrived = |c: &&Copy| matches!(c.fate, Fate::Arrived(_));
            copies.of(byte, byte + 1).filter(arrived).map(|c| c.serial).min()
        }
    }
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

/// The verdict that follows from what became of the earlier copies.
fn by_fates(copies: &Copies, open: &Open) -> Option<(Need, Evidence)> {
    let (seq, end) = (open.copy.seq.max(open.acked), open.copy.end);
    let earlier = || copies.of(seq, end).filter(|c| c.serial < open.copy.serial);
    let mut how = None;
    let mut arrived: Vec<(u64, u64)> = earlier()
        .filter_map(|c| match c.fate {
            Fate::Arrived(e) => {
                how = Some(e);
                Some((c.seq, c.end))
            }
            _ => None,
        })
        .collect();
    if let Some(e) = how
        && ranges::cover(seq, end, &mut arrived)
    {
        return Some((Need::Unneeded, e));
    }
    // Needed for sure if some byte has no earlier copy that may have arrived.
    let mut how = Evidence::Order;
    let mut possible: Vec<(u64, u64)> = earlier()
        .filter_map(|c| match c.fate {
            Fate::Lost(e) => {
                how = e;
                None
            }
            _ => Some((c.seq, c.end)),
        })
        .collect();
    (!ranges::cover(seq, end, &mut possible)).then_some((Need::Needed, how))
}
