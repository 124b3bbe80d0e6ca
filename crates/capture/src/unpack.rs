//! gzip decompression of capture files in bounded memory.
//!
//! gzip is unpacked on the way, in as little memory as the file itself needs; the reader never knows.

use crate::reader::{Error, Reader};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Chain, Cursor, Read};
use std::path::Path;

/// A stream whose first bytes have been looked at.
type Seen<R> = Chain<Cursor<Vec<u8>>, R>;

/// A stream as it is, or what a packed one holds.
pub struct Unpacked<R>(Kind<R>);

enum Kind<R> {
    Plain(Seen<R>),
    Gzip(Box<MultiGzDecoder<Seen<R>>>),
}

impl<R: Read> Unpacked<R> {
    /// Looks at the first bytes.
    ///
    /// # Errors
    /// The stream's.
    pub fn new(mut from: R) -> io::Result<Self> {
        let mut magic = Vec::new();
        from.by_ref().take(2).read_to_end(&mut magic)?;
        let gzip = magic == [0x1f, 0x8b];
        let seen = Cursor::new(magic).chain(from);
        Ok(Unpacked(if gzip { Kind::Gzip(Box::new(MultiGzDecoder::new(seen))) } else { Kind::Plain(seen) }))
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Plain(seen) => seen.read(into),
            Kind::Gzip(packed) => packed.read(into),
        }
    }
}

impl Reader<Unpacked<File>> {
    /// Opens a file, packed with gzip or not.
    ///
    /// # Errors
    /// It cannot be read, or is no capture.
    pub fn path(path: &Path) -> Result<Self, Error> {
        Reader::open(Unpacked::new(File::open(path)?)?)
    }
}
