//! Metrics of a command: numbers that a program reports as one JSON object, checks of their names, and their
//! columns in tables.
//!
//! The object is the last line of the command's standard output that begins with `{`, or a file that the
//! command writes. Each key becomes a column in addition to the metrics of the flows. A key without a usable
//! number is left out and reported; an unreadable object is an error. Names are unknown before a run and so
//! are not in the journal: [`widen`] adds the columns afterwards.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::error::Result;
use crate::row::{Column, Combine, Header, KEYS, Row};

/// Name of the commands' table: `commands.parquet`.
pub const TABLE: &str = "commands";

/// Maximum number of metrics of one command; further keys are left out.
pub const MOST: usize = 256;

/// Maximum length of a name, bytes.
const LONGEST: usize = 64;

/// Metrics of one command in one repetition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbers {
    /// Finite values by name.
    pub values: BTreeMap<String, f64>,
    /// A sentence for each omitted key.
    pub left_out: Vec<String>,
}

/// Metrics of a command with cell and repetition.
#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    /// Index of the cell.
    pub cell: u32,
    /// Number of the repetition.
    pub repetition: u64,
    /// Name of the command.
    pub command: String,
    /// Values by name.
    pub values: BTreeMap<String, f64>,
}

/// Whether a text is a valid metric name: a letter, then letters, digits and `_`, at most 64 bytes; not the
/// name of a key column.
pub fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic());
    let rest = bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    first && rest && name.len() <= LONGEST && !KEYS.contains(&name)
}

/// Unit by the suffix of the name: `_s` seconds, `_bps` bit/s; otherwise empty.
pub fn unit(name: &str) -> &'static str {
    match name {
        _ if name.ends_with("_bps") => "bit/s",
        _ if name.ends_with("_s") => "s",
        _ => "",
    }
}

/// Whether larger values are better, by the suffix of the name: true for rates, false for times and amounts;
/// `None` for other names.
pub fn more_is_better(name: &str) -> Option<bool> {
    let ends = |all: &[&str]| all.iter().any(|end| name.ends_with(end));
    if ends(&["_bps", "_fps", "_hz"]) {
        Some(true)
    } else if ends(&["_s", "_ms", "_us", "_ns", "_bytes"]) {
        Some(false)
    } else {
        None
    }
}

