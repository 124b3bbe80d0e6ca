//! Capture writer: pcapng with one interface per tap, classic pcap.
//!
//! As pcapng with an interface per tap, nanoseconds, and comments on packets; or as classic pcap for programs that
//! know nothing else.

use crate::link::Link;
use std::io::{self, Write};

/// Where frames are captured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tap {
    /// What its frames begin with.
    pub link: Link,
    /// Keep no more bytes of a frame; 0 keeps all.
    pub snap: u32,
    /// Its name; empty if it has none.
    pub name: String,
    /// What it is, in words; empty if that is not said.
    pub description: String,
}

impl Tap {
    /// A tap of bare IP packets that keeps them whole.
    pub fn ip(name: &str) -> Tap {
        Tap { link: Link::RAW, snap: 0, name: name.into(), description: String::new() }
    }
    fn kept<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        frame.get(..self.snap as usize).filter(|_| self.snap > 0).unwrap_or(frame)
    }
}

/// A frame to be written.
#[derive(Clone, Copy, Debug)]
pub struct Shot<'a> {
    /// Nanoseconds since 1970.
    pub time_ns: u64,
    /// Which of the taps, from 0.
    pub tap: u32,
    /// Bytes that it had.
    pub wire_len: u32,
    /// Those that are at hand; the tap may keep fewer.
    pub bytes: &'a [u8],
    /// Said of it; empty if nothing is.
    pub comment: &'a str,
}

/// The first byte of a section says how the others are ordered.
const ORDER: u32 = 0x1a2b_3c4d;
/// No option can be longer.
const OPTION: usize = u16::MAX as usize - 3;

/// Writes pcapng (draft-ietf-opsawg-pcapng), one section.
pub struct PcapngWriter<W> {
    out: W,
    taps: Vec<Tap>,
    body: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes what stands before the packets.
    ///
    /// # Errors
    /// The writer's.
    pub fn new(mut out: W, taps: Vec<Tap>, application: &str) -> io::Result<Self> {
        let mut body = Vec::new();
        body.extend(ORDER.to_le_bytes());
        body.extend([1, 0, 0, 0]); // version 1.0
        body.extend(u64::MAX.to_le_bytes()); // how long the section is: not said
        option(&mut body, 4, application.as_bytes());
        end_of_options(&mut body);
        block(&mut out, 0x0a0d_0d0a, &body)?;
        let mut writer = PcapngWriter { out, taps: Vec::new(), body };
        for tap in taps {
            writer.add_tap(tap)?;
        }
        Ok(writer)
    }

    /// Describes a further tap; frames may have been written before.
    ///
    /// # Errors
    /// The writer's.
    pub fn add_tap(&mut self, tap: Tap) -> io::Result<()> {
        let body = &mut self.body;
        body.clear();
        body.extend(tap.link.0.to_le_bytes());
        body.extend([0; 2]);
        body.extend(tap.snap.to_le_bytes());
        option(body, 2, tap.name.as_bytes());
        option(body, 3, tap.description.as_bytes());
        option(body, 9, &[9]); // times are nanoseconds
        end_of_options(body);
        block(&mut self.out, 1, body)?;
        self.taps.push(tap);
        Ok(())
    }

    /// Writes a frame. Readers want them in the order of time. One of no tap is left out.
    ///
    /// # Errors
    /// The writer's.
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

    /// Gives the writer back, flushed.
    ///
    /// # Errors
    /// The writer's.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Writes pcap with nanoseconds: one interface, no comments.
pub struct PcapWriter<W> {
    out: W,
    tap: Tap,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// The writer's.
    pub fn new(mut out: W, tap: Tap) -> io::Result<Self> {
        out.write_all(&0xa1b2_3c4du32.to_le_bytes())?;
        out.write_all(&[2, 0, 4, 0])?; // version 2.4
        out.write_all(&[0; 8])?; // times are UTC, their accuracy is not said
        let snap = if tap.snap == 0 { 256 << 10 } else { tap.snap };
        out.write_all(&snap.to_le_bytes())?;
        out.write_all(&u32::from(tap.link.0).to_le_bytes())?;
        Ok(PcapWriter { out, tap })
    }

    /// Writes a frame. Its tap and its comment do not matter; seconds beyond 2106 wrap.
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&mut self, shot: &Shot<'_>) -> io::Result<()> {
        const SECOND: u64 = 1_000_000_000;
        let kept = self.tap.kept(shot.bytes);
        let (seconds, below) = (shot.time_ns / SECOND, shot.time_ns % SECOND);
        for word in [seconds as u32, below as u32, kept.len() as u32, shot.wire_len.max(kept.len() as u32)] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.out.write_all(kept)
    }

    /// Gives the writer back, flushed.
    ///
    /// # Errors
    /// The writer's.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// Adds an option, unless it is empty; a longer one than can be loses its end.
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
