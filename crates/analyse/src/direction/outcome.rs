//! End of a direction: settles the open verdicts and derives the findings of the flow.

use super::Direction;
use crate::facts::copies::Evidence;
use crate::facts::reason::Reason;
use crate::findings::flow::{FlowDirection, Retransmission};
use crate::findings::outcome;
use crate::findings::profile::ProfileFacts;
use crate::intake::dedup::is_near;
use crate::verdict::Need;
use base::Span;

impl Direction {
    /// A packet captured twice without an identification looks like a retransmission. Retransmissions at the distance
    /// of the capture's duplicates therefore get no verdict.
    fn doubt_copies(&mut self, copied: Option<Span>) {
        let Some(lag) = copied.filter(|_| !self.own.counts()) else { return };
        // The first copy of acknowledged bytes is no longer in the send log.
        let apart = |r: &Retransmission| match r.original {
            Some(t) => is_near(r.t.since(t), lag),
            None => r.end <= r.acked,
        };
        for r in self.stats.retransmissions.iter_mut().filter(|r| apart(r)) {
            (r.need, r.evidence, r.reason) = (Need::Unknown, Evidence::Nothing, Reason::Unknown);
            r.likelihood = None;
        }
    }

    /// On a path that reorders, a segment that fills a gap may be a late original.
    fn doubt_order(&mut self) {
        if self.stats.out_of_order == 0 {
            return;
        }
        for at in self.unordered.drain(..) {
            if let Some(r) = self.stats.retransmissions.get_mut(at).filter(|r| r.evidence == Evidence::Unseen)
            {
                (r.need, r.evidence, r.reason) = (Need::Unknown, Evidence::Nothing, Reason::Unknown);
                r.likelihood = None;
            }
        }
    }

    /// Settles open verdicts at the end of the capture; returns the findings and the sender's profile. `copied`: time
    /// between duplicates made by the capture, from IP identifications.
    pub(crate) fn finish(mut self, copied: Option<Span>) -> (FlowDirection, ProfileFacts) {
        self.judge.finish(&mut self.copies, &self.peer.clock, &self.rtt, &mut self.rulings);
        self.settle();
        self.weigh();
        self.doubt_copies(copied);
        self.doubt_order();
        let mut direction = std::mem::take(&mut self.stats);
        if !self.rtt.empty_path {
            // Data may have been in flight when the capture began. Without a likelihood from the HMM, a missing duplicate
            // report is then no evidence.
            let quiet = |r: &&mut Retransmission| r.evidence == Evidence::Silence && r.likelihood.is_none();
            let all = direction.retransmissions.iter_mut().filter(quiet);
            all.for_each(|r| (r.need, r.evidence) = (Need::Unknown, Evidence::Nothing));
        }
        if !self.answered {
            // The capture holds one direction only, so the ACKs are unknown.
            let all = direction.retransmissions.iter_mut().filter(|r| r.evidence != Evidence::Seen);
            all.for_each(|r| {
                (r.need, r.evidence, r.reason) = (Need::Unknown, Evidence::Nothing, Reason::Unknown)
            });
        }
        direction.rtt = self.rtt.summary();
        direction.place = self.place;
        direction.replies_lost = self.peer.numbers.lost();
        direction.bottleneck_bps =
            self.bottleneck().map(|(bytes, span)| bytes as f64 * 8.0 / span.as_secs_f64());
        direction.options.timestamps = self.judge.stamped;
        let covered = self.una.min(self.max);
        let control = |upto: u64| 1 + u64::from(self.control.fin.is_some_and(|fin| fin < upto));
        let sent = self.max.saturating_sub(self.base + control(self.max));
        direction.delivered_bytes = match self.answered {
            true => covered.saturating_sub(self.base + control(covered)),
            false => sent.min(direction.data_bytes),
        };
        outcome::timeouts(&mut direction, self.peer.clock.tick());
        direction.fast_retransmits = outcome::fast(&direction.retransmissions);
        direction.origin = self.base as u32;
        outcome::again(&mut direction);
        outcome::first_flight(&mut direction, self.seen);
        (direction, self.seen)
    }
}
