//! Episode recorder: packets and ACKs from the first sign of loss to full acknowledgement.
//!
//! Recording starts with the first sign of loss or reordering. Once all recorded data are acknowledged,
//! `hmm.rs` weighs the event courses that explain the episode.

use super::hmm::{self, Beam, Before, Counts, Heard, LONG, Outcome, Past, Rates, Sent};
use super::order_rules;
use super::receiver_model::{EchoRule, Mirror};
use super::segmentation;
use super::transitions;
use crate::facts::copies::Copies;
use crate::facts::digest::AckDigest;
use crate::facts::numbers::Numbers;
use base::{Span, Time};

/// Most packets and ACKs recorded of one episode.
const MOST: usize = 1 << 12;
/// Episodes that begin with more than `WIDE` segments outstanding record up to `MOST_WIDE` entries. Above
/// [`MOST`] only the order rules judge them.
const WIDE: usize = 1 << 10;
const MOST_WIDE: usize = 1 << 18;

/// Most search steps for one direction of a connection. Bounds the time spent on a connection that is in
/// recovery throughout.
const ENOUGH: usize = 1 << 22;

/// Log-likelihood lag from which an echo rule is no longer tried.
const DECIDED: f64 = 40.0;

/// State of the direction when an episode begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outset {
    /// Lowest unacknowledged byte; `max` is one past the highest byte sent.
    pub(crate) una: u64,
    pub(crate) max: u64,
    pub(crate) echo: Option<u32>,
    /// IP identification position of the receiver's last packet.
    pub(crate) from: Option<u64>,
    /// Offset and send time of a FIN without data.
    pub(crate) fin: Option<(u64, Time)>,
}

/// Result of an episode.
#[derive(Default, Debug)]
pub(crate) struct Weighed {
    /// Index of each retransmission and the probability that it was unneeded.
    pub(crate) odds: Vec<(usize, f64)>,
    /// The receiver's IP identifications were used to count lost ACKs.
    pub(crate) numbered: bool,
}

/// Recorder of one direction; active during an episode.
#[derive(Default, Debug)]
pub(crate) struct Replay {
    active: bool,
    start: Option<Mirror>,
    sent: Vec<Sent>,
    heard: Vec<Heard>,
    /// Last ACK before the episode, with the receiver model before it and the position of the receiver's
    /// packet before it. That ACK can carry the first sign of loss.
    last: Option<(Mirror, Heard, Option<u64>)>,
    /// IP identification position of the receiver's last packet before the episode.
    from: Option<u64>,
    /// The episode has a retransmission that needs a verdict.
    wanted: bool,
    /// The episode ends once this byte is acknowledged.
    until: u64,
    /// Most entries recorded in this episode.
    most: usize,
    /// Search steps so far, all episodes of the direction.
    steps: usize,
    /// Log-likelihood of each echo rule so far, in the order of [`EchoRule::ALL`].
    rules: [f64; 3],
    /// Expected losses of packets and ACKs so far.
    counts: Counts,
}

impl Replay {
    /// Starts an episode: all outstanding segments are recorded from now on.
    pub(crate) fn begin(&mut self, copies: &Copies, outset: &Outset) {
        if self.active {
            return;
        }
        let Outset { una, max, echo, from, fin } = *outset;
        self.active = true;
        self.until = max;
        let plain = Mirror { next: una, held: 0, echo: echo.unwrap_or(0), told: una, waits: false };
        let (start, heard, from) = match self.last.take() {
            Some((start, heard, from)) if heard.ack == una => (start, Some(heard), from),
            _ => (plain, None, from),
        };
        (self.start, self.from) = (Some(start), from);
        self.heard.extend(heard);
        let mut all: Vec<(u64, Sent)> = copies
            .of(start.next, u64::MAX)
            .map(|c| (c.serial, Sent { seq: c.seq, end: c.end, t: c.t, stamp: c.stamp, result: None }))
            .collect();
        all.sort_unstable_by_key(|c| c.0);
        self.most = if all.len() > WIDE { MOST_WIDE } else { MOST };
        self.sent.extend(all.into_iter().map(|c| c.1));
        self.sent.extend(fin.map(|(at, t)| Sent { seq: at, end: at, t, stamp: None, result: None }));
    }

