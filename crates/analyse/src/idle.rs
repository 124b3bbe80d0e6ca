//! Causes of pauses between two data segments: application, window, timer or path.
//!
//! Every pause between two data segments has one cause.

use crate::direction::Direction;
use crate::place::Side;
use crate::reason::{Phase, Reason};
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
            IdleCause::Timer => {
                "the next segment was one that only a timer sends, or segments before it were lost"
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
                _ if self.full && !matches!(self.phase, Phase::Timeout(_)) => IdleCause::Receiver,
                _ => IdleCause::Congestion,
            };
            self.tell_pause(since, t, cause);
            return;
        }
        // Nothing is outstanding: the path had its part until the last acknowledgement, the application since.
        let until = self.advanced.unwrap_or(since).max(since).min(t);
        let first = if self.full { IdleCause::Receiver } else { IdleCause::Congestion };
        self.tell_pause(since, until, first);
        let opened =
            if self.window_closed { t } else { self.window_opened.unwrap_or(until).max(until).min(t) };
        self.tell_pause(until, opened, IdleCause::Closed);
        // Next to the receiver an acknowledgement has yet to travel, and what it lets out has yet to come.
        let travels =
            if self.place.is_receiver() { self.place.to_sender.unwrap_or_default() } else { Span::ZERO };
        let back = (opened + travels).min(t);
        self.tell_pause(opened, back, IdleCause::Congestion);
        // Next to the sender nothing is lost before it is seen.
        let lost = lost && self.place.side() != Side::Sender;
        self.tell_pause(back, t, if lost { IdleCause::Timer } else { IdleCause::Application });
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
