//! RTO adaptation after a spurious timeout (catalogue EI-13 to EI-17).
//!
//! Nothing, or one of the ways of "Responding" section III.C to be more careful (catalogue EI-13 to EI-17). None of
//! them touches the estimator's rules.

use super::RtoTimer;
use crate::recovery::config::Adapt;
use crate::recovery::rtt::Rtt;
use base::Span;

/// What a timer has learned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Learned {
    /// Where the back-off ends: 1, or the level of the last spurious timeout.
    pub(super) kept: u32,
    /// The level that the last expiration reached.
    pub(super) reached: u32,
    /// By how much the least timeout is longer than configured.
    pub(super) longer: Span,
    /// The smoothed length of the delays.
    delay: Option<Span>,
    /// The next sample starts the estimate anew.
    reseed: bool,
}

/// What a timer can hand on to the next one. A genuine timeout makes each of them forget it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lesson {
    /// Where the back-off ends: 1, or the level of the last spurious timeout (`keep-backoff`).
    pub kept: u32,
    /// By how much the least timeout is longer than configured (`min++` and its kin).
    pub longer: Span,
    /// The smoothed length of the delays (`smoothed-delay`).
    pub delay: Option<Span>,
}

impl Default for Lesson {
    fn default() -> Self {
        Lesson { kept: 1, longer: Span::ZERO, delay: None }
    }
}

impl Default for Learned {
    fn default() -> Self {
        Learned { kept: 1, reached: 1, longer: Span::ZERO, delay: None, reseed: false }
    }
}

/// By how much `min++` lengthens the least timeout each time ("Responding", table 4).
const STEP: Span = Span::from_secs(1);

impl RtoTimer {
    /// A timeout was found to be spurious, by an acknowledgement that measured `sample`, which is that of
    /// a delayed segment and already part of the estimate. The caller restarts the timer.
    pub fn adapt_to_spurious(&mut self, sample: Option<Span>) {
        match self.config.adapt {
            Adapt::None => {}
            Adapt::Reseed => {
                self.learned.reseed = true;
                if let Some(rtt) = sample {
                    self.sample(rtt);
                }
            }
            // The sample at hand may have ended the back-off already; it comes back.
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

    /// What it has learned, for the next connection on the same path.
    pub fn lesson(&self) -> Lesson {
        Lesson { kept: self.learned.kept, longer: self.learned.longer, delay: self.learned.delay }
    }

    /// Goes on from what another connection has learned, if it adapts.
    pub fn go_on_from(&mut self, lesson: &Lesson) {
        if matches!(self.config.adapt, Adapt::None | Adapt::Reseed) {
            return;
        }
        let Lesson { kept, longer, delay } = *lesson;
        self.learned.kept = kept;
        self.backoff = self.backoff.max(kept);
        self.learned.delay = delay;
        self.lengthen(longer);
    }

    fn lengthen(&mut self, longer: Span) {
        self.learned.longer = longer.min(self.config.max);
    }

    /// A timeout was found to be genuine: what was learned is forgotten. The back-off that it caused
    /// itself ends as any other; where it has ended already, nothing of it is left.
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

    /// EI-17: the least timeout after delays of 3 s and 11 s, and after a genuine timeout.
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
