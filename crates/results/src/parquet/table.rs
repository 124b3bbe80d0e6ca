//! Reader of a Parquet table of results: header, rows by row group, values of a single metric.
//!
//! Memory holds one row group, or a single column.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use ::parquet::basic::Type as Physical;
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::file::reader::{FileReader, SerializedFileReader};

use super::{HEADER_KEY, Outcome, PAGES_KEY};
use crate::error::{Error, Result};
use crate::row::{Header, KEYS, Row};

/// Reads a table of [`write_flows`](super::write_flows): header, and rows in the table's order.
///
/// # Errors
/// Errors of [`Table::open`].
pub fn read_flows(path: &Path) -> Result<(Header, Vec<Row>)> {
    let table = Table::open(path)?;
    let mut rows = Vec::new();
    for group in 0..table.groups() {
        table.read_group(group, &mut rows)?;
    }
    Ok((table.header, rows))
}

/// An open table with sorted rows in row groups.
pub struct Table {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    header: Header,
    places: Places,
}

/// Cell, repetition and flow of each row in a row group.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    pub(crate) cells: Vec<u32>,
    pub(crate) repetitions: Vec<u64>,
    pub(crate) flows: Vec<String>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Table").field(&self.path).finish()
    }
}

impl Table {
    /// Opens a table of this program and checks its pages.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Parquet`] if the file cannot be read, [`Error::NotFlows`] for other Parquet
    /// files and for damage, [`Error::Header`] for a newer program's header.
    pub fn open(path: &Path) -> Result<Table> {
        let file = File::open(path).map_err(Error::io("read", path))?;
        Table::of(file, path)
    }

    /// Opens a table in this file; `path` is used in messages.
    ///
    /// # Errors
    /// Errors of [`Table::open`].
    pub(crate) fn of(file: File, path: &Path) -> Result<Table> {
        guarded(path, || {
            let pages = file.try_clone().map_err(Error::io("read", path))?;
            let reader = SerializedFileReader::new(file).map_err(Error::parquet("read", path))?;
            let header = read_header(path, &reader)?;
            check_pages(path, pages, metadata(&reader, PAGES_KEY))?;
            let places = Places::find(path, &reader, &header)?;
            Ok(Table { path: path.to_owned(), reader, header, places })
        })
    }

    /// The run's header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Number of row groups.
    pub(crate) fn groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    /// All rows, by row group.
    pub fn into_rows(self) -> TableRows {
        TableRows { table: self, group: 0, held: VecDeque::new() }
    }

    /// Calls `each` for every repetition of every cell.
    ///
    /// # Errors
    /// Errors of [`Table::open`].
    pub(crate) fn each_repetition(&self, each: &mut dyn FnMut(u32, u64)) -> Result<()> {
        let mut last = None;
        for group in 0..self.groups() {
            let keys = self.keys(group)?;
            for key in keys.cells.into_iter().zip(keys.repetitions) {
                if last.replace(key) != Some(key) {
                    each(key.0, key.1);
                }
            }
        }
        Ok(())
    }

    /// Keys of a row group.
    ///
    /// # Errors
    /// Errors of [`Table::open`].
    pub(crate) fn keys(&self, group: usize) -> Result<Keys> {
        guarded(&self.path, || self.decode_keys(group))
    }

    /// Values of a metric in a row group.
    ///
    /// # Errors
    /// Errors of [`Table::open`].
    pub(crate) fn values(&self, group: usize, column: usize) -> Result<Vec<Option<f64>>> {
        guarded(&self.path, || self.decode_values(group, column))
    }

    /// Appends the rows of a row group to `rows`.
    ///
    /// # Errors
    /// Errors of [`Table::open`]; [`Error::Row`] for a row that does not fit the header.
    pub(crate) fn read_group(&self, group: usize, rows: &mut Vec<Row>) -> Result<()> {
        let first = rows.len();
        guarded(&self.path, || {
            let columns = self.header.columns.len();
            let Keys { cells, repetitions, flows } = self.decode_keys(group)?;
            let keys = cells.into_iter().zip(repetitions).zip(flows);
            let row = |((cell, repetition), flow)| {
                let values = Vec::with_capacity(columns);
                Row { cell, repetition, flow, values }
            };
            rows.extend(keys.map(row));
            for column in 0..columns {
                let values = self.decode_values(group, column)?;
                rows[first..].iter_mut().zip(values).for_each(|(row, value)| row.values.push(value));
            }
            Ok(())
        })?;
        rows[first..].iter().try_for_each(|row| self.header.check_row(row))
    }

