//! Timer table of the TCP sender, without the RTO: reordering timer, tail loss probe (RFC 8985), pacing release,
//! persist timer; dispatch of all expiries.
//!
//! The retransmission timer is separate ([`crate::recovery::rto`]). The table caches the earliest deadline, which every
//! event reads.
//!
//! A new timer needs a line in [`Timer`] and an arm in `Sender::on_timer`.

use super::Sender;
use crate::endpoint::Io;
use base::Time;

/// Timers other than the retransmission timer, in their order of execution at equal times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timer {
    /// Reordering timer of RACK (RFC 8985 section 6.3): segments still missing at its expiry are lost.
    Reordering,
    /// Tail loss probe (RFC 8985 section 7.2).
    Probe,
    /// Release time of the next paced segment.
    Release,
    /// Persist timer: probes a closed window.
    Persist,
}

impl Timer {
    /// All timers.
    pub const ALL: [Timer; 4] = [Timer::Reordering, Timer::Probe, Timer::Release, Timer::Persist];
}

/// Expiry of each timer; [`Time::NEVER`] if it is off.
#[derive(Clone, Copy, Debug)]
pub struct Timers {
    next: Time,
    at: [Time; Timer::ALL.len()],
}

impl Default for Timers {
    fn default() -> Self {
        Timers { next: Time::NEVER, at: [Time::NEVER; Timer::ALL.len()] }
    }
}

impl Timers {
    /// Expiry of the earliest timer; [`Time::NEVER`]: all are off.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Expiry of `timer`; [`Time::NEVER`] if it is off.
    pub fn deadline(&self, timer: Timer) -> Time {
        self.at[timer as usize]
    }

    /// Starts or restarts `timer`; [`Time::NEVER`] stops it.
    pub fn set(&mut self, timer: Timer, at: Time) {
        self.at[timer as usize] = at;
        self.next = self.at.iter().copied().min().unwrap_or(Time::NEVER);
    }

    /// Stops `timer`.
    pub fn stop(&mut self, timer: Timer) {
        if self.at[timer as usize] != Time::NEVER {
            self.set(timer, Time::NEVER);
        }
    }

    /// Stops and returns one timer that has expired by `now`.
    fn expired(&mut self, now: Time) -> Option<Timer> {
        if self.next > now {
            return None;
        }
        let timer = Timer::ALL.into_iter().find(|t| self.deadline(*t) <= now)?;
        self.stop(timer);
        Some(timer)
    }
}

impl Sender {
    /// Expiry of the earliest timer, the retransmission timer included.
    pub fn next_timeout(&self) -> Time {
        self.tcb.rto.deadline().min(self.tcb.timers.next())
    }

    /// Processes all expired timers.
    pub fn on_timeout(&mut self, io: &mut Io<'_>) {
        self.tcb.status.rested = false;
        while let Some(timer) = self.tcb.timers.expired(io.now) {
            self.on_timer(io, timer);
        }
        if self.tcb.rto.deadline() <= io.now {
            self.on_expiration(io);
        }
        if self.tcb.feedback.losses {
            self.tcb.report_losses(io.now);
        }
    }

    fn on_timer(&mut self, io: &mut Io<'_>, timer: Timer) {
        match timer {
            Timer::Reordering | Timer::Probe => self.strategy.on_timer(&mut self.tcb, io, timer),
            Timer::Release => self.on_release(io),
            Timer::Persist => self.tcb.on_persist(io),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_at_hand_and_each_expires_once() {
        let at = Time::from_nanos;
        let mut timers = Timers::default();
        assert!(timers.next().is_never());
        timers.set(Timer::Probe, at(20));
        timers.set(Timer::Reordering, at(30));
        assert_eq!(timers.next(), at(20));
        assert_eq!(timers.expired(at(19)), None);
        assert_eq!(timers.expired(at(30)), Some(Timer::Reordering));
        assert_eq!(timers.expired(at(30)), Some(Timer::Probe));
        assert_eq!(timers.expired(at(30)), None);
        assert!(timers.next().is_never());
    }
}
