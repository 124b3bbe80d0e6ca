//! Parquet tables of events and of time series: typed columns, many rows for each repetition, writer.
//!
//! Unlike `flows.parquet`, such a table is written on request, for selected repetitions, and this crate does
//! not read it. Columns are `cell` (int32), `repetition` (int64), `t_s` (double, seconds), and those of the
//! caller, null without a value.

use super::{GROUP, Outcome, write_column, write_nullable};
use crate::durable;
use crate::error::{Error, Result};
use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{KeyValue, SortingColumn};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::{Type, TypePtr};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Signed 64-bit integer.
    Int,
    /// Double-precision number.
    Real,
    /// UTF-8 text.
    Text,
    /// Boolean.
    Bool,
}

/// A value of a row.
#[derive(Clone, PartialEq, Debug)]
pub enum Datum {
    /// Value of [`Kind::Int`].
    Int(i64),
    /// Value of [`Kind::Real`].
    Real(f64),
    /// Value of [`Kind::Text`].
    Text(Arc<str>),
    /// Value of [`Kind::Bool`].
    Bool(bool),
}

/// A row: keys, time, and a value for each column of the caller.
#[derive(Clone, PartialEq, Debug)]
pub struct Instant {
    /// Index of the cell.
    pub cell: u32,
    /// Number of the repetition.
    pub repetition: u64,
    /// Seconds from the start of the repetition.
    pub t: f64,
    /// Values in the order of the columns; missing trailing values are null.
    pub values: Vec<Option<Datum>>,
}

/// Callback that accepts a row.
pub type Push<'a> = &'a mut dyn FnMut(Instant) -> Result<()>;

/// Name, columns and run of a table.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// Name of the table, such as `events`.
    pub name: &'a str,
    /// Columns after the key columns.
    pub columns: &'a [(&'a str, Kind)],
    /// Version, scenario hash and seed, as in `flows.parquet`.
    pub of: &'a crate::Header,
}

/// Writes the table of the rows that `fill` passes in the order of cell, repetition and time; returns the
/// number of rows. Some thousand rows are in memory.
///
/// # Errors
/// Errors of `fill`, and [`Error::Io`] and [`Error::Parquet`] for failed writes; an existing file is then
/// unchanged.
pub fn write(path: &Path, head: Head<'_>, fill: &mut dyn FnMut(Push<'_>) -> Result<()>) -> Result<u64> {
    let mut many = 0;
    durable::replace(path, |file| {
        let fault = |error| Error::parquet("write", path)(error);
        let mut writer = open(file, head).map_err(fault)?;
        let mut rows: Vec<Instant> = Vec::with_capacity(GROUP);
        fill(&mut |row| {
            rows.push(row);
            many += 1;
            if rows.len() == GROUP {
                group(&mut writer, head.columns, &rows).map_err(fault)?;
                rows.clear();
            }
            Ok(())
        })?;
        if !rows.is_empty() {
            group(&mut writer, head.columns, &rows).map_err(fault)?;
        }
        writer.into_inner().map_err(fault)
    })?;
    Ok(many)
}

fn open(file: File, head: Head<'_>) -> Outcome<SerializedFileWriter<File>> {
    let metadata = [
        ("williwaw.schema", format!("williwaw-{}/1", head.name)),
        ("williwaw.version", head.of.version.clone()),
        ("williwaw.scenario_hash", head.of.scenario_hash.clone()),
        ("williwaw.seed", head.of.seed.to_string()),
    ];
    let sorted_by =
        (0..3).map(|column_idx| SortingColumn { column_idx, descending: false, nulls_first: false });
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("williwaw version {}", head.of.version))
        .set_key_value_metadata(Some(
            metadata.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect(),
        ))
        .set_sorting_columns(Some(sorted_by.collect()))
        .build();
    SerializedFileWriter::new(file, schema(head)?, Arc::new(properties))
}