    /// A segment was sent.
    pub(crate) fn sent(&mut self, sent: Sent, max: u64) {
        if !self.active {
            return;
        }
        if sent.result.is_some() {
            self.wanted = true;
            self.until = max;
        }
        self.sent.push(sent);
    }

    /// Records an ACK. `una`, `hole`, `echo` and `from` describe the receiver before it: cumulative ACK,
    /// whether a gap was open, echoed timestamp, and position of its previous packet.
    pub(crate) fn heard(&mut self, heard: Heard, una: u64, hole: bool, echo: Option<u32>, from: Option<u64>) {
        if self.active {
            self.heard.push(heard);
        }
        if heard.ack > una {
            let before = Mirror { next: una, held: 0, echo: echo.unwrap_or(0), told: una, waits: false };
            self.last = (!hole).then_some((before, heard, from));
        }
    }

    /// Drops the recorded last ACK: the copies that it covered are no longer in the send log.
    pub(crate) fn forget_last(&mut self) {
        self.last = None;
    }

    /// Counts a clean ACK outside of episodes: `segments` delivered, and `missing` ACKs lost before it.
    pub(crate) fn clean(&mut self, segments: u64, missing: u64) {
        let Counts { loss, deaf } = &mut self.counts;
        loss[0][0] += segments as f64;
        if missing > 0 {
            deaf[0][1] += 1.0;
            let short = (missing - 1).min(2);
            deaf[1][1] += short as f64;
            deaf[2][1] += (missing - 1 - short) as f64;
            deaf[if missing > 2 { 2 } else { 1 }][0] += 1.0;
        } else {
            deaf[0][0] += 1.0;
        }
    }

    /// Whether the episode has ended. `open`: verdicts are open, or the last ACK indicates further loss.
    pub(crate) fn is_over(&self, una: u64, open: bool) -> bool {
        self.active && (!open && una > self.until || self.sent.len() + self.heard.len() > self.most)
    }

    /// Send time of the first recorded segment.
    pub(crate) fn since(&self) -> Option<Time> {
        self.sent.first().map(|s| s.t)
    }

    /// Ends the episode and clears the recording.
    pub(crate) fn forget(&mut self) {
        self.active = false;
        self.wanted = false;
        self.sent.clear();
        self.heard.clear();
    }

    /// Drops trailing segments sent too late to have caused any observed ACK. They carry no evidence and do
    /// not count as lost.
    fn cut(&mut self, least: Span) {
        if let Some(last) = self.heard.last() {
            let counts = |s: &Sent| s.result.is_some() || transitions::reachable(last, s.t, least);
            self.sent.truncate(self.sent.iter().rposition(counts).map_or(0, |i| i + 1));
        }
    }

    /// Limits trailing retransmissions without any ACK to [`LONG`]: more of them do not separate data loss
    /// from ACK loss. Returns the dropped ones, which get the verdict of the last one kept.
    fn leave_out(&mut self, least: Span) -> Vec<usize> {
        let Some(last) = self.heard.last().copied() else { return Vec::new() };
        let mut unanswered = 0;
        let mut out = Vec::new();
        self.sent.retain(|s| {
            let Some((result, _)) = s.result.filter(|_| !transitions::reachable(&last, s.t, least)) else {
                return true;
            };
            unanswered += 1;
            if unanswered > LONG {
                out.push(result);
            }
            unanswered <= LONG
        });
        out
    }

