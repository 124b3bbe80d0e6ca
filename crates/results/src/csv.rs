//! CSV table of a run (RFC 4180): writers from rows in memory or from any source of rows.
//!
//! A header line, CRLF line endings, fields quoted where necessary. Columns and line order are those of the
//! Parquet table; a missing value is an empty field. Numbers are the shortest decimals that read back to
//! equal bits; grid values are spelled as in the scenario.

use std::io;

use crate::error::{Error, Result};
use crate::row::{Cell, Header, KEYS, Row};
use crate::source::Source;

/// Writes the table. Rows may be in any order; duplicates count once.
///
/// # Errors
/// [`Error::Header`], [`Error::Row`] and [`Error::Conflict`] for rows that form no table, [`Error::Write`]
/// for errors of `out`.
pub fn write_csv(out: impl io::Write, header: &Header, rows: &[Row]) -> Result<()> {
    write_source(out, &Source::Rows(header, rows))
}

/// [`write_csv`] for any source of rows.
///
/// # Errors
/// Errors of [`write_csv`], and those of reading the rows.
pub fn write_source(out: impl io::Write, source: &Source<'_>) -> Result<()> {
    let header = source.header();
    header.check()?;
    let params = header.param_columns();
    let mut csv = ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(out);
    let heads = KEYS.into_iter().chain(params.iter().map(|param| param.name.as_str()));
    let heads = heads.chain(header.columns.iter().map(|column| column.name.as_str()));
    csv.write_record(heads).map_err(written)?;
    let mut cell: Option<std::borrow::Cow<'_, Cell>> = None;
    source.each_row(&mut |row| {
        // The rows of a cell are consecutive.
        if cell.as_ref().is_none_or(|cell| cell.index != row.cell) {
            cell = header.cell(row.cell);
        }
        csv.write_field(row.cell.to_string()).map_err(written)?;
        csv.write_field(row.repetition.to_string()).map_err(written)?;
        csv.write_field(&row.flow).map_err(written)?;
        for param in &params {
            let value = cell.as_ref().and_then(|cell| cell.param(&param.name));
            csv.write_field(value.unwrap_or_default()).map_err(written)?;
        }
        let values = row.values.iter().map(|value| value.map(decimal).unwrap_or_default());
        csv.write_record(values).map_err(written)
    })?;
    csv.flush().map_err(Error::Write)
}

/// Keeps the system error of the CSV library, so that the caller recognises a closed pipe.
fn written(error: ::csv::Error) -> Error {
    let text = error.to_string();
    Error::Write(match error.into_kind() {
        ::csv::ErrorKind::Io(source) => source,
        _ => io::Error::other(text),
    })
}

/// Shortest text that reads back to an equal number; empty for non-finite values.
fn decimal(value: f64) -> String {
    if !value.is_finite() {
        return String::new();
    }
    // Debug, unlike Display, uses exponents for very large and very small numbers.
    let mut text = format!("{value:?}");
    if text.ends_with(".0") {
        text.truncate(text.len() - 2);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Column, Combine};
    use proptest::prelude::*;

    fn header() -> Header {
        let cells = vec![Cell::new(0, [("rate", "30 kbit/s"), ("burst, \"B\"", "1.50")])];
        let columns = vec![Column::new("time_s", "s", Combine::Mean), Column::new("drops", "", Combine::Sum)];
        Header::new("4f1c", 1, "0.1.0", cells, columns).unwrap()
    }

    fn text(rows: &[Row]) -> String {
        let mut out = Vec::new();
        write_csv(&mut out, &header(), rows).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_table_to_the_letter() {
        let rows = [
            Row::new(0, 1, "a \"b\", c", [Some(1e300), Some(f64::NAN)]),
            Row::new(0, 0, "download", [Some(31.25), Some(2.0)]),
        ];
        let expected = "cell,repetition,flow,rate,\"burst, \"\"B\"\"\",time_s,drops\r\n\
                        0,0,download,30 kbit/s,1.50,31.25,2\r\n\
                        0,1,\"a \"\"b\"\", c\",30 kbit/s,1.50,1e300,\r\n";
        assert_eq!(text(&rows), expected);
    }

    #[test]
    fn a_writer_that_refuses_is_an_error() {
        let mut small = [0_u8; 10];
        let result = write_csv(&mut small[..], &header(), &[]);
        assert!(matches!(result, Err(Error::Write(_))));
    }

    proptest! {
        #[test]
        fn any_rows_come_back(
            rows in prop::collection::vec(("(?s).{0,10}", any::<[Option<f64>; 2]>()), 0..20)
        ) {
            let rows: Vec<Row> = rows
                .into_iter()
                .enumerate()
                .map(|(at, (flow, values))| {
                    Row::new(0, at as u64, flow, values.map(|value| value.filter(|value| value.is_finite())))
                })
                .collect();
            let text = text(&rows);
            let mut reader = ::csv::Reader::from_reader(text.as_bytes());
            let mut found = Vec::new();
            for record in reader.records() {
                let record = record.unwrap();
                let value = |at: usize| (!record[at].is_empty()).then(|| record[at].parse::<f64>().unwrap());
                found.push(Row::new(0, record[1].parse().unwrap(), &record[2], [value(5), value(6)]));
            }
            prop_assert_eq!(format!("{found:?}"), format!("{rows:?}"));
        }
    }
}
