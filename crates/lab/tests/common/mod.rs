//! Metrics of a flow in the tests of runs.

use lab::once::RunOutcome;
use scenario::metric::Metric;

/// Value of a metric, NaN where the flow has none.
pub(crate) fn metric(outcome: &RunOutcome, flow: usize, metric: Metric) -> f64 {
    outcome.flows[flow].get(metric).unwrap_or(f64::NAN)
}