    fn rows_of(&self, group: usize) -> Result<usize> {
        let rows = self.reader.metadata().row_group(group).num_rows();
        usize::try_from(rows).map_err(|_| self.wrong("its row count is negative"))
    }

    fn wrong(&self, why: &str) -> Error {
        Error::not_flows(&self.path, why)
    }

    fn column(&self, group: usize, place: usize) -> Result<ColumnReader> {
        let fail = Error::parquet("read", &self.path);
        let group = self.reader.get_row_group(group).map_err(&fail)?;
        group.get_column_reader(place).map_err(&fail)
    }

    fn decode_keys(&self, group: usize) -> Result<Keys> {
        let fail = Error::parquet("read", &self.path);
        let count = self.rows_of(group)?;
        let ColumnReader::Int32ColumnReader(cells) = self.column(group, self.places.keys[0])? else {
            return Err(self.wrong("its cells are no integers"));
        };
        let ColumnReader::Int64ColumnReader(repetitions) = self.column(group, self.places.keys[1])? else {
            return Err(self.wrong("its repetitions are no integers"));
        };
        let ColumnReader::ByteArrayColumnReader(flows) = self.column(group, self.places.keys[2])? else {
            return Err(self.wrong("its flows are no text"));
        };
        let (cells, _) = read_column::<Int32Type>(cells, count).map_err(&fail)?;
        let (repetitions, _) = read_column::<Int64Type>(repetitions, count).map_err(&fail)?;
        let (flows, _) = read_column::<ByteArrayType>(flows, count).map_err(&fail)?;
        if [cells.len(), repetitions.len(), flows.len()] != [count; 3] {
            return Err(self.wrong("its columns differ in length"));
        }
        let cell = |cell| u32::try_from(cell).map_err(|_| self.wrong("a cell is negative"));
        let repetition = |number| u64::try_from(number).map_err(|_| self.wrong("a repetition is negative"));
        Ok(Keys {
            cells: cells.into_iter().map(cell).collect::<Result<_>>()?,
            repetitions: repetitions.into_iter().map(repetition).collect::<Result<_>>()?,
            flows: flows
                .iter()
                .map(|flow| flow.as_utf8().map(str::to_owned).map_err(&fail))
                .collect::<Result<_>>()?,
        })
    }

    fn decode_values(&self, group: usize, column: usize) -> Result<Vec<Option<f64>>> {
        let ColumnReader::DoubleColumnReader(reader) = self.column(group, self.places.values[column])? else {
            return Err(self.wrong("a metric is no number"));
        };
        let count = self.rows_of(group)?;
        let (present, levels) = read_column(reader, count).map_err(Error::parquet("read", &self.path))?;
        if levels.len() != count {
            return Err(self.wrong("its columns differ in length"));
        }
        let mut present = present.into_iter();
        Ok(levels.into_iter().map(|level| if level == 1 { present.next() } else { None }).collect())
    }
}

/// Rows of a table in its order, with one row group in memory.
#[derive(Debug)]
pub struct TableRows {
    table: Table,
    /// Next row group.
    group: usize,
    held: VecDeque<Row>,
}

impl TableRows {
    /// Appends the rows of the next repetition to `rows`, or none at the end.
    ///
    /// # Errors
    /// Errors of [`Table::open`]; [`Error::Row`] for a row that does not fit the header.
    pub(crate) fn next_repetition(&mut self, rows: &mut Vec<Row>) -> Result<()> {
        let mut key = None;
        loop {
            if self.held.is_empty() {
                if self.group == self.table.groups() {
                    return Ok(());
                }
                let mut read = Vec::new();
                self.table.read_group(self.group, &mut read)?;
                self.group += 1;
                self.held = read.into();
            }
            while let Some(row) = self.held.front() {
                let own = (row.cell, row.repetition);
                if *key.get_or_insert(own) != own {
                    return Ok(());
                }
                rows.extend(self.held.pop_front());
            }
        }
    }
}

/// Converts panics of the Parquet library into errors. The checksum of the pages detects accidental damage,
/// but some files that pass it still make the decoders panic.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    panic::catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(Error::not_flows(path, "its content cannot be decoded")))
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

/// Whether the pages match their checksum.
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

/// Column indexes of keys, grid values and metrics.
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

/// Values of a column. For a nullable column also one definition level per row: 1 with a value.
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
