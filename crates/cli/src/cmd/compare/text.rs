//! Text, table and JSON of a comparison: choice of metrics, summary sentence, paired differences, and
//! significance of a worse result.

use crate::output::labels;
use crate::output::table::{self, MetricFormat, TextTable};
use results::json::summary_document;
use results::pairs::{CellContrast, Contrast, PairVerdict};
use results::{Column, Summary, numbers};
use scenario::metric::{Metric, Unit};
use serde_json::{Map, Value, json};
use std::cmp::Ordering;

/// A cell of the first side paired with a cell of the second.
pub(crate) struct CellPair {
    /// Index of the cell on each side.
    pub(crate) cells: (u32, u32),
    /// Grid values that both cells have in common.
    pub(crate) params: Vec<(String, String)>,
    pub(crate) contrast: CellContrast,
    /// Contrast of each kernel counter, by its name.
    pub(crate) counters: Vec<(String, Contrast)>,
    /// True if both cells have equal weather.
    pub(crate) same_weather: bool,
}

/// A comparison: paired cells, their metrics, and what to show.
pub(crate) struct Comparison<'a> {
    /// Labels of both sides.
    pub(crate) labels: [&'a str; 2],
    /// Metrics that both sides have.
    pub(crate) columns: Vec<Column>,
    /// Indices of the rows to show; the first is the row of the summary sentence.
    pub(crate) shown: Vec<usize>,
    pub(crate) cells: Vec<CellPair>,
    /// Whether single flows are shown beside all flows together.
    pub(crate) flows: bool,
}

/// Indexes in `columns` of the metrics to show: the requested ones, else the default ones as far as measured.
pub(crate) fn chosen(asked: Option<&[String]>, columns: &[Column], cells: &[CellPair]) -> Vec<usize> {
    // A metric with values on one side only is shown too: a transfer that does not end is a result.
    let measured = |at: &usize| {
        let given = |contrast: &Contrast| contrast.pairs() + contrast.only_a + contrast.only_b > 0;
        cells.iter().any(|cell| given(&cell.contrast.metrics[*at]))
    };
    let place = |name: &str| columns.iter().position(|column| column.name == name);
    match asked {
        Some(names) if names.iter().any(|name| name == table::ALL) => {
            (0..columns.len()).filter(measured).collect()
        }
        Some(names) => names.iter().filter_map(|name| place(name)).collect(),
        None => {
            // Metrics that commands report come first, because the scenario declares them.
            let own = (0..columns.len()).filter(|at| metric(&columns[*at].name).is_none());
            let usual = table::DEFAULT.iter().chain([&table::COMPLETION]);
            let mut shown: Vec<usize> =
                own.chain(usual.filter_map(|name| place(name))).filter(measured).collect();
            let completion = shown.iter().position(|at| columns[*at].name == table::COMPLETION);
            match completion {
                // A capture at the sender shows only the completion time, which the sentence then describes.
                Some(at) if place(Metric::DownloadTime.name()).is_none() => shown[..=at].rotate_right(1),
                // With a download time, the completion time is not shown as well.
                Some(at) if shown.len() > 1 => drop(shown.remove(at)),
                _ => {}
            }
            // A grid shows one metric.
            if cells.len() > 1 {
                shown.truncate(1);
            }
            shown
        }
    }
}