    /// With `counts`, sorts reordered ACKs by the receiver's IP identification and counts the missing ones
    /// between them. Without it, overtaken ACKs are dropped.
    fn count(&mut self, counts: bool) {
        if !counts {
            self.heard.retain(|h| !h.overtaken);
            return;
        }
        if self.heard.iter().all(|h| h.place.is_some()) {
            self.heard.sort_by_key(|h| h.place);
            // Packets that left the receiver before the episode carry no evidence about it.
            self.heard.retain(|h| h.place > self.from);
        } else {
            self.heard.retain(|h| !h.overtaken);
        }
        let mut before = self.from;
        for h in &mut self.heard {
            let missing = before.zip(h.place).and_then(|(before, here)| Numbers::between(before, here));
            h.missing = missing.map(|m| m as u32);
            before = h.place;
        }
    }

    /// Weighs the recorded episode. `numbered`: probabilities of a packet to another destination and of a
    /// stretch ACK, if the receiver counts packets in the IP identification.
    pub(crate) fn finish(&mut self, mut rates: Rates, numbered: Option<(f64, f64)>) -> Weighed {
        let as_heard = numbered.map(|_| self.heard.clone());
        self.count(numbered.is_some());
        (rates.foreign, rates.stretches) = numbered.unwrap_or_default();
        self.cut(rates.least);
        let out = self.leave_out(rates.least);
        let best =
            self.start.filter(|_| self.wanted).and_then(|start| self.explained(start, rates, as_heard));
        self.forget();
        let Some((Outcome { mut odds, counts, .. }, numbered)) = best else { return Weighed::default() };
        self.counts.join(&counts);
        let last = odds.iter().copied().max_by_key(|o| o.0);
        odds.extend(out.into_iter().filter_map(|result| Some((result, last?.1))));
        Weighed { odds, numbered }
    }

    /// Best explanation of the whole episode or of its segments, and whether IP identifications were used.
    fn explained(
        &mut self,
        start: Mirror,
        mut rates: Rates,
        as_heard: Option<Vec<Heard>>,
    ) -> Option<(Outcome, bool)> {
        let numbered = as_heard.is_some();
        // Most episodes have few losses, and the order rules decide them.
        if let Some(outcome) = order_rules::decide(&self.sent, &self.heard, start.next, &rates) {
            return Some((outcome, numbered));
        }
        if self.sent.len() + self.heard.len() > MOST {
            return None;
        }
        (rates.loss, rates.deaf) = self.rates();
        let all = Before::default();
        let mut best = self.followed(start, all, &mut rates, hmm::NARROW);
        // The wider search leaves half of the step budget to later episodes.
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
        self.heard = as_heard?;
        self.count(false);
        rates.stretches = 0.0;
        Some((self.followed(start, all, &mut rates, hmm::NARROW)?, false))
    }

    /// Weighs each segment of the episode alone.
    fn in_pieces(&mut self, start: Mirror, rates: Rates) -> Option<Outcome> {
        let (sent, heard) = (std::mem::take(&mut self.sent), std::mem::take(&mut self.heard));
        let mut sum: Option<Outcome> = None;
        let long = rates.pace.usual.max(rates.least + rates.least);
        for piece in segmentation::of(start, &sent, &heard, long) {
            self.sent.extend(piece.open.iter().map(|i| sent[*i]));
            self.sent.extend_from_slice(&sent[piece.sent]);
            self.heard.extend_from_slice(&heard[piece.heard]);
            self.cut(rates.least);
            let mut rates = rates;
            let before = Before { packets: piece.open.len(), chance: piece.there };
            if self.sent.iter().any(|s| s.result.is_some())
                && let Some(outcome) = self.followed(piece.start, before, &mut rates, hmm::NARROW)
            {
                let sum = sum.get_or_insert_default();
                sum.odds.extend(outcome.odds);
                sum.counts.join(&outcome.counts);
            }
            self.sent.clear();
            self.heard.clear();
        }
        (self.sent, self.heard) = (sent, heard);
        sum
    }

