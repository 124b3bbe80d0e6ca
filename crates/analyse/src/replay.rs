//! What happened between the first sign of trouble and its end? While something is amiss, what is sent and what comes
//! back is noted; once all of it is answered, `lattice.rs` weighs the courses of events that explain it.

use crate::copies::Copies;
use crate::digest::AckDigest;
use crate::lattice::{self, Counts, Heard, Outcome, Past, Rates, Sent};
use crate::mirror::{EchoRule, Mirror};
use crate::plain;
use base::Span;

/// More than this is not noted of one trouble.
const MOST: usize = 1 << 12;

/// So many steps are followed for one direction of a connection: one that is nothing but trouble does not hold up the
/// reading.
const ENOUGH: usize = 1 << 21;

/// Logarithm of the odds from which on the less likely rule is no longer looked at.
const DECIDED: f64 = 40.0;

/// What was noted.
#[derive(Default, Debug)]
pub(crate) struct Replay {
    active: bool,
    start: Option<Mirror>,
    sent: Vec<Sent>,
    heard: Vec<Heard>,
    /// The last acknowledgement before, and what the receiver had told until then: a first sign of trouble can have been
    /// in it.
    last: Option<(Mirror, Heard)>,
    /// Verdicts are wanted.
    wanted: bool,
    /// What must be acknowledged before it is over.
    until: u64,
    /// Steps that were followed so far.
    steps: usize,
    /// Weight of either rule so far.
    rules: [f64; 2],
    /// What was lost of packets and answers so far.
    counts: Counts,
}

