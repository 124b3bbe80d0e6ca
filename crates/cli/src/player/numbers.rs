//! Metrics that commands of a run report: read after each repetition, stored with it, and added as columns to
//! the results.
//!
//! In real time the JSON document of the repetition stores them; in virtual time the stored output of the
//! command has them. A continued or compared run reads them again.

use super::rep_report::RepReport;
use crate::console::exit::Failure;
use crate::console::streams::Console;
use crate::output::table::{ALL, TableChoice};
use lab::sweep::Sweep;
use netns::job::CommandFacts;
use results::numbers::{self, Numbers, Reported};
use results::{Column, CompactRows, Header, Row};
use scenario::Model;
use scenario::metric::Metric;
use scenario::model::{Command, Reports};
use serde_json::{Value, json};
use std::fs::Metadata;
use std::path::Path;
use std::time::SystemTime;

/// Modification time and length of a file; `None` if it does not exist.
type Mark = Option<(SystemTime, u64)>;

/// State before a repetition of the files to which commands write metrics.
pub(crate) struct Marks(Vec<Mark>);

fn mark(command: &Command) -> Mark {
    let Some(Reports::File(file)) = &command.metrics else { return None };
    let data: Metadata = std::fs::metadata(file).ok()?;
    Some((data.modified().ok()?, data.len()))
}

impl Marks {
    /// State of the files of each command of the model.
    pub(crate) fn before(model: &Model) -> Marks {
        Marks(model.commands.iter().map(mark).collect())
    }
}

/// Whether a command of the model reports metrics.
pub(crate) fn any(model: &Model) -> bool {
    model.commands.iter().any(|command| command.metrics.is_some())
}

/// Metrics reported by a command, or the reason of their absence.
pub(crate) type NumbersResult = Result<Numbers, String>;

/// Reads the metrics reported by the commands of a repetition. `None` for a command without metrics, or one that ended
/// without success and reported none. `output` returns the standard output of a command by its index.
pub(crate) fn gather(
    model: &Model,
    facts: &[CommandFacts],
    marks: Option<&Marks>,
    mut output: impl FnMut(usize) -> Vec<u8>,
) -> Vec<Option<NumbersResult>> {
    let one = |(i, command): (usize, &Command)| {
        let read = match command.metrics.as_ref()? {
            Reports::Output => numbers::of_output(&output(i), Metric::NAMES).map_err(|why| why.to_string()),
            Reports::File(file) => {
                of_file(file, command, marks.and_then(|marks| marks.0.get(i)).copied().flatten())
            }
        };
        let status = facts.get(i).and_then(|facts| facts.ended.status.as_ref());
        let well = status.is_some_and(|status| status.code == 0);
        (read.is_ok() || well).then_some(read)
    };
    model.commands.iter().enumerate().map(one).collect()
}

fn of_file(file: &str, command: &Command, before: Mark) -> NumbersResult {
    let now = mark(command);
    if now.is_none() {
        return Err(format!("`{file}` was to hold its numbers, and there is no such file"));
    }
    if now == before {
        return Err(format!("`{file}` is from before this repetition; the program must rewrite it"));
    }
    let bytes = std::fs::read(file).map_err(|error| format!("`{file}` cannot be read: {error}"))?;
    numbers::of_file(&bytes, Metric::NAMES).map_err(|why| format!("`{file}` {why}"))
}

/// Faults of the reported metrics, and whether a command reported none.
pub(crate) fn complaints(
    model: &Model,
    outcomes: &[Option<NumbersResult>],
    which: &str,
) -> (Vec<(String, String)>, bool) {
    let (mut complaints, mut failed) = (Vec::new(), false);
    for (command, outcome) in model.commands.iter().zip(outcomes) {
        let name = &command.name;
        match outcome {
            Some(Ok(numbers)) => {
                let reasons = numbers.left_out.iter();
                complaints
                    .extend(reasons.map(|why| ("warning".to_owned(), format!("{which}, {name}: {why}"))));
            }
            Some(Err(why)) => {
                complaints.push(("no numbers".to_owned(), format!("{which}, {name}: {why}")));
                failed = true;
            }
            None => {}
        }
    }
    (complaints, failed)
}

/// Adds the reported metrics and their faults to the report of a repetition.
pub(crate) fn add_to_report(report: &mut RepReport, model: &Model, outcomes: &[Option<NumbersResult>]) {
    let which = format!("repetition {} of cell {}", report.repetition, report.cell);
    let (complaints, failed) = complaints(model, outcomes, &which);
    report.complaints.extend(complaints);
    report.failed |= failed;
    for (command, outcome) in model.commands.iter().zip(outcomes) {
        if let Some(Ok(numbers)) = outcome {
            report.document["commands"][&command.name]["metrics"] = json!(numbers.values);
        }
    }
}

