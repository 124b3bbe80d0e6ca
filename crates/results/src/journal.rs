//! Append-only journal of finished repetitions: binary record format with checksums, writer, reader,
//! detection of damage.
//!
//! The format is binary, so that no number is formatted or parsed: a row of fourteen metrics takes about 140
//! bytes and 0.1 microseconds (`benches/results.rs`), and its values are restored to the bit.
//!
//! ```text
//! file    := "williwaw journal 1\n" record(header as JSON) record(repetition)...
//! record  := length u32, check u32, check u32, payload     all numbers little-endian
//! payload := cell u32, repetition u64, flows u32, flow...
//! flow    := length u32, name, which values are there (a bit each, from the lowest), those values as f64
//! ```
//!
//! The first check is the CRC-32 of the record's offset and length, the second that of the payload. So a
//! length can be trusted before its payload is read, and a record is valid only at its own offset.
//!
//! **One record is one repetition with all its flows**, present as a whole or not at all. A kill can truncate
//! only the end of the file. An invalid record without a valid record after it is discarded, and the file is
//! truncated at it. An invalid record before a valid one is damage, which no kill causes; it is reported with
//! its offset, and the file is left unchanged.
//!
//! Limit: damage to the last record is indistinguishable from truncation by a kill and is treated as such.
//! The repetition is then run again, with equal results.

mod reader;

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::durable;
use crate::error::{Error, Result};
use crate::row::{Header, Row};

pub use self::reader::Reader;

/// Magic bytes of every journal.
const MAGIC: &[u8] = b"williwaw journal 1\n";

/// Size of a record's head, bytes.
const HEAD: usize = 12;

/// A journal open for writing. The lock of the run folder ensures a single writer.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    header: Header,
    /// Size of the magic number and the complete records, bytes.
    length: u64,
    /// Unwritten records; cleared after each write, so that its capacity is reused.
    buffer: Vec<u8>,
    /// True after a failed write that could not be undone; then no further write is permitted.
    broken: bool,
}

impl Journal {
    /// Creates a journal at `path`, where no file may exist. The header is durable at return.
    ///
    /// # Errors
    /// [`Error::Header`] for an invalid header, [`Error::Io`] if the file exists or cannot be written.
    pub fn create(path: impl Into<PathBuf>, header: &Header) -> Result<Journal> {
        header.check()?;
        let path = path.into();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(Error::io("create", &path))?;
        Journal::begin(path, file, header)
    }

    /// Opens the journal at `path`, or creates it. Returns the rows of its repetitions in the order in which
    /// they finished; a torn tail is truncated.
    ///
    /// # Errors
    /// Errors of [`Journal::open`].
    pub fn open_or_resume(path: impl Into<PathBuf>, header: &Header) -> Result<(Journal, Vec<Row>)> {
        let mut rows = Vec::new();
        let journal = Journal::open(path.into(), header, &mut |reader| reader.next(&mut rows))?;
        Ok((journal, rows))
    }

    /// Opens the journal at `path`, or creates it. `each` reads the existing repetitions, one per call, until
    /// it returns false; a torn tail is truncated.
    ///
    /// # Errors
    /// [`Error::OtherRun`] with the differing field if the journal has another header. [`Error::Damaged`]
    /// with the offset if a record in the middle fails. [`Error::NotAJournal`], [`Error::Header`],
    /// [`Error::Io`]. The file is then unchanged.
    pub(crate) fn open(
        path: PathBuf,
        header: &Header,
        each: &mut dyn FnMut(&mut Reader<BufReader<File>>) -> Result<bool>,
    ) -> Result<Journal> {
        header.check()?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(Error::io("open", &path))?;
        let copy = file.try_clone().map_err(Error::io("open", &path))?;
        let Some(mut reader) = Reader::new(&path, buffered(copy))? else {
            return Journal::begin(path, file, header);
        };
        same_run(&path, reader.header(), header)?;
        while each(&mut reader)? {}
        let length = reader.at();
        file.set_len(length).map_err(Error::io("cut the torn end of", &path))?;
        file.seek(SeekFrom::Start(length)).map_err(Error::io("write", &path))?;
        let header = header.clone();
        Ok(Journal { path, file, header, length, buffer: Vec::new(), broken: false })
    }