fn schema(head: Head<'_>) -> Outcome<TypePtr> {
    let field = |name: &str, physical: Physical, repetition: Repetition| {
        let text = (physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
        let field = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        field.with_logical_type(text).build().map(Arc::new)
    };
    let mut fields = vec![
        field("cell", Physical::INT32, Repetition::REQUIRED)?,
        field("repetition", Physical::INT64, Repetition::REQUIRED)?,
        field("t_s", Physical::DOUBLE, Repetition::REQUIRED)?,
    ];
    for (name, kind) in head.columns {
        let physical = match kind {
            Kind::Int => Physical::INT64,
            Kind::Real => Physical::DOUBLE,
            Kind::Text => Physical::BYTE_ARRAY,
            Kind::Bool => Physical::BOOLEAN,
        };
        fields.push(field(name, physical, Repetition::OPTIONAL)?);
    }
    Type::group_type_builder(head.name).with_fields(fields).build().map(Arc::new)
}

fn group(writer: &mut SerializedFileWriter<File>, columns: &[(&str, Kind)], rows: &[Instant]) -> Outcome<()> {
    let mut group = writer.next_row_group()?;
    let cells: Vec<i32> = rows.iter().map(|row| row.cell as i32).collect();
    write_column::<Int32Type>(&mut group, &cells, None)?;
    let repetitions: Vec<i64> = rows.iter().map(|row| row.repetition as i64).collect();
    write_column::<Int64Type>(&mut group, &repetitions, None)?;
    let times: Vec<f64> = rows.iter().map(|row| row.t).collect();
    write_column::<DoubleType>(&mut group, &times, None)?;
    for (at, (name, kind)) in columns.iter().enumerate() {
        let values = rows.iter().map(|row| row.values.get(at).and_then(Option::as_ref));
        // A value of another type is an error of the caller and is not converted.
        let fits = values.clone().flatten().all(|value| value.kind() == *kind);
        if !fits {
            return Err(ParquetError::General(format!("a value of `{name}` is not of its type")));
        }
        match kind {
            Kind::Int => write_nullable::<Int64Type>(&mut group, values.map(|v| v.and_then(Datum::int)))?,
            Kind::Real => write_nullable::<DoubleType>(&mut group, values.map(|v| v.and_then(Datum::real)))?,
            Kind::Text => {
                write_nullable::<ByteArrayType>(&mut group, values.map(|v| v.and_then(Datum::text)))?
            }
            Kind::Bool => write_nullable::<BoolType>(&mut group, values.map(|v| v.and_then(Datum::bool)))?,
        }
    }
    group.close()?;
    Ok(())
}

impl Datum {
    fn kind(&self) -> Kind {
        match self {
            Datum::Int(_) => Kind::Int,
            Datum::Real(_) => Kind::Real,
            Datum::Text(_) => Kind::Text,
            Datum::Bool(_) => Kind::Bool,
        }
    }

    fn int(&self) -> Option<i64> {
        if let Datum::Int(value) = self { Some(*value) } else { None }
    }

    fn real(&self) -> Option<f64> {
        if let Datum::Real(value) = self { Some(*value) } else { None }
    }

    fn text(&self) -> Option<ByteArray> {
        if let Datum::Text(value) = self { Some(ByteArray::from(&**value)) } else { None }
    }

    fn bool(&self) -> Option<bool> {
        if let Datum::Bool(value) = self { Some(*value) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
    use ::parquet::record::Field;

    fn header() -> crate::Header {
        let cell = crate::Cell { index: 0, params: Vec::new() };
        crate::Header::new("hash", 7, "0.1.0", vec![cell], Vec::new()).unwrap()
    }

    const COLUMNS: &[(&str, Kind)] =
        &[("event", Kind::Text), ("size", Kind::Int), ("rto", Kind::Real), ("spurious", Kind::Bool)];

    /// Rows of several row groups are restored in order with their types; missing values are null.
    #[test]
    fn rows_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.parquet");
        let of = header();
        let head = Head { name: "events", columns: COLUMNS, of: &of };
        let many = GROUP as u64 + 5;
        let written = write(&path, head, &mut |push| {
            (0..many).try_for_each(|n| {
                let values = match n % 2 {
                    0 => vec![Some(Datum::Text("path:enqueued".into())), Some(Datum::Int(n as i64))],
                    _ => vec![None, None, Some(Datum::Real(0.5)), Some(Datum::Bool(true))],
                };
                push(Instant { cell: 0, repetition: 3, t: n as f64, values })
            })
        });
        assert_eq!(written.unwrap(), many);
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 2);
        for (n, row) in reader.get_row_iter(None).unwrap().enumerate() {
            let fields: Vec<Field> = row.unwrap().get_column_iter().map(|(_, field)| field.clone()).collect();
            assert_eq!(fields[..3], [Field::Int(0), Field::Long(3), Field::Double(n as f64)]);
            let rest = match n % 2 {
                0 => [Field::Str("path:enqueued".into()), Field::Long(n as i64), Field::Null, Field::Null],
                _ => [Field::Null, Field::Null, Field::Double(0.5), Field::Bool(true)],
            };
            assert_eq!(fields[3..], rest);
        }
    }

    /// A value of another type is refused, and the existing file is unchanged.
    #[test]
    fn a_value_of_another_type_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.parquet");
        std::fs::write(&path, "before").unwrap();
        let of = header();
        let head = Head { name: "events", columns: COLUMNS, of: &of };
        let error = write(&path, head, &mut |push| {
            push(Instant { cell: 0, repetition: 0, t: 0.0, values: vec![Some(Datum::Int(1))] })
        });
        assert!(error.unwrap_err().to_string().contains("`event` is not of its type"));
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
    }
}
