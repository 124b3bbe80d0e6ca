//! Run folder: files and crash safety.
//!
//! | file | when |
//! |---|---|
//! | `run.json` | from the start: what the caller tells about the run |
//! | `flows.journal` | while repetitions are missing |
//! | `flows.parquet` | once the run is finished |
//! | `NAME.journal`, `NAME.parquet` | tables beside it, if the run has any ([`RunFolder::append_table`]) |
//! | `.lock` | always; held by the process that writes, freed by the system when it dies |
//!
//! **The results of a folder are the rows of the table together with those of the journal**, each key once.
//! Finishing writes the table beside its place, makes it durable, renames it there, and only then removes
//! the journal; so at every moment one of the two is whole, and in between both say the same. A finished
//! run that is resumed with more repetitions starts a new journal beside its table. A kill between any two
//! steps leaves a folder that [`read`] reads and [`RunFolder::open`] continues.
//!
//! The lock is advisory (flock, LockFileEx) and bound to the open file: a killed run leaves the file
//! but not the lock, so nothing ever has to be cleaned up. Readers need no lock.

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

/// What the run was: scenario, seed, version, host.
pub const RUN: &str = "run.json";
/// The finished repetitions of an unfinished run.
pub const JOURNAL: &str = "flows.journal";
/// The table of a finished run.
pub const TABLE: &str = crate::parquet::FLOWS;
/// The file whose lock says that a run is writing.
const LOCK: &str = ".lock";

/// A run's folder, locked for writing as long as this lives.
///
/// Order of use: [`create`](RunFolder::create) and [`write_run`](RunFolder::write_run), or
/// [`open`](RunFolder::open); then [`start`](RunFolder::start), any number of
/// [`append`](RunFolder::append)s, [`finish`](RunFolder::finish).
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    journal: Option<Journal>,
    /// Journals of the tables beside the main one, by name.
    beside: BTreeMap<String, Journal>,
    /// Held, never read: closing it frees the lock.
    _lock: File,
}

impl RunFolder {
    /// Makes a folder for a new run (with those above it), or takes one that holds no run.
    ///
    /// # Errors
    /// [`Error::Occupied`] when a run is there, [`Error::Locked`] when another process is writing one,
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

    /// Opens the folder of a run that was begun, to continue it.
    ///
    /// # Errors
    /// [`Error::Locked`] when another process is writing into it, [`Error::Io`] when it is not there.
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
        // What a killed run was preparing, nobody is preparing any more.
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

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a file of that name lies, for what the caller adds: reports, captures, event tables.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes `run.json`, or replaces it; durable when this returns, and whole at every moment.
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

    /// Begins or continues the run of that header: returns the rows that are already finished, in the
    /// table's order. What remains to be done is what [`row::finished`] of them does not name.
    ///
    /// # Errors
    /// [`Error::OtherRun`] naming what differs when the folder holds results of another header;
    /// [`Error::Damaged`] and all else of [`Journal::open_or_resume`] and
    /// [`read_flows`].
    pub fn start(&mut self, header: &Header) -> Result<Vec<Row>> {
        // A journal that this object has open would be overtaken by a second one.
        self.journal = None;
        let old = self.read_table(header)?;
        let (journal, mut rows) = Journal::open_or_resume(self.file(JOURNAL), header)?;
        rows.extend(old);
        let rows = own_in_order(header, rows)?;
        self.journal = Some(journal);
        Ok(rows)
    }

    /// [`start`](RunFolder::start) without the rows in memory: `each` gets the cell and the number of every finished
    /// repetition, in no particular order, and of one that is both in the table and in the journal twice.
    ///
    /// # Errors
    /// As of [`RunFolder::start`]; disagreement of rows shows in [`RunFolder::close`].
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

    /// The rows of the table, if there is one.
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

    /// Adds finished repetitions, all flows of one repetition together; see [`Journal::append`].
    ///
    /// # Errors
    /// [`Error::Order`] before [`RunFolder::start`] and after [`RunFolder::finish`]; those of
    /// [`Journal::append`].
    pub fn append(&mut self, rows: &[Row]) -> Result<()> {
        self.writing()?.append(rows)
    }

