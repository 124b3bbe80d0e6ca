//! Reconciliation of the two verdicts on a retransmission: by in-order rules, when it is acknowledged, and by the
//! posterior of the episode's hidden Markov model.
//!
//! The more certain verdict is reported.

use super::Direction;
use crate::facts::copies::{Copy, Evidence, later};
use crate::facts::reason::Reason;
use crate::findings::flow::Retransmission;
use crate::hypotheses::hmm::{LossContext, ModelRates};
use crate::hypotheses::receiver_model::EchoRule;
use crate::hypotheses::timing::PathTiming;
use crate::verdict::Need;
use base::Span;

/// Posterior above which the HMM replaces the verdict of the rules: odds of 4:1.
const SURE: f64 = 0.8;
/// Posterior needed for a tail loss probe.
const CERTAIN: f64 = 0.95;
/// Posterior above which the likelier verdict is reported, given DSACK or counted IP identifications and timestamps.
/// Below it the verdict of the rules stays.
const LIKELIER: f64 = 0.6;

/// Number of recent retransmissions compared with a late original.
const LATE: usize = 64;

/// Whether the first copy's arrival or absence was observed next to the receiver.
fn watched(evidence: Evidence, at_receiver: bool) -> bool {
    matches!(evidence, Evidence::Seen | Evidence::Aged) || evidence == Evidence::Unseen && at_receiver
}

/// Evidence that an uncertain posterior does not override.
fn seen(evidence: Evidence) -> bool {
    matches!(evidence, Evidence::Acked | Evidence::Sacked)
}

impl Direction {
    /// Stores the final verdicts in the list of retransmissions.
    pub(crate) fn settle(&mut self) {
        for ruling in self.rulings.drain(..) {
            if let Some(r) = self.stats.retransmissions.get_mut(ruling.result) {
                if !watched(r.evidence, self.place.is_receiver()) {
                    (r.need, r.evidence) = (ruling.need, ruling.evidence);
                }
                r.answered = ruling.covered;
                r.answer_left = ruling.left;
            }
        }
    }

    /// Ends the recorded episode, and combines the HMM's posterior with the verdicts of the rules.
    pub(crate) fn weigh(&mut self) {
        // No event course explains packets that are missing from the capture.
        if !self.answered || self.replay.since() < self.judge.torn.filter(|_| self.replay.since().is_some()) {
            self.replay.forget();
            return;
        }
        let rates = ModelRates {
            loss: [0.0; LossContext::ALL],
            ack_loss: [0.0; LossContext::ALL],
            rule: EchoRule::default(),
            sack: self.judge.may_report || self.acks.blocks,
            delays: self.baseline.delays(),
            stretch_ack: 0.0,
            omits_dsack: match (self.judge.reports_duplicates, self.judge.may_report) {
                (true, _) => 1e-4,
                (false, true) => 3e-3,
                (false, false) => 0.3,
            },
            // RTT samples may include queueing delay; the handshake does not.
            least: self.least().map_or(Span::ZERO, |least| self.rtt.without_queue(least)),
            pace: self.pace(),
            loose: self.loose(),
            foreign: 0.0,
        };
        // A missing identification may belong to a data packet of the peer.
        let trip = self.rtt.smoothed().unwrap_or_default();
        let talks =
            self.peer.talked.is_some_and(|t| self.replay.since().is_none_or(|since| t + trip >= since));
        let foreign = self.peer.numbers.foreign().filter(|_| !talks);
        // On a reordering path, in-order event courses mean little without DSACK and counted identifications.
        if self.acks.overtaken && !rates.sack && foreign.is_none() {
            self.replay.forget();
            return;
        }
        let stretches = self.peer.numbers.stretches();
        let weighed = self.replay.finish(rates, foreign.map(|foreign| (foreign, stretches)));
        let tells = rates.sack || weighed.numbered && self.judge.stamped;
        for (result, odds) in weighed.odds {
            let Some(r) = self.stats.retransmissions.get_mut(result) else { continue };
            if watched(r.evidence, self.place.is_receiver()) {
                continue;
            }
            r.likelihood = Some(odds);
            // An uncertain posterior leaves the decision to other evidence.
            let need = match odds {
                // A probe follows an idle gap that does not separate data loss from ACK loss. If the rules
                // contradict the posterior, the verdict is unknown.
                o if r.reason == Reason::Probe && (1.0 - CERTAIN..CERTAIN).contains(&o) => {
                    let against = r.evidence == Evidence::Silence && o > 0.5;
                    if !against {
                        continue;
                    }
                    Need::Unknown
                }
                o if o > SURE => Need::Unneeded,
                o if o < 1.0 - SURE => Need::Needed,
                // Without DSACK and without counted identifications and timestamps, an uncertain posterior
                // makes the verdict unknown unless the evidence was observed.
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

    /// Next to the receiver: a segment with bytes already arrived whose timestamp or identification is earlier than
    /// the first arrival's. That arrival was then the retransmission, and this segment is the delayed original.
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
        let recent = self.stats.retransmissions.iter_mut().rev().take(LATE);
        let within = recent.filter(|r| r.evidence == Evidence::Unseen && seq <= r.seq && r.end <= end);
        for r in within.filter(|r| sent_after(r)) {
            (r.need, r.evidence) = (Need::Unneeded, Evidence::Seen);
        }
    }

    /// Whether the path reorders packets or ACKs.
    pub(crate) fn loose(&self) -> bool {
        self.acks.overtaken || self.judge.disorder > 0
    }

    /// Shortest RTT to the receiver.
    fn least(&self) -> Option<Span> {
        self.rtt.least_of_all().into_iter().chain(self.place.to_receiver).min()
    }

    /// Bytes and duration of the ACK trains that measure the bottleneck rate.
    pub(crate) fn bottleneck(&self) -> Option<(u64, Span)> {
        // Trains of compressed ACKs do not measure the bottleneck.
        let [close, wide] = self.acks.trains;
        let enough = close.1.as_nanos() >= wide.1.as_nanos() / 5;
        Some(if enough { close } else { wide }).filter(|(bytes, took)| *bytes > 0 && !took.is_zero())
    }

    /// Timing parameters of the path, for the model of ACK arrivals.
    pub(crate) fn pace(&self) -> PathTiming {
        PathTiming {
            trip: self.rtt.least(self.copies.longest).or(self.least()).unwrap_or(Span::ZERO),
            usual: self.rtt.timeout().unwrap_or(Span::from_secs(1)),
            byte_ns: self.bottleneck().map_or(0.0, |(bytes, took)| took.as_nanos() as f64 / bytes as f64),
            spread: self.baseline.spread(),
        }
    }
}
