//! Merge of a run's journal and tables into the order of the table, with some repetitions in memory.
//!
//! Threads finish repetitions nearly in the order of their batches, so that a journal is a sequence of
//! ascending runs. Each ascending run is indexed by its first key and its offset, at some bytes per batch,
//! and opened when the merge reaches its first key. A table is ascending as a whole.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::BufReader;

use crate::error::Result;
use crate::journal::Reader;
use crate::parquet::{Table, TableRows};
use crate::row::{self, Header, Row};

/// Cell and repetition.
type Key = (u32, u64);

/// Ascending run of repetitions in the journal, from offset `at` to before `end`.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    first: Key,
    at: u64,
    end: u64,
}

/// Rows of a run's journal and table by repetition, in the table's order.
///
/// [`folder::repetitions`](crate::folder::repetitions) opens one.
pub struct Merged {
    header: Header,
    journal: Option<Reader<BufReader<File>>>,
    /// Ascending runs not yet open, in descending order: the next one is last.
    waiting: Vec<Stretch>,
    /// Key of the next repetition of each open source, and the source's index in `open`.
    next: BinaryHeap<Reverse<(Key, usize)>>,
    open: Vec<Option<Source>>,
    /// Free indexes of `open`.
    free: Vec<usize>,
}

/// An open source with the rows of its next repetition.
struct Source {
    rows: Vec<Row>,
    of: Of,
}

enum Of {
    /// Offset of the next record of an ascending run, and the offset of the run's end.
    Journal(u64, u64),
    Table(Box<TableRows>),
}

impl Merged {
    /// Merges a journal and tables with equal headers.
    ///
    /// # Errors
    /// Errors of reading them.
    pub(crate) fn new(
        header: Header,
        mut journal: Option<Reader<BufReader<File>>>,
        tables: Vec<Table>,
    ) -> Result<Merged> {
        let mut waiting = match &mut journal {
            Some(journal) => stretches(journal)?,
            None => Vec::new(),
        };
        waiting.sort_unstable_by_key(|stretch| Reverse((stretch.first, stretch.at)));
        let mut merged =
            Merged { header, journal, waiting, next: BinaryHeap::new(), open: Vec::new(), free: Vec::new() };
        for table in tables {
            merged.advance(Source { rows: Vec::new(), of: Of::Table(Box::new(table.into_rows())) })?;
        }
        Ok(merged)
    }

    /// The run's header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Appends the rows of the next repetition to `rows`, each key once; false at the end.
    ///
    /// # Errors
    /// [`Conflict`](crate::Error::Conflict) if sources disagree about a repetition,
    /// [`Row`](crate::Error::Row) for a row that does not fit the header, and errors of reading.
    pub fn next(&mut self, rows: &mut Vec<Row>) -> Result<bool> {
        while let Some(&stretch) = self.waiting.last()
            && self.next.peek().is_none_or(|Reverse((key, _))| stretch.first <= *key)
        {
            self.waiting.pop();
            self.advance(Source { rows: Vec::new(), of: Of::Journal(stretch.at, stretch.end) })?;
        }
        let Some(Reverse((key, _))) = self.next.peek().copied() else { return Ok(false) };
        let mut own = Vec::new();
        while let Some(Reverse((_, place))) = self.next.peek().copied().filter(|Reverse((k, _))| *k == key) {
            self.next.pop();
            if let Some(mut source) = self.open[place].take() {
                own.append(&mut source.rows);
                self.free.push(place);
                self.advance(source)?;
            }
        }
        own.sort_by(|a, b| a.flow.cmp(&b.flow));
        // Detects conflicts; remaining duplicates are equal.
        row::in_order(&self.header, &own)?;
        own.dedup_by(|later, kept| later.flow == kept.flow);
        rows.append(&mut own);
        Ok(true)
    }

    /// Reads the next repetition of a source and adds the source to the open ones; discards an exhausted
    /// source.
    fn advance(&mut self, mut source: Source) -> Result<()> {
        match &mut source.of {
            Of::Table(table) => table.next_repetition(&mut source.rows)?,
            Of::Journal(at, end) => {
                // Skips records without flows.
                while let Some(journal) = self.journal.as_mut().filter(|_| *at < *end)
                    && source.rows.is_empty()
                {
                    journal.go_to(*at)?;
                    journal.next(&mut source.rows)?;
                    *at = journal.at();
                }
            }
        }
        let Some(first) = source.rows.first() else { return Ok(()) };
        let key = (first.cell, first.repetition);
        let place = self.free.pop().unwrap_or_else(|| {
            self.open.push(None);
            self.open.len() - 1
        });
        self.open[place] = Some(source);
        self.next.push(Reverse((key, place)));
        Ok(())
    }
}

/// Ascending runs of a journal.
fn stretches(journal: &mut Reader<BufReader<File>>) -> Result<Vec<Stretch>> {
    let mut all: Vec<Stretch> = Vec::new();
    let mut before = None;
    loop {
        let at = journal.at();
        let Some(key) = journal.next_key()? else { return Ok(all) };
        match all.last_mut().filter(|_| before.is_some_and(|before| before < key)) {
            Some(stretch) => stretch.end = journal.at(),
            None => all.push(Stretch { first: key, at, end: journal.at() }),
        }
        before = Some(key);
    }
}
