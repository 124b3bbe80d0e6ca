//! Source of a run's rows for summaries cell by cell: rows in memory, or a table that is read in parts.
//!
//! A table of any length needs the memory of one row group. A cell longer than a row group is read one metric
//! at a time, at about 30 bytes per repetition.

use std::collections::BTreeMap;

use crate::cells::{CellSummary, summarise_cell, together};
use crate::error::Result;
use crate::parquet::{GROUP, Keys, Table};
use crate::row::{self, Cell, Header, Row};
use crate::stats::Summary;

/// Source of a run's rows.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// Rows in any order, with their header.
    Rows(&'a Header, &'a [Row]),
    /// A table on disk.
    Table(&'a Table),
}

/// Summarises every cell of the header in order, including cells without finished repetitions. The result
/// does not depend on the order of rows.
///
/// # Errors
/// [`Error::Row`](crate::Error::Row) and [`Error::Conflict`](crate::Error::Conflict) for rows that form no
/// table.
pub fn summarise(header: &Header, rows: &[Row]) -> Result<Vec<CellSummary>> {
    let mut cells = Vec::with_capacity(header.cells.len());
    Source::Rows(header, rows).each_cell(&mut |summary| {
        cells.push(summary);
        Ok(())
    })?;
    Ok(cells)
}

impl<'a> Source<'a> {
    /// The run's header.
    pub fn header(&self) -> &'a Header {
        match self {
            Source::Rows(header, _) => header,
            Source::Table(table) => table.header(),
        }
    }

    /// Summarises every cell of the header in order, including cells without finished repetitions.
    ///
    /// # Errors
    /// [`Error::Row`](crate::Error::Row) and [`Error::Conflict`](crate::Error::Conflict) for rows that form
    /// no table, errors of reading, and those of `each`.
    pub fn each_cell(&self, each: &mut dyn FnMut(CellSummary) -> Result<()>) -> Result<()> {
        match self {
            Source::Rows(header, rows) => {
                let rows = row::in_order(header, rows)?;
                let mut rest = &rows[..];
                for cell in header.cells.iter() {
                    let (own, others) = rest.split_at(rest.partition_point(|row| row.cell <= cell.index));
                    rest = others;
                    each(summarise_cell(header, cell.into_owned(), own))?;
                }
                Ok(())
            }
            Source::Table(table) => {
                let mut walk = Walk::new(table);
                table.header().cells.iter().try_for_each(|cell| each(walk.cell(cell.into_owned())?))
            }
        }
    }

    /// Passes all rows to `each` in the table's order.
    ///
    /// # Errors
    /// Errors of [`Source::each_cell`].
    pub fn each_row(&self, each: &mut dyn FnMut(&Row) -> Result<()>) -> Result<()> {
        match self {
            Source::Rows(header, rows) => row::in_order(header, rows)?.into_iter().try_for_each(each),
            Source::Table(table) => {
                let mut rows = Vec::new();
                for group in 0..table.groups() {
                    rows.clear();
                    table.read_group(group, &mut rows)?;
                    rows.iter().try_for_each(&mut *each)?;
                }
                Ok(())
            }
        }
    }
}

/// Sequential pass over a table, cell by cell.
struct Walk<'a> {
    table: &'a Table,
    /// Rows in memory; rows before `used` are processed.
    held: Vec<Row>,
    used: usize,
    /// Number of the first row of `held` in the table.
    first: usize,
    /// Next row group.
    group: usize,
    /// Number of the first row of each row group, and the total number of rows.
    starts: Vec<usize>,
}

