//! Evaluation of the expectations of `[expect]` on every cell of the grid.

use crate::console::streams::Console;
use crate::output::labels;
use results::cells::CellSummary;
use results::{Header, Summary};
use scenario::Model;
use scenario::metric::Statistic;
use scenario::model::Expectation;
use serde_json::{Value, json};

/// Maximum number of failures printed one by one.
const MOST_PRINTED: usize = 10;

/// Result of one expectation in one cell.
#[derive(Clone, Debug)]
pub(crate) struct ExpectationResult {
    pub(crate) cell: u32,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) expectation: Expectation,
    /// Measured statistic; `None` if no repetition has a value.
    pub(crate) measured: Option<f64>,
    pub(crate) holds: bool,
    /// Unit of the statistic; empty for counts and ratios.
    pub(crate) unit: String,
}

/// Evaluates the expectations of a cell.
pub(crate) fn judge(model: &Model, header: &Header, summary: &CellSummary) -> Vec<ExpectationResult> {
    let of = |expectation: &Expectation| {
        let metrics = match expectation.flow {
            None => Some(&summary.metrics),
            Some(index) => {
                let flows = model.plain_flows().iter().map(|flow| &flow.name);
                let groups = model.subjects();
                let groups = groups.iter().skip(model.plain_flows().len());
                let mut names = flows.chain(model.commands.iter().map(|command| &command.name)).chain(groups);
                let name = names.nth(index).map(String::as_str);
                summary.flows.iter().find(|(flow, _)| Some(flow.as_str()) == name).map(|(_, metrics)| metrics)
            }
        };
        let column = header.column(&expectation.metric);
        let found = metrics.zip(column).and_then(|(metrics, column)| metrics.get(column).copied().flatten());
        number(found.as_ref(), expectation.statistic)
    };
    let verdict = |expectation: &Expectation| {
        let measured = of(expectation);
        ExpectationResult {
            cell: summary.cell.index,
            params: summary.cell.params.clone(),
            expectation: expectation.clone(),
            measured,
            unit: match (expectation.statistic, header.column(&expectation.metric)) {
                (Statistic::N, _) | (_, None) => String::new(),
                (_, Some(column)) => header.columns[column].unit.clone(),
            },
            holds: measured.is_some_and(|x| expectation.holds(x)),
        }
    };
    model.expect.iter().map(verdict).collect()
}

fn number(summary: Option<&Summary>, statistic: Statistic) -> Option<f64> {
    match statistic {
        Statistic::N => Some(summary.map_or(0.0, |s| s.n as f64)),
        Statistic::Mean => summary.map(|s| s.mean),
        Statistic::Stddev => summary.and_then(|s| s.stddev),
        Statistic::Median => summary.map(|s| s.median),
        Statistic::P10 => summary.map(|s| s.p10),
        Statistic::P90 => summary.map(|s| s.p90),
        Statistic::P95 => summary.map(|s| s.p95),
        Statistic::P99 => summary.map(|s| s.p99),
        Statistic::Min => summary.map(|s| s.min),
        Statistic::Max => summary.map(|s| s.max),
    }
}

/// Prints the failed expectations, and how many hold.
pub(crate) fn tell(verdicts: &[ExpectationResult], console: &Console) {
    let failed: Vec<&ExpectationResult> = verdicts.iter().filter(|verdict| !verdict.holds).collect();
    for verdict in failed.iter().take(MOST_PRINTED) {
        console.complaint("expectation failed", &verdict.sentence());
    }
    match (verdicts.len(), failed.len()) {
        (0, _) => {}
        (1, 0) => console.note("the expectation holds"),
        (all, 0) => console.note(&format!("all {all} expectations hold")),
        (1, _) => {}
        (all, n) => console.note(&format!("{n} of {all} expectations failed")),
    }
}

impl ExpectationResult {
    /// Sentence with expected value, measured value, and cell.
    pub(crate) fn sentence(&self) -> String {
        let Expectation { key, comparison, bound, .. } = &self.expectation;
        let number = |x: f64| format!("{} {}", digits(x), self.unit).trim_end().to_owned();
        let measured = match self.measured {
            Some(x) => format!("it is {}", number(x)),
            None => "no repetition gave this number".to_owned(),
        };
        let place = labels::cell(&self.params);
        let place = if place.is_empty() { place } else { format!(" ({place})") };
        format!("{key} {} {}: {measured}{place}", comparison.name(), number(*bound))
    }

    /// JSON of the result.
    pub(crate) fn document(&self) -> Value {
        json!({
            "key": self.expectation.key,
            "cell": self.cell,
            "comparison": self.expectation.comparison.name(),
            "bound": self.expectation.bound,
            "measured": self.measured,
            "holds": self.holds,
        })
    }
}

/// Number with enough digits to compare it with a bound.
fn digits(x: f64) -> String {
    if x == x.trunc() && x.abs() < 1e15 { format!("{x:.0}") } else { format!("{x:.4}") }
}
