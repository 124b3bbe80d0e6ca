//! Run parameters and expectations of a scenario.

use super::metric::Statistic;
use base::Span;

/// How often, with which seed, how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Repetitions of every cell.
    pub repetitions: u32,
    /// Seed of all random streams.
    pub seed: u64,
    /// Simulated time after which a repetition ends, whatever is left.
    pub limit: Span,
    /// A table of what each link carried is written.
    pub links: bool,
}

/// What must come out.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// As written: `download.download_time_s.mean`.
    pub key: String,
    /// Index of the flow, commands counted on behind the flows; none: all together.
    pub flow: Option<usize>,
    /// Which number: the name of a [`super::metric::Metric`], or of a number that a command reports.
    pub metric: String,
    /// Which statistic over the repetitions.
    pub statistic: Statistic,
    /// What it must be.
    pub comparison: Comparison,
    /// The bound, in the metric's unit.
    pub bound: f64,
}

/// How a measured number is held against a bound.
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
    /// The sign.
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
    /// Whether `measured`, in the metric's unit, is as expected. NaN never is. Equal allows for
    /// rounding, one part in a thousand million.
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
