//! Run folder: creation, lock, journal and table of results, crash safety, and readers for finished and
//! unfinished runs.
//!
//! | file | when |
//! |---|---|
//! | `run.json` | from the start: the caller's description of the run |
//! | `flows.journal` | until the run is finished |
//! | `flows.parquet` | once the run is finished |
//! | `NAME.journal`, `NAME.parquet` | tables beside it, if the run has any ([`RunFolder::append_table`]) |
//! | `.lock` | always; locked by the writing process, released by the system when it dies |
//!
//! **The results of a folder are the rows of the table together with those of the journal**, each key once.
//! Finishing writes a temporary table, makes it durable, renames it, and only then removes the journal. So at
//! every moment one of the two files is complete, and between rename and removal both contain equal rows. A
//! finished run that is resumed with more repetitions starts a new journal beside its table. A kill at any
//! point leaves a folder that [`read`] reads and [`RunFolder::open`] continues.
//!
//! The lock is advisory (flock, LockFileEx) and bound to the open file. A killed run leaves the file without
//! the lock, so that no clean-up is needed. Readers need no lock.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::durable;
use crate::error::{Error, Result};
use crate::journal::{self, Journal, Reader};
use crate::merged::Merged;
use crate::parquet::{Table, read_flows, write_rows, write_to};
use crate::row::{self, Header, Row};

/// Description of the run: scenario, seed, version, host.
pub const RUN: &str = "run.json";
/// Finished repetitions of an unfinished run.
pub const JOURNAL: &str = "flows.journal";
/// Table of a finished run.
pub const TABLE: &str = crate::parquet::FLOWS;
/// File whose lock marks a writing process.
const LOCK: &str = ".lock";

/// Folder of a run, locked for writing during the lifetime of this object.
///
/// Order of use: [`create`](RunFolder::create) and [`write_run`](RunFolder::write_run), or
/// [`open`](RunFolder::open); then [`start`](RunFolder::start), any number of
/// [`append`](RunFolder::append)s, [`finish`](RunFolder::finish).
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    journal: Option<Journal>,
    /// Journals of the further tables, by table name.
    beside: BTreeMap<String, Journal>,
    /// Keeps the lock; closing the file releases it.
    _lock: File,
}

impl RunFolder {
    /// Creates a folder (with its parents) for a new run, or uses a folder without a run.
    ///
    /// # Errors
    /// [`Error::Occupied`] if it contains a run, [`Error::Locked`] if another process is writing one,
    /// [`Error::Io`].
    pub fn create(path: impl Into<PathBuf>) -> Result<RunFolder> {
        let path = path.into();
        fs::create_dir_all(&path).map_err(Error::io("create", &path))?;
        let folder = RunFolder::lock(path)?;
        for found in [RUN, JOURNAL, TABLE] {
            if exists(&folder.path.join(found))? {
                return Err(Error::Occupied { path: folder.path, found });
            }
        }
        durable::sync_folder_of(&folder.path)?;
        Ok(folder)
    }

    /// Opens the folder of an existing run to continue it.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process is writing into it, [`Error::Io`] if it does not exist.
    pub fn open(path: impl Into<PathBuf>) -> Result<RunFolder> {
        let path = path.into();
        if !path.is_dir() {
            let source = io::Error::from(io::ErrorKind::NotFound);
            return Err(Error::Io { action: "open", path, source });
        }
        RunFolder::lock(path)
    }