    /// Writes the header of an empty file, over the torn header of an older one if necessary.
    fn begin(path: PathBuf, mut file: File, header: &Header) -> Result<Journal> {
        file.set_len(0).map_err(Error::io("write", &path))?;
        file.rewind().map_err(Error::io("write", &path))?;
        let mut buffer = MAGIC.to_vec();
        let text = serde_json::to_vec(header).map_err(|error| Error::Header(error.to_string()))?;
        let start = open_record(&mut buffer);
        buffer.extend_from_slice(&text);
        close_record(&mut buffer, start, 0)
            .ok_or_else(|| Error::Header("it is longer than 4 GiB".to_owned()))?;
        let header = header.clone();
        let mut journal = Journal { path, file, header, length: 0, buffer, broken: false };
        journal.write_out()?;
        journal.sync()?;
        durable::sync_folder_of(&journal.path)?;
        Ok(journal)
    }

    /// Appends finished repetitions: a batch of rows in which all flows of a repetition are consecutive. At
    /// return the batch has been passed to the operating system in a single write, and survives a kill of
    /// this process (for power loss see [`Journal::sync`]). Batches of some tens of repetitions make the
    /// system call's cost negligible.
    ///
    /// # Errors
    /// [`Error::Row`] for a row that does not fit the header, [`Error::Io`] for a failed write, as on a full
    /// disk. The journal is then cut to its former length, and the call may be repeated unless cutting failed too.
    pub fn append(&mut self, rows: &[Row]) -> Result<()> {
        for row in rows {
            self.header.check_row(row)?;
        }
        self.buffer.clear();
        for flows in rows.chunk_by(|a, b| (a.cell, a.repetition) == (b.cell, b.repetition)) {
            let start = open_record(&mut self.buffer);
            encode(&mut self.buffer, flows);
            close_record(&mut self.buffer, start, self.length).ok_or_else(|| {
                let Row { cell, repetition, flow, .. } = flows[0].clone();
                Error::Row { cell, repetition, flow, why: "the repetition takes more than 4 GiB".to_owned() }
            })?;
        }
        self.write_out()
    }

    fn write_out(&mut self) -> Result<()> {
        if self.broken {
            let source = io::Error::other("an earlier write failed and could not be taken back");
            return Err(Error::Io { action: "write", path: self.path.clone(), source });
        }
        match self.file.write_all(&self.buffer) {
            Ok(()) => {
                self.length += self.buffer.len() as u64;
                Ok(())
            }
            Err(source) => {
                let back = self
                    .file
                    .set_len(self.length)
                    .and_then(|()| self.file.seek(SeekFrom::Start(self.length)));
                self.broken = back.is_err();
                Err(Error::Io { action: "write", path: self.path.clone(), source })
            }
        }
    }

    /// Waits until all appended records are on the disk, where they survive power loss.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn sync(&mut self) -> Result<()> {
        self.file.sync_data().map_err(Error::io("write", &self.path))
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Header with which the journal was opened.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Size of the file, bytes.
    pub fn length(&self) -> u64 {
        self.length
    }
}

/// [`Error::OtherRun`] unless the header of the file equals the wanted one.
pub(crate) fn same_run(path: &Path, found: &Header, wanted: &Header) -> Result<()> {
    match found.difference(wanted) {
        None => Ok(()),
        Some((field, found, wanted)) => Err(Error::OtherRun { path: path.to_owned(), field, found, wanted }),
    }
}

/// Contents of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// The run's header.
    pub header: Header,
    /// Rows of all finished repetitions, in the order in which they finished.
    pub rows: Vec<Row>,
    /// Total size of the complete records, bytes; octets behind it belong to an incomplete record.
    pub length: u64,
}

/// Reads the journal at `path` without changing it; works while a run is writing. `None` if the run was
/// killed before the header was complete.
///
/// # Errors
/// [`Error::Io`], [`Error::NotAJournal`], [`Error::Damaged`], [`Error::Header`] for a newer program's header.
pub fn read(path: &Path) -> Result<Option<Contents>> {
    let file = File::open(path).map_err(Error::io("read", path))?;
    contents(Reader::new(path, buffered(file))?)
}

/// Parses the bytes of a journal; `path` is used in messages.
///
/// # Errors
/// Errors of [`read`].
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Option<Contents>> {
    contents(Reader::new(path, Cursor::new(bytes))?)
}