/// Error of a text that is no JSON object with numbers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// JSON of another type.
    #[error("is JSON, but no object with names and numbers")]
    NoObject,
    /// Invalid JSON.
    #[error("is no JSON: {0}")]
    Json(#[source] serde_json::Error),
    /// Invalid JSON, with this word for a non-finite number.
    #[error("is no JSON: {0}; JSON has no {1}: write null for a missing number")]
    NotFinite(#[source] serde_json::Error, &'static str),
}

/// Error of a standard output without metrics.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// No line begins with `{`.
    #[error("its standard output has no line of JSON; the last one has to be as {{\"page_load_s\": 1.2}}")]
    NoLine,
    /// The line of this number, from 1, is unreadable.
    #[error("line {0} of its standard output {1}")]
    Line(usize, #[source] ObjectError),
}

/// Reads the last line of an output that begins with `{`. `taken` are the metric names already used by
/// williwaw.
///
/// # Errors
/// No line begins with `{`, or the line is no JSON object.
pub fn of_output(output: &[u8], taken: &[&str]) -> Result<Numbers, OutputError> {
    let lines = output.split(|byte| *byte == b'\n').enumerate();
    let found = lines.filter(|(_, line)| line.trim_ascii_start().starts_with(b"{")).last();
    let Some((at, line)) = found else {
        return Err(OutputError::NoLine);
    };
    of_object(line).map(|object| chosen(object, taken)).map_err(|why| OutputError::Line(at + 1, why))
}

/// Reads a file with a single object.
///
/// # Errors
/// It is no JSON object.
pub fn of_file(bytes: &[u8], taken: &[&str]) -> Result<Numbers, ObjectError> {
    of_object(bytes).map(|object| chosen(object, taken))
}

fn of_object(text: &[u8]) -> Result<Map<String, Value>, ObjectError> {
    match serde_json::from_slice(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(ObjectError::NoObject),
        Err(error) => {
            let text = String::from_utf8_lossy(text);
            let word = ["NaN", "Infinity"].into_iter().find(|word| text.contains(word));
            Err(match word {
                Some(word) => ObjectError::NotFinite(error, word),
                None => ObjectError::Json(error),
            })
        }
    }
}

fn chosen(object: Map<String, Value>, taken: &[&str]) -> Numbers {
    let mut numbers = Numbers::default();
    for (name, value) in object {
        let kind = match &value {
            Value::Number(number) => match number.as_f64().filter(|x| x.is_finite()) {
                Some(_) if taken.contains(&name.as_str()) => {
                    "has the name of a metric of williwaw; call it otherwise"
                }
                Some(_) if !is_name(&name) => {
                    "is no name for a number: a letter, then letters, digits and `_`, at most 64"
                }
                Some(_) if numbers.values.len() >= MOST => "is one too many: 256 are taken",
                Some(x) => {
                    numbers.values.insert(name, x);
                    continue;
                }
                None => "is not finite",
            },
            Value::Null => continue,
            Value::Bool(_) => "is true or false, not a number; write 1 or 0",
            Value::String(_) => "is a text, not a number",
            Value::Array(_) | Value::Object(_) => "is nested; only numbers at the top are taken",
        };
        let shown: String = name.chars().take(40).collect();
        // One sentence per key, up to ten.
        if numbers.left_out.len() < 10 {
            numbers.left_out.push(format!("`{shown}` {kind}"));
        }
    }
    numbers
}

/// Adds a column for each name to header and rows, sorted by name. Adds a row for a command that has none,
/// such as a server.
pub fn widen(header: &mut Header, rows: &mut Vec<Row>, reported: &[Reported]) {
    let names: BTreeSet<&str> = reported
        .iter()
        .flat_map(|one| one.values.keys())
        .map(String::as_str)
        .filter(|name| header.column(name).is_none())
        .collect();
    let before = header.columns.len();
    header.columns.extend(names.iter().map(|name| Column::new(*name, unit(name), Combine::Mean)));
    let width = header.columns.len();
    rows.iter_mut().for_each(|row| row.values.resize(width, None));
    let mut places: BTreeMap<(u32, u64, String), usize> =
        rows.iter().enumerate().map(|(at, row)| ((row.cell, row.repetition, row.flow.clone()), at)).collect();
    for one in reported {
        let key = (one.cell, one.repetition, one.command.clone());
        let at = *places.entry(key).or_insert_with(|| {
            rows.push(Row::new(one.cell, one.repetition, one.command.clone(), vec![None::<f64>; width]));
            rows.len() - 1
        });
        for (place, name) in names.iter().enumerate() {
            if let Some(x) = one.values.get(*name) {
                rows[at].values[before + place] = Some(*x);
            }
        }
    }
    rows.sort_by(|a, b| a.key().cmp(&b.key()));
}

/// Table `commands`: keys of the flows' table, and a column for each name.
///
/// # Errors
/// [`crate::Error::Header`] for an invalid header.
pub fn table(header: &Header, reported: &[Reported]) -> Result<(Header, Vec<Row>)> {
    let mut own = Header { columns: Vec::new(), ..header.clone() };
    let mut rows = Vec::new();
    widen(&mut own, &mut rows, reported);
    own.check()?;
    Ok((own, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Cell;

    fn numbers(text: &str) -> Numbers {
        of_output(text.as_bytes(), &["download_time_s"]).unwrap()
    }

    #[test]
    fn the_last_line_of_json_counts() {
        let found = numbers("loading\n{\"a\": 1}\n  {\"load_s\": 1.5, \"frames\": 60}\r\nbye\n");
        assert_eq!(found.values, BTreeMap::from([("load_s".to_owned(), 1.5), ("frames".to_owned(), 60.0)]));
        assert!(found.left_out.is_empty());
        assert_eq!(numbers("{\"a\": null}"), Numbers::default());
    }

    #[test]
    fn what_is_no_number_is_left_out_and_said() {
        let text = "{\"a\":\"fast\",\"b\":[1],\"c\":{\"d\":1},\"e\":true,\"9x\":1,\"download_time_s\":1,\"flow\":2,\"ok\":3}";
        let found = numbers(text);
        assert_eq!(found.values.keys().collect::<Vec<_>>(), ["ok"]);
        let said = found.left_out.join("\n");
        for part in [
            "`a` is a text",
            "`b` is nested",
            "`c` is nested",
            "`e` is true",
            "`9x` is no name",
            "`flow` is no name",
            "call it otherwise",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }

    #[test]
    fn what_is_no_object_is_one_error_with_its_place() {
        let error = |text: &str| of_output(text.as_bytes(), &[]).unwrap_err().to_string();
        let no_line =
            "its standard output has no line of JSON; the last one has to be as {\"page_load_s\": 1.2}";
        assert_eq!(error(""), no_line);
        assert!(error("done\n[1]\n").contains("no line of JSON"));
        let broken = error("start\n{\"a\": \n");
        assert!(broken.starts_with("line 2 of its standard output is no JSON: EOF "), "{broken}");
        let no_number = error("{\"a\": NaN}");
        let mend = "; JSON has no NaN: write null for a missing number";
        assert!(no_number.ends_with(mend), "{no_number}");
        assert!(error("{\"a\": 1e999}").contains("no JSON"));
        assert_eq!(
            of_file(b"[1, 2]", &[]).unwrap_err().to_string(),
            "is JSON, but no object with names and numbers"
        );
    }

    #[test]
    fn rows_get_columns_and_servers_get_rows() {
        let columns = vec![Column::new("completion_time_s", "s", Combine::Max)];
        let mut header = Header::new("h", 1, "v", vec![Cell::new(0, [("run.seed", "1")])], columns).unwrap();
        let mut rows = vec![Row::new(0, 0, "load", [2.0]), Row::new(0, 1, "load", [3.0])];
        let one = |repetition, command: &str, name: &str, x| Reported {
            cell: 0,
            repetition,
            command: command.to_owned(),
            values: BTreeMap::from([(name.to_owned(), x)]),
        };
        let reported = [one(1, "load", "page_s", 1.5), one(0, "server", "hits", 4.0)];
        let (own, table) = table(&header, &reported).unwrap();
        assert_eq!(own.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["hits", "page_s"]);
        assert_eq!(table.len(), 2);
        widen(&mut header, &mut rows, &reported);
        assert_eq!(header.columns.len(), 3);
        assert_eq!(rows[0].values, [Some(2.0), None, None]);
        assert_eq!((rows[1].flow.as_str(), rows[1].values[1]), ("server", Some(4.0)));
        assert_eq!(rows[2].values, [Some(3.0), None, Some(1.5)]);
        for row in &rows {
            header.check_row(row).unwrap();
        }
    }

    #[test]
    fn the_end_of_a_name_tells_unit_and_direction() {
        assert_eq!(
            [unit("load_s"), unit("rate_bps"), unit("load_ms"), unit("score")],
            ["s", "bit/s", "", ""]
        );
        assert_eq!(["load_ms", "video_fps", "score"].map(more_is_better), [Some(false), Some(true), None]);
    }

    proptest::proptest! {
        /// Arbitrary bytes give metrics or an error, within the bounds.
        #[test]
        fn any_output_is_read_or_refused(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            for text in [bytes.clone(), [b"{\"a\": ".as_slice(), &bytes, b"}"].concat()] {
                if let Ok(found) = of_output(&text, &[]) {
                    assert!(found.values.len() <= MOST && found.left_out.len() <= 10);
                    assert!(found.values.iter().all(|(name, x)| is_name(name) && x.is_finite()));
                }
            }
        }
    }
}