/// Reported metrics with cell and repetition.
pub(crate) fn reported(
    (cell, repetition): (u32, u64),
    model: &Model,
    outcomes: &[Option<NumbersResult>],
) -> Vec<Reported> {
    let named = model.commands.iter().zip(outcomes);
    named
        .filter_map(|(command, outcome)| {
            let values = outcome.as_ref()?.as_ref().ok()?.values.clone();
            Some(Reported { cell, repetition, command: command.name.clone(), values })
        })
        .collect()
}

/// Reported metrics in the JSON document of a repetition.
pub(crate) fn in_document(document: &Value) -> Vec<Reported> {
    let place = document["cell"]
        .as_u64()
        .and_then(|cell| u32::try_from(cell).ok())
        .zip(document["repetition"].as_u64());
    let (Some((cell, repetition)), Some(commands)) = (place, document["commands"].as_object()) else {
        return Vec::new();
    };
    let one = |(command, facts): (&String, &Value)| {
        let values = facts["metrics"].as_object()?;
        let values = values.iter().filter(|(name, _)| numbers::is_name(name));
        let values = values.filter_map(|(name, x)| Some((name.clone(), x.as_f64()?))).collect();
        Some(Reported { cell, repetition, command: command.clone(), values })
    };
    commands.iter().filter_map(one).collect()
}

/// Reported metrics of these repetitions in a run folder.
pub(crate) fn kept(folder: &Path, sweep: &Sweep, of: &[(u32, u64)]) -> Vec<Reported> {
    let mut all = Vec::new();
    for &(cell, repetition) in of {
        let Some(prepared) = sweep.cells.good(cell as usize).filter(|cell| any(&cell.model)) else {
            continue;
        };
        let model = &prepared.model;
        let document = folder.join("repetitions").join(format!("{cell}-{repetition}.json"));
        if let Ok(text) = std::fs::read(document) {
            all.extend(in_document(&serde_json::from_slice(&text).unwrap_or_default()));
            continue;
        }
        let outputs = folder.join("commands").join(format!("{cell}-{repetition}"));
        let output = |i: usize| {
            std::fs::read(outputs.join(format!("{}.stdout", model.commands[i].name))).unwrap_or_default()
        };
        let outcomes = gather(model, &[], None, output);
        all.extend(reported((cell, repetition), model, &outcomes));
    }
    all
}

/// Adds the reported metrics to the results as columns, and with `folder` writes them as a table.
pub(crate) fn put_beside(
    header: &mut Header,
    rows: &mut Vec<Row>,
    reported: &[Reported],
    folder: Option<&Path>,
) -> Result<(), Failure> {
    if reported.is_empty() {
        return Ok(());
    }
    if let Some(folder) = folder {
        let (own, own_rows) = numbers::table(header, reported)?;
        let path = folder.join(format!("{}.parquet", numbers::TABLE));
        results::parquet::write_flows(&path, &own, &own_rows)?;
    }
    numbers::widen(header, rows, reported);
    Ok(())
}

/// [`put_beside`] for rows by column.
pub(crate) fn put_beside_compact(
    header: &mut Header,
    rows: &mut CompactRows,
    reported: &[Reported],
    folder: Option<&Path>,
) -> Result<(), Failure> {
    if reported.is_empty() {
        return Ok(());
    }
    let mut whole: Vec<Row> = rows.iter().collect();
    put_beside(header, &mut whole, reported, folder)?;
    *rows = CompactRows::from_iter(&whole);
    Ok(())
}

/// Adds columns without values for reported metrics that only the other run has.
pub(crate) fn with_columns_of(header: &mut Header, rows: &mut CompactRows, other: &Header) {
    let own = other.columns.iter().filter(|column| !Metric::NAMES.contains(&column.name.as_str()));
    let missing: Vec<Column> = own.filter(|column| header.column(&column.name).is_none()).cloned().collect();
    header.columns.extend(missing);
    rows.widen(header.columns.len());
}

/// Refuses unknown metrics. If commands report metrics, any valid name is accepted.
pub(crate) fn check<'a>(
    choice: &TableChoice,
    mut models: impl Iterator<Item = &'a Model>,
) -> Result<(), Failure> {
    if models.any(any) {
        let mut strange =
            choice.metrics.iter().flatten().filter(|name| *name != ALL && !numbers::is_name(name));
        return match strange.next() {
            None => Ok(()),
            Some(name) => Err(Failure::usage(
                format!("`{name}` is not a valid metric name"),
                "a letter, then letters, digits and `_`",
            )),
        };
    }
    choice.check(Metric::NAMES)
}

/// Prints the requested metrics that no command reported.
pub(crate) fn missing(choice: &TableChoice, header: &Header, console: &Console) {
    for name in choice.metrics.iter().flatten() {
        if name != ALL && header.column(name).is_none() {
            let own = header.columns.iter().map(|column| column.name.as_str());
            let own: Vec<&str> = own.filter(|name| !Metric::NAMES.contains(name)).collect();
            let there = if own.is_empty() { "none".to_owned() } else { own.join(", ") };
            console.complaint("no number", &format!("no command reported `{name}`; reported: {there}"));
        }
    }
}