impl<'a> Walk<'a> {
    fn new(table: &'a Table) -> Walk<'a> {
        Walk { table, held: Vec::new(), used: 0, first: 0, group: 0, starts: vec![0] }
    }

    /// Reads the next row group; false at the end.
    fn read(&mut self) -> Result<bool> {
        if self.group == self.table.groups() {
            return Ok(false);
        }
        self.first += self.used;
        self.held.drain(..self.used);
        self.used = 0;
        self.table.read_group(self.group, &mut self.held)?;
        self.group += 1;
        if self.starts.len() == self.group {
            self.starts.push(self.first + self.held.len());
        }
        Ok(true)
    }

    /// Summary of `cell`, which must be the successor of the previous cell.
    fn cell(&mut self, cell: Cell) -> Result<CellSummary> {
        loop {
            let ahead = &self.held[self.used..];
            let own = ahead.partition_point(|row| row.cell <= cell.index);
            if own == ahead.len() {
                if own > GROUP {
                    return self.long(cell);
                }
                if self.read()? {
                    continue;
                }
            }
            let rows: Vec<&Row> = self.held[self.used..][..own].iter().collect();
            let summary = summarise_cell(self.table.header(), cell, &rows);
            self.used += own;
            return Ok(summary);
        }
    }

    /// Summary of a cell too long for memory, one column at a time.
    fn long(&mut self, cell: Cell) -> Result<CellSummary> {
        let from = self.first + self.used;
        self.held = Vec::new();
        let first_group = self.starts.partition_point(|start| *start <= from) - 1;
        let mut layout = Layout::default();
        let (mut group, mut until) = (first_group, from);
        while group < self.table.groups() && until == self.starts[group].max(from) {
            let keys = self.table.keys(group)?;
            if self.starts.len() == group + 1 {
                self.starts.push(self.starts[group] + keys.cells.len());
            }
            let skipped = until - self.starts[group];
            let many = keys.cells[skipped..].partition_point(|own| *own == cell.index);
            layout.add(&keys, skipped..skipped + many);
            until += many;
            group += 1;
        }
        let last_group = group;
        let column = |at: usize| -> Result<Vec<Option<f64>>> {
            let mut values = Vec::with_capacity(until - from);
            for group in first_group..last_group {
                let start = self.starts[group];
                let own = from.max(start) - start..until.min(self.starts[group + 1]) - start;
                values.extend_from_slice(&self.table.values(group, at)?[own]);
            }
            Ok(values)
        };
        let summary = layout.summary(self.table.header(), cell, &column)?;
        // Continues with the row group in which the next cell begins.
        self.group = self.starts.partition_point(|start| *start <= until) - 1;
        self.first = self.starts[self.group];
        self.used = 0;
        if self.read()? {
            self.used = until - self.first;
        }
        Ok(summary)
    }
}

/// Flow and repetition of each row of a cell.
#[derive(Default)]
struct Layout {
    names: BTreeMap<String, u32>,
    /// Index in `names` of each row's flow.
    flows: Vec<u32>,
    /// Whether a row is the first of its repetition.
    begins: Vec<bool>,
    repetitions: u64,
    last: Option<u64>,
}

impl Layout {
    fn add(&mut self, keys: &Keys, rows: std::ops::Range<usize>) {
        for at in rows {
            let (repetition, flow) = (keys.repetitions[at], &keys.flows[at]);
            let number = match self.names.get(flow) {
                Some(number) => *number,
                None => {
                    let number = self.names.len() as u32;
                    self.names.insert(flow.clone(), number);
                    number
                }
            };
            let begins = self.last != Some(repetition);
            self.last = Some(repetition);
            self.repetitions += u64::from(begins);
            self.flows.push(number);
            self.begins.push(begins);
        }
    }

    fn summary(
        &self,
        header: &Header,
        cell: Cell,
        column: &dyn Fn(usize) -> Result<Vec<Option<f64>>>,
    ) -> Result<CellSummary> {
        let mut metrics = Vec::with_capacity(header.columns.len());
        let mut flows: Vec<(String, Vec<Option<Summary>>)> =
            self.names.keys().map(|name| (name.clone(), Vec::new())).collect();
        for (at, metric) in header.columns.iter().enumerate() {
            let values = column(at)?;
            let alone = self.names.len() == 1 && self.begins.iter().all(|begins| *begins);
            for ((_, summaries), number) in flows.iter_mut().zip(self.names.values()) {
                summaries.push(match alone {
                    true => Summary::of(&values),
                    false => {
                        let own = values.iter().zip(&self.flows).filter(|(_, flow)| *flow == number);
                        Summary::of(&own.map(|(value, _)| *value).collect::<Vec<_>>())
                    }
                });
            }
            // With a single flow its summary equals that of all flows, except for the sign of zero, which is
            // lost in a sum.
            let negative = |value: &Option<f64>| value.is_some_and(|x| x == 0.0 && x.is_sign_negative());
            metrics.push(match flows.as_slice() {
                [(_, summaries)] if alone && !values.iter().any(negative) => summaries[at],
                _ => {
                    let mut begins = self.begins.iter().skip(1).copied();
                    let repetitions = values.chunk_by(|_, _| !begins.next().unwrap_or(true));
                    together(metric.combine, repetitions.map(|flows| flows.iter().copied()))
                }
            });
        }
        Ok(CellSummary { cell, repetitions: self.repetitions, metrics, flows })
    }
}

#[cfg(test)]
mod tests;
