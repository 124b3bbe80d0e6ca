//! Result table: one row per cell or flow, mean and 95 % interval per metric, in units and digits that suit
//! the whole column.

use super::labels;
use crate::console::exit::Failure;
use results::cells::CellSummary;
use results::{Header, Summary};
use scenario::metric::Metric;

/// Default metrics, as far as measured.
pub(crate) const DEFAULT: &[&str] = &[
    "download_time_s",
    "throughput_bps",
    "goodput_ratio",
    "segments_sent",
    "spurious_timeouts",
    "genuine_timeouts",
    "queue_delay_s",
    "page_time_s",
    "response_time_s",
    "message_delay_s",
    "messages_late",
    "playout_stall_s",
    "frames_missed",
    "media_rate_bps",
    "loss_ratio",
];
/// Metric shown in addition with several flows.
const FAIRNESS: &str = "jain_index";
/// Duration metric, shown for commands.
pub(crate) const COMPLETION: &str = "completion_time_s";
/// Label of all flows together, and of all metrics.
pub(crate) const ALL: &str = "all";

/// A table of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextTable {
    /// Column heads, which may be broken at spaces.
    pub(crate) heads: Vec<String>,
    /// Number of label columns at the left.
    pub(crate) labels: usize,
    pub(crate) rows: Vec<Vec<String>>,
    /// Notes below the table.
    pub(crate) notes: Vec<String>,
}

impl TextTable {
    /// Table with the labels and the columns `from..to`.
    pub(crate) fn part(&self, from: usize, to: usize) -> TextTable {
        let pick = |row: &Vec<String>| [&row[..self.labels], &row[from..to]].concat();
        TextTable {
            heads: pick(&self.heads),
            labels: self.labels,
            rows: self.rows.iter().map(pick).collect(),
            notes: Vec::new(),
        }
    }
}

/// Rows and metrics to show.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableChoice {
    /// Names of metrics; `None`: [`DEFAULT`]. `all`: every measured metric.
    pub(crate) metrics: Option<Vec<String>>,
    /// Whether single flows are shown beside all flows together.
    pub(crate) flows: bool,
}

/// A row before formatting.
struct TableRow<'a> {
    labels: Vec<String>,
    metrics: &'a [Option<Summary>],
    repetitions: u64,
}

/// Name, unit and digits of a metric.
pub(crate) struct MetricFormat {
    words: String,
    unit: &'static str,
    scale: f64,
    decimals: usize,
}

