//! JSON document of `run --json`: head, and one entry per cell with statistics of each metric, for all flows
//! and per flow.
//!
//! A document for other programs: keys may be added, never renamed.
//!
//! ```json
//! {"schema": "williwaw-run/1", "scenario": "...", "seed": 1, "version": "...",
//!  "cells": [{"params": {"KEY": "VALUE"}, "reps": 100,
//!             "metrics": {"NAME": {"mean": 1.0, "stddev": 0.1, "ci95": [0.9, 1.1],
//!                                  "median": 1.0, "p10": 0.9, "p90": 1.1, "p95": 1.1, "p99": 1.2,
//!                                  "min": 0.8, "max": 1.2, "n": 100}},
//!             "flows": {"FLOW": {"NAME": {}}}}]}
//! ```
//!
//! A grid value is a number if all values of its key are. `stddev` and `ci95` are null for a single value.
//! For a metric without values every statistic is null and `n` is 0. [`cells`](crate::cells) describes how
//! several flows combine into one `metrics`.

use std::cell::RefCell;

use serde::ser::{Error as _, Serialize, SerializeSeq as _, Serializer};
use serde_json::{Map, Value, json};

use crate::cells::CellSummary;
use crate::error::{Error, Result};
use crate::row::{self, Header, Row};
use crate::source::Source;
use crate::stats::Summary;

/// Name and version of the document's schema.
pub const SCHEMA: &str = "williwaw-run/1";

/// Document of a run; `scenario` is the scenario's file name or title. It does not depend on the order of
/// rows and contains only numbers that JSON can represent.
///
/// # Errors
/// [`Error::Row`](crate::Error::Row) and [`Error::Conflict`](crate::Error::Conflict) for rows that form no
/// table.
pub fn run_document(scenario: &str, header: &Header, rows: &[Row]) -> Result<Value> {
    let numbers = numbers(header);
    let mut cells: Vec<Value> = Vec::new();
    Source::Rows(header, rows).each_cell(&mut |summary| {
        cells.push(cell_document(header, &numbers, &summary));
        Ok(())
    })?;
    let mut document = head(scenario, header);
    document.insert("cells".to_owned(), cells.into());
    Ok(document.into())
}

/// Entries of the document before its cells.
pub fn head(scenario: &str, header: &Header) -> Map<String, Value> {
    let entries = [
        ("schema", json!(SCHEMA)),
        ("scenario", json!(scenario)),
        ("seed", json!(header.seed)),
        ("version", json!(header.version)),
        ("scenario_hash", json!(header.scenario_hash)),
    ];
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Grid keys whose values are all numbers.
fn numbers(header: &Header) -> Vec<String> {
    header.param_columns().into_iter().filter(|param| param.is_number).map(|param| param.name).collect()
}

/// The list `cells` of the document, generated while it is written, with a single cell in memory.
pub struct Cells<'a> {
    source: Source<'a>,
    /// Called with each summary.
    seen: RefCell<&'a mut dyn FnMut(&CellSummary)>,
}

impl<'a> Cells<'a> {
    /// Cells of a run; `seen` is called for each.
    pub fn new(source: Source<'a>, seen: &'a mut dyn FnMut(&CellSummary)) -> Cells<'a> {
        Cells { source, seen: RefCell::new(seen) }
    }
}

impl Serialize for Cells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let header = self.source.header();
        let numbers = numbers(header);
        let mut list = serializer.serialize_seq(None)?;
        let (mut seen, mut failed) = (self.seen.borrow_mut(), None);
        let read = self.source.each_cell(&mut |summary| {
            seen(&summary);
            list.serialize_element(&cell_document(header, &numbers, &summary)).map_err(|error| {
                failed = Some(error);
                Error::Write(std::io::Error::other("the document cannot be written"))
            })
        });
        match (failed, read) {
            (Some(error), _) => Err(error),
            (None, Err(error)) => Err(S::Error::custom(error)),
            (None, Ok(())) => list.end(),
        }
    }
}

fn cell_document(header: &Header, numbers: &[String], summary: &CellSummary) -> Value {
    let params: Map<String, Value> = summary
        .cell
        .params
        .iter()
        .map(|(key, value)| (key.clone(), param_document(value, numbers.contains(key))))
        .collect();
    let flows: Map<String, Value> = summary
        .flows
        .iter()
        .map(|(name, metrics)| (name.clone(), metrics_document(header, metrics)))
        .collect();
    json!({
        "params": params,
        "reps": summary.repetitions,
        "metrics": metrics_document(header, &summary.metrics),
        "flows": flows,
    })
}

