//! Sliding window over a capture stream (`Buffer`), of bounded size, with large reads; bytes move only when the window
//! is shifted to the front.

use std::io::{self, Read};

/// Initial size of the window, bytes; sufficient for a small file.
const FIRST: usize = 16 << 10;
/// Size from which the window grows only for a larger frame, bytes.
const CHUNK: usize = 256 << 10;
/// Largest size of the window, bytes; a larger request is truncated.
pub(crate) const LARGEST: usize = 16 << 20;

/// Sliding window over a stream.
pub(crate) struct Buffer<'a> {
    /// A trait object, so that the parsers are compiled once, in this crate.
    from: Box<dyn Read + 'a>,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of the window in the stream.
    offset: u64,
    ended: bool,
    /// Error of a damaged or truncated compressed stream.
    broken: Option<io::Error>,
}

impl<'a> Buffer<'a> {
    pub(crate) fn new(from: Box<dyn Read + 'a>) -> Self {
        Buffer { from, bytes: Vec::new(), start: 0, end: 0, offset: 0, ended: false, broken: None }
    }

    /// Offset of the window in the stream, bytes.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Removes and returns the error of a prematurely ended stream, if any.
    pub(crate) fn broken(&mut self) -> Option<io::Error> {
        self.broken.take()
    }

    /// Available bytes of the window.
    pub(crate) fn window(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Reads until `n` bytes are available or the stream ends; returns the number available.
    pub(crate) fn fill(&mut self, n: usize) -> io::Result<usize> {
        if self.end - self.start >= n {
            return Ok(self.end - self.start);
        }
        self.fill_more(n.min(LARGEST))
    }

    #[cold]
    fn fill_more(&mut self, n: usize) -> io::Result<usize> {
        while self.end - self.start < n && !self.ended {
            if self.end == self.bytes.len() {
                self.make_room();
            }
            match self.from.read(&mut self.bytes[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(more) => self.end += more,
                Err(e) => match e.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::UnexpectedEof
                    | io::ErrorKind::InvalidData
                    | io::ErrorKind::InvalidInput => {
                        (self.ended, self.broken) = (true, Some(e));
                    }
                    _ => return Err(e),
                },
            }
        }
        Ok(self.end - self.start)
    }

    /// Moves the unread bytes to the front if they are fewer than the consumed ones, so that each byte moves at most
    /// once. Otherwise the window grows in proportion to the data read, not to a possibly damaged length.
    fn make_room(&mut self) {
        let left = self.end - self.start;
        if self.bytes.len() >= CHUNK && left <= self.start {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, left);
        } else {
            self.bytes.resize((2 * self.bytes.len()).max(FIRST), 0);
        }
    }

    /// Consumes `n` available bytes.
    pub(crate) fn consume(&mut self, n: usize) {
        let n = n.min(self.end - self.start);
        self.start += n;
        self.offset += n as u64;
    }
}