    fn lock(path: PathBuf) -> Result<RunFolder> {
        let file = path.join(LOCK);
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&file)
            .map_err(Error::io("open", &file))?;
        match lock.try_lock() {
            Ok(()) => (),
            Err(TryLockError::WouldBlock) => return Err(Error::Locked { path }),
            Err(TryLockError::Error(source)) => {
                return Err(Error::Io { action: "lock", path: file, source });
            }
        }
        // Removes temporary files of a killed run.
        for name in [RUN, TABLE] {
            let left = durable::temporary(&path.join(name));
            match fs::remove_file(&left) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::Io { action: "remove", path: left, source: error });
                }
                _ => (),
            }
        }
        Ok(RunFolder { path, journal: None, beside: BTreeMap::new(), _lock: lock })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of a file of that name, for files of the caller: reports, captures, event tables.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes or replaces `run.json`; durable at return, and complete at every moment.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write_run(&self, run: &Value) -> Result<()> {
        let path = self.file(RUN);
        let text = format!("{run:#}\n");
        durable::replace(&path, |mut file| {
            file.write_all(text.as_bytes()).map_err(Error::io("write", &path))?;
            Ok(file)
        })
    }

    /// Starts or continues the run of this header. Returns the finished rows in the table's order;
    /// repetitions missing in [`row::finished`] of them remain to be run.
    ///
    /// # Errors
    /// [`Error::OtherRun`] with the differing field if the folder contains results of another header;
    /// [`Error::Damaged`] and other errors of [`Journal::open_or_resume`] and [`read_flows`].
    pub fn start(&mut self, header: &Header) -> Result<Vec<Row>> {
        // Closes an open journal of this object, so that only one journal writes to the file.
        self.journal = None;
        let old = self.read_table(header)?;
        let (journal, mut rows) = Journal::open_or_resume(self.file(JOURNAL), header)?;
        rows.extend(old);
        let rows = own_in_order(header, rows)?;
        self.journal = Some(journal);
        Ok(rows)
    }

    /// [`start`](RunFolder::start) without rows in memory: `each` is called with cell and number of every
    /// finished repetition, in no particular order, and twice for a repetition in both table and journal.
    ///
    /// # Errors
    /// Errors of [`RunFolder::start`]; conflicting rows are detected by [`RunFolder::close`].
    pub fn resume(&mut self, header: &Header, each: &mut dyn FnMut(u32, u64)) -> Result<()> {
        self.journal = None;
        if let Some(table) = self.open_table(header)? {
            table.each_repetition(each)?;
        }
        let journal = Journal::open(self.file(JOURNAL), header, &mut |reader| {
            let key = reader.next_key()?;
            if let Some((cell, repetition)) = key {
                each(cell, repetition);
            }
            Ok(key.is_some())
        })?;
        self.journal = Some(journal);
        Ok(())
    }

    /// Rows of the table, if it exists.
    fn read_table(&self, header: &Header) -> Result<Vec<Row>> {
        let path = self.file(TABLE);
        if !exists(&path)? {
            return Ok(Vec::new());
        }
        let (found, rows) = read_flows(&path)?;
        journal::same_run(&path, &found, header)?;
        Ok(rows)
    }

    fn open_table(&self, header: &Header) -> Result<Option<Table>> {
        let path = self.file(TABLE);
        if !exists(&path)? {
            return Ok(None);
        }
        let table = Table::open(&path)?;
        journal::same_run(&path, table.header(), header)?;
        Ok(Some(table))
    }

    /// Appends finished repetitions, with all flows of a repetition in one call; see [`Journal::append`].
    ///
    /// # Errors
    /// [`Error::Order`] before [`RunFolder::start`] and after [`RunFolder::finish`]; errors of
    /// [`Journal::append`].
    pub fn append(&mut self, rows: &[Row]) -> Result<()> {
        self.writing()?.append(rows)
    }

    /// Appends rows of finished repetitions to the table `name`. Call it before
    /// [`append`](RunFolder::append): the main journal marks a repetition as finished, and a repetition that
    /// is run again yields equal rows.
    ///
    /// # Errors
    /// [`Error::OtherRun`] if the folder contains such a table of another run; errors of [`Journal::append`].
    pub fn append_table(&mut self, name: &str, header: &Header, rows: &[Row]) -> Result<()> {
        if !self.beside.contains_key(name) {
            let (journal, _) = Journal::open_or_resume(self.file(&journal_of(name)), header)?;
            self.beside.insert(name.to_owned(), journal);
        }
        self.beside.get_mut(name).map_or(Ok(()), |journal| journal.append(rows))
    }

    /// Rows of the table `name` in the table's order, from a finished or unfinished run; empty without such a
    /// table.
    ///
    /// # Errors
    /// Errors of [`read`].
    pub fn table(&self, name: &str) -> Result<Vec<Row>> {
        match read_named(&self.path, name) {
            Ok((_, rows)) => Ok(rows),
            Err(Error::Empty { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Writes the further tables and removes their journals.
    fn finish_beside(&mut self) -> Result<()> {
        self.beside.clear();
        // Includes journals of an earlier, killed process.
        let here = fs::read_dir(&self.path).map_err(Error::io("read", &self.path))?;
        let files = here.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let names = files.filter_map(|file| Some(file.strip_suffix(".journal")?.to_owned()));
        let mut names: Vec<String> = names.filter(|name| journal_of(name) != JOURNAL).collect();
        names.sort();
        for name in names {
            let path = self.file(&journal_of(&name));
            if let Some(mut merged) = merged(&self.path, &name)? {
                let header = merged.header().clone();
                write_rows(&self.file(&table_of(&name)), &header, &mut |rows| merged.next(rows))?;
            }
            fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        Ok(())
    }

    /// Makes all appended rows survive power loss; they survive a kill without this call.
    ///
    /// # Errors
    /// [`Error::Order`] under the conditions of [`RunFolder::append`], [`Error::Io`].
    pub fn sync(&mut self) -> Result<()> {
        self.beside.values_mut().try_for_each(Journal::sync)?;
        self.writing()?.sync()
    }

    fn writing(&mut self) -> Result<&mut Journal> {
        let path = &self.path;
        self.journal.as_mut().ok_or_else(|| not_started(path))
    }

    /// [`close`](RunFolder::close), and returns all rows in the table's order, as read back from the disk.
    ///
    /// # Errors
    /// Errors of [`RunFolder::close`].
    pub fn finish(&mut self) -> Result<Vec<Row>> {
        self.close()?;
        Ok(read_flows(&self.file(TABLE))?.1)
    }

    /// Ends the run: writes the table, makes it durable and removes the journal. The folder stays locked
    /// until this object is dropped.
    ///
    /// # Errors
    /// [`Error::Order`] without [`RunFolder::start`], [`Error::Conflict`] if a repetition was appended with
    /// different values, and errors of reading and writing. The journal then still exists, and the run can be
    /// finished again.
    pub fn close(&mut self) -> Result<Table> {
        let path = self.file(JOURNAL);
        let header = self.writing()?.header().clone();
        self.finish_beside()?;
        // The journal is read back, so that its checksums are verified.
        let mut merged = self.merged(&header)?;
        write_rows(&self.file(TABLE), &header, &mut |rows| merged.next(rows))?;

        // The table is durable; the journal is no longer needed.
        self.journal = None;
        fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        durable::sync_folder_of(&path)?;
        Table::open(&self.file(TABLE))
    }

    /// Table of the finished repetitions so far, in an unnamed file that the system deletes on close. The run
    /// can continue.
    ///
    /// # Errors
    /// Errors of [`RunFolder::close`].
    pub fn so_far(&mut self) -> Result<Table> {
        let header = self.writing()?.header().clone();
        let mut merged = self.merged(&header)?;
        let path = durable::temporary(&self.file(TABLE));
        let _ = fs::remove_file(&path);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = file.map_err(Error::io("create", &path))?;
        fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        Table::of(write_to(file, &path, &header, &mut |rows| merged.next(rows))?, &path)
    }

    fn merged(&self, header: &Header) -> Result<Merged> {
        let merged = merged(&self.path, "flows")?.ok_or_else(|| Error::Empty { path: self.path.clone() })?;
        journal::same_run(&self.path, merged.header(), header)?;
        Ok(merged)
    }
}

/// Journal and table of this name in a folder, merged; `None` if neither exists.
fn merged(folder: &Path, name: &str) -> Result<Option<Merged>> {
    let path = folder.join(journal_of(name));
    let journal = match File::open(&path) {
        Ok(file) => Reader::new(&path, journal::buffered(file))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(Error::Io { action: "read", path, source }),
    };
    let path = folder.join(table_of(name));
    let table = if exists(&path)? { Some(Table::open(&path)?) } else { None };
    let header = match (&journal, &table) {
        (Some(journal), Some(table)) => {
            journal::same_run(&path, table.header(), journal.header())?;
            journal.header().clone()
        }
        (Some(journal), None) => journal.header().clone(),
        (None, Some(table)) => table.header().clone(),
        (None, None) => return Ok(None),
    };
    Merged::new(header, journal, table.into_iter().collect()).map(Some)
}

/// Repetitions of the table `name` in a run's folder, finished or not, with some repetitions in memory.
///
/// # Errors
/// [`Error::Empty`] without such a table; other errors of [`read`].
pub fn repetitions(path: &Path, name: &str) -> Result<Merged> {
    merged(path, name)?.ok_or_else(|| Error::Empty { path: path.to_owned() })
}

/// One more than the highest number of a finished repetition in a run's folder; 0 without results.
///
/// # Errors
/// Errors of [`read`].
pub fn repetitions_held(path: &Path) -> Result<u64> {
    let mut held = 0;
    let mut each = |_: u32, repetition: u64| held = held.max(repetition + 1);
    let journal = path.join(JOURNAL);
    match File::open(&journal) {
        Ok(file) => {
            if let Some(mut reader) = Reader::new(&journal, journal::buffered(file))? {
                while let Some((cell, repetition)) = reader.next_key()? {
                    each(cell, repetition);
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(Error::Io { action: "read", path: journal, source }),
    }
    let table = path.join(TABLE);
    if exists(&table)? {
        Table::open(&table)?.each_repetition(&mut each)?;
    }
    Ok(held)
}

/// File name of the journal of a table.
fn journal_of(name: &str) -> String {
    format!("{name}.journal")
}

/// File name of a table.
fn table_of(name: &str) -> String {
    format!("{name}.parquet")
}

fn not_started(path: &Path) -> Error {
    Error::Order { path: path.to_owned(), why: "no run is started in this folder" }
}

fn exists(path: &Path) -> Result<bool> {
    path.try_exists().map_err(Error::io("look for", path))
}

/// [`row::in_order`] for owned rows.
fn own_in_order(header: &Header, mut rows: Vec<Row>) -> Result<Vec<Row>> {
    rows.sort_by(|a, b| a.key().cmp(&b.key()));
    // Detects conflicts; remaining duplicates are equal.
    row::in_order(header, &rows)?;
    rows.dedup_by(|later, kept| later.key() == kept.key());
    Ok(rows)
}

/// Results in a run's folder, finished or not, in the table's order; works while a run is writing.
///
/// # Errors
/// [`Error::Empty`] without results, [`Error::OtherRun`] if table and journal belong to different runs,
/// [`Error::Damaged`], [`Error::Io`] and [`Error::Parquet`] if they cannot be read.
pub fn read(path: &Path) -> Result<(Header, Vec<Row>)> {
    read_named(path, "flows")
}

/// [`read`] for the further table `name`.
///
/// # Errors
/// Errors of [`read`].
pub fn read_named(path: &Path, name: &str) -> Result<(Header, Vec<Row>)> {
    // The journal is read first: if the run finishes meanwhile, the table exists when the journal does not.
    let journal = journal_rows(&path.join(journal_of(name)))?;
    let table_path = path.join(table_of(name));
    let table = if exists(&table_path)? { Some(read_flows(&table_path)?) } else { None };
    match (journal, table) {
        (None, None) => Err(Error::Empty { path: path.to_owned() }),
        (None, Some((header, rows))) => Ok((header, rows)),
        (Some((header, mut rows)), table) => {
            if let Some((found, more)) = table {
                journal::same_run(&table_path, &found, &header)?;
                rows.extend(more);
            }
            let rows = own_in_order(&header, rows)?;
            Ok((header, rows))
        }
    }
}

fn journal_rows(path: &Path) -> Result<Option<(Header, Vec<Row>)>> {
    match journal::read(path) {
        Ok(contents) => Ok(contents.map(|contents| (contents.header, contents.rows))),
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Content of `run.json`.
///
/// # Errors
/// [`Error::Io`] if it does not exist, [`Error::Json`] if it is not JSON.
pub fn read_run(path: &Path) -> Result<Value> {
    let path = path.join(RUN);
    let text = fs::read(&path).map_err(Error::io("read", &path))?;
    serde_json::from_slice(&text).map_err(|source| Error::Json { path, source })
}

#[cfg(test)]
mod tests;