impl TableChoice {
    /// Refuses metrics that are not among `names`.
    pub(crate) fn check(&self, names: &[&str]) -> Result<(), Failure> {
        for name in self.metrics.iter().flatten() {
            if name != ALL && !names.contains(&name.as_str()) {
                let remedy = match scenario::nearest(name, names.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`? `--metrics all` shows every metric"),
                    None => "docs/results.md lists the metrics; `--metrics all` shows those with a value"
                        .to_owned(),
                };
                return Err(Failure::usage(format!("there is no metric `{name}`"), remedy));
            }
        }
        Ok(())
    }

    /// Column indexes of the metrics to show.
    fn columns(&self, header: &Header, lines: &[TableRow<'_>], several: bool) -> Vec<usize> {
        let measured = |at: &usize| lines.iter().any(|line| line.metrics[*at].is_some());
        match &self.metrics {
            Some(names) if names.iter().any(|name| name == ALL) => {
                (0..header.columns.len()).filter(measured).collect()
            }
            Some(names) => names.iter().filter_map(|name| header.column(name)).collect(),
            None => {
                let fairness = several.then_some(FAIRNESS);
                let names = DEFAULT.iter().copied().chain(fairness);
                let mut shown: Vec<usize> =
                    names.filter_map(|name| header.column(name)).filter(measured).collect();
                // A command beside flows has only a duration.
                let bare = |line: &TableRow<'_>| shown.iter().all(|at| line.metrics[*at].is_none());
                shown.extend(header.column(COMPLETION).filter(|_| lines.iter().any(bare)).filter(measured));
                // Metrics that commands report are shown, because the scenario declares them.
                let own = |at: &usize| !Metric::NAMES.contains(&header.columns[*at].name.as_str());
                shown.extend((0..header.columns.len()).filter(own).filter(measured));
                shown
            }
        }
    }
}

/// Result table of a run.
pub(crate) fn board(header: &Header, cells: &[CellSummary], choice: &TableChoice) -> TextTable {
    let several = cells.iter().any(|cell| cell.flows.len() > 1);
    let first = cells.first().map_or(&[][..], |cell| cell.cell.params.as_slice());
    let paths = labels::apart(first);
    let mut heads = labels::short(&paths.iter().map(|(path, _)| *path).collect::<Vec<_>>());
    // A single cell is shown by flow, because there is nothing else to compare.
    let by_flow = several && (choice.flows || cells.len() == 1);
    let mut lines = Vec::new();
    for cell in cells {
        let values: Vec<String> =
            labels::apart(&cell.cell.params).into_iter().map(|(_, value)| value).collect();
        let line = |flow: &str, metrics| {
            let mut labels = values.clone();
            if by_flow {
                labels.push(flow.to_owned());
            }
            TableRow { labels, metrics, repetitions: cell.repetitions }
        };
        if by_flow {
            lines.extend(cell.flows.iter().map(|(name, metrics)| line(name, metrics.as_slice())));
        }
        lines.push(line(ALL, &cell.metrics));
    }
    if by_flow {
        heads.push("flow".to_owned());
    }
    let columns = choice.columns(header, &lines, several);
    let mut board = match lines.as_slice() {
        [line] => upright(header, line, &columns),
        _ => wide(header, heads, &lines, &columns),
    };
    board.notes = notes(header, &lines, &columns, several && !by_flow);
    board
}

/// Table with cells or flows as rows and metrics as columns.
fn wide(header: &Header, mut heads: Vec<String>, lines: &[TableRow<'_>], columns: &[usize]) -> TextTable {
    let labels = heads.len();
    let mut rows: Vec<Vec<String>> = lines.iter().map(|line| line.labels.clone()).collect();
    for &at in columns {
        let all: Vec<&Summary> = lines.iter().filter_map(|line| line.metrics[at].as_ref()).collect();
        let face = face(&header.columns[at].name, &header.columns[at].unit, &all);
        heads.push(face.head());
        for (row, line) in rows.iter_mut().zip(lines) {
            row.push(face.with_interval(line.metrics[at].as_ref(), line.repetitions));
        }
    }
    TextTable { heads, labels, rows, notes: Vec::new() }
}

/// Table of a single cell, with metrics as rows.
fn upright(header: &Header, line: &TableRow<'_>, columns: &[usize]) -> TextTable {
    let heads = ["metric", "mean", "median", "10 %", "90 %"].map(str::to_owned).to_vec();
    let row = |&at: &usize| {
        let summary = line.metrics[at].as_ref();
        let all: Vec<&Summary> = summary.into_iter().collect();
        let face = face(&header.columns[at].name, &header.columns[at].unit, &all);
        let of = |pick: &dyn Fn(&Summary) -> f64| summary.map_or_else(nothing, |s| face.number(pick(s)));
        vec![
            face.head(),
            face.with_interval(summary, line.repetitions),
            of(&|s| s.median),
            of(&|s| s.p10),
            of(&|s| s.p90),
        ]
    };
    TextTable { heads, labels: 1, rows: columns.iter().map(row).collect(), notes: Vec::new() }
}

fn notes(header: &Header, lines: &[TableRow<'_>], columns: &[usize], together: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if together {
        notes.push("All flows together; --flows shows each.".to_owned());
    }
    let partial = |line: &TableRow<'_>, at: usize| {
        line.metrics[at].as_ref().is_some_and(|s| s.n > 0 && s.n < line.repetitions)
    };
    let without = |line: &TableRow<'_>, at: usize| line.metrics[at].as_ref().is_none_or(|s| s.n == 0);
    // A command has only a duration, so that missing metrics deserve no note.
    let lasts = header.column(COMPLETION);
    let only_lasts = |line: &TableRow<'_>| {
        let known = |at: &usize| line.metrics[*at].is_some();
        lasts.is_some_and(|at| known(&at)) && !columns.iter().any(|at| Some(*at) != lasts && known(at))
    };
    let names = |is: &dyn Fn(&TableRow<'_>, usize) -> bool| {
        let some = columns.iter().filter(|at| lines.iter().any(|line| is(line, **at) && !only_lasts(line)));
        some.map(|at| header.columns[*at].name.as_str()).collect::<Vec<&str>>().join(", ")
    };
    let (some, none) = (names(&partial), names(&without));
    if !some.is_empty() {
        notes.push(format!(
            "(n): only n repetitions gave the number; the others have none: not finished at the limit, or nothing to measure ({some})."
        ));
    }
    if !none.is_empty() {
        notes.push(format!(
            "{}: no repetition gave the number: not finished at the limit, or nothing to measure ({none}).",
            nothing()
        ));
    }
    notes
}

/// Text of a missing value.
pub(crate) fn nothing() -> String {
    "–".to_owned()
}

/// Unit and digits that suit these values.
pub(crate) fn face(name: &str, unit: &str, all: &[&Summary]) -> MetricFormat {
    let largest = all.iter().map(|s| s.mean.abs()).fold(0.0, f64::max);
    let (unit, scale) = match unit {
        "bit/s" if largest >= 1e9 => ("Gbit/s", 1e-9),
        "bit/s" if largest >= 1e6 => ("Mbit/s", 1e-6),
        "bit/s" if largest >= 1e3 => ("kbit/s", 1e-3),
        "bit/s" => ("bit/s", 1.0),
        "s" if largest < 0.1 && largest > 0.0 => ("ms", 1e3),
        "s" => ("s", 1.0),
        _ => ("", 1.0),
    };
    let words = name.trim_end_matches("_bps").trim_end_matches("_s");
    MetricFormat { words: words.replace('_', " "), unit, scale, decimals: decimals(all, scale) }
}

/// Decimals such that the median interval has two significant digits; without intervals four
/// significant digits, and none for whole numbers.
fn decimals(all: &[&Summary], scale: f64) -> usize {
    let mut reach: Vec<f64> =
        all.iter().filter_map(|s| s.ci95).map(|[low, high]| (high - low) / 2.0 * scale).collect();
    reach.retain(|r| *r > 0.0);
    reach.sort_by(f64::total_cmp);
    let (mut x, enough) = match reach.get(reach.len() / 2) {
        Some(middle) => (*middle, 10.0),
        None => {
            let scaled = || all.iter().map(|s| s.mean * scale);
            if scaled().all(|x| x == x.trunc()) {
                return 0;
            }
            (scaled().map(f64::abs).fold(0.0, f64::max), 1000.0)
        }
    };
    let mut digits = 0;
    while x < enough && digits < 4 {
        x *= 10.0;
        digits += 1;
    }
    digits
}

impl MetricFormat {
    /// Name and unit, for the head of a column or a row.
    pub(crate) fn head(&self) -> String {
        if self.unit.is_empty() { self.words.clone() } else { format!("{} [{}]", self.words, self.unit) }
    }

    /// Name of the metric in words.
    pub(crate) fn words(&self) -> &str {
        &self.words
    }

    /// The same unit, with the digits that suit these values.
    pub(crate) fn with_digits_of(&self, all: &[&Summary]) -> MetricFormat {
        MetricFormat { words: self.words.clone(), decimals: decimals(all, self.scale), ..*self }
    }

    /// A value with its unit.
    pub(crate) fn quantity(&self, value: f64) -> String {
        let number = self.number(value);
        if self.unit.is_empty() { number } else { format!("{number} {}", self.unit) }
    }

    /// A value in the unit.
    pub(crate) fn number(&self, value: f64) -> String {
        format!("{:.*}", self.decimals, value * self.scale)
    }

    /// Mean and interval as `142.3 ± 5.1`, with the number of values if some repetitions have none.
    pub(crate) fn with_interval(&self, summary: Option<&Summary>, repetitions: u64) -> String {
        let Some(summary) = summary else { return nothing() };
        let mut text = self.number(summary.mean);
        // Equal values in all repetitions have no interval.
        if let Some([low, high]) = summary.ci95.filter(|[low, high]| low < high) {
            text.push_str(" ± ");
            text.push_str(&self.number((high - low) / 2.0));
        }
        if summary.n < repetitions {
            text.push_str(&format!(" ({})", summary.n));
        }
        text
    }
}
