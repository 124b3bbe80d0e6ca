//! Episode recorder of one direction: packets and ACKs from the first sign of loss until all data are acknowledged,
//! then evaluation by in-order rules or hidden Markov model; loss rates learned.

use super::hmm::{
    self, Beam, LONG, LossContext, LossCounts, ModelRates, ObservedAck, Outcome, Preceding, SentPacket,
};
use super::order_rules;
use super::receiver_model::{EchoRule, ReceiverModel};
use super::segmentation;
use super::transitions;
use crate::facts::copies::Copies;
use crate::facts::digest::AckDigest;
use crate::facts::ip_id::IpIdSequence;
use base::{Span, Time};

/// Upper limit of recorded packets and ACKs of an episode.
const MOST: usize = 1 << 12;
/// Outstanding segments at the beginning of an episode above which up to `MOST_WIDE` entries are recorded. With more
/// than [`MOST`] entries only the in-order rules are applied.
const WIDE: usize = 1 << 10;
/// Upper limit of recorded packets and ACKs of an episode with many segments outstanding.
const MOST_WIDE: usize = 1 << 18;

/// Upper limit of search steps for one direction of a connection: bounds the time spent on a connection that is always
/// in recovery.
const ENOUGH: usize = 1 << 22;

/// Log-likelihood below the best rule from which an echo rule is no longer tried.
const DECIDED: f64 = 40.0;

/// State of the direction when an episode begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EpisodeStart {
    /// Lowest unacknowledged byte.
    pub(crate) una: u64,
    /// One past the highest byte sent.
    pub(crate) max: u64,
    pub(crate) echo: Option<u32>,
    /// IP identification position of the receiver's last packet.
    pub(crate) from: Option<u64>,
    /// Offset and send time of a FIN without data.
    pub(crate) fin: Option<(u64, Time)>,
}

/// Verdicts of an episode.
#[derive(Default, Debug)]
pub(crate) struct EpisodeVerdicts {
    /// Index of each retransmission and the probability that it was unneeded.
    pub(crate) odds: Vec<(usize, f64)>,
    /// The receiver's IP identifications were used to count lost ACKs.
    pub(crate) numbered: bool,
}

/// Recorder of one direction: one episode at a time, and what was learned from earlier episodes.
#[derive(Default, Debug)]
pub(crate) struct EpisodeRecorder {
    active: bool,
    start: Option<ReceiverModel>,
    sent: Vec<SentPacket>,
    acks: Vec<ObservedAck>,
    /// Last ACK before the episode, with the receiver model before it, and position of the receiver's packet before
    /// it. This ACK can be the first sign of loss.
    last: Option<(ReceiverModel, ObservedAck, Option<u64>)>,
    /// IP identification position of the receiver's last packet before the episode.
    from: Option<u64>,
    /// The episode contains a retransmission.
    wanted: bool,
    /// The episode ends once this byte is acknowledged.
    until: u64,
    /// Upper limit of entries in this episode.
    most: usize,
    /// Search steps of all episodes of the direction.
    steps: usize,
    /// Log-likelihood of each echo rule over all episodes, in the order of [`EchoRule::ALL`].
    rules: [f64; 3],
    /// Expected losses of packets and ACKs over all episodes.
    counts: LossCounts,
}

impl EpisodeRecorder {
    /// Begins an episode: records the outstanding segments.
    pub(crate) fn begin(&mut self, copies: &Copies, start: &EpisodeStart) {
        if self.active {
            return;
        }
        let EpisodeStart { una, max, echo, from, fin } = *start;
        self.active = true;
        self.until = max;
        let plain = ReceiverModel {
            next: una,
            held: 0,
            ts_recent: echo.unwrap_or(0),
            last_ack_sent: una,
            ack_pending: false,
        };
        let (start, acks, from) = match self.last.take() {
            Some((start, acks, from)) if acks.ack == una => (start, Some(acks), from),
            _ => (plain, None, from),
        };
        (self.start, self.from) = (Some(start), from);
        self.acks.extend(acks);
        let mut all: Vec<(u64, SentPacket)> = copies
            .of(start.next, u64::MAX)
            .map(|c| (c.serial, SentPacket { seq: c.seq, end: c.end, t: c.t, stamp: c.stamp, result: None }))
            .collect();
        all.sort_unstable_by_key(|c| c.0);
        self.most = if all.len() > WIDE { MOST_WIDE } else { MOST };
        self.sent.extend(all.into_iter().map(|c| c.1));
        self.sent.extend(fin.map(|(at, t)| SentPacket { seq: at, end: at, t, stamp: None, result: None }));
    }

