//! Clock offset between two hosts (`Bounds`): bounds from the timestamps of queries and answers, estimate,
//! uncertainty.
//!
//! A query sent at `sent` and answered with the time `there` at `back` bounds the offset: at least `there - back`, at
//! most `there - sent`, whatever the one-way delays. The intersection over several queries is kept; half its width is
//! the uncertainty.

use base::Span;
use emulate::accuracy::overhead::ClockOffset;

/// Bounds of a clock offset from several queries, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    least: i64,
    most: i64,
    /// Number of queries evaluated.
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
    /// Adds the timestamps of a query and its answer, ns.
    pub fn look(&mut self, sent: u64, there: u64, back: u64) {
        self.least = self.least.max(difference(there, back));
        self.most = self.most.min(difference(there, sent));
        self.looks += 1;
    }

    /// Estimated offset: the middle of the bounds, ns.
    pub fn ahead(&self) -> i64 {
        ((i128::from(self.least) + i128::from(self.most)) / 2) as i64
    }

    /// Largest possible error of `ahead`.
    fn off(&self, ahead: i64) -> Span {
        let far = |bound: i64| ahead.abs_diff(bound);
        Span::from_nanos(far(self.least).max(far(self.most)))
    }

    /// Offset and uncertainty of a run that used these bounds, given the bounds `later` at its end. With linear drift,
    /// the error in between does not exceed the larger error at both ends.
    pub fn compared(&self, later: &Bounds) -> ClockOffset {
        let ahead_ns = self.ahead();
        let uncertain = self.off(ahead_ns).max(later.off(ahead_ns));
        ClockOffset { ahead_ns, uncertain, looks: self.looks + later.looks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// For any delays, the true offset lies within the bounds, also at the end after drift.
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
            // The uncertainty does not exceed the shortest round trip plus the drift.
            prop_assert!(compared.uncertain.as_nanos() <= least + drift.unsigned_abs() + 1);
        }
    }
}
