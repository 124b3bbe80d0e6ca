//! End of a direction: open verdicts closed, doubtful ones withdrawn (duplicate frames, reordering, missing ACKs), and
//! the direction's report filled in.

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
    /// Withdraws verdicts on retransmissions at the time distance of the capture's duplicate frames: without IP
    /// identifications, a duplicate frame looks like a retransmission.
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

    /// Withdraws verdicts on a reordering path: a segment that fills a gap may be a late original.
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

    /// Closes open verdicts at the end of the capture; returns report and RFC 3481 facts. `copied`: time between a
    /// packet and its duplicate frame, by IP identifications.
    pub(crate) fn finish(mut self, copied: Option<Span>) -> (FlowDirection, ProfileFacts) {
        self.judge.finish(&mut self.copies, &self.peer.clock, &self.rtt, &mut self.rulings);
        self.settle();
        self.weigh();
        self.doubt_copies(copied);
        self.doubt_order();
        let mut direction = std::mem::take(&mut self.stats);
        if !self.rtt.empty_path {
            // Data may have been in flight when the capture began. Without a posterior of the HMM, the absence of a
            // DSACK is then no evidence.
            let quiet = |r: &&mut Retransmission| r.evidence == Evidence::Silence && r.likelihood.is_none();
            let all = direction.retransmissions.iter_mut().filter(quiet);
            all.for_each(|r| (r.need, r.evidence) = (Need::Unknown, Evidence::Nothing));
        }
        if !self.answered {
            // The capture contains one direction only, so the ACKs are unknown.
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
        direction.faults.truncate(self.keep.unwrap_or_default().happenings);
        (direction, self.seen)
    }
}