fn contents<R: io::Read + Seek>(reader: Option<Reader<R>>) -> Result<Option<Contents>> {
    let Some(mut reader) = reader else { return Ok(None) };
    let mut rows = Vec::new();
    while reader.next(&mut rows)? {}
    let length = reader.at();
    Ok(Some(Contents { header: reader.into_header(), rows, length }))
}

/// Journal file with a read buffer for some hundred repetitions; a seek within the buffer keeps it.
pub(crate) fn buffered(file: File) -> BufReader<File> {
    BufReader::with_capacity(1 << 18, file)
}

fn damaged(path: &Path, offset: usize, why: String) -> Error {
    Error::Damaged { path: path.to_owned(), offset: offset as u64, why }
}

/// Payload of the record at `at`, if it is valid. The bytes begin at offset `base` of the file.
fn record_at(bytes: &[u8], base: u64, at: usize) -> Option<&[u8]> {
    let mut rest = bytes.get(at..)?;
    let length = take_u32(&mut rest)?;
    let head_check = take_u32(&mut rest)?;
    let payload_check = take_u32(&mut rest)?;
    if head_check != check_head(base + at as u64, length) {
        return None;
    }
    let payload = rest.get(..usize::try_from(length).ok()?)?;
    (crc32fast::hash(payload) == payload_check).then_some(payload)
}

fn check_head(offset: u64, length: u32) -> u32 {
    let mut words = [0; 12];
    words[..8].copy_from_slice(&offset.to_le_bytes());
    words[8..].copy_from_slice(&length.to_le_bytes());
    crc32fast::hash(&words)
}

/// Reserves the head of a record; returns its position in the buffer.
fn open_record(buffer: &mut Vec<u8>) -> usize {
    let start = buffer.len();
    buffer.extend_from_slice(&[0; HEAD]);
    start
}

/// Fills in the head of the record at `start`; `base` is the file offset of the buffer's first byte. `None`
/// if the payload is too long.
fn close_record(buffer: &mut [u8], start: usize, base: u64) -> Option<()> {
    let (head, payload) = buffer[start..].split_at_mut(HEAD);
    let length = u32::try_from(payload.len()).ok()?;
    head[..4].copy_from_slice(&length.to_le_bytes());
    head[4..8].copy_from_slice(&check_head(base + start as u64, length).to_le_bytes());
    head[8..].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
    Some(())
}

/// Encodes the flows of one repetition. More than 2^32 flows, or a longer name, cannot be closed as a record.
fn encode(buffer: &mut Vec<u8>, flows: &[Row]) {
    let Some(first) = flows.first() else { return };
    buffer.extend_from_slice(&first.cell.to_le_bytes());
    buffer.extend_from_slice(&first.repetition.to_le_bytes());
    buffer.extend_from_slice(&(flows.len() as u32).to_le_bytes());
    for row in flows {
        buffer.extend_from_slice(&(row.flow.len() as u32).to_le_bytes());
        buffer.extend_from_slice(row.flow.as_bytes());
        let present = buffer.len();
        buffer.resize(present + row.values.len().div_ceil(8), 0);
        for (at, value) in row.values.iter().enumerate() {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                buffer[present + at / 8] |= 1 << (at % 8);
                buffer.extend_from_slice(&value.to_le_bytes());
            }
        }
    }
}

/// Decodes a payload; `None` if it is inconsistent with `header`.
fn decode(mut payload: &[u8], header: &Header, rows: &mut Vec<Row>) -> Option<()> {
    let payload = &mut payload;
    let cell = take_u32(payload)?;
    header.cells.has(cell).then_some(())?;
    let repetition = u64::from_le_bytes(take(payload, 8)?.try_into().ok()?);
    let count = take_u32(payload)?;
    let columns = header.columns.len();
    for _ in 0..count {
        let length = usize::try_from(take_u32(payload)?).ok()?;
        let flow = std::str::from_utf8(take(payload, length)?).ok()?.to_owned();
        let present = take(payload, columns.div_ceil(8))?;
        let mut values = Vec::with_capacity(columns);
        for at in 0..columns {
            values.push(if present[at / 8] >> (at % 8) & 1 == 1 {
                Some(f64::from_le_bytes(take(payload, 8)?.try_into().ok()?))
            } else {
                None
            });
        }
        rows.push(Row { cell, repetition, flow, values });
    }
    payload.is_empty().then_some(())
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests;
