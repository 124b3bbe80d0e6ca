//! Parquet table of a run, `flows.parquet`: schema, metadata with a checksum of the pages, and writers.
//!
//! The table has one row per cell, repetition and flow, sorted by these keys. Its content does not depend on
//! the order in which repetitions finished; equal rows give equal bytes.
//!
//! | column | type |
//! |---|---|
//! | `cell` | int32 |
//! | `repetition` | int64 |
//! | `flow` | text |
//! | one per grid key | double if every value of the grid is a number, else text; null where a cell has no
//! such key |
//! | one per metric | double, null without a value |
//!
//! Metadata: `williwaw.schema`, `williwaw.version`, `williwaw.scenario_hash` and `williwaw.seed`.
//! `williwaw.short` has a short name for each grid key as JSON, and `williwaw.header` the whole header as
//! JSON: units, combinations, and the grid as the scenario spells it. `williwaw.pages` is the number of bytes
//! before the footer and their CRC-32 in hexadecimal, because Parquet itself does not detect a flipped bit in
//! a page. Other readers ignore it.

pub mod long;
mod table;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{KeyValue, SortingColumn};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::{Type, TypePtr};

use crate::durable;
use crate::error::{Error, Result};
use crate::names;
use crate::row::{self, Cell, Header, KEYS, ParamColumn, Row};

pub(crate) use self::table::Keys;
pub use self::table::{Table, TableRows, read_flows};

/// Rows per row group, the unit of compression and skipping; a writer or reader holds one group in memory.
pub(crate) const GROUP: usize = 1 << 14;

/// File name of the flows' table.
pub(crate) const FLOWS: &str = "flows.parquet";
const HEADER_KEY: &str = "williwaw.header";

/// Metadata key of the short names of grid keys.
const SHORT_KEY: &str = "williwaw.short";

/// Metadata key of the checksum of the pages.
const PAGES_KEY: &str = "williwaw.pages";

type Outcome<T> = std::result::Result<T, ParquetError>;

/// Appends the next rows of a table in its order; returns false at the end.
pub(crate) type More<'a> = &'a mut dyn FnMut(&mut Vec<Row>) -> Result<bool>;

/// Writes the table to `path` through a temporary file, so that `path` is complete at every moment; durable
/// at return. Rows may be in any order; duplicates count once.
///
/// # Errors
/// [`Error::Header`], [`Error::Row`] and [`Error::Conflict`] for rows that form no table, [`Error::Io`] and
/// [`Error::Parquet`] for failed writes. An existing table is then unchanged.
pub fn write_flows(path: &Path, header: &Header, rows: &[Row]) -> Result<()> {
    header.check()?;
    write_rows(path, header, &mut some_of(row::in_order(header, rows)?.into_iter()))
}

/// Bytes of [`write_flows`], for targets without files.
///
/// # Errors
/// Errors of [`write_flows`], except those of files.
pub fn flows_bytes(header: &Header, rows: &[Row]) -> Result<Vec<u8>> {
    header.check()?;
    let rows = row::in_order(header, rows)?.into_iter();
    write_to(Vec::new(), Path::new(FLOWS), header, &mut some_of(rows))
}

/// Returns sorted rows in portions.
fn some_of<'a>(mut rest: std::vec::IntoIter<&'a Row>) -> impl FnMut(&mut Vec<Row>) -> Result<bool> + use<'a> {
    move |rows| {
        rows.extend(rest.by_ref().take(GROUP).cloned());
        Ok(rest.len() > 0)
    }
}

/// [`write_flows`] for sorted rows, with some thousand of them in memory.
///
/// # Errors
/// Errors of [`write_flows`], and those of `more`.
pub(crate) fn write_rows(path: &Path, header: &Header, more: More<'_>) -> Result<()> {
    durable::replace(path, |file| write_to(file, path, header, more))
}

/// Writes the table to a file or to memory; `path` is used in messages.
///
/// # Errors
/// Errors of [`write_rows`].
pub(crate) fn write_to<W: Write + Send>(out: W, path: &Path, header: &Header, more: More<'_>) -> Result<W> {
    header.check()?;
    let mut failed = None;
    let written = write_table(out, header, &mut |rows| {
        more(rows).map_err(|error| {
            failed = Some(error);
            ParquetError::General("its rows cannot be read".to_owned())
        })
    });
    match failed {
        Some(error) => Err(error),
        None => written.map_err(Error::parquet("write", path)),
    }
}