    /// Records a sent segment during an episode. `max`: one past the highest byte sent.
    pub(crate) fn sent(&mut self, sent: SentPacket, max: u64) {
        if !self.active {
            return;
        }
        if sent.result.is_some() {
            self.wanted = true;
            self.until = max;
        }
        self.sent.push(sent);
    }

    /// Records an ACK. The parameters describe the receiver before it: cumulative ACK `una`, open gap `hole`,
    /// timestamp echo `echo`, position `from` of its previous packet.
    pub(crate) fn record_ack(
        &mut self,
        acks: ObservedAck,
        una: u64,
        hole: bool,
        echo: Option<u32>,
        from: Option<u64>,
    ) {
        if self.active {
            self.acks.push(acks);
        }
        if acks.ack > una {
            let before = ReceiverModel {
                next: una,
                held: 0,
                ts_recent: echo.unwrap_or(0),
                last_ack_sent: una,
                ack_pending: false,
            };
            self.last = (!hole).then_some((before, acks, from));
        }
    }

    /// Discards the last ACK: the copies that it covered are no longer in the send log.
    pub(crate) fn forget_last(&mut self) {
        self.last = None;
    }

    /// Counts a clean ACK outside of episodes: `segments` delivered, and `missing` ACKs lost before it.
    pub(crate) fn clean(&mut self, segments: u64, missing: u64) {
        let LossCounts { loss, ack_loss } = &mut self.counts;
        loss[0][0] += segments as f64;
        if missing > 0 {
            ack_loss[0][1] += 1.0;
            let short = (missing - 1).min(2);
            ack_loss[1][1] += short as f64;
            ack_loss[2][1] += (missing - 1 - short) as f64;
            ack_loss[if missing > 2 { 2 } else { 1 }][0] += 1.0;
        } else {
            ack_loss[0][0] += 1.0;
        }
    }

    /// Whether the episode has ended. `open`: verdicts are open, or the last ACK indicates further loss.
    pub(crate) fn is_over(&self, una: u64, open: bool) -> bool {
        self.active && (!open && una > self.until || self.sent.len() + self.acks.len() > self.most)
    }

    /// Send time of the first recorded segment.
    pub(crate) fn since(&self) -> Option<Time> {
        self.sent.first().map(|s| s.t)
    }

    /// Ends the episode and discards the recording.
    pub(crate) fn forget(&mut self) {
        self.active = false;
        self.wanted = false;
        self.sent.clear();
        self.acks.clear();
    }

    /// Discards trailing segments sent too late to trigger any observed ACK. They carry no evidence and do not count
    /// as lost.
    fn cut(&mut self, least: Span) {
        if let Some(last) = self.acks.last() {
            let counts = |s: &SentPacket| s.result.is_some() || transitions::reachable(last, s.t, least);
            self.sent.truncate(self.sent.iter().rposition(counts).map_or(0, |i| i + 1));
        }
    }

    /// Limits trailing retransmissions without any ACK to [`LONG`], since more do not separate data loss from ACK
    /// loss. Returns the discarded ones, which get the verdict of the last one kept.
    fn leave_out(&mut self, least: Span) -> Vec<usize> {
        let Some(last) = self.acks.last().copied() else { return Vec::new() };
        let mut unanswered = 0_u32;
        let mut out = Vec::new();
        self.sent.retain(|s| {
            let Some((result, _)) = s.result.filter(|_| !transitions::reachable(&last, s.t, least)) else {
                return true;
            };
            unanswered += 1;
            if unanswered > u32::from(LONG) {
                out.push(result);
            }
            unanswered <= u32::from(LONG)
        });
        out
    }

    /// With `counts`, sorts reordered ACKs by IP identification and counts the missing packets between them.
    /// Otherwise, discards overtaken ACKs.
    fn count(&mut self, counts: bool) {
        if !counts {
            self.acks.retain(|h| !h.overtaken);
            return;
        }
        if self.acks.iter().all(|h| h.place.is_some()) {
            self.acks.sort_by_key(|h| h.place);
            // Packets that left the receiver before the episode carry no evidence about it.
            self.acks.retain(|h| h.place > self.from);
        } else {
            self.acks.retain(|h| !h.overtaken);
        }
        let mut before = self.from;
        for h in &mut self.acks {
            let missing = before.zip(h.place).and_then(|(before, here)| IpIdSequence::between(before, here));
            h.missing = missing.map(|m| m as u32);
            before = h.place;
        }
    }

