//! Idle periods of the sender: each is assigned its cause (application, window, timer, path, loss before the capture
//! point).

use super::Direction;
use crate::facts::reason::{Phase, Reason};
use crate::findings::idle::{Idle, IdleCause, SHORTEST};
use base::{Span, Time};

/// Upper bound of the first retransmission timer of stacks in use: 1 s (RFC 6298 section 2), or 3 s before
/// the first RTT sample (RFC 1122 section 4.2.3.1), plus a margin.
const LONGEST_TIMER: Span = Span::from_secs(4);

impl Direction {
    /// Ends an idle period at `t` and assigns its cause. `lost`: packets sent in the meantime were lost before the
    /// capture point.
    pub(crate) fn paused(&mut self, t: Time, reason: Option<Reason>, lost: bool) {
        let Some(since) = self.last_sent else { return };
        let pause = t.since(since);
        if pause.is_zero() {
            return;
        }
        if self.missed_since(since) {
            self.tell_pause(since, t, IdleCause::Unknown);
            return;
        }
        let outstanding = self.una < self.max;
        // After a timeout without ACKs, a sender sends no new data: packets are missing from the capture.
        let beyond_timer = pause > LONGEST_TIMER.max(self.rtt.timeout().unwrap_or_default().times(4));
        if outstanding && reason.is_none() && beyond_timer && self.acks.heard.is_none_or(|t| t <= since) {
            self.misses(t);
            self.tell_pause(since, t, IdleCause::Unknown);
            return;
        }
        if outstanding || reason.is_some() {
            let cause = match reason {
                Some(Reason::Timeout | Reason::Probe) => IdleCause::Timer,
                Some(Reason::Unknown) => IdleCause::Unknown,
                _ if self.window.full && !matches!(self.phase, Phase::Timeout(_)) => IdleCause::Receiver,
                _ => IdleCause::Congestion,
            };
            self.tell_pause(since, t, cause);
            return;
        }
        // No data outstanding: until the last ACK of new data the path was the cause, afterwards the application.
        let until = self.acks.advanced.unwrap_or(since).max(since).min(t);
        let first = if self.window.full { IdleCause::Receiver } else { IdleCause::Congestion };
        self.tell_pause(since, until, first);
        let closed = self.window.closed_at.is_some();
        let opened = if closed { t } else { self.window.opened.unwrap_or(until).max(until).min(t) };
        self.tell_pause(until, opened, IdleCause::Closed);
        if !self.place.is_far() {
            self.tell_pause(opened, t, IdleCause::Application);
            return;
        }
        // The window update travels to the sender, and the released data travel to the capture point.
        let back = (opened + self.place.to_sender.unwrap_or_default()).min(t);
        self.tell_pause(opened, back, IdleCause::Congestion);
        if lost {
            self.acks.lost_pauses += t.since(back);
        }
        self.tell_pause(back, t, if lost { IdleCause::Lost } else { IdleCause::Unknown });
    }

    /// Packets counted as lost before the capture point are acknowledged, so only the capture lacks them: the idle
    /// periods get the cause unknown.
    pub(crate) fn was_not_lost(&mut self) {
        let span = std::mem::take(&mut self.acks.lost_pauses);
        if span.is_zero() {
            return;
        }
        self.stats.time.moved(IdleCause::Lost, IdleCause::Unknown, span);
        let since = self.acks.advanced.unwrap_or_default();
        let recent = self.stats.idles.iter_mut().rev().take_while(|idle| idle.until > since);
        recent.filter(|idle| idle.cause == IdleCause::Lost).for_each(|idle| idle.cause = IdleCause::Unknown);
    }

    fn tell_pause(&mut self, t: Time, until: Time, cause: IdleCause) {
        let span = until.since(t);
        self.stats.time.add(cause, span);
        let usual = self.rtt.smoothed().unwrap_or(Span::ZERO);
        if span >= SHORTEST && span > usual + usual && self.room(self.stats.idles.len()) {
            self.stats.idles.push(Idle { t, until, cause });
        }
    }
}