impl Comparison<'_> {
    /// Summary sentence.
    pub(crate) fn sentence(&self) -> String {
        let Some(&first) = self.shown.first() else {
            return "Nothing was measured in both.".to_owned();
        };
        match self.cells.as_slice() {
            [cell] => self.of_cell(cell, first),
            cells => self.of_cells(cells, first),
        }
    }

    /// Sentence on one cell and metric, with the repetitions that have no pair.
    pub(crate) fn of_cell(&self, cell: &CellPair, at: usize) -> String {
        let [a, b] = self.labels;
        let contrast = &cell.contrast.metrics[at];
        let words = self.face(at, contrast).words().to_owned();
        let mut text = self.of_pairs(cell, at);
        for (alone, other, n) in [(a, b, contrast.only_a), (b, a, contrast.only_b)] {
            if n > 0 {
                let times = if n == 1 { "1 repetition".to_owned() } else { format!("{n} repetitions") };
                text.push_str(&format!(" In {times} only {alone} has a value of {words}, {other} has none."));
            }
        }
        text
    }

    fn of_pairs(&self, cell: &CellPair, at: usize) -> String {
        let [a, b] = self.labels;
        let contrast = &cell.contrast.metrics[at];
        let face = self.face(at, contrast);
        let words = face.words();
        let n = pairs(contrast.pairs());
        let (Some(left), Some(right), Some(difference)) = (contrast.a, contrast.b, contrast.difference)
        else {
            return format!("No repetition has a value of {words} with both {a} and {b}.");
        };
        let means = format!("{} in place of {}", face.quantity(right.mean), face.quantity(left.mean));
        let own = face.with_digits_of(&[&difference]);
        let size = own.quantity(difference.mean.abs());
        let share = contrast.relative().map_or(String::new(), |share| format!(" ({})", percent(share.abs())));
        let counted = format!("less in {}, more in {}", contrast.less, contrast.more);
        let fewer = if is_count(&self.columns[at].name) { "fewer" } else { "less" };
        let more = if difference.mean < 0.0 { fewer } else { "more" };
        let head = Comparison::head(cell.same_weather);
        match contrast.verdict() {
            PairVerdict::Nothing => String::new(),
            PairVerdict::Same => format!(
                "{head} {a} and {b} have the same {words} in every one of {n}, {} in the mean.",
                face.quantity(left.mean)
            ),
            PairVerdict::Once => format!(
                "{head} {b} has {size}{share} {more} {words} than {a}, {means}; one pair does not give a confidence \
                 interval."
            ),
            PairVerdict::Less | PairVerdict::More => {
                let [low, high] = difference.ci95.unwrap_or([difference.mean; 2]).map(f64::abs);
                let (least, most) = (low.min(high), low.max(high));
                let sure = if least == most {
                    format!("the same in every one of {n}")
                } else {
                    let (least, most) = (own.number(least), own.quantity(most));
                    format!("95 % interval {least} to {most} {more}; {n}, {counted}")
                };
                format!("{head} {b} has {size}{share} {more} {words} than {a}, {means} ({sure}).")
            }
            PairVerdict::Open => {
                let [low, high] = difference.ci95.unwrap_or([difference.mean; 2]);
                let (low, high) = (own.number(low), own.quantity(high));
                format!(
                    "{head} no significant difference in {words} between {a} and {b}: {b} has {size}{share} {more}, {means} (95 % \
                     interval {low} to {high}; {n}, {counted})."
                )
            }
        }
    }

    pub(crate) fn same_weather(&self) -> bool {
        self.cells.iter().all(|cell| cell.same_weather)
    }

    fn head(same_weather: bool) -> &'static str {
        if same_weather { "Under the same weather" } else { "With weather of their own" }
    }

    fn of_cells(&self, cells: &[CellPair], at: usize) -> String {
        let [a, b] = self.labels;
        let verdict = |what: PairVerdict| {
            cells.iter().filter(|cell| cell.contrast.metrics[at].verdict() == what).count()
        };
        let words = self.face(at, &cells[0].contrast.metrics[at]).words().to_owned();
        let fewer = if is_count(&self.columns[at].name) { "fewer" } else { "less" };
        let mut parts = Vec::new();
        for (what, text) in [
            (PairVerdict::Less, format!("{fewer} {words} than {a}")),
            (PairVerdict::More, format!("more {words} than {a}")),
            (PairVerdict::Same, format!("the same {words}")),
            (PairVerdict::Open, format!("no significant difference in {words}")),
            (PairVerdict::Once, "one pair only, without an estimate of chance,".to_owned()),
            (PairVerdict::Nothing, format!("no {words} to compare")),
        ] {
            let n = verdict(what);
            if n == cells.len() {
                return match what {
                    PairVerdict::Same => {
                        format!(
                            "{} {b} and {a} have the same {words} in all {n} cells.",
                            Comparison::head(self.same_weather())
                        )
                    }
                    _ => {
                        format!("{} {b} has {text} in all {n} cells.", Comparison::head(self.same_weather()))
                    }
                };
            }
            if n > 0 {
                parts.push(if parts.is_empty() {
                    format!("{text} in {n} of {} cells", cells.len())
                } else {
                    format!("{text} in {n}")
                });
            }
        }
        format!("{} {b} has {}.", Comparison::head(self.same_weather()), parts.join(", "))
    }

    fn face(&self, at: usize, contrast: &Contrast) -> MetricFormat {
        let column = &self.columns[at];
        let all: Vec<&Summary> = contrast.a.iter().chain(&contrast.b).collect();
        table::face(&column.name, &column.unit, &all)
    }

    /// Table with one row for each cell and metric.
    pub(crate) fn board(&self) -> TextTable {
        let first = self.cells.first().map_or(&[][..], |cell| cell.params.as_slice());
        let paths = labels::apart(first);
        let mut heads = labels::short(&paths.iter().map(|(path, _)| *path).collect::<Vec<_>>());
        let by_flow = self.flows && self.cells.iter().any(|cell| cell.contrast.flows.len() > 1);
        if by_flow {
            heads.push("flow".to_owned());
        }
        heads.push("metric".to_owned());
        let labels = heads.len();
        // Column heads `A` and `B` in place of labels, which may be long.
        heads.extend(["A", "B", "B-A", "%", "less:more"].map(str::to_owned));
        let mut rows = Vec::new();
        let mut partial = false;
        for cell in &self.cells {
            let values: Vec<String> =
                crate::output::labels::apart(&cell.params).into_iter().map(|(_, value)| value).collect();
            let mut of = |flow: Option<&str>, name: Option<&str>, unit: &str, contrast: &Contrast| {
                let mut row = values.clone();
                row.extend(flow.map(str::to_owned).filter(|_| by_flow));
                let all: Vec<&Summary> = contrast.a.iter().chain(&contrast.b).collect();
                let face = table::face(name.unwrap_or_default(), unit, &all);
                row.push(face.head());
                let own = face.with_digits_of(&contrast.difference.iter().collect::<Vec<_>>());
                let pairs = cell.contrast.repetitions.len() as u64;
                partial |= contrast.pairs() > 0 && contrast.pairs() < pairs;
                let mean =
                    |summary: &Option<Summary>| summary.map_or_else(table::nothing, |s| face.number(s.mean));
                row.push(mean(&contrast.a));
                row.push(mean(&contrast.b));
                row.push(own.with_interval(contrast.difference.as_ref(), pairs));
                row.push(
                    contrast.relative().map_or_else(table::nothing, |share| format!("{:+.1}", 100.0 * share)),
                );
                row.push(format!("{}:{}", contrast.less, contrast.more));
                rows.push(row);
            };
            for &at in &self.shown {
                let column = &self.columns[at];
                if by_flow {
                    for (flow, metrics) in &cell.contrast.flows {
                        of(Some(flow), Some(&column.name), &column.unit, &metrics[at]);
                    }
                }
                of(Some(table::ALL), Some(&column.name), &column.unit, &cell.contrast.metrics[at]);
            }
            for (name, contrast) in &cell.counters {
                of(Some(table::ALL), Some(name), "", contrast);
            }
        }
        let [a, b] = self.labels;
        let mut notes = vec![
            format!("A: {a}. B: {b}."),
            "Means over the pairs; ± is the 95 % interval of the difference; less:more, pairs in which B has less, and more.".to_owned(),
        ];
        if self.cells.len() > 1 && self.shown.len() == 1 {
            notes.push("--metrics shows others, or all.".to_owned());
        }
        if partial {
            notes.push("(n): only n pairs gave the number on both sides.".to_owned());
        }
        TextTable { heads, labels, rows, notes }
    }

    /// JSON document of the paired cells.
    pub(crate) fn document(&self) -> Value {
        let metrics = |all: &[Contrast]| -> Map<String, Value> {
            let named = self.columns.iter().zip(all);
            named.map(|(column, contrast)| (column.name.clone(), one(&column.name, contrast))).collect()
        };
        let cell = |cell: &CellPair| {
            let params: Map<String, Value> =
                cell.params.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
            let flows: Map<String, Value> =
                cell.contrast.flows.iter().map(|(name, all)| (name.clone(), metrics(all).into())).collect();
            let counters: Map<String, Value> =
                cell.counters.iter().map(|(name, contrast)| (name.clone(), one(name, contrast))).collect();
            json!({
                "params": params,
                "cells": [cell.cells.0, cell.cells.1],
                "pairs": cell.contrast.repetitions.len(),
                "sentence": self.shown.first().map(|&at| self.of_cell(cell, at)),
                "metrics": metrics(&cell.contrast.metrics),
                "flows": flows,
                "counters": counters,
            })
        };
        json!({
            "a": { "name": self.labels[0] },
            "b": { "name": self.labels[1] },
            "sentence": self.sentence(),
            "metric": self.shown.first().map(|&at| &self.columns[at].name),
            "cells": self.cells.iter().map(cell).collect::<Vec<_>>(),
        })
    }

    /// Cells in which the second side is significantly worse in the metric of the sentence.
    pub(crate) fn worse(&self) -> Vec<&CellPair> {
        let Some(&first) = self.shown.first() else { return Vec::new() };
        let better = better(&self.columns[first].name);
        let is_worse = |cell: &&CellPair| worse(better, &cell.contrast.metrics[first]);
        self.cells.iter().filter(is_worse).collect()
    }
}

