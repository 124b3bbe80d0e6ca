//! What does the timer learn from a spurious timeout? Nothing, or one of the three ways of "Responding"
//! section III.C to be more careful (catalogue EI-13 to EI-16). None of them touches the estimator's rules.

use super::RtoTimer;
use crate::recovery::rtt::Rtt;
use crate::tcp::config::Adapt;
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
    /// The next sample starts the estimate anew.
    reseed: bool,
}

impl Default for Learned {
    fn default() -> Self {
        Learned { kept: 1, reached: 1, longer: Span::ZERO, reseed: false }
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
            Adapt::MinPlusPlus => self.learned.longer = (self.learned.longer + STEP).min(self.config.max),
        }
    }

    /// A timeout was found to be genuine: what was learned is forgotten. The back-off that it caused
    /// itself ends as any other; where it has ended already, nothing of it is left.
    pub fn adapt_to_genuine(&mut self) {
        if self.backoff == self.learned.kept {
            self.backoff = 1;
        }
        self.learned.kept = 1;
        self.learned.longer = Span::ZERO;
    }

    pub(super) fn reseed_if_due(&mut self) {
        if std::mem::take(&mut self.learned.reseed) {
            self.rtt = Rtt::new(&self.config);
        }
    }
}