    /// Weighs all event courses under the echo rule that explains them best.
    fn followed(&mut self, start: Mirror, before: Before, rates: &mut Rates, beam: Beam) -> Option<Outcome> {
        if self.steps >= ENOUGH {
            return None;
        }
        let mut best: Option<(Outcome, f64)> = None;
        // Only echoed timestamps separate the rules. A receiver keeps one rule, so a few episodes identify
        // it.
        let stamped = self.heard.iter().any(|h| h.echo.is_some());
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
            let outcome = hmm::weigh(&self.sent, &self.heard, start, before, rates, beam, &mut self.steps);
            if !stamped {
                best = outcome.map(|outcome| (outcome, 0.0));
            } else if let Some(outcome) = outcome {
                *sofar += outcome.score;
                // If every echo conforms to this rule, no other rule can score higher.
                fits = k == 0 && ahead >= 0.0 && outcome.odd < 0.01;
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
    fn rates(&self) -> ([f64; Past::ALL], [f64; Past::ALL]) {
        let of = |Usual(usual, weight, least, most): Usual, [not, lost]: [f64; 2]| {
            ((usual * weight + lost) / (weight + lost + not)).clamp(least, most)
        };
        let Counts { loss, deaf } = &self.counts;
        let all = |usual: [Usual; Past::ALL], counts: &[[f64; 2]; Past::ALL]| {
            std::array::from_fn(|i| of(usual[i], counts[i]))
        };
        (all(LOSS, loss), all(DEAF, deaf))
    }
}

/// Prior probability, its weight in packets, and lower and upper bound of the estimate.
#[derive(Clone, Copy)]
struct Usual(f64, f64, f64, f64);

/// Priors for packets (`LOSS`) and ACKs, in the order of [`super::hmm::Past`].
const LOSS: [Usual; Past::ALL] = [
    Usual(0.03, 30.0, 0.003, 0.5),
    Usual(0.5, 6.0, 0.1, 0.98),
    Usual(0.9, 15.0, 0.6, 0.98),
    Usual(0.2, 4.0, 0.003, 0.9),
    Usual(0.5, 6.0, 0.05, 0.98),
    Usual(0.8, 10.0, 0.3, 0.98),
    Usual(0.09, 8.0, 0.003, 0.9),
    Usual(0.4, 6.0, 0.05, 0.98),
    Usual(0.75, 8.0, 0.2, 0.98),
    Usual(0.06, 8.0, 0.003, 0.9),
];
const DEAF: [Usual; Past::ALL] = [
    Usual(0.008, 60.0, 0.0005, 0.5),
    Usual(0.4, 8.0, 0.02, 0.95),
    Usual(0.88, 10.0, 0.4, 0.95),
    Usual(0.05, 8.0, 0.001, 0.9),
    Usual(0.4, 8.0, 0.02, 0.95),
    Usual(0.75, 8.0, 0.3, 0.95),
    Usual(0.07, 8.0, 0.001, 0.9),
    Usual(0.35, 8.0, 0.02, 0.95),
    Usual(0.7, 8.0, 0.2, 0.95),
    Usual(0.06, 8.0, 0.001, 0.9),
];

impl Heard {
    /// An ACK that carries only the cumulative acknowledgement.
    pub(crate) fn plain(t: Time, ack: u64) -> Heard {
        Heard {
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

    /// The facts of one ACK, with up to four SACK blocks.
    pub(crate) fn of(d: &AckDigest, blocks: &[(u64, u64)], free: bool) -> Heard {
        let mut heard = Heard { dsack: d.dsack, echo: d.echo, free, ..Heard::plain(d.t, d.ack) };
        for block in blocks.iter().take(4) {
            heard.blocks[heard.count] = *block;
            heard.count += 1;
        }
        heard
    }

    /// Removes the FIN from the ACK: it takes a sequence number (RFC 9293 section 3.4) but is no data.
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