    /// Adds rows of finished repetitions to the table `name` beside the main one. They go first: a repetition counts as
    /// finished by its rows in the main journal, and one that is run again brings equal rows.
    ///
    /// # Errors
    /// [`Error::OtherRun`] when the folder holds such a table of another run; those of [`Journal::append`].
    pub fn append_table(&mut self, name: &str, header: &Header, rows: &[Row]) -> Result<()> {
        if !self.beside.contains_key(name) {
            let (journal, _) = Journal::open_or_resume(self.file(&journal_of(name)), header)?;
            self.beside.insert(name.to_owned(), journal);
        }
        self.beside.get_mut(name).map_or(Ok(()), |journal| journal.append(rows))
    }

    /// The rows of the table `name` in the table's order, finished or not; none if there is no such table.
    ///
    /// # Errors
    /// As of [`read`].
    pub fn table(&self, name: &str) -> Result<Vec<Row>> {
        match read_named(&self.path, name) {
            Ok((_, rows)) => Ok(rows),
            Err(Error::Empty { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Writes the tables beside the main one and removes their journals.
    fn finish_beside(&mut self) -> Result<()> {
        self.beside.clear();
        // Those of an earlier process that was killed before its end too.
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

    /// Waits until everything appended would survive the loss of power; a kill it survives without.
    ///
    /// # Errors
    /// [`Error::Order`] as for [`RunFolder::append`], [`Error::Io`].
    pub fn sync(&mut self) -> Result<()> {
        self.beside.values_mut().try_for_each(Journal::sync)?;
        self.writing()?.sync()
    }

    fn writing(&mut self) -> Result<&mut Journal> {
        let path = &self.path;
        self.journal.as_mut().ok_or_else(|| not_started(path))
    }

    /// [`close`](RunFolder::close), and all rows in the table's order, as they were read back from the disk.
    ///
    /// # Errors
    /// As of [`RunFolder::close`].
    pub fn finish(&mut self) -> Result<Vec<Row>> {
        self.close()?;
        Ok(read_flows(&self.file(TABLE))?.1)
    }

    /// Ends the run: writes the table, makes it durable and removes the journal. The folder stays locked until this
    /// object is dropped.
    ///
    /// # Errors
    /// [`Error::Order`] without [`RunFolder::start`], [`Error::Conflict`] when one repetition was appended
    /// with different values, and whatever reading and writing brings. The journal is then still there, and
    /// the run can be finished again.
    pub fn close(&mut self) -> Result<Table> {
        let path = self.file(JOURNAL);
        let header = self.writing()?.header().clone();
        self.finish_beside()?;
        // Read back, not remembered: what becomes the table has passed its checks.
        let mut merged = self.merged(&header)?;
        write_rows(&self.file(TABLE), &header, &mut |rows| merged.next(rows))?;

        // The table is durable, so the journal has served.
        self.journal = None;
        fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        durable::sync_folder_of(&path)?;
        Table::open(&self.file(TABLE))
    }

    /// The table of what has finished so far, in a file without a name that goes with it. The run can go on.
    ///
    /// # Errors
    /// As of [`RunFolder::close`].
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

/// Journal and table of this name in a folder, merged; `None` where neither is.
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

/// [`row::in_order`] of rows that are ours to move.
fn own_in_order(header: &Header, mut rows: Vec<Row>) -> Result<Vec<Row>> {
    rows.sort_by(|a, b| a.key().cmp(&b.key()));
    // Finds the conflicts; what remains double is equal.
    row::in_order(header, &rows)?;
    rows.dedup_by(|later, kept| later.key() == kept.key());
    Ok(rows)
}

/// The results in a run's folder, finished or not, in the table's order; also while a run is writing them.
///
/// # Errors
/// [`Error::Empty`] when no results are there, [`Error::OtherRun`] when table and journal belong to
/// different runs, [`Error::Damaged`], [`Error::Io`] and [`Error::Parquet`] when they cannot be read.
pub fn read(path: &Path) -> Result<(Header, Vec<Row>)> {
    read_named(path, "flows")
}

/// [`read`] of a table beside the main one.
///
/// # Errors
/// As of [`read`].
pub fn read_named(path: &Path, name: &str) -> Result<(Header, Vec<Row>)> {
    // The journal first: should the run finish meanwhile, the table is there when the journal is not.
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

/// What `run.json` says.
///
/// # Errors
/// [`Error::Io`] when it is not there, [`Error::Json`] when it is not JSON.
pub fn read_run(path: &Path) -> Result<Value> {
    let path = path.join(RUN);
    let text = fs::read(&path).map_err(Error::io("read", &path))?;
    serde_json::from_slice(&text).map_err(|source| Error::Json { path, source })
}

#[cfg(test)]
mod tests;
