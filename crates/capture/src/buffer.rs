//! Sliding read buffer of bounded size.
//!
//! Through one window that moves over it: large reads, and no copy of a byte but the rest that is moved to the front
//! before the next one.

use std::io::{self, Read};

/// The window's room at first, which is enough for a small file.
const FIRST: usize = 16 << 10;
/// From this room on it grows only where a frame needs it.
const CHUNK: usize = 256 << 10;
/// The window never grows beyond this; whoever asks for more gets what there is.
pub(crate) const LARGEST: usize = 16 << 20;

/// A window over a stream.
pub(crate) struct Buffer<R> {
    from: R,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Where in the stream the window starts.
    offset: u64,
    ended: bool,
    /// Why it ended before its end: what was packed is damaged or cut off.
    broken: Option<io::Error>,
}

impl<R: Read> Buffer<R> {
    pub(crate) fn new(from: R) -> Self {
        Buffer { from, bytes: Vec::new(), start: 0, end: 0, offset: 0, ended: false, broken: None }
    }

    /// Where in the stream the window starts, in bytes.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Why the stream ended before its end, if it did; to be told once.
    pub(crate) fn broken(&mut self) -> Option<io::Error> {
        self.broken.take()
    }

    /// The bytes of the window that are here.
    pub(crate) fn window(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Sees to it that `n` bytes are here, if the stream has as many; says how many are.
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

    /// Moves what is left to the front, if less is left than was consumed: a byte is moved once at most. Otherwise
    /// there must be more room; it grows with what has come, not with what a damaged length asks for.
    fn make_room(&mut self) {
        let left = self.end - self.start;
        if self.bytes.len() >= CHUNK && left <= self.start {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, left);
        } else {
            self.bytes.resize((2 * self.bytes.len()).max(FIRST), 0);
        }
    }

    /// Moves the window on over bytes that are here.
    pub(crate) fn consume(&mut self, n: usize) {
        let n = n.min(self.end - self.start);
        self.start += n;
        self.offset += n as u64;
    }
}
