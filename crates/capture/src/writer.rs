//! Writers of capture files: pcapng with one interface per tap and packet comments, classic pcap with one tap for
//! programs without pcapng; nanosecond timestamps.

use crate::link::Link;
use std::io::{self, Write};

/// Tap of a capture, an interface of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tap {
    /// Link type of its frames.
    pub link: Link,
    /// Snap length, bytes; 0: unlimited.
    pub snap: u32,
    /// Name; may be empty.
    pub name: String,
    /// Description; may be empty.
    pub description: String,
}

impl Tap {
    /// Tap for IP packets without link header and without snap length.
    pub fn ip(name: &str) -> Tap {
        Tap { link: Link::RAW, snap: 0, name: name.into(), description: String::new() }
    }
}

/// First `snap` bytes of a frame; 0: all.
fn kept(snap: u32, frame: &[u8]) -> &[u8] {
    frame.get(..snap as usize).filter(|_| snap > 0).unwrap_or(frame)
}

/// Frame to write.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingFrame<'a> {
    /// Timestamp, nanoseconds since 1970.
    pub time_ns: u64,
    /// Index of the tap.
    pub tap: u32,
    /// Length on the wire, bytes.
    pub wire_len: u32,
    /// Available bytes; the tap may truncate them.
    pub bytes: &'a [u8],
    /// Comment; may be empty.
    pub comment: &'a str,
}

/// Encoded block of a frame: equal at all taps with the same snap length, except for timestamp and interface.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    block: Vec<u8>,
}

/// Length of a packet block before its captured length, bytes: type, length, interface, timestamp.
const HEAD: usize = 20;

impl Prepared {
    /// Encodes the first `snap` bytes of a frame (0: all), its length on the wire, and its comment, which may be empty.
    pub fn fill(&mut self, snap: u32, wire_len: u32, bytes: &[u8], comment: &[u8]) {
        let kept = kept(snap, bytes);
        let comment = comment.get(..OPTION).unwrap_or(comment);
        let (frame, text) = (kept.len().next_multiple_of(4), comment.len().next_multiple_of(4));
        // The option header and the end of the options take four bytes each.
        let options = if comment.is_empty() { 0 } else { text + 8 };
        let length = (HEAD + 8 + frame + options + 4) as u32;
        let mut head = [0; HEAD + 8];
        let words = [6, length, 0, 0, 0, kept.len() as u32, wire_len.max(kept.len() as u32)];
        for (to, word) in head.as_chunks_mut().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        let block = &mut self.block;
        block.clear();
        block.reserve(length as usize);
        block.extend_from_slice(&head);
        block.extend_from_slice(kept);
        block.extend_from_slice(&PADDING[..frame - kept.len()]);
        if !comment.is_empty() {
            block.extend_from_slice(&(1 | (comment.len() as u32) << 16).to_le_bytes());
            block.extend_from_slice(comment);
            // Padding, then the end of the options.
            block.extend_from_slice(&PADDING[..text - comment.len() + 4]);
        }
        block.extend_from_slice(&length.to_le_bytes());
    }

    /// Block with this interface and time.
    #[inline]
    fn at(&mut self, time_ns: u64, tap: u32) -> &[u8] {
        if let Some(head) = self.block.first_chunk_mut::<HEAD>() {
            head[8..12].copy_from_slice(&tap.to_le_bytes());
            head[12..16].copy_from_slice(&((time_ns >> 32) as u32).to_le_bytes());
            head[16..20].copy_from_slice(&(time_ns as u32).to_le_bytes());
        }
        &self.block
    }
}

/// Longest padding to a multiple of four bytes, with the end of the options.
const PADDING: [u8; 7] = [0; 7];
/// Byte-order magic of a section.
const ORDER: u32 = 0x1a2b_3c4d;
/// Longest option value, bytes.
const OPTION: usize = u16::MAX as usize - 3;

/// pcapng writer (draft-ietf-opsawg-pcapng) with one section.
pub struct PcapngWriter<W> {
    out: W,
    taps: Vec<Tap>,
    body: Vec<u8>,
    frame: Prepared,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes section header and interfaces.
    ///
    /// # Errors
    /// An error of the underlying writer.
    pub fn new(mut out: W, taps: Vec<Tap>, application: &str) -> io::Result<Self> {
        let mut body = Vec::new();
        body.extend(ORDER.to_le_bytes());
        body.extend([1, 0, 0, 0]); // version 1.0
        body.extend(u64::MAX.to_le_bytes()); // section length: unspecified
        option(&mut body, 4, application.as_bytes());
        end_of_options(&mut body);
        block(&mut out, 0x0a0d_0d0a, &body)?;
        let mut writer = PcapngWriter { out, taps: Vec::new(), body, frame: Prepared::default() };
        for tap in taps {
            writer.add_tap(tap)?;
        }
        Ok(writer)
    }