fn write_table<W: Write + Send>(
    out: W,
    header: &Header,
    more: &mut dyn FnMut(&mut Vec<Row>) -> Outcome<bool>,
) -> Outcome<W> {
    // Serialisation of a plain structure cannot fail.
    let text = serde_json::to_string(header).map_err(|error| ParquetError::External(Box::new(error)))?;
    let params = header.param_columns();
    let keys: Vec<&str> = params.iter().map(|param| param.name.as_str()).collect();
    let short: serde_json::Map<String, serde_json::Value> = keys
        .iter()
        .map(|key| (*key).to_owned())
        .zip(names::short(&keys).into_iter().map(Into::into))
        .collect();
    let metadata = [
        ("williwaw.schema", header.schema.clone()),
        ("williwaw.version", header.version.clone()),
        ("williwaw.scenario_hash", header.scenario_hash.clone()),
        ("williwaw.seed", header.seed.to_string()),
        (SHORT_KEY, serde_json::Value::from(short).to_string()),
        (HEADER_KEY, text),
    ];
    let key_values = metadata.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect();
    let sorted_by = (0..KEYS.len() as i32)
        .map(|column_idx| SortingColumn { column_idx, descending: false, nulls_first: false })
        .collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        // No machine name or time: equal rows give equal bytes.
        .set_created_by(format!("williwaw version {}", header.version))
        .set_key_value_metadata(Some(key_values))
        .set_sorting_columns(Some(sorted_by))
        .build();
    let out = Checked { out, length: 0, check: crc32fast::Hasher::new() };
    let mut writer = SerializedFileWriter::new(out, schema_of(header, &params)?, Arc::new(properties))?;
    let mut rows: Vec<Row> = Vec::new();
    let mut goes_on = true;
    while goes_on {
        goes_on = more(&mut rows)?;
        while rows.len() >= GROUP || !(goes_on || rows.is_empty()) {
            let many = rows.len().min(GROUP);
            let mut group = writer.next_row_group()?;
            write_group(&mut group, header, &params, &rows[..many])?;
            group.close()?;
            rows.drain(..many);
        }
    }
    writer.flush()?;
    let pages = writer.inner().seal();
    writer.append_key_value_metadata(KeyValue::new(PAGES_KEY.to_owned(), pages));
    Ok(writer.into_inner()?.out)
}

/// A writer that counts and checksums its bytes.
struct Checked<W> {
    out: W,
    length: u64,
    check: crc32fast::Hasher,
}

impl<W> Checked<W> {
    /// Length and checksum of all bytes so far, in the format of the metadata.
    fn seal(&self) -> String {
        format!("{} {:08x}", self.length, self.check.clone().finalize())
    }
}

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.check.update(&bytes[..written]);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn schema_of(header: &Header, params: &[ParamColumn]) -> Outcome<TypePtr> {
    let field = |name: &str, physical: Physical, repetition: Repetition| {
        let text = (physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
        Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_logical_type(text)
            .build()
            .map(Arc::new)
    };
    let mut fields = vec![
        field(KEYS[0], Physical::INT32, Repetition::REQUIRED)?,
        field(KEYS[1], Physical::INT64, Repetition::REQUIRED)?,
        field(KEYS[2], Physical::BYTE_ARRAY, Repetition::REQUIRED)?,
    ];
    for param in params {
        let physical = if param.is_number { Physical::DOUBLE } else { Physical::BYTE_ARRAY };
        fields.push(field(&param.name, physical, Repetition::OPTIONAL)?);
    }
    for column in &header.columns {
        fields.push(field(&column.name, Physical::DOUBLE, Repetition::OPTIONAL)?);
    }
    Type::group_type_builder("flows").with_fields(fields).build().map(Arc::new)
}

fn write_group<W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    header: &Header,
    params: &[ParamColumn],
    rows: &[Row],
) -> Outcome<()> {
    // Both conversions are lossless: the rows were checked against the header.
    let cells: Vec<i32> = rows.iter().map(|row| row.cell as i32).collect();
    write_column::<Int32Type>(group, &cells, None)?;
    let repetitions: Vec<i64> = rows.iter().map(|row| row.repetition as i64).collect();
    write_column::<Int64Type>(group, &repetitions, None)?;

    let mut names: BTreeMap<&str, ByteArray> = BTreeMap::new();
    let mut shared = |text| names.entry(text).or_insert_with(|| ByteArray::from(text)).clone();
    let flows: Vec<ByteArray> = rows.iter().map(|row| shared(&row.flow)).collect();
    write_column::<ByteArrayType>(group, &flows, None)?;

    // The rows of a cell are consecutive.
    let stretches: Vec<(Option<Cow<'_, Cell>>, usize)> =
        rows.chunk_by(|a, b| a.cell == b.cell).map(|rows| (header.cell(rows[0].cell), rows.len())).collect();
    for param in params {
        let values = stretches.iter().flat_map(|(cell, many)| {
            let value = cell.as_ref().and_then(|cell| cell.param(&param.name));
            std::iter::repeat_n(value, *many)
        });
        if param.is_number {
            write_nullable::<DoubleType>(group, values.map(|value| value.and_then(row::number)))?;
        } else {
            write_nullable::<ByteArrayType>(group, values.map(|value| value.map(&mut shared)))?;
        }
    }
    for at in 0..header.columns.len() {
        let values = rows.iter().map(|row| row.values[at].filter(|value| value.is_finite()));
        write_nullable::<DoubleType>(group, values)?;
    }
    Ok(())
}

fn write_nullable<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl std::io::Write + Send>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Outcome<()> {
    let mut levels: Vec<i16> = Vec::new();
    let present: Vec<T::T> = values.inspect(|value| levels.push(value.is_some().into())).flatten().collect();
    write_column::<T>(group, &present, Some(&levels))
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl std::io::Write + Send>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Outcome<()> {
    let mut column = group
        .next_column()?
        .ok_or_else(|| ParquetError::General("the schema has fewer columns than the table".to_owned()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

#[cfg(test)]
mod tests;
