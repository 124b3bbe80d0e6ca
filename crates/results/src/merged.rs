//! Merge of a run's journal and tables into the order of the table, in the memory of some repetitions.
//!
//! Threads finish repetitions nearly in the order in which they were handed out, so a journal is a sequence of
//! ascending stretches. Each is remembered by its first key and its place, some bytes for a batch of repetitions, and
//! opened when its turn has come. A table ascends as a whole.

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

/// Repetitions of the journal that ascend, from `at` to before `end`.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    first: Key,
    at: u64,
    end: u64,
}

/// The rows of several sources, repetition by repetition.
pub(crate) struct Merged {
    header: Header,
    journal: Option<Reader<BufReader<File>>>,
    /// Stretches that are not yet open; the next one is last.
    waiting: Vec<Stretch>,
    /// The next repetition of each open source.
    next: BinaryHeap<Reverse<(Key, usize)>>,
    open: Vec<Option<Source>>,
    /// Places in `open` that are free.
    free: Vec<usize>,
}

/// An open source with the rows of its next repetition.
struct Source {
    rows: Vec<Row>,
    of: Of,
}

enum Of {
    /// The next record of the stretch, and its end.
    Journal(u64, u64),
    Table(Box<TableRows>),
}

impl Merged {
    /// Merges a journal and tables, all of this header.
    ///
    /// # Errors
    /// Whatever reading them brings.
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
    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// Adds the rows of the next repetition to `rows`, each key once; false at the end.
    ///
    /// # Errors
    /// [`Conflict`](crate::Error::Conflict) when sources disagree about a repetition, [`Row`](crate::Error::Row) for a row that does not fit the
    /// header, and whatever reading brings.
    pub(crate) fn next(&mut self, rows: &mut Vec<Row>) -> Result<bool> {
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
        // Finds the conflicts; what remains double is equal.
        row::in_order(&self.header, &own)?;
        own.dedup_by(|later, kept| later.flow == kept.flow);
        rows.append(&mut own);
        Ok(true)
    }

    /// Reads the next repetition of a source and puts it among the open ones; one that is at its end is left out.
    fn advance(&mut self, mut source: Source) -> Result<()> {
        match &mut source.of {
            Of::Table(table) => table.next_repetition(&mut source.rows)?,
            Of::Journal(at, end) => {
                // A record without flows says nothing.
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

/// Where the repetitions of a journal ascend.
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
