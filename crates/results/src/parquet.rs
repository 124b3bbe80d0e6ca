//! Parquet table of a finished run.
//!
//! `flows.parquet` has one line per cell, repetition and flow, sorted by the three, so that its content does
//! not depend on the order in which repetitions finished; the same rows give the same bytes.
//!
//! | column | type |
//! |---|---|
//! | `cell` | int32 |
//! | `repetition` | int64 |
//! | `flow` | text |
//! | one per grid key | double when every value of the grid reads as a number, else text; null where a cell has no such key |
//! | one per metric | double, null where there is no value |
//!
//! Beside them stand as metadata `williwaw.schema`, `williwaw.version`, `williwaw.scenario_hash`,
//! `williwaw.seed`, in `williwaw.short` a short name for each grid key as JSON, and in `williwaw.header` the whole
//! header as JSON: units, ways to combine, and the grid
//! as the scenario spells it. `williwaw.pages` is the length in bytes of all that precedes the footer and
//! its CRC-32 in hexadecimal: Parquet checks nothing by itself, and a flipped bit in a page is another
//! number or worse. Other readers pass over it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{KeyValue, SortingColumn};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::{Type, TypePtr};

use crate::durable;
use crate::error::{Error, Result};
use crate::names;
use crate::row::{self, Header, KEYS, ParamColumn, Row};

/// Rows that are compressed together, and that a reader can skip together.
const GROUP: usize = 1 << 17;

/// Metadata key of the whole header.
const HEADER_KEY: &str = "williwaw.header";

/// Metadata key of the short names of grid keys.
const SHORT_KEY: &str = "williwaw.short";

/// Metadata key of the checksum of the pages.
const PAGES_KEY: &str = "williwaw.pages";

type Outcome<T> = std::result::Result<T, ParquetError>;

/// Writes the table to `path` by way of a file beside it, so that `path` is always whole; durable when this
/// returns. Rows may come in any order; equal ones count once.
///
/// # Errors
/// [`Error::Header`], [`Error::Row`] and [`Error::Conflict`] for what makes no table, [`Error::Io`] and
/// [`Error::Parquet`] when it cannot be written. A table that was there before is then untouched.
pub fn write_flows(path: &Path, header: &Header, rows: &[Row]) -> Result<()> {
    header.check()?;
    let rows = row::in_order(header, rows)?;
    durable::replace(path, |file| write_table(file, header, &rows).map_err(Error::parquet("write", path)))
}

/// The bytes that [`write_flows`] would write, where there are no files.
///
/// # Errors
/// As of [`write_flows`], but for those of files.
pub fn flows_bytes(header: &Header, rows: &[Row]) -> Result<Vec<u8>> {
    header.check()?;
    let rows = row::in_order(header, rows)?;
    write_table(Vec::new(), header, &rows).map_err(Error::parquet("write", Path::new("flows.parquet")))
}

fn write_table<W: Write + Send>(out: W, header: &Header, rows: &[&Row]) -> Outcome<W> {
    // Plain structures always become JSON.
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
        // Nothing of the machine or the hour: the same rows are the same bytes.
        .set_created_by(format!("williwaw version {}", header.version))
        .set_key_value_metadata(Some(key_values))
        .set_sorting_columns(Some(sorted_by))
        .build();
    let out = Checked { out, length: 0, check: crc32fast::Hasher::new() };
    let mut writer = SerializedFileWriter::new(out, schema_of(header, &params)?, Arc::new(properties))?;
    for rows in rows.chunks(GROUP) {
        let mut group = writer.next_row_group()?;
        write_group(&mut group, header, &params, rows)?;
        group.close()?;
    }
    writer.flush()?;
    let pages = writer.inner().seal();
    writer.append_key_value_metadata(KeyValue::new(PAGES_KEY.to_owned(), pages));
    Ok(writer.into_inner()?.out)
}

/// An output that knows what went into it.
struct Checked<W> {
    out: W,
    length: u64,
    check: crc32fast::Hasher,
}

