//! Statistics of a metric over repetitions: mean, percentiles, confidence interval, paired difference and
//! one-sided t-test.
//!
//! Missing (`None`) and non-finite values are skipped; `n` is the number of remaining values. Sums run over
//! sorted values, so that the result does not depend on the order in which repetitions finished.
//!
//! Percentiles are of type 7 in Hyndman and Fan's list, the default of R and NumPy: with the values sorted
//! as v₀ … v₍ₙ₋₁₎, percentile p lies at h = (n - 1) p, linearly between its two neighbours.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::student;

/// Mean, spread and percentiles of one metric, in the metric's unit.
///
/// Serialised as the object of `run --json`: `{mean, stddev, ci95, median, p10, p90, p95, p99, min, max, n}`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the sample (divisor n - 1); none for a single value.
    pub stddev: Option<f64>,
    /// `[low, high]`: 95 % interval of the mean, by Student's t. `None` for a single value, which carries no
    /// information about the spread.
    pub ci95: Option<[f64; 2]>,
    /// 50th percentile.
    pub median: f64,
    /// 10th percentile.
    pub p10: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
    /// Number of values.
    pub n: u64,
}

impl Summary {
    /// Summary of `values` (of `f64` or of `Option<f64>`); `None` without values, or if mean or spread
    /// overflows.
    pub fn of<T: Copy + Into<Option<f64>>>(values: &[T]) -> Option<Summary> {
        let mut sorted: Vec<f64> =
            values.iter().filter_map(|&value| value.into()).filter(|value| value.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let (first, last) = (*sorted.first()?, *sorted.last()?);

        let count = sorted.len();
        let n = count as f64;
        let sum: f64 = sorted.iter().sum();
        if !sum.is_finite() {
            return None;
        }
        // Clamped, because rounding may move the mean of equal values beyond them.
        let mean = (sum / n).clamp(first, last);
        let stddev = (count > 1).then(|| {
            let squares: f64 = sorted.iter().map(|value| (value - mean) * (value - mean)).sum();
            (squares / (n - 1.0)).sqrt()
        });
        let ci95 = stddev.map(|stddev| {
            let reach = student::quantile(0.025, count as u64 - 1) * stddev / n.sqrt();
            [mean - reach, mean + reach]
        });
        let summary = Summary {
            mean,
            stddev,
            ci95,
            median: percentile(&sorted, 0.5),
            p10: percentile(&sorted, 0.1),
            p90: percentile(&sorted, 0.9),
            p95: percentile(&sorted, 0.95),
            p99: percentile(&sorted, 0.99),
            min: first,
            max: last,
            n: count as u64,
        };
        summary.is_finite().then_some(summary)
    }

    /// `[low, high]`: confidence interval of the mean at level 1 - `alpha`, by Student's t; [`Summary::ci95`]
    /// has `alpha` 0.05. `None` for a single value.
    pub fn interval(&self, alpha: f64) -> Option<[f64; 2]> {
        let reach =
            student::quantile(alpha / 2.0, self.n.checked_sub(1)?) * self.stddev? / (self.n as f64).sqrt();
        Some([self.mean - reach, self.mean + reach])
    }

    fn is_finite(&self) -> bool {
        let [low, high] = self.ci95.unwrap_or([0.0; 2]);
        let stddev = self.stddev.unwrap_or(0.0);
        [self.mean, stddev, low, high, self.median, self.p10, self.p90, self.p95, self.p99]
            .iter()
            .all(|value| value.is_finite())
    }
}

/// Type 7 percentile of sorted, non-empty values.
fn percentile(sorted: &[f64], p: f64) -> f64 {
    let last = sorted.len() - 1;
    let h = last as f64 * p;
    let below = (h as usize).min(last);
    let above = (below + 1).min(last);
    let value = sorted[below] + (h - below as f64) * (sorted[above] - sorted[below]);
    // Clamped against rounding; an overflowed difference stays non-finite and is rejected above.
    if value.is_finite() { value.clamp(sorted[below], sorted[above]) } else { value }
}

/// Summary of `a[i] - b[i]` over all pairs with both values; its `ci95` is the paired interval of the
/// difference, in the unit of the values. `None` without pairs.
///
/// # Errors
/// [`Error::Pairing`] if the series differ in length.
pub fn paired_difference<T: Copy + Into<Option<f64>>>(a: &[T], b: &[T]) -> Result<Option<Summary>> {
    if a.len() != b.len() {
        return Err(Error::Pairing { left: a.len(), right: b.len() });
    }
    let differences: Vec<Option<f64>> = a.iter().zip(b).map(|(&a, &b)| Some(a.into()? - b.into()?)).collect();
    Ok(Summary::of(&differences))
}

/// P-value of the paired one-sided t-test that the mean of `a - b` is above zero: the probability of a t at
/// least as large if the mean is zero. A small value means that `a` is larger than `b`.
///
/// With equal differences there is no spread: the result is 0 for a positive difference, 1 for a negative one
/// and 0.5 for zero. `None` with fewer than two pairs.
///
/// # Errors
/// [`Error::Pairing`] if the series differ in length.
pub fn paired_one_sided<T: Copy + Into<Option<f64>>>(a: &[T], b: &[T]) -> Result<Option<f64>> {
    let Some(summary) = paired_difference(a, b)? else { return Ok(None) };
    // 0 / 0 is NaN, for which the tail is 0.5; other values over zero are infinite.
    Ok(summary.stddev.map(|stddev| {
        let t = summary.mean / (stddev / (summary.n as f64).sqrt());
        student::upper_tail(t, summary.n - 1)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() <= 1e-9 * want.abs().max(1.0), "got {got}, want {want}");
    }

    /// Gosset's example (1908): hours of sleep gained by ten patients under two drugs. He gives a mean
    /// difference of 1.58 h; textbooks give t = 4.06 with 9 degrees of freedom.
    #[test]
    fn the_sleep_of_ten_patients() {
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let gain = paired_difference(&second, &first).unwrap().unwrap();
        close(gain.mean, 1.58);
        assert!((gain.stddev.unwrap() - 1.229_995).abs() < 1e-6);
        let [low, high] = gain.ci95.unwrap();
        assert!((low - 0.700_114_2).abs() < 1e-6 && (high - 2.459_885_8).abs() < 1e-6, "{low} {high}");
        // R gives a two-sided p of 0.002833 for these numbers.
        let p = paired_one_sided(&second, &first).unwrap().unwrap();
        assert!((2.0 * p - 0.002_833).abs() < 5e-7, "{p}");
        close(p + paired_one_sided(&first, &second).unwrap().unwrap(), 1.0);
    }

    #[test]
    fn an_interval_of_less_error_is_wider() {
        let summary = Summary::of(&[1.0, 2.0, 4.0, 4.5]).unwrap();
        assert_eq!(summary.interval(0.05), summary.ci95);
        let ([low, high], [lower, higher]) = (summary.ci95.unwrap(), summary.interval(0.01).unwrap());
        assert!(lower < low && high < higher);
        assert_eq!(Summary::of(&[1.0]).unwrap().interval(0.05), None);
    }

    #[test]
    fn percentiles_lie_between_neighbours() {
        let summary = Summary::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        close(summary.median, 2.5);
        close(summary.p10, 1.3);
        close(summary.p90, 3.7);
        close(summary.p95, 3.85);
        close(summary.p99, 3.97);
        assert_eq!((summary.min, summary.max), (1.0, 4.0));
    }

    #[test]
    fn one_value_has_no_interval() {
        let summary = Summary::of(&[7.0]).unwrap();
        assert_eq!((summary.mean, summary.stddev, summary.ci95, summary.n), (7.0, None, None, 1));
        let text = serde_json::to_string(&summary).unwrap();
        assert_eq!(
            text,
            r#"{"mean":7.0,"stddev":null,"ci95":null,"median":7.0,"p10":7.0,"p90":7.0,"p95":7.0,"p99":7.0,"min":7.0,"max":7.0,"n":1}"#
        );
    }

    #[test]
    fn what_is_absent_does_not_count() {
        let summary =
            Summary::of(&[Some(1.0), None, Some(f64::NAN), Some(3.0), Some(f64::INFINITY)]).unwrap();
        assert_eq!((summary.mean, summary.n), (2.0, 2));
        assert_eq!(Summary::of(&[f64::NAN]), None);
        assert_eq!(Summary::of::<f64>(&[]), None);
        assert_eq!(Summary::of(&[f64::MAX, f64::MAX]), None, "the sum of two is not finite");
    }

    #[test]
    fn pairs_need_both_halves() {
        let a = [Some(3.0), None, Some(5.0), Some(4.5)];
        let b = [Some(1.0), Some(1.0), None, Some(2.0)];
        let difference = paired_difference(&a, &b).unwrap().unwrap();
        assert_eq!((difference.mean, difference.n), (2.25, 2));
        assert!(matches!(paired_difference(&a, &b[..3]), Err(Error::Pairing { left: 4, right: 3 })));
        assert_eq!(paired_one_sided(&a[..1], &b[..1]).unwrap(), None);
    }

    #[test]
    fn equal_differences_are_judged_by_their_sign() {
        assert_eq!(paired_one_sided(&[2.0, 3.0], &[1.0, 2.0]).unwrap(), Some(0.0));
        assert_eq!(paired_one_sided(&[1.0, 2.0], &[2.0, 3.0]).unwrap(), Some(1.0));
        assert_eq!(paired_one_sided(&[1.0, 2.0], &[1.0, 2.0]).unwrap(), Some(0.5));
    }

    proptest! {
        #[test]
        fn order_is_nothing_and_bounds_hold(mut values in prop::collection::vec(-1e6..1e6_f64, 2..60)) {
            let summary = Summary::of(&values).unwrap();
            values.reverse();
            prop_assert_eq!(summary, Summary::of(&values).unwrap());
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let ladder = [
                low, summary.min, summary.p10, summary.median, summary.p90, summary.p95, summary.p99, summary.max, high,
            ];
            prop_assert!(ladder.is_sorted());
            let [from, to] = summary.ci95.unwrap();
            prop_assert!(low <= summary.mean && summary.mean <= high);
            prop_assert!(from <= summary.mean && summary.mean <= to);
        }

        #[test]
        fn any_bits_are_survived(bits in prop::collection::vec(any::<u64>(), 0..20)) {
            let values: Vec<f64> = bits.into_iter().map(f64::from_bits).collect();
            if let Some(summary) = Summary::of(&values) {
                prop_assert!(summary.is_finite());
            }
            let zeros = vec![0.0; values.len()];
            if let Some(p) = paired_one_sided(&values, &zeros).unwrap() {
                prop_assert!((0.0..=1.0).contains(&p));
            }
        }
    }
}
