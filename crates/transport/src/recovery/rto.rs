//! Retransmission timer ([`RtoTimer`]): RTO from the RTT estimate, minimum and maximum, exponential back-off (RFC 6298
//! sections 2.4, 5).
//!
//! The RTO doubles at each consecutive expiry until the back-off is reset.

mod adapt;

use super::rtt::{Round, Rtt};
use super::wheel;
use crate::recovery::config::RtoConfig;
pub use adapt::AdaptedRto;
use adapt::Learned;
use base::{Span, Time};

/// Retransmission timer of one sender. Fields are ordered for the cache: the deadline is read at every event.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct RtoTimer {
    /// Expiry; [`Time::NEVER`] if it is off.
    deadline: Time,
    /// Timeout without back-off: from the RTT estimate, or the initial RTO before the first sample.
    base: Span,
    /// Smoothed round-trip time of `rtt`; zero before the first sample.
    srtt: Span,
    /// Back-off factor: doubles at each consecutive expiry, up to `MAX_BACKOFF`.
    backoff: u32,
    /// RTT estimator. Every change is followed by [`RtoTimer::recompute`].
    pub rtt: Rtt,
    config: RtoConfig,
    /// State adapted after spurious timeouts.
    learned: Learned,
}

/// Maximum back-off factor; the maximum RTO usually limits it sooner.
const MAX_BACKOFF: u32 = 64;
/// Initial RTO for data after a retransmitted SYN.
const AFTER_LOST_SYN: Span = Span::from_secs(3);
/// Smallest back-off factor at which BSD discards SRTT.
const DISTRUST_FROM: u32 = 16;

impl RtoTimer {
    /// A stopped timer.
    pub fn new(config: RtoConfig) -> Self {
        RtoTimer {
            rtt: Rtt::new(&config),
            base: config.initial,
            srtt: Span::ZERO,
            backoff: 1,
            deadline: Time::NEVER,
            learned: Learned::default(),
            config,
        }
    }

    /// Processes an RTT sample without state of the sender.
    pub fn sample(&mut self, rtt: Span) {
        self.reseed_if_due();
        self.rtt.sample(rtt, &self.config);
        self.recompute();
    }

    /// Processes an RTT sample with the state of the sender (`round`).
    #[inline]
    pub fn sample_in(&mut self, rtt: Span, round: &Round) {
        self.reseed_if_due();
        self.rtt.sample_in(rtt, round, &self.config);
        self.recompute();
    }

    /// Updates SRTT and timeout after the estimate was changed.
    #[inline]
    pub fn recompute(&mut self) {
        self.srtt = self.rtt.srtt(&self.config).unwrap_or_default();
        if let Some(timeout) = self.rtt.timeout(&self.config) {
            self.base = match self.config.percent {
                100 => timeout,
                percent => Span::from_nanos(timeout.as_nanos() / 100 * u64::from(percent)),
            };
        }
    }

    //= RFC 6298 section 5.7: re-initialized to 3 seconds when data transmission begins
    /// After a retransmitted SYN without an RTT sample, sets the RTO to three seconds, or to the initial RTO if longer.
    pub fn after_lost_syn(&mut self) {
        if self.rtt.srtt(&self.config).is_none() {
            self.base = self.config.initial.max(AFTER_LOST_SYN);
            self.backoff = 1;
        }
    }

    /// Sets the timeout until an RTT is measured.
    pub fn expect(&mut self, timeout: Span) {
        self.base = timeout;
    }

    /// True while a back-off multiplies the timeout.
    pub fn backed_off(&self) -> bool {
        self.backoff > 1
    }

    /// Current timeout, back-off and bounds included.
    #[inline(always)]
    pub fn timeout(&self) -> Span {
        let config = &self.config;
        let min = config.min + self.learned.longer;
        let backed_off = if config.clamp_before_backoff {
            //= RFC 6298 section 2.4: less than the minimum is rounded up, then 5.5: backed off
            self.base.max(min).times(u64::from(self.backoff))
        } else {
            self.base.times(u64::from(self.backoff)).max(min)
        };
        backed_off.min(config.max).max(config.tick.times(2))
    }

