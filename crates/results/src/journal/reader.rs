//! Sequential reader of a journal, with one record in memory: header, keys or rows of the next repetition.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::{HEAD, MAGIC, check_head, damaged, decode, record_at, take, take_u32};
use crate::error::{Error, Result};
use crate::row::{Header, Row};

/// Position in a journal, after the header or at a record.
pub struct Reader<R> {
    path: PathBuf,
    from: R,
    header: Header,
    /// Offset of the next record, and read position of `from`.
    at: u64,
    /// Payload of the last record; the buffer is reused for its capacity.
    payload: Vec<u8>,
}

impl<R: Read + Seek> Reader<R> {
    /// Reads the header. `None` if the run was killed before the header was complete; `path` is used in
    /// messages.
    ///
    /// # Errors
    /// Errors of [`super::read`].
    pub fn new(path: &Path, mut from: R) -> Result<Option<Reader<R>>> {
        let mut magic = Vec::new();
        from.rewind().map_err(Error::io("read", path))?;
        from.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(Error::io("read", path))?;
        if !MAGIC.starts_with(&magic) {
            return Err(Error::NotAJournal { path: path.to_owned() });
        }
        let (at, mut payload) = (MAGIC.len() as u64, Vec::new());
        if magic.len() < MAGIC.len() || !record(path, &mut from, at, &mut payload)? {
            return Ok(None);
        }
        let header: Header = serde_json::from_slice(&payload)
            .map_err(|error| damaged(path, MAGIC.len(), error.to_string()))?;
        header.check()?;
        let at = at + (HEAD + payload.len()) as u64;
        Ok(Some(Reader { path: path.to_owned(), from, header, at, payload }))
    }

    /// The run's header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Header, by value.
    pub fn into_header(self) -> Header {
        self.header
    }

    /// Offset of the next record; at the end, the size of the complete records in bytes.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Continues at the record with this offset. A seek within the buffer keeps its content; an absolute seek
    /// would refill it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn go_to(&mut self, at: u64) -> Result<()> {
        let by = at.wrapping_sub(self.at).cast_signed();
        self.from.seek_relative(by).map_err(Error::io("read", &self.path))?;
        self.at = at;
        Ok(())
    }

    /// Cell and number of the next repetition; `None` at the end.
    ///
    /// # Errors
    /// Errors of [`super::read`].
    pub fn next_key(&mut self) -> Result<Option<(u32, u64)>> {
        let start = self.at;
        if !self.advance()? {
            return Ok(None);
        }
        let payload = &mut &self.payload[..];
        let key = take_u32(payload).filter(|cell| self.header.cells.has(*cell)).and_then(|cell| {
            let repetition = take(payload, 8)?.try_into().ok()?;
            Some((cell, u64::from_le_bytes(repetition)))
        });
        key.map(Some).ok_or_else(|| misfit(&self.path, start))
    }

    /// Appends the rows of the next repetition to `rows`; false at the end.
    ///
    /// # Errors
    /// Errors of [`super::read`].
    pub fn next(&mut self, rows: &mut Vec<Row>) -> Result<bool> {
        let start = self.at;
        if !self.advance()? {
            return Ok(false);
        }
        decode(&self.payload, &self.header, rows).ok_or_else(|| misfit(&self.path, start))?;
        Ok(true)
    }

    fn advance(&mut self) -> Result<bool> {
        let there = record(&self.path, &mut self.from, self.at, &mut self.payload)?;
        if there {
            self.at += (HEAD + self.payload.len()) as u64;
        } else {
            self.from.seek(SeekFrom::Start(self.at)).map_err(Error::io("read", &self.path))?;
        }
        Ok(there)
    }
}

fn misfit(path: &Path, offset: u64) -> Error {
    damaged(path, offset as usize, "a repetition that does not fit the header".to_owned())
}

/// Reads the payload of the record at `at`, the read position of `from`; false at the end and at an
/// incomplete last record.
fn record(path: &Path, from: &mut (impl Read + Seek), at: u64, payload: &mut Vec<u8>) -> Result<bool> {
    let fail = |source| Error::Io { action: "read", path: path.to_owned(), source };
    let mut head = Vec::with_capacity(HEAD);
    from.by_ref().take(HEAD as u64).read_to_end(&mut head).map_err(fail)?;
    let words = &mut &head[..];
    let numbers = take_u32(words).zip(take_u32(words)).zip(take_u32(words));
    if let Some(((length, head_check), payload_check)) = numbers
        && head_check == check_head(at, length)
    {
        payload.clear();
        // Memory grows with the data present, not with a damaged length.
        from.by_ref().take(u64::from(length)).read_to_end(payload).map_err(fail)?;
        if payload.len() as u64 == u64::from(length) && crc32fast::hash(payload) == payload_check {
            return Ok(true);
        }
    }
    // A kill truncates only the last record, so a valid record after this one means damage.
    let mut rest = Vec::new();
    from.seek(SeekFrom::Start(at)).map_err(fail)?;
    from.read_to_end(&mut rest).map_err(fail)?;
    let mut later = 1..rest.len().saturating_sub(HEAD);
    match later.find(|&later| record_at(&rest, at, later).is_some()) {
        None => Ok(false),
        Some(later) => Err(damaged(
            path,
            at as usize,
            format!("the record there fails its check, and a good one follows at byte {}", at + later as u64),
        )),
    }
}
