//! Reconciliation of rule verdicts with the posterior of the event-course model.
//!
//! The rules' verdict on each retransmission once it is closed, and what all courses of events together say of it
//! once its trouble is over.

use super::Direction;
use crate::facts::copies::{Copy, Evidence, later};
use crate::facts::reason::Reason;
use crate::findings::flow::Retransmission;
use crate::hypotheses::hmm::{Past, Rates};
use crate::hypotheses::receiver_model::EchoRule;
use crate::hypotheses::timing::Pace;
use crate::verdict::Need;
use base::Span;

/// A course of events of this likelihood is believed whatever else was concluded.
const SURE: f64 = 0.8;
/// A probe's from here on.
const CERTAIN: f64 = 0.95;
/// Where duplicates are reported, or packets numbered and stamped, the likelier side is told from here on; in between, what
/// else was concluded.
const LIKELIER: f64 = 0.6;

/// Retransmissions among which the one is looked for that a late packet makes unneeded.
const LATE: usize = 64;

/// Next to the receiver, what had passed or had not is seen.
fn watched(evidence: Evidence, at_receiver: bool) -> bool {
    matches!(evidence, Evidence::Seen | Evidence::Aged) || evidence == Evidence::Unseen && at_receiver
}

/// What no course of events can contradict.
fn seen(evidence: Evidence) -> bool {
    matches!(evidence, Evidence::Acked | Evidence::Sacked)
}

impl Direction {
    /// Notes the verdicts that are ready.
    pub(crate) fn settle(&mut self) {
        for ruling in self.rulings.drain(..) {
            if let Some(r) = self.way.retransmissions.get_mut(ruling.result) {
                if !watched(r.evidence, self.place.is_receiver()) {
                    (r.need, r.evidence) = (ruling.need, ruling.evidence);
                }
                r.answered = ruling.covered;
                r.answer_left = ruling.left;
            }
        }
    }

    /// What was amiss is over: all of it together.
    pub(crate) fn weigh(&mut self) {
        // No course explains what the capture has missed.
        if !self.answered || self.replay.since() < self.judge.torn.filter(|_| self.replay.since().is_some()) {
            self.replay.forget();
            return;
        }
        let rates = Rates {
            loss: [0.0; Past::ALL],
            deaf: [0.0; Past::ALL],
            rule: EchoRule::default(),
            sack: self.judge.may_report || self.acks.blocks,
            delays: self.habits.delays(),
            stretches: 0.0,
            silent: match (self.judge.reports_duplicates, self.judge.may_report) {
                (true, _) => 1e-4,
                (false, true) => 3e-3,
                (false, false) => 0.3,
            },
            // What was measured may have waited in a queue each time; the opening did not.
            least: self.least().map_or(Span::ZERO, |least| self.rtt.without_queue(least)),
            pace: self.pace(),
            loose: self.loose(),
            foreign: 0.0,
        };
        // What the peer itself had to say may be what is missing.
        let trip = self.rtt.smoothed().unwrap_or_default();
        let talks =
            self.peer.talked.is_some_and(|t| self.replay.since().is_none_or(|since| t + trip >= since));
        let foreign = self.peer.numbers.foreign().filter(|_| !talks);
        // Where packets overtake each other and neither duplicates are reported nor packets numbered, courses in the order of
        // sending say little.
        if self.acks.overtaken && !rates.sack && foreign.is_none() {
            self.replay.forget();
            return;
        }
        let stretches = self.peer.numbers.stretches();
        let weighed = self.replay.finish(rates, foreign.map(|foreign| (foreign, stretches)));
        let tells = rates.sack || weighed.numbered && self.judge.stamped;
        for (result, odds) in weighed.odds {
            let Some(r) = self.way.retransmissions.get_mut(result) else { continue };
            if watched(r.evidence, self.place.is_receiver()) {
                continue;
            }
            r.likelihood = Some(odds);
            // What is not sure is left to the other evidence.
            let need = match odds {
                // A probe follows a silence in which nothing tells its losses from those of its answers.
                // Where the rules say the unlikelier, neither is told.
                o if r.reason == Reason::Probe && (1.0 - CERTAIN..CERTAIN).contains(&o) => {
                    let against = r.evidence == Evidence::Silence && o > 0.5;
                    if !against {
                        continue;
                    }
                    Need::Unknown
                }
                o if o > SURE => Need::Unneeded,
                o if o < 1.0 - SURE => Need::Needed,
                // Where neither duplicates are reported nor packets numbered and stamped, what was concluded is no surer than that, unless it was seen.
                _ if !tells && !seen(r.evidence) => Need::Unknown,
                _ if seen(r.evidence) => continue,
                o if o > LIKELIER => Need::Unneeded,
                o if o < 1.0 - LIKELIER => Need::Needed,
                _ => continue,
            };
            if r.need != need {
                let told = if need == Need::Unknown { Evidence::Nothing } else { Evidence::Course };
                (r.need, r.evidence) = (need, told);
            }
        }
    }

    /// Next to the receiver: bytes come again in a packet that was sent before one that brought them for the first time. That
    /// one was sent again, and this is the first, late.
    pub(crate) fn late_original(&mut self, copy: &Copy) {
        if !self.place.is_receiver() {
            return;
        }
        let (seq, end) = (self.told(copy.seq), self.told(copy.end));
        let counted = self.own.counts();
        let copies = &self.copies;
        let sent_after = |r: &Retransmission| {
            let same = |c: &&Copy| c.t == r.t && copy.seq <= c.seq && c.end <= copy.end;
            copies.of(copy.seq, copy.end).filter(same).any(|c| {
                let by_number = c.id.zip(copy.id).is_some_and(|(a, b)| a != b && a.wrapping_sub(b) < 1 << 15);
                let by_stamp = c.stamp.zip(copy.stamp).is_some_and(|(a, b)| later(a, b));
                counted && by_number || by_stamp
            })
        };
        let recent = self.way.retransmissions.iter_mut().rev().take(LATE);
        let within = recent.filter(|r| r.evidence == Evidence::Unseen && seq <= r.seq && r.end <= end);
        for r in within.filter(|r| sent_after(r)) {
            (r.need, r.evidence) = (Need::Unneeded, Evidence::Seen);
        }
    }

    /// Packets overtake each other.
    pub(crate) fn loose(&self) -> bool {
        self.acks.overtaken || self.judge.disorder > 0
    }

    /// No answer comes sooner.
    fn least(&self) -> Option<Span> {
        self.rtt.least_of_all().into_iter().chain(self.place.to_receiver).min()
    }

    /// Bytes that the bottleneck let through, and how long that took.
    pub(crate) fn bottleneck(&self) -> Option<(u64, Span)> {
        // A burst of acknowledgements that something held up says nothing of the bottleneck.
        let [close, wide] = self.acks.trains;
        let enough = close.1.as_nanos() >= wide.1.as_nanos() / 5;
        Some(if enough { close } else { wide }).filter(|(bytes, took)| *bytes > 0 && !took.is_zero())
    }

    /// How long things take on this path.
    pub(crate) fn pace(&self) -> Pace {
        Pace {
            trip: self.rtt.least(self.copies.longest).or(self.least()).unwrap_or(Span::ZERO),
            usual: self.rtt.timeout().unwrap_or(Span::from_secs(1)),
            byte_ns: self.bottleneck().map_or(0.0, |(bytes, took)| took.as_nanos() as f64 / bytes as f64),
            spread: self.habits.spread(),
        }
    }
}
