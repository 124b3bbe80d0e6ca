//! Run parameters and expectations of a scenario.

use super::metric::Statistic;
use base::Span;

/// Repetitions, seed and time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Repetitions of every cell.
    pub repetitions: u32,
    /// Seed of all random streams.
    pub seed: u64,
    /// Simulated time at which a repetition ends, finished or not.
    pub limit: Span,
    /// Whether the table of segments by link is written.
    pub links: bool,
}

/// An expected result.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Key as written: `download.download_time_s.mean`.
    pub key: String,
    /// Index of the flow, or number of flows plus index of the command; `None`: all flows together.
    pub flow: Option<usize>,
    /// Name of a [`super::metric::Metric`], or of a metric that a command reports.
    pub metric: String,
    /// Statistic over the repetitions.
    pub statistic: Statistic,
    /// Comparison with the bound.
    pub comparison: Comparison,
    /// Bound, in the metric's unit.
    pub bound: f64,
}

/// Comparison of a measured value with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `=`
    Equal,
}

impl Comparison {
    /// Sign of the comparison.
    pub const fn name(self) -> &'static str {
        match self {
            Comparison::Less => "<",
            Comparison::AtMost => "<=",
            Comparison::More => ">",
            Comparison::AtLeast => ">=",
            Comparison::Equal => "=",
        }
    }
}

impl Expectation {
    /// Whether `measured`, in the metric's unit, meets the expectation; false for NaN. Equality has a
    /// relative tolerance of 1e-9 for rounding.
    pub fn holds(&self, measured: f64) -> bool {
        match self.comparison {
            Comparison::Less => measured < self.bound,
            Comparison::AtMost => measured <= self.bound,
            Comparison::More => measured > self.bound,
            Comparison::AtLeast => measured >= self.bound,
            Comparison::Equal => (measured - self.bound).abs() <= 1e-9 * self.bound.abs(),
        }
    }
}
