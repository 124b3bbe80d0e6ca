//! Pacing of the TCP sender's segments: rate, release time, charge per segment.
//!
//! Each segment delays the release of the next by its length at the pacing rate. That rate comes from the
//! congestion control, or is a little more than a window per RTT (Aggarwal, Savage, Anderson 2000).
//!
//! Retransmissions of loss recovery are charged but not delayed. With RACK they are delayed too, except the
//! first segment of a recovery. Idle time earns no credit.

use super::timers::Timer;
use super::{Sender, Tcb};
use crate::endpoint::Io;
use crate::tcp::cc::CongestionAlgorithm;
use crate::tcp::config::{Config, Pacing};
use base::{Span, Time};

/// Windows per RTT in slow start: the window doubles each RTT, and pacing must not limit it.
const SLOW_START: f64 = 2.0;
/// Windows per RTT in congestion avoidance: above one, so that the window can grow.
const AVOIDANCE: f64 = 1.2;

/// Pacing state: time at which the next segment may be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// Whether segments are paced.
    on: bool,
    release: Time,
}

impl Pacer {
    pub(super) fn new(config: &Config, asks: bool) -> Self {
        let on = match config.pacing {
            Pacing::Auto => asks,
            Pacing::On => true,
            Pacing::Off => false,
        };
        Pacer { on, release: Time::ZERO }
    }

    /// Whether segments are paced.
    pub(super) fn is_on(&self) -> bool {
        self.on
    }
}

impl Tcb {
    /// Pacing rate in bytes per second, if segments are paced and an RTT is known.
    fn pacing_rate(&self) -> Option<f64> {
        if let Some(rate) = self.control.pacing_rate() {
            return Some(rate);
        }
        let srtt = self.rto.srtt();
        if srtt.is_zero() || self.control.owns_window() {
            return None;
        }
        let windows = if self.window.in_slow_start() { SLOW_START } else { AVOIDANCE };
        Some(windows * self.window.cwnd / srtt.as_secs_f64())
    }

    /// Whether the next segment may leave now; if not, sets the release timer.
    #[inline]
    pub(in crate::tcp) fn released(&mut self, now: Time) -> bool {
        if !self.pacer.on || self.pacer.release <= now {
            return true;
        }
        self.timers.set(Timer::Release, self.pacer.release);
        false
    }

    /// Charges `bytes` just sent to the pacer.
    #[inline]
    pub(super) fn charge(&mut self, now: Time, bytes: u64) {
        if self.pacer.on
            && let Some(rate) = self.pacing_rate()
        {
            let span = Span::from_secs_f64(bytes as f64 / rate.max(1.0));
            self.pacer.release = self.pacer.release.max(now) + span;
        }
    }
}

impl Sender {
    /// The release timer expired.
    pub(super) fn on_release(&mut self, io: &mut Io<'_>) {
        // A recovery with a pipe estimate controls transmission itself.
        if self.recovering() && self.pipe().is_some() {
            self.strategy.on_timer(&mut self.tcb, io, Timer::Release);
        } else {
            self.tcb.send_window(io, 0);
        }
    }
}
