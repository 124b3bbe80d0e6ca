//! Capture writer: pcapng with one interface per tap, classic pcap.
//!
//! pcapng has nanosecond timestamps and packet comments; classic pcap is for programs without pcapng support.

use crate::link::Link;
use std::io::{self, Write};

/// A capture tap.
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
    /// A tap of bare IP packets without snap length.
    pub fn ip(name: &str) -> Tap {
        Tap { link: Link::RAW, snap: 0, name: name.into(), description: String::new() }
    }
    fn kept<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        frame.get(..self.snap as usize).filter(|_| self.snap > 0).unwrap_or(frame)
    }
}

/// A frame to write.
#[derive(Clone, Copy, Debug)]
pub struct Shot<'a> {
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

/// Byte-order magic of a section.
const ORDER: u32 = 0x1a2b_3c4d;
/// Longest option, bytes.
const OPTION: usize = u16::MAX as usize - 3;

/// pcapng writer (draft-ietf-opsawg-pcapng) with one section.
pub struct PcapngWriter<W> {
    out: W,
    taps: Vec<Tap>,
    body: Vec<u8>,
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
        let mut writer = PcapngWriter { out, taps: Vec::new(), body };
        for tap in taps {
            writer.add_tap(tap)?;
        }
        Ok(writer)
    }

    /// Adds a tap; frames may have been written before.
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

    /// Writes a frame. Readers expect frames in order of time. Frames of an unknown tap are dropped.
    ///
    /// # Errors
    /// An error of the underlying writer.
    pub fn write(&mut self, shot: &Shot<'_>) -> io::Result<()> {
        let Some(tap) = self.taps.get(shot.tap as usize) else { return Ok(()) };
        let kept = tap.kept(shot.bytes);
        let body = &mut self.body;
        body.clear();
        let (high, low) = ((shot.time_ns >> 32) as u32, shot.time_ns as u32);
        for word in [shot.tap, high, low, kept.len() as u32, shot.wire_len.max(kept.len() as u32)] {
            body.extend(word.to_le_bytes());
        }
        body.extend(kept);
        pad(body);
        if !shot.comment.is_empty() {
            option(body, 1, shot.comment.as_bytes());
            end_of_options(body);
        }
        block(&mut self.out, 6, body)
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

    /// Writes a frame; tap index and comment are ignored. Seconds wrap in 2106.
    ///
    /// # Errors
    /// An error of the underlying writer.
    pub fn write(&mut self, shot: &Shot<'_>) -> io::Result<()> {
        const SECOND: u64 = 1_000_000_000;
        let kept = self.tap.kept(shot.bytes);
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

/// Adds an option unless it is empty; too long values are truncated.
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
