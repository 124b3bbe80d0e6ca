//! Detection of implementation faults of a TCP sender (RFC 5681, 6298, 6582) at retransmissions, and of data beyond
//! the offered window.

use super::Direction;
use crate::facts::copies::Copy;
use crate::facts::reason::{Reason, ResendContext};
use crate::facts::rtt;
use crate::findings::fault::{Fault, FaultKind};
use base::{Span, Time};

impl Direction {
    /// Records the faults that a retransmission shows.
    pub(super) fn note_faults(&mut self, scene: &ResendContext, reason: Reason, copy: &Copy) {
        let t = copy.t;
        let waited = scene.waited();
        match reason {
            Reason::Timeout => {
                let early = |least: Span| waited < least && waited != Span::FOREVER;
                if self.rtt.least(copy.end - copy.seq).is_some_and(early) {
                    self.fault(t, FaultKind::EarlyTimer, waited.as_nanos());
                }
                if let Some((seq, before)) = self.timer.ran
                    && seq == copy.seq
                    && self.acks.advanced < self.timer.expired
                    && waited < Span::from_nanos(before.as_nanos() / 10 * 8)
                {
                    self.fault(t, FaultKind::NoBackOff, waited.as_nanos());
                }
            }
            Reason::Fast if self.dupacks.count < 3 && self.sacked.is_empty() && self.dupacks.count > 0 => {
                self.fault(t, FaultKind::EarlyFastRetransmit, self.dupacks.count);
            }
            Reason::GoBackN => {
                let clocked =
                    self.acks.heard == Some(t) || rtt::age(t, self.acks.heard) < Span::from_millis(2);
                if self.dupacks.count > 0 && clocked && self.sacked.is_empty() {
                    self.fault(t, FaultKind::DuplicatesClock, self.dupacks.count);
                }
                if self.timer.expired == Some(t) && self.acks.heard != Some(t) {
                    self.timer.at_timeout += 1;
                    if self.timer.at_timeout == 2 {
                        self.fault(t, FaultKind::ResendsOutstanding, self.timer.at_timeout);
                    }
                }
            }
            _ => {}
        }
        if copy.end <= self.una && rtt::age(t, self.acks.advanced) > Span::from_millis(10) {
            self.fault(t, FaultKind::ResendsAcknowledged, copy.end - copy.seq);
        }
    }

    /// Records a fault at `t`, within the memory limits; `amount` in the unit of its kind.
    pub(crate) fn fault(&mut self, t: Time, kind: FaultKind, amount: u64) {
        if self.room(self.stats.faults.len()) {
            self.stats.faults.push(Fault { t, kind, amount });
        }
    }

    /// Records a fault if data sent at `t` up to offset `end` lie beyond the offered window.
    pub(super) fn overruns(&mut self, t: Time, end: u64) {
        // One byte beyond a closed window is a window probe (RFC 9293 section 3.8.6.1).
        if let Some(edge) = self.window.edge
            && end > edge + 1
            && self.answered
        {
            self.fault(t, FaultKind::WindowOverrun, end - edge);
        }
    }
}
