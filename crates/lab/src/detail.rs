//! Event and time-series tables of repetitions: columns and rows of `events.parquet` and `series.parquet`.
//!
//! `events.parquet` has a row for each event of path, transport and radio (docs/events.md), `series.parquet` one for each
//! sample of [`crate::series`]. Both are sorted by cell, repetition and time; events of one instant keep their order.

use crate::once::{Options, run_once};
use crate::series;
use base::event::{REFERENCE, Value};
use results::parquet::long::{Datum, Instant, Kind, Push};
use scenario::Model;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Columns of `events.parquet` after the keys: element, event, and one column for each field of any event.
pub fn event_columns() -> Vec<(&'static str, Kind)> {
    let mut columns = vec![("at", Kind::Text), ("event", Kind::Text)];
    for (field, unit) in REFERENCE.iter().flat_map(|(_, _, fields)| *fields) {
        if columns.iter().all(|(name, _)| name != field) {
            columns.push((field, kind(field, unit)));
        }
    }
    columns
}

/// Type of a field of an event.
fn kind(field: &str, unit: &str) -> Kind {
    match field {
        _ if unit == "seconds" => Kind::Real,
        "triggered" | "duplicate" | "spurious" | "up" | "arrived" => Kind::Bool,
        "reason" | "cause" | "detector" | "purpose" | "step" | "fate" => Kind::Text,
        _ => Kind::Int,
    }
}

/// Columns of `series.parquet` after the keys.
pub const SERIES_COLUMNS: &[(&str, Kind)] =
    &[("series", Kind::Text), ("subject", Kind::Text), ("value", Kind::Real)];

/// Passes the events of a repetition to `push`.
///
/// # Errors
/// Errors of `push`.
pub fn events(model: &Model, cell: u32, repetition: u64, push: Push<'_>) -> results::Result<()> {
    let mut outcome = run_once(model, repetition, Options { trace: true, shuffle_ties: None });
    let mut records = outcome.world.network.tracer().take();
    // A link records past events when it is next polled, so that records are not in time order.
    records.sort_by_key(|record| record.t);
    let columns = event_columns();
    let place: BTreeMap<&str, usize> =
        columns.iter().enumerate().map(|(at, (name, _))| (*name, at)).collect();
    let mut words: BTreeMap<&'static str, Arc<str>> = BTreeMap::new();
    let names: Vec<Arc<str>> = outcome.world.names.iter().map(|name| name.as_str().into()).collect();
    for record in records {
        let mut word =
            |word: &'static str| Datum::Text(words.entry(word).or_insert_with(|| word.into()).clone());
        let mut values = vec![None; columns.len()];
        values[0] = names.get(record.source.0 as usize).cloned().map(Datum::Text);
        values[1] = Some(word(record.event.name()));
        record.event.fields(|name, value| {
            values[place[name]] = Some(match value {
                // Counters stay far below 2^63.
                Value::Int(number) => Datum::Int(number as i64),
                Value::Seconds(time) => Datum::Real(time),
                Value::Word(text) => word(text),
                Value::Bool(yes) => Datum::Bool(yes),
            });
        });
        push(Instant { cell, repetition, t: record.t.as_secs_f64(), values })?;
    }
    Ok(())
}

/// Passes the samples of all time series of a repetition to `push`.
///
/// # Errors
/// Errors of `push`.
pub fn samples(model: &Model, cell: u32, repetition: u64, push: Push<'_>) -> results::Result<()> {
    let mut words: BTreeMap<String, Arc<str>> = BTreeMap::new();
    for sample in series::series(model, repetition) {
        let mut word = |text: &str| match words.get(text) {
            Some(known) => Datum::Text(known.clone()),
            None => Datum::Text(words.entry(text.to_owned()).or_insert_with(|| text.into()).clone()),
        };
        let values =
            vec![Some(word(sample.series)), Some(word(&sample.subject)), Some(Datum::Real(sample.value))];
        push(Instant { cell, repetition, t: sample.t, values })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns have the types of the fields as the table of events declares them.
    #[test]
    fn columns_have_the_types_of_their_fields() {
        let source = include_str!("../../base/src/event.rs");
        let lines = source.split("events! {").nth(1).unwrap().lines();
        let declared: String = lines.filter(|line| !line.trim_start().starts_with("///")).collect();
        for (name, kind) in &event_columns()[2..] {
            let mut seen = 0;
            for (at, _) in declared.match_indices(&format!(" {name}: ")) {
                let rest = &declared[at + name.len() + 3..];
                let declared = rest.split(" =").next().unwrap();
                let of = match declared {
                    "u64" | "u32" | "u8" => Kind::Int,
                    "crate::time::Span" | "Time" => Kind::Real,
                    "bool" => Kind::Bool,
                    "&'static str" | "DropReason" | "Cause" | "BlockUse" | "TbfStep" | "FrameFate"
                    | "CellStep" | "FirewallStep" => Kind::Text,
                    other => panic!("`{name}` has the new type {other}"),
                };
                assert_eq!(of, *kind, "{name}");
                seen += 1;
            }
            assert!(seen > 0, "{name}");
        }
    }
}