    /// Starts or restarts the timer.
    #[inline(always)] // once for each ACK of new data
    pub fn restart(&mut self, now: Time) {
        self.deadline = self.at(now, self.timeout());
    }

    /// Expiry of a timer set at `now` for `wait`.
    #[inline]
    pub fn at(&self, now: Time, wait: Span) -> Time {
        if self.config.wheel { wheel::expiry(now, wait) } else { now + wait }
    }

    /// Restarts the timer with `timeout`, the RTO before the last RTT sample.
    pub fn restart_with(&mut self, now: Time, timeout: Span) {
        self.deadline = self.at(now, timeout);
    }

    /// Restarts the timer so that it expires one RTO after `sent`, but at least two ticks from now.
    pub fn restart_from(&mut self, sent: Time, now: Time) {
        let until = (sent + self.timeout()).max(now + self.config.tick.times(2));
        self.deadline = self.at(now, until.since(now));
    }

    /// Starts the timer if it is off.
    #[inline]
    pub fn ensure(&mut self, now: Time) {
        if self.deadline.is_never() {
            self.restart(now);
        }
    }

    /// Stops the timer.
    pub fn stop(&mut self) {
        self.deadline = Time::NEVER;
    }

    /// Expiry; [`Time::NEVER`] if it is off.
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Doubles the back-off factor after an expiry, up to 64.
    pub fn back_off(&mut self) {
        if self.backoff < MAX_BACKOFF {
            self.backoff *= 2;
        }
        self.learned.reached = self.backoff;
        if self.backoff >= DISTRUST_FROM {
            self.rtt.distrust();
            self.srtt = self.rtt.srtt(&self.config).unwrap_or_default();
        }
    }

    /// Resets the back-off factor: to 1, or to the factor kept with [`Adapt::KeepBackoff`](super::config::Adapt).
    pub fn end_backoff(&mut self) {
        self.backoff = self.learned.kept;
    }

    /// Timer options.
    pub fn config(&self) -> &RtoConfig {
        &self.config
    }

    /// Smoothed round-trip time; zero before the first sample.
    #[inline]
    pub fn srtt(&self) -> Span {
        self.srtt
    }

    /// RTT variation.
    pub fn rttvar(&self) -> Span {
        self.rtt.rttvar(&self.config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Config;

    #[test]
    fn doubles_up_to_the_maximum_and_comes_back() {
        let mut t = RtoTimer::new(Config::default().rto);
        assert_eq!(t.timeout(), Span::from_secs(1));
        for expected in [2, 4, 8, 16, 32, 60, 60] {
            t.back_off();
            assert_eq!(t.timeout(), Span::from_secs(expected));
        }
        t.end_backoff();
        t.sample(Span::from_millis(100));
        assert_eq!(t.timeout(), Span::from_secs(1)); // 300 ms, rounded up
    }

    /// FB-03: a timer set to a fraction of the computed timeout; the minimum still applies.
    #[test]
    fn a_premature_timer_is_a_part_of_the_computed_one() {
        let mut config = Config::default().rto;
        config.percent = 40;
        let mut t = RtoTimer::new(config);
        t.sample(Span::from_secs(2)); // 2 + 4 x 1 = 6 s
        assert_eq!(t.timeout(), Span::from_millis(2400));
        config.percent = 10;
        let mut t = RtoTimer::new(config);
        t.sample(Span::from_secs(2));
        assert_eq!(t.timeout(), Span::from_secs(1));
    }

    /// EI-18: the RTO less the age of an earlier segment, at least two ticks.
    #[test]
    fn restarts_from_the_time_of_sending() {
        let mut config = Config::default().rto;
        config.tick = Span::from_millis(10);
        let mut t = RtoTimer::new(config);
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        t.restart_from(at(400), at(1000));
        assert_eq!(t.deadline(), at(1400));
        t.restart_from(at(400), at(1399));
        assert_eq!(t.deadline(), at(1419));
    }
}