fn metric(name: &str) -> Option<Metric> {
    Metric::ALL.iter().find(|metric| metric.name() == name).copied()
}

/// Direction in which the metric improves; `None` for an unknown metric or one without direction.
pub(crate) fn better(name: &str) -> Option<Ordering> {
    match metric(name) {
        Some(metric) => metric.better(),
        None => {
            numbers::more_is_better(name).map(|more| if more { Ordering::Greater } else { Ordering::Less })
        }
    }
}

fn is_count(name: &str) -> bool {
    metric(name).map_or(numbers::more_is_better(name).is_none(), |metric| metric.unit() == Unit::Count)
}

/// Whether the second side is significantly worse, or has fewer values, for example because transfers do not end.
fn worse(better: Option<Ordering>, contrast: &Contrast) -> bool {
    let lost = contrast.only_a > contrast.only_b;
    match (better, contrast.verdict()) {
        (Some(Ordering::Less), PairVerdict::More) | (Some(Ordering::Greater), PairVerdict::Less) => true,
        (Some(_), _) => lost,
        (None, _) => false,
    }
}

fn one(name: &str, contrast: &Contrast) -> Value {
    let verdict = match contrast.verdict() {
        PairVerdict::Nothing => "nothing",
        PairVerdict::Once => "once",
        PairVerdict::Same => "same",
        PairVerdict::Less => "less",
        PairVerdict::More => "more",
        PairVerdict::Open => "open",
    };
    let better = match (better(name), contrast.verdict()) {
        (Some(side), PairVerdict::Less) => Some(side == Ordering::Less),
        (Some(side), PairVerdict::More) => Some(side == Ordering::Greater),
        _ => None,
    };
    json!({
        "a": summary_document(contrast.a.as_ref()),
        "b": summary_document(contrast.b.as_ref()),
        "difference": summary_document(contrast.difference.as_ref()),
        "relative": contrast.relative(),
        "told": verdict,
        "better": better,
        "less": contrast.less,
        "more": contrast.more,
        "only_a": contrast.only_a,
        "only_b": contrast.only_b,
    })
}

fn pairs(n: u64) -> String {
    if n == 1 { "1 pair".to_owned() } else { format!("{n} pairs") }
}

/// Share in percent: `2.8 %`.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent >= 10.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}
