//! Clock offset between two hosts, bounded by request-reply timestamps.
//!
//! A question that was sent at `sent` and answered by the time `there` at `back` says that it is ahead by at least
//! `there - back` and at most `there - sent`, however long either way took. What all of a few questions in a row say
//! at once is kept; half its width is what nobody can know.

use base::Span;
use emulate::accuracy::overhead::Compared;

/// What a few questions said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    least: i64,
    most: i64,
    /// How many there were.
    pub looks: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { least: i64::MIN, most: i64::MAX, looks: 0 }
    }
}

fn difference(a: u64, b: u64) -> i64 {
    let clamped = (i128::from(a) - i128::from(b)).clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    clamped as i64
}

impl Bounds {
    /// Takes in one question, all in nanoseconds.
    pub fn look(&mut self, sent: u64, there: u64, back: u64) {
        self.least = self.least.max(difference(there, back));
        self.most = self.most.min(difference(there, sent));
        self.looks += 1;
    }

    /// How far it is ahead: in the middle.
    pub fn ahead(&self) -> i64 {
        ((i128::from(self.least) + i128::from(self.most)) / 2) as i64
    }

    /// By how much `ahead` may be wrong at worst.
    fn off(&self, ahead: i64) -> Span {
        let far = |bound: i64| ahead.abs_diff(bound);
        Span::from_nanos(far(self.least).max(far(self.most)))
    }

    /// What a run may have been wrong by that reckoned with these bounds, when `later` ones were found at its end: clocks
    /// that run at another pace each have moved by then, and were no farther off in between.
    pub fn compared(&self, later: &Bounds) -> Compared {
        let ahead_ns = self.ahead();
        let uncertain = self.off(ahead_ns).max(later.off(ahead_ns));
        Compared { ahead_ns, uncertain, looks: self.looks + later.looks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the ways took, the truth lies within what is said; also at the end, when clocks have drifted.
        #[test]
        fn the_truth_is_within_the_uncertainty(
            truth in -1_000_000_000i64..1_000_000_000,
            drift in -5_000i64..5_000,
            ways in proptest::collection::vec((0u64..3_000_000, 0u64..3_000_000), 1..30),
        ) {
            let bounds = |truth: i64| {
                let mut bounds = Bounds::default();
                for (i, (there, back)) in ways.iter().enumerate() {
                    let sent = 10_000_000_000 + i as u64 * 10_000_000;
                    bounds.look(sent, (sent + there).saturating_add_signed(truth), sent + there + back);
                }
                bounds
            };
            let (begin, end) = (bounds(truth), bounds(truth + drift));
            let compared = begin.compared(&end);
            let least = ways.iter().map(|(there, back)| there + back).min().unwrap();
            prop_assert!(compared.ahead_ns.abs_diff(truth) <= compared.uncertain.as_nanos());
            prop_assert!(compared.ahead_ns.abs_diff(truth + drift) <= compared.uncertain.as_nanos());
            // And no more is said to be unknown than the fastest round trip and the drift explain.
            prop_assert!(compared.uncertain.as_nanos() <= least + drift.unsigned_abs() + 1);
        }
    }
}