    /// Adds a tap, also after frames were written.
    ///
    /// # Errors
    /// An error of the underlying writer.
    pub fn add_tap(&mut self, tap: Tap) -> io::Result<()> {
        let body = &mut self.body;
        body.clear();
        body.extend(tap.link.0.to_le_bytes());
        body.extend([0; 2]);
        body.extend(tap.snap.to_le_bytes());
        option(body, 2, tap.name.as_bytes());
        option(body, 3, tap.description.as_bytes());
        option(body, 9, &[9]); // timestamp resolution: 1 ns
        end_of_options(body);
        block(&mut self.out, 1, body)?;
        self.taps.push(tap);
        Ok(())
    }

    /// Writes a frame. Readers expect frames in order of time. A frame of an unknown tap is discarded.
    ///
    /// # Errors
    /// An error of the underlying writer.
    pub fn write(&mut self, shot: &OutgoingFrame<'_>) -> io::Result<()> {
        let Some(tap) = self.taps.get(shot.tap as usize) else { return Ok(()) };
        let mut frame = std::mem::take(&mut self.frame);
        frame.fill(tap.snap, shot.wire_len, shot.bytes, shot.comment.as_bytes());
        let written = self.write_prepared(shot.time_ns, shot.tap, &mut frame);
        self.frame = frame;
        written
    }

    /// Writes an encoded frame. A frame of an unknown tap is discarded.
    ///
    /// # Errors
    /// An error of the underlying writer.
    #[inline]
    pub fn write_prepared(&mut self, time_ns: u64, tap: u32, frame: &mut Prepared) -> io::Result<()> {
        if tap as usize >= self.taps.len() {
            return Ok(());
        }
        self.out.write_all(frame.at(time_ns, tap))
    }

    /// The underlying writer.
    pub fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// Flushes and returns the underlying writer.
    ///
    /// # Errors
    /// An error of the underlying writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// pcap writer with nanosecond timestamps: one interface, no comments.
pub struct PcapWriter<W> {
    out: W,
    tap: Tap,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file header.
    ///
    /// # Errors
    /// An error of the underlying writer.
    pub fn new(mut out: W, tap: Tap) -> io::Result<Self> {
        out.write_all(&0xa1b2_3c4du32.to_le_bytes())?;
        out.write_all(&[2, 0, 4, 0])?; // version 2.4
        out.write_all(&[0; 8])?; // UTC, accuracy unspecified
        let snap = if tap.snap == 0 { 256 << 10 } else { tap.snap };
        out.write_all(&snap.to_le_bytes())?;
        out.write_all(&u32::from(tap.link.0).to_le_bytes())?;
        Ok(PcapWriter { out, tap })
    }

    /// Writes a frame; its tap index and comment are ignored. The seconds wrap around in 2106.
    ///
    /// # Errors
    /// An error of the underlying writer.
    pub fn write(&mut self, shot: &OutgoingFrame<'_>) -> io::Result<()> {
        const SECOND: u64 = 1_000_000_000;
        let kept = kept(self.tap.snap, shot.bytes);
        let (seconds, below) = (shot.time_ns / SECOND, shot.time_ns % SECOND);
        for word in [seconds as u32, below as u32, kept.len() as u32, shot.wire_len.max(kept.len() as u32)] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.out.write_all(kept)
    }

    /// Flushes and returns the underlying writer.
    ///
    /// # Errors
    /// An error of the underlying writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// Appends an option unless its value is empty; a too long value is truncated.
fn option(to: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = value.get(..OPTION).unwrap_or(value);
    if value.is_empty() {
        return;
    }
    to.extend(code.to_le_bytes());
    to.extend((value.len() as u16).to_le_bytes());
    to.extend(value);
    pad(to);
}

fn end_of_options(to: &mut Vec<u8>) {
    to.extend([0; 4]);
}

fn block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let length = (body.len() as u32 + 12).to_le_bytes();
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&length)?;
    out.write_all(body)?;
    out.write_all(&length)
}
