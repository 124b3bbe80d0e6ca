//! Pacing of segments.
//!
//! Each one pushes the release of the next by its own length at the pacing rate: the congestion control's, or a
//! little more than a window a round trip (Aggarwal, Savage, Anderson 2000).
//!
//! What loss recovery resends is not held up, but counted; with RACK it is held up too, but for the first
//! segment of a recovery. A pause earns no credit.

use super::timers::Timer;
use super::{Sender, Tcb};
use crate::endpoint::Io;
use crate::tcp::cc::Control;
use crate::tcp::config::{Config, Pacing};
use base::{Span, Time};

/// Windows a round trip in slow start: the window doubles, and must not be held up by its own pacing.
const SLOW_START: f64 = 2.0;
/// Windows a round trip in congestion avoidance: enough to find more.
const AVOIDANCE: f64 = 1.2;

/// When the next segment may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// Whether anything is paced.
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
}

impl Tcb {
    /// Bytes a second, if segments are paced and a round trip is known.
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

    /// Whether the next segment may leave now; if not, a timer lets it out.
    #[inline]
    pub(in crate::tcp) fn released(&mut self, now: Time) -> bool {
        if !self.pacer.on || self.pacer.release <= now {
            return true;
        }
        self.timers.set(Timer::Release, self.pacer.release);
        false
    }

    /// So many bytes have left.
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
    /// The time of release has come.
    pub(super) fn on_release(&mut self, io: &mut Io<'_>) {
        // A recovery that counts a pipe sends by its own rules.
        if self.recovering() && self.pipe().is_some() {
            self.strategy.on_timer(&mut self.tcb, io, Timer::Release);
        } else {
            self.tcb.send_window(io, 0);
        }
    }
}