impl<W> Checked<W> {
    /// Length and check of everything written so far, as it stands in the metadata.
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
    rows: &[&Row],
) -> Outcome<()> {
    // Both fit: the rows were checked against the header.
    let cells: Vec<i32> = rows.iter().map(|row| row.cell as i32).collect();
    write_column::<Int32Type>(group, &cells, None)?;
    let repetitions: Vec<i64> = rows.iter().map(|row| row.repetition as i64).collect();
    write_column::<Int64Type>(group, &repetitions, None)?;

    let mut names: BTreeMap<&str, ByteArray> = BTreeMap::new();
    let mut shared = |text| names.entry(text).or_insert_with(|| ByteArray::from(text)).clone();
    let flows: Vec<ByteArray> = rows.iter().map(|row| shared(&row.flow)).collect();
    write_column::<ByteArrayType>(group, &flows, None)?;

    for param in params {
        let values = rows.iter().map(|row| header.cell(row.cell).and_then(|cell| cell.param(&param.name)));
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

/// Reads a table that [`write_flows`] wrote: its header and its rows in the table's order.
///
/// # Errors
/// [`Error::Io`] and [`Error::Parquet`] when the file cannot be read, [`Error::NotFlows`] when it is some
/// other Parquet file or damaged, [`Error::Header`] when it is that of a later program.
pub fn read_flows(path: &Path) -> Result<(Header, Vec<Row>)> {
    // The check of the pages keeps accidents away from the library's decoders, but some bytes that pass it
    // still make them panic. A file is no bug of ours, so that becomes an error too.
    panic::catch_unwind(AssertUnwindSafe(|| read_table(path)))
        .unwrap_or_else(|_| Err(Error::not_flows(path, "its content cannot be decoded")))
}

fn read_table(path: &Path) -> Result<(Header, Vec<Row>)> {
    let file = File::open(path).map_err(Error::io("read", path))?;
    let fail = Error::parquet("read", path);
    let pages = file.try_clone().map_err(Error::io("read", path))?;
    let reader = SerializedFileReader::new(file).map_err(&fail)?;
    let header = read_header(path, &reader)?;
    check_pages(path, pages, metadata(&reader, PAGES_KEY))?;
    let places = Places::find(path, &reader, &header)?;
    let mut rows = Vec::new();
    for at in 0..reader.num_row_groups() {
        let group = reader.get_row_group(at).map_err(&fail)?;
        read_group(path, &*group, &places, &mut rows)?;
    }
    for row in &rows {
        header.check_row(row)?;
    }
    Ok((header, rows))
}

fn read_header(path: &Path, reader: &SerializedFileReader<File>) -> Result<Header> {
    let text =
        metadata(reader, HEADER_KEY).ok_or_else(|| Error::not_flows(path, "it has no header of a run"))?;
    let header: Header = serde_json::from_str(text)
        .map_err(|error| Error::not_flows(path, format!("its header does not read: {error}")))?;
    header.check()?;
    Ok(header)
}

fn metadata<'a>(reader: &'a SerializedFileReader<File>, key: &str) -> Option<&'a str> {
    let pairs = reader.metadata().file_metadata().key_value_metadata()?;
    pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
}

/// Whether the pages are those that were written.
fn check_pages(path: &Path, mut file: File, sealed: Option<&str>) -> Result<()> {
    let length = sealed.and_then(|sealed| sealed.split(' ').next()?.parse().ok()).unwrap_or(0);
    file.rewind().map_err(Error::io("read", path))?;
    let mut file = file.take(length);
    let mut check = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    let mut found = 0;
    loop {
        match file.read(&mut buffer).map_err(Error::io("read", path))? {
            0 => break,
            count => {
                check.update(&buffer[..count]);
                found += count as u64;
            }
        }
    }
    if sealed == Some(format!("{found} {:08x}", check.finalize()).as_str()) {
        Ok(())
    } else {
        Err(Error::not_flows(path, "it was damaged or changed after it was written"))
    }
}