    /// Evaluates and ends the recorded episode. `numbered`: probabilities of a packet to another destination and of a
    /// stretch ACK, if the receiver counts packets in the IP identification.
    pub(crate) fn finish(&mut self, mut rates: ModelRates, numbered: Option<(f64, f64)>) -> EpisodeVerdicts {
        let as_heard = numbered.map(|_| self.acks.clone());
        self.count(numbered.is_some());
        (rates.foreign, rates.stretch_ack) = numbered.unwrap_or_default();
        self.cut(rates.least);
        let out = self.leave_out(rates.least);
        let best =
            self.start.filter(|_| self.wanted).and_then(|start| self.explained(start, rates, as_heard));
        self.forget();
        let Some((Outcome { mut odds, counts, .. }, numbered)) = best else {
            return EpisodeVerdicts::default();
        };
        self.counts.join(&counts);
        let last = odds.iter().copied().max_by_key(|o| o.0);
        odds.extend(out.into_iter().filter_map(|result| Some((result, last?.1))));
        EpisodeVerdicts { odds, numbered }
    }

    /// Best explanation of the episode or of its parts, and whether IP identifications were used.
    fn explained(
        &mut self,
        start: ReceiverModel,
        mut rates: ModelRates,
        as_heard: Option<Vec<ObservedAck>>,
    ) -> Option<(Outcome, bool)> {
        let numbered = as_heard.is_some();
        // Most episodes have few losses, and the order rules decide them.
        if let Some(outcome) = order_rules::decide(&self.sent, &self.acks, start.next, &rates) {
            return Some((outcome, numbered));
        }
        if self.sent.len() + self.acks.len() > MOST {
            return None;
        }
        (rates.loss, rates.ack_loss) = self.rates();
        let all = Preceding::default();
        let mut best = self.followed(start, all, &mut rates, hmm::NARROW);
        // The wide beam leaves half of the step budget to later episodes.
        if best.is_none() && self.steps < ENOUGH / 2 {
            best = self.followed(start, all, &mut rates, hmm::WIDE);
        }
        if best.is_none() && rates.loose {
            best = self.in_pieces(start, rates);
        }
        if let Some(outcome) = best {
            return Some((outcome, numbered));
        }
        // No course fits the identification counts: retry without them.
        self.acks = as_heard?;
        self.count(false);
        rates.stretch_ack = 0.0;
        Some((self.followed(start, all, &mut rates, hmm::NARROW)?, false))
    }

    /// Evaluates each part of the episode alone.
    fn in_pieces(&mut self, start: ReceiverModel, rates: ModelRates) -> Option<Outcome> {
        let (sent, acks) = (std::mem::take(&mut self.sent), std::mem::take(&mut self.acks));
        let mut sum: Option<Outcome> = None;
        let long = rates.pace.usual.max(rates.least + rates.least);
        for piece in segmentation::of(start, &sent, &acks, long) {
            self.sent.extend(piece.open.iter().map(|i| sent[*i]));
            self.sent.extend_from_slice(&sent[piece.sent]);
            self.acks.extend_from_slice(&acks[piece.acks]);
            self.cut(rates.least);
            let mut rates = rates;
            let before = Preceding { packets: piece.open.len(), chance: piece.there };
            if self.sent.iter().any(|s| s.result.is_some())
                && let Some(outcome) = self.followed(piece.start, before, &mut rates, hmm::NARROW)
            {
                let sum = sum.get_or_insert_default();
                sum.odds.extend(outcome.odds);
                sum.counts.join(&outcome.counts);
            }
            self.sent.clear();
            self.acks.clear();
        }
        (self.sent, self.acks) = (sent, acks);
        sum
    }

    /// Searches the event courses under the echo rule that explains them best.
    fn followed(
        &mut self,
        start: ReceiverModel,
        before: Preceding,
        rates: &mut ModelRates,
        beam: Beam,
    ) -> Option<Outcome> {
        if self.steps >= ENOUGH {
            return None;
        }
        let mut best: Option<(Outcome, f64)> = None;
        // Only timestamp echoes separate the rules. A receiver keeps one rule, so a few episodes identify it.
        let stamped = self.acks.iter().any(|h| h.echo.is_some());
        let ruled = self.rules;
        let (mut fits, mut score) = (false, 0.0);
        for (k, (rule, sofar)) in EchoRule::ALL.into_iter().zip(&mut self.rules).enumerate() {
            let others = (0..ruled.len()).filter(|j| *j != k).map(|j| ruled[j]);
            let ahead = ruled[k] - others.fold(f64::NEG_INFINITY, f64::max);
            if !stamped && k > 0 || stamped && ahead < -DECIDED {
                continue;
            }
            if fits {
                *sofar += score;
                continue;
            }
            rates.rule = rule;
            let outcome = hmm::weigh(&self.sent, &self.acks, start, before, rates, beam, &mut self.steps);
            if !stamped {
                best = outcome.map(|outcome| (outcome, 0.0));
            } else if let Some(outcome) = outcome {
                *sofar += outcome.score;
                // If every echo conforms to this rule, no other rule can score higher.
                fits = k == 0 && ahead >= 0.0 && outcome.echo_mismatch < 0.01;
                score = outcome.score;
                if best.as_ref().is_none_or(|b| *sofar > b.1) {
                    best = Some((outcome, *sofar));
                }
            } else if ahead <= DECIDED {
                *sofar -= 100.0;
            }
        }
        best.map(|b| b.0)
    }

