//! RTO adaptation after a spurious timeout (catalogue EI-13 to EI-17).
//!
//! The options of "Responding" section III.C make the retransmission timer more conservative: a kept back-off, a larger
//! minimum RTO, or a new estimate from the next RTT sample.

use super::RtoTimer;
use crate::recovery::config::Adapt;
use crate::recovery::rtt::Rtt;
use base::Span;

/// State adapted after spurious timeouts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Learned {
    /// Back-off factor after a reset: 1, or that of the last spurious timeout.
    pub(super) kept: u32,
    /// Back-off factor at the last expiry.
    pub(super) reached: u32,
    /// Addition to the minimum RTO.
    pub(super) longer: Span,
    /// Smoothed RTT of delayed segments (`smoothed-delay`).
    delay: Option<Span>,
    /// The next RTT sample re-initialises the estimator (`reseed`).
    reseed: bool,
}

/// Adapted state that the next connection takes over. A genuine timeout resets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdaptedRto {
    /// Back-off factor after a reset: 1, or that of the last spurious timeout (`keep-backoff`).
    pub kept: u32,
    /// Addition to the minimum RTO (`min++` and its variants).
    pub longer: Span,
    /// Smoothed RTT of delayed segments (`smoothed-delay`).
    pub delay: Option<Span>,
}

impl Default for AdaptedRto {
    fn default() -> Self {
        AdaptedRto { kept: 1, longer: Span::ZERO, delay: None }
    }
}

impl Default for Learned {
    fn default() -> Self {
        Learned { kept: 1, reached: 1, longer: Span::ZERO, delay: None, reseed: false }
    }
}

/// Increment of `min++` ("Responding", table 4).
const STEP: Span = Span::from_secs(1);

impl RtoTimer {
    /// Adapts to a spurious timeout. `sample` is the RTT of the delayed segment in the revealing ACK, already
    /// part of the estimate. The caller restarts the timer.
    pub fn adapt_to_spurious(&mut self, sample: Option<Span>) {
        match self.config.adapt {
            Adapt::None => {}
            Adapt::Reseed => {
                self.learned.reseed = true;
                if let Some(rtt) = sample {
                    self.sample(rtt);
                }
            }
            // The sample of this ACK may have reset the back-off: restores it.
            Adapt::KeepBackoff => {
                self.learned.kept = self.learned.reached;
                self.backoff = self.backoff.max(self.learned.kept);
            }
            Adapt::MinPlusPlus | Adapt::MinHalves => self.lengthen(self.learned.longer + STEP),
            Adapt::Delay => {
                if let Some(delay) = sample {
                    self.lengthen(delay - self.config.min);
                }
            }
            Adapt::SmoothedDelay => {
                if let Some(delay) = sample {
                    let smoothed = match self.learned.delay {
                        None => delay,
                        Some(before) => Span::from_nanos((7 * before.as_nanos() + delay.as_nanos()) / 8),
                    };
                    self.learned.delay = Some(smoothed);
                    self.lengthen(smoothed - self.config.min);
                }
            }
        }
    }

    /// Adapted state, for the next connection on the same path.
    pub fn lesson(&self) -> AdaptedRto {
        AdaptedRto { kept: self.learned.kept, longer: self.learned.longer, delay: self.learned.delay }
    }

    /// Takes over the adapted state of an earlier connection, if `adapt` is on.
    pub fn go_on_from(&mut self, lesson: &AdaptedRto) {
        if matches!(self.config.adapt, Adapt::None | Adapt::Reseed) {
            return;
        }
        let AdaptedRto { kept, longer, delay } = *lesson;
        self.learned.kept = kept;
        self.backoff = self.backoff.max(kept);
        self.learned.delay = delay;
        self.lengthen(longer);
    }

    fn lengthen(&mut self, longer: Span) {
        self.learned.longer = longer.min(self.config.max);
    }

    /// Resets the adapted state after a genuine timeout. The back-off of that timeout is reset as usual; if it was
    /// reset before, the back-off factor becomes 1.
    pub fn adapt_to_genuine(&mut self) {
        if self.backoff == self.learned.kept {
            self.backoff = 1;
        }
        self.learned.kept = 1;
        self.learned.delay = None;
        self.learned.longer = match self.config.adapt {
            Adapt::MinHalves => Span::from_nanos(self.learned.longer.as_nanos() / 2),
            _ => Span::ZERO,
        };
    }

    pub(super) fn reseed_if_due(&mut self) {
        if std::mem::take(&mut self.learned.reseed) {
            self.rtt = Rtt::new(&self.config);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Config;

    /// EI-17: minimum RTO after delays of 3 s and 11 s, and after a genuine timeout.
    #[test]
    fn what_the_length_of_a_delay_teaches() {
        let least = |adapt| {
            let mut config = Config::default().rto;
            config.adapt = adapt;
            let mut timer = RtoTimer::new(config);
            let mut seen = Vec::new();
            for delay in [3, 11] {
                timer.adapt_to_spurious(Some(Span::from_secs(delay)));
                seen.push((config.min + timer.learned.longer).as_nanos() / 1_000_000);
            }
            timer.adapt_to_genuine();
            seen.push((config.min + timer.learned.longer).as_nanos() / 1_000_000);
            seen
        };
        assert_eq!(least(Adapt::MinPlusPlus), [2000, 3000, 1000]);
        assert_eq!(least(Adapt::MinHalves), [2000, 3000, 2000]);
        assert_eq!(least(Adapt::Delay), [3000, 11_000, 1000]);
        assert_eq!(least(Adapt::SmoothedDelay), [3000, 4000, 1000]);
    }
}
