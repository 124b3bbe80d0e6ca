//! Causes of pauses between two data segments: application, window, timer or path.
//!
//! Every pause between two data segments has one cause.

use crate::direction::Direction;
use crate::direction::reason::{Phase, Reason};
use base::{Span, Time};

base::named! {
    /// What a sender waited for.
    pub enum IdleCause {
        /// Its own application, or a request of the peer: nothing was outstanding.
        Application = "application-limited",
        /// The receiver's window was full.
        Receiver = "receiver-limited",
        /// The receiver offered no window at all.
        Closed = "window-closed",
        /// Acknowledgements: what the path and the congestion window let through.
        Congestion = "congestion-limited",
        /// The retransmission timer.
        Timer = "waiting-for-a-timer",
        /// Away from the sender: what it sent before the next segment was lost on its way to the capture.
        Lost = "lost-before-the-capture",
        /// Away from the sender: nothing to send, a timer, or a path that holds everything up.
        Unknown = "unknown",
    }
}

impl IdleCause {
    /// How it is known.
    pub const fn evidence(self) -> &'static str {
        match self {
            IdleCause::Application => "nothing was outstanding and the window was open",
            IdleCause::Closed => "the receiver offered no window at all",
            IdleCause::Receiver => "no segment fitted into the window that was offered",
            IdleCause::Congestion => "data were outstanding and the window offered was open",
            IdleCause::Timer => "the next segment was one that only a timer sends",
            IdleCause::Lost => {
                "the sender's numbers, or a gap in its sequence, show that packets before the next one never came here"
            }
            IdleCause::Unknown => {
                "all that had passed was acknowledged; what the sender sent, heard and waited for is not seen from here"
            }
        }
    }
}

/// A pause that is worth telling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Idle {
    /// Since when.
    pub t: Time,
    /// Until when.
    pub until: Time,
    /// Why.
    pub cause: IdleCause,
}

/// Shorter pauses are not told one by one.
pub(crate) const SHORTEST: Span = Span::from_millis(200);

impl Direction {
    /// The sender speaks again; what had it waited for? `lost`: what it said meanwhile never came here.
    pub(crate) fn paused(&mut self, t: Time, reason: Option<Reason>, lost: bool) {
        let Some(since) = self.last_sent else { return };
        let pause = t.since(since);
        if pause.is_zero() {
            return;
        }
        let outstanding = self.una < self.max;
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
        // Nothing is outstanding: the path had its part until the last acknowledgement, the application since.
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
        // An acknowledgement has yet to travel from here, and what it lets out has yet to come.
        let back = (opened + self.place.to_sender.unwrap_or_default()).min(t);
        self.tell_pause(opened, back, IdleCause::Congestion);
        self.tell_pause(back, t, if lost { IdleCause::Lost } else { IdleCause::Unknown });
    }

    fn tell_pause(&mut self, t: Time, until: Time, cause: IdleCause) {
        let span = until.since(t);
        self.way.time.add(cause, span);
        let usual = self.rtt.smoothed().unwrap_or(Span::ZERO);
        if span >= SHORTEST && span > usual + usual && self.room(self.way.idles.len()) {
            self.way.idles.push(Idle { t, until, cause });
        }
    }
}
