//! Transparent gzip decompression of capture files in bounded memory (`Unpacked`), and opening of a capture file by
//! path.

use crate::reader::{Error, Reader};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Chain, Cursor, Read};
use std::path::Path;

/// Stream with its first bytes, which were read ahead.
type Seen<R> = Chain<Cursor<Vec<u8>>, R>;

/// Stream, decompressed if it is gzip.
pub struct Unpacked<R>(Kind<R>);

enum Kind<R> {
    Plain(Seen<R>),
    Gzip(Box<MultiGzDecoder<Seen<R>>>),
}

impl<R: Read> Unpacked<R> {
    /// Detects gzip by the first bytes.
    ///
    /// # Errors
    /// An error of the stream.
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

impl Reader<'static> {
    /// Opens a capture file, gzip-compressed or not.
    ///
    /// # Errors
    /// The file cannot be read, or is not a capture file.
    pub fn path(path: &Path) -> Result<Self, Error> {
        Reader::open(Unpacked::new(File::open(path)?)?)
    }
}