/// Where in the file the columns are that make a row.
struct Places {
    keys: [usize; 3],
    values: Vec<usize>,
}

impl Places {
    fn find(path: &Path, reader: &SerializedFileReader<File>, header: &Header) -> Result<Places> {
        let schema = reader.metadata().file_metadata().schema_descr();
        let place = |name: &str, physical: Physical, levels: i16| {
            let at = (0..schema.num_columns())
                .find(|&at| schema.column(at).path().parts() == [name])
                .ok_or_else(|| Error::not_flows(path, format!("it has no column {name:?}")))?;
            let column = schema.column(at);
            let fits = column.physical_type() == physical
                && column.max_rep_level() == 0
                && column.max_def_level() == levels;
            if fits {
                Ok(at)
            } else {
                Err(Error::not_flows(path, format!("column {name:?} has another type")))
            }
        };
        Ok(Places {
            keys: [
                place(KEYS[0], Physical::INT32, 0)?,
                place(KEYS[1], Physical::INT64, 0)?,
                place(KEYS[2], Physical::BYTE_ARRAY, 0)?,
            ],
            values: header
                .columns
                .iter()
                .map(|column| place(&column.name, Physical::DOUBLE, 1))
                .collect::<Result<_>>()?,
        })
    }
}

fn read_group(path: &Path, group: &dyn RowGroupReader, places: &Places, rows: &mut Vec<Row>) -> Result<()> {
    let fail = Error::parquet("read", path);
    let wrong = |why: &str| Error::not_flows(path, why);
    let open = |at| group.get_column_reader(at).map_err(&fail);
    let count =
        usize::try_from(group.metadata().num_rows()).map_err(|_| wrong("its row count is negative"))?;

    let ColumnReader::Int32ColumnReader(cells) = open(places.keys[0])? else {
        return Err(wrong("its cells are no integers"));
    };
    let ColumnReader::Int64ColumnReader(repetitions) = open(places.keys[1])? else {
        return Err(wrong("its repetitions are no integers"));
    };
    let ColumnReader::ByteArrayColumnReader(flows) = open(places.keys[2])? else {
        return Err(wrong("its flows are no text"));
    };
    let (cells, _) = read_column(cells, count).map_err(&fail)?;
    let (repetitions, _) = read_column(repetitions, count).map_err(&fail)?;
    let (flows, _) = read_column(flows, count).map_err(&fail)?;
    if [cells.len(), repetitions.len(), flows.len()] != [count; 3] {
        return Err(wrong("its columns differ in length"));
    }
    let first = rows.len();
    for ((cell, repetition), flow) in cells.into_iter().zip(repetitions).zip(flows) {
        rows.push(Row {
            cell: u32::try_from(cell).map_err(|_| wrong("a cell is negative"))?,
            repetition: u64::try_from(repetition).map_err(|_| wrong("a repetition is negative"))?,
            flow: flow.as_utf8().map_err(&fail)?.to_owned(),
            values: Vec::with_capacity(places.values.len()),
        });
    }
    for &place in &places.values {
        let ColumnReader::DoubleColumnReader(reader) = open(place)? else {
            return Err(wrong("a metric is no number"));
        };
        let (present, levels) = read_column(reader, count).map_err(&fail)?;
        if levels.len() != count {
            return Err(wrong("its columns differ in length"));
        }
        let mut present = present.into_iter();
        for (row, level) in rows[first..].iter_mut().zip(levels) {
            row.values.push(if level == 1 { present.next() } else { None });
        }
    }
    Ok(())
}

/// The values that are there, and for a nullable column a level per row: 1 where there is one.
fn read_column<T: DataType>(mut reader: ColumnReaderImpl<T>, count: usize) -> Outcome<(Vec<T::T>, Vec<i16>)> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    loop {
        let (records, ..) = reader.read_records(
            count.saturating_sub(levels.len().max(values.len())),
            Some(&mut levels),
            None,
            &mut values,
        )?;
        if records == 0 {
            return Ok((values, levels));
        }
    }
}

#[cfg(test)]
mod tests;