fn param_document(value: &str, is_number: bool) -> Value {
    if !is_number {
        return value.into();
    }
    // An integer stays an integer: 100, not 100.0.
    match value.parse::<i64>() {
        Ok(whole) => whole.into(),
        Err(_) => row::number(value).into(),
    }
}

fn metrics_document(header: &Header, metrics: &[Option<Summary>]) -> Value {
    header
        .columns
        .iter()
        .zip(metrics)
        .map(|(column, summary)| (column.name.clone(), summary_document(summary.as_ref())))
        .collect::<Map<String, Value>>()
        .into()
}

/// Statistics of a metric as JSON; null for missing numbers.
pub fn summary_document(summary: Option<&Summary>) -> Value {
    json!({
        "mean": summary.map(|summary| summary.mean),
        "stddev": summary.and_then(|summary| summary.stddev),
        "ci95": summary.and_then(|summary| summary.ci95),
        "median": summary.map(|summary| summary.median),
        "p10": summary.map(|summary| summary.p10),
        "p90": summary.map(|summary| summary.p90),
        "p95": summary.map(|summary| summary.p95),
        "p99": summary.map(|summary| summary.p99),
        "min": summary.map(|summary| summary.min),
        "max": summary.map(|summary| summary.max),
        "n": summary.map_or(0, |summary| summary.n),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Cell, Column, Combine};
    use proptest::prelude::*;

    fn header() -> Header {
        let cells = vec![
            Cell::new(0, [("recovery", "reno"), ("bytes", "100")]),
            Cell::new(1, [("recovery", "sack"), ("bytes", "0.5")]),
        ];
        let columns = vec![Column::new("time_s", "s", Combine::Mean), Column::new("drops", "", Combine::Sum)];
        Header::new("4f1c", u64::MAX, "0.1.0", cells, columns).unwrap()
    }

    #[test]
    fn the_document_to_the_letter() {
        let rows = [
            Row::new(0, 0, "download", [Some(1.0), Some(2.0)]),
            Row::new(0, 1, "download", [Some(3.0), None]),
        ];
        let document = run_document("handover.toml", &header(), &rows).unwrap();
        let time = r#"{"mean":2.0,"stddev":1.4142135623730951,"ci95":[-10.70620473617471,14.70620473617471],"median":2.0,"p10":1.2,"p90":2.8,"p95":2.9,"p99":2.98,"min":1.0,"max":3.0,"n":2}"#;
        let drops = r#"{"mean":2.0,"stddev":null,"ci95":null,"median":2.0,"p10":2.0,"p90":2.0,"p95":2.0,"p99":2.0,"min":2.0,"max":2.0,"n":1}"#;
        let none = r#"{"mean":null,"stddev":null,"ci95":null,"median":null,"p10":null,"p90":null,"p95":null,"p99":null,"min":null,"max":null,"n":0}"#;
        let expected = format!(
            concat!(
                r#"{{"schema":"williwaw-run/1","scenario":"handover.toml","seed":18446744073709551615,"#,
                r#""version":"0.1.0","scenario_hash":"4f1c","cells":["#,
                r#"{{"params":{{"recovery":"reno","bytes":100}},"reps":2,"#,
                r#""metrics":{{"time_s":{time},"drops":{drops}}},"#,
                r#""flows":{{"download":{{"time_s":{time},"drops":{drops}}}}}}},"#,
                r#"{{"params":{{"recovery":"sack","bytes":0.5}},"reps":0,"#,
                r#""metrics":{{"time_s":{none},"drops":{none}}},"flows":{{}}}}]}}"#
            ),
            time = time,
            drops = drops,
            none = none
        );
        assert_eq!(document.to_string(), expected);
    }

    #[test]
    fn a_summary_alone_and_in_the_document_are_the_same() {
        let summary = Summary::of(&[1.0, 2.0, 4.0]).unwrap();
        assert_eq!(summary_document(Some(&summary)), serde_json::to_value(summary).unwrap());
    }

    proptest! {
        #[test]
        fn any_values_print_and_order_is_nothing(
            values in prop::collection::vec((any::<[Option<f64>; 2]>(), 0..2_u32, "[ab]"), 0..20)
        ) {
            let mut rows: Vec<Row> = values
                .into_iter()
                .enumerate()
                .map(|(at, (values, cell, flow))| Row::new(cell, at as u64 / 2, format!("{flow}{}", at % 2), values))
                .collect();
            let document = run_document("", &header(), &rows).unwrap();
            rows.reverse();
            prop_assert_eq!(&document, &run_document("", &header(), &rows).unwrap());
            let text = document.to_string();
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
        }
    }
}