    /// Loss probabilities of packets and ACKs by context: prior and observed counts combined.
    fn rates(&self) -> ([f64; LossContext::ALL], [f64; LossContext::ALL]) {
        let of = |Prior(usual, weight, least, most): Prior, [not, lost]: [f64; 2]| {
            ((usual * weight + lost) / (weight + lost + not)).clamp(least, most)
        };
        let LossCounts { loss, ack_loss } = &self.counts;
        let all = |usual: [Prior; LossContext::ALL], counts: &[[f64; 2]; LossContext::ALL]| {
            std::array::from_fn(|i| of(usual[i], counts[i]))
        };
        (all(PACKET_LOSS, loss), all(ACK_LOSS, ack_loss))
    }
}

/// Prior loss probability, its weight in packets, lower and upper bound of the estimate.
#[derive(Clone, Copy)]
struct Prior(f64, f64, f64, f64);

/// Priors for the loss of packets, in the order of [`super::hmm::LossContext`].
const PACKET_LOSS: [Prior; LossContext::ALL] = [
    Prior(0.03, 30.0, 0.003, 0.5),
    Prior(0.5, 6.0, 0.1, 0.98),
    Prior(0.9, 15.0, 0.6, 0.98),
    Prior(0.2, 4.0, 0.003, 0.9),
    Prior(0.5, 6.0, 0.05, 0.98),
    Prior(0.8, 10.0, 0.3, 0.98),
    Prior(0.09, 8.0, 0.003, 0.9),
    Prior(0.4, 6.0, 0.05, 0.98),
    Prior(0.75, 8.0, 0.2, 0.98),
    Prior(0.06, 8.0, 0.003, 0.9),
];
/// Priors for the loss of ACKs, in the order of [`super::hmm::LossContext`].
const ACK_LOSS: [Prior; LossContext::ALL] = [
    Prior(0.008, 60.0, 0.0005, 0.5),
    Prior(0.4, 8.0, 0.02, 0.95),
    Prior(0.88, 10.0, 0.4, 0.95),
    Prior(0.05, 8.0, 0.001, 0.9),
    Prior(0.4, 8.0, 0.02, 0.95),
    Prior(0.75, 8.0, 0.3, 0.95),
    Prior(0.07, 8.0, 0.001, 0.9),
    Prior(0.35, 8.0, 0.02, 0.95),
    Prior(0.7, 8.0, 0.2, 0.95),
    Prior(0.06, 8.0, 0.001, 0.9),
];

impl ObservedAck {
    /// An ACK that carries only the cumulative acknowledgement.
    pub(crate) fn plain(t: Time, ack: u64) -> ObservedAck {
        ObservedAck {
            t,
            left: None,
            ack,
            dsack: None,
            blocks: [(0, 0); 4],
            count: 0,
            echo: None,
            free: false,
            place: None,
            missing: None,
            overtaken: false,
        }
    }

    /// ACK with its facts and up to four SACK blocks.
    pub(crate) fn of(d: &AckDigest, blocks: &[(u64, u64)], free: bool) -> ObservedAck {
        let mut acks = ObservedAck { dsack: d.dsack, echo: d.echo, free, ..ObservedAck::plain(d.t, d.ack) };
        for block in blocks.iter().take(4) {
            acks.blocks[acks.count] = *block;
            acks.count += 1;
        }
        acks
    }

    /// Removes the FIN from the ACK: it has a sequence number (RFC 9293 section 3.4) but is no data.
    pub(crate) fn leave_out(&mut self, fin: u64) {
        self.ack = self.ack.min(fin);
        let told = self.dsack.is_some();
        self.dsack = self.dsack.map(|(left, right)| (left, right.min(fin))).filter(|b| b.0 < b.1);
        // The DSACK covers only a duplicate FIN.
        self.free |= told && self.dsack.is_none();
        let count = std::mem::take(&mut self.count);
        for i in 0..count {
            let (left, right) = self.blocks[i];
            if left < fin {
                self.blocks[self.count] = (left, right.min(fin));
                self.count += 1;
            }
        }
    }
}