impl Replay {
    /// Something is amiss: what is outstanding counts from now on.
    pub(crate) fn begin(&mut self, copies: &Copies, una: u64, max: u64, echo: Option<u32>) {
        if self.active {
            return;
        }
        self.active = true;
        self.until = max;
        let plain = Mirror { next: una, held: 0, echo: echo.unwrap_or(0), told: una, waits: false };
        let (start, heard) = match self.last.take() {
            Some((start, heard)) if heard.ack == una => (start, Some(heard)),
            _ => (plain, None),
        };
        self.start = Some(start);
        self.heard.extend(heard);
        let mut all: Vec<(u64, Sent)> = copies
            .of(start.next, u64::MAX)
            .map(|c| (c.serial, Sent { seq: c.seq, end: c.end, t: c.t, stamp: c.stamp, result: None }))
            .collect();
        all.sort_unstable_by_key(|c| c.0);
        self.sent.extend(all.into_iter().map(|c| c.1));
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

    /// An acknowledgement came; before it the receiver had told of `una` and echoed this.
    pub(crate) fn heard(&mut self, heard: Heard, una: u64, echo: Option<u32>) {
        if self.active {
            self.heard.push(heard);
        } else if heard.ack > una {
            let before = Mirror { next: una, held: 0, echo: echo.unwrap_or(0), told: una, waits: false };
            self.last = Some((before, heard));
        }
    }

    /// So many segments were delivered while nothing was amiss; so many answers were missing before theirs.
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

    /// True if all that was amiss has been answered.
    pub(crate) fn is_over(&self, una: u64, open: bool) -> bool {
        self.active && (!open && una > self.until || self.sent.len() + self.heard.len() > MOST)
    }

    /// What was noted is over.
    pub(crate) fn forget(&mut self) {
        self.active = false;
        self.wanted = false;
        self.sent.clear();
        self.heard.clear();
    }

    /// What was sent too late to be the cause of any answer that came says nothing, and is not lost for all that.
    fn cut(&mut self, least: Span) {
        if let Some(last) = self.heard.last() {
            let counts = |s: &Sent| s.result.is_some() || lattice::reachable(last, s.t, least);
            self.sent.truncate(self.sent.iter().rposition(counts).map_or(0, |i| i + 1));
        }
    }

    /// How likely each of the retransmissions was unneeded.
    pub(crate) fn finish(&mut self, mut rates: Rates) -> Vec<(usize, f64)> {
        let mut best: Option<(Outcome, f64)> = None;
        self.cut(rates.least);
        let start = self.start.filter(|_| self.wanted);
        // Most troubles are a loss or a few, and what came back leaves no doubt.
        let decided = start.and_then(|s| plain::decide(&self.sent, &self.heard, s.next, &rates));
        if let Some(outcome) = decided {
            best = Some((outcome, 0.0));
        } else if let (Some(start), true) = (start, self.steps < ENOUGH) {
            (rates.loss, rates.deaf) = self.rates();
            // Only echoes tell the rules apart. A receiver keeps to one, and after some troubles it is known which.
            let stamped = self.heard.iter().any(|h| h.echo.is_some());
            let ahead = self.rules[0] - self.rules[1];
            let (mut fits, mut score) = (false, 0.0);
            for (rule, sofar) in [EchoRule::Reaches, EchoRule::Contains].into_iter().zip(&mut self.rules) {
                let behind = if rule == EchoRule::Reaches { -ahead } else { ahead };
                if !stamped && rule == EchoRule::Contains || stamped && behind > DECIDED {
                    continue;
                }
                if fits {
                    *sofar += score;
                    continue;
                }
                rates.rule = rule;
                let outcome = lattice::weigh(&self.sent, &self.heard, start, &rates, &mut self.steps);
                if !stamped {
                    best = outcome.map(|outcome| (outcome, 0.0));
                } else if let Some(outcome) = outcome {
                    *sofar += outcome.score;
                    // Where every echo is as this rule has it, the other one cannot do better.
                    fits = rule == EchoRule::Reaches && ahead >= 0.0 && outcome.odd < 0.01;
                    score = outcome.score;
                    if best.as_ref().is_none_or(|b| *sofar > b.1) {
                        best = Some((outcome, *sofar));
                    }
                } else if ahead.abs() <= DECIDED {
                    *sofar -= 100.0;
                }
            }
        }
        self.forget();
        let Some((outcome, _)) = best else { return Vec::new() };
        for (sum, new) in
            [(&mut self.counts.loss, outcome.counts.loss), (&mut self.counts.deaf, outcome.counts.deaf)]
        {
            for (s, n) in sum.as_flattened_mut().iter_mut().zip(new.as_flattened()) {
                *s += n;
            }
        }
        outcome.odds
    }

    /// How often packets and answers are lost here: what is usual, weighed like a few packets, and what was seen.
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

/// What is usual, how many packets must be seen to outweigh that, and within which bounds it stays.
#[derive(Clone, Copy)]
struct Usual(f64, f64, f64, f64);

/// Of packets and of answers, in the order of [`crate::lattice::Past`].
const LOSS: [Usual; Past::ALL] = [
    Usual(0.03, 30.0, 0.003, 0.5),
    Usual(0.5, 6.0, 0.1, 0.98),
    Usual(0.9, 15.0, 0.6, 0.98),
    Usual(0.07, 8.0, 0.003, 0.9),
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
    /// What it says.
    pub(crate) fn of(d: &AckDigest, blocks: &[(u64, u64)], free: bool) -> Heard {
        let mut heard = Heard {
            t: d.t,
            left: None,
            ack: d.ack,
            dsack: d.dsack,
            blocks: [(0, 0); 4],
            count: 0,
            echo: d.echo,
            free,
        };
        for block in blocks.iter().take(4) {
            heard.blocks[heard.count] = *block;
            heard.count += 1;
        }
        heard
    }

    /// The FIN counts as a byte (RFC 9293 section 3.4), and is none of the data.
    pub(crate) fn leave_out(&mut self, fin: u64) {
        self.ack = self.ack.min(fin);
        let told = self.dsack.is_some();
        self.dsack = self.dsack.map(|(left, right)| (left, right.min(fin))).filter(|b| b.0 < b.1);
        // The FIN alone came twice.
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
