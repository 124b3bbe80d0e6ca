//! Streaming reader of capture files (`Reader`): format detection (pcap, pcapng), interfaces, frames with timestamps
//! and comments, notices.
//!
//! Memory depends on the largest frame and the number of interfaces, not on the length of the file.

use crate::buffer::Buffer;
use crate::link::Link;
use crate::notice::{NoticeKind, Notices};
use crate::packet::{Packet, Unread, decode};
use crate::pcap::Pcap;
use crate::pcapng::{Comments, Options, Pcapng};
use std::io::{self, Read};

/// Reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// I/O error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file has another format.
    #[error("neither pcap nor pcapng: it begins with {0}; editcap can convert many other kinds of capture")]
    Unknown(String),
    /// The compression is not supported; the command that decompresses the file.
    #[error("the file is packed; unpack it first: {0}")]
    Packed(&'static str),
    /// Empty file.
    #[error("the file is empty")]
    Empty,
    /// Truncated file header.
    #[error("the file ends in its own header")]
    NoHeader,
}

/// Magic numbers of compressed files, with the command that decompresses them.
const PACKED: [(&[u8], &str); 5] = [
    (&[0x1f, 0x8b], "gzip -dc"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd -dc"),
    (&[0xfd, b'7', b'z', b'X'], "xz -dc"),
    (b"BZh", "bzip2 -dc"),
    (b"PK", "unzip -p"),
];

base::named! {
    /// Format of a capture file.
    pub enum Format {
        /// Classic pcap.
        Pcap = "pcap",
        /// pcapng (draft-ietf-opsawg-pcapng).
        Pcapng = "pcapng",
    }
}

/// Interface of a capture file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Link type of the interface's frames.
    pub link: Link,
    /// Snap length, bytes; 0: unlimited.
    pub snap: u32,
    /// Name, if known.
    pub name: Option<String>,
    /// Index of its section in the file.
    pub section: u32,
    /// Frames dropped by the capture, if known.
    pub lost: Option<u64>,
    pub(crate) clock: Clock,
}

/// Resolution and offset of an interface's timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Clock {
    /// Units per second.
    pub(crate) units: u64,
    /// Offset, s.
    pub(crate) offset: i64,
}

impl Clock {
    /// Nanoseconds since 1970; `None` if they exceed 64 bits.
    #[inline]
    pub(crate) fn nanos(self, units: u64) -> Option<i64> {
        const SECOND: u64 = 1_000_000_000;
        let nanos = match self.units {
            SECOND => units,
            1_000_000 => units.checked_mul(1000)?,
            _ => {
                let nanos = u128::from(units) * u128::from(SECOND) / u128::from(self.units);
                u64::try_from(nanos).ok()?
            }
        };
        i64::try_from(nanos).ok()?.checked_add(self.offset.checked_mul(SECOND as i64)?)
    }
}

/// Captured frame; its bytes are in the reader's buffer.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Timestamp, nanoseconds since 1970 or since the origin of the capturing clock.
    pub time_ns: i64,
    /// Index in [`Reader::interfaces`].
    pub interface: u32,
    /// Link type.
    pub link: Link,
    /// Length on the wire, bytes.
    pub wire_len: u32,
    /// Captured bytes.
    pub bytes: &'a [u8],
    /// Offset of the frame's record in the file, bytes.
    pub offset: u64,
    options: Options<'a>,
}

impl<'a> Frame<'a> {
    /// Decodes the headers of the frame.
    ///
    /// # Errors
    /// Reason why there is no readable packet.
    #[inline]
    pub fn decode(&self) -> Result<Packet<'a>, Unread> {
        decode(self.link, self.bytes, self.wire_len)
    }
    /// Comments on the frame.
    pub fn comments(&self) -> Comments<'a> {
        self.options.comments()
    }
    /// Flags of an enhanced packet block: direction, kind of reception, errors.
    pub fn flags(&self) -> Option<u32> {
        self.options.flags()
    }
}

/// Position of a frame in the window of the buffer.
pub(crate) struct Located {
    pub(crate) time_ns: i64,
    pub(crate) interface: usize,
    pub(crate) wire_len: u32,
    /// Range of the frame's bytes.
    pub(crate) bytes: (usize, usize),
    /// Range of the frame's options; empty if there are none.
    pub(crate) options: (usize, usize),
    /// End of the frame's record.
    pub(crate) end: usize,
}

/// Parser state shared by both formats.
pub(crate) struct State<'a> {
    pub(crate) buffer: Buffer<'a>,
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) notices: Notices,
    /// Timestamp of the previous frame.
    pub(crate) time_ns: i64,
}

impl State<'_> {
    /// Timestamp of a frame. A timestamp out of range is reported, and replaced by that of the previous frame.
    pub(crate) fn time(&mut self, nanos: Option<i64>, offset: u64) -> i64 {
        match nanos {
            Some(nanos) => self.time_ns = nanos,
            None => {
                self.notices.add(NoticeKind::TimeRange, offset, || "a time beyond what 64 bits hold".into())
            }
        }
        self.time_ns
    }

    /// Adds an interface; reports an unknown link type.
    pub(crate) fn add_interface(&mut self, interface: Interface, offset: u64) {
        let link = interface.link;
        if link.name().is_none() {
            self.notices.add(NoticeKind::UnknownLink, offset, || {
                format!(
                    "interface {} has link type {}, whose frames are counted only",
                    self.interfaces.len(),
                    link.0
                )
            });
        }
        self.interfaces.push(interface);
    }
}

enum Kind {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// Reader of a capture file from any byte stream.
pub struct Reader<'a> {
    state: State<'a>,
    kind: Kind,
    /// Length of the last frame's record in the window, bytes.
    pending: usize,
    frames: u64,
    done: bool,
}

impl<'a> Reader<'a> {
    /// Reader of a stream; detects its format.
    ///
    /// # Errors
    /// The stream cannot be read, or is not a capture file.
    pub fn open(from: impl Read + 'a) -> Result<Self, Error> {
        Self::of(Box::new(from))
    }

    fn of(from: Box<dyn Read + 'a>) -> Result<Self, Error> {
        let mut buffer = Buffer::new(from);
        let here = buffer.fill(24)?;
        let Some(magic) = buffer.window().first_chunk::<4>() else {
            return Err(if here == 0 { Error::Empty } else { Error::NoHeader });
        };
        let magic = *magic;
        let mut state = State { buffer, interfaces: Vec::new(), notices: Notices::default(), time_ns: 0 };
        let kind = if Pcapng::begins_with(magic) {
            Kind::Pcapng(Pcapng::open(&mut state)?)
        } else if let Some(pcap) = Pcap::open(&mut state, magic)? {
            Kind::Pcap(pcap)
        } else if let Some((_, how)) = PACKED.iter().find(|(begin, _)| magic.starts_with(begin)) {
            return Err(Error::Packed(how));
        } else {
            let magic: Vec<String> = magic.iter().map(|b| format!("{b:02x}")).collect();
            return Err(Error::Unknown(magic.join(" ")));
        };
        Ok(Reader { state, kind, pending: 0, frames: 0, done: false })
    }

    /// Next frame; `None` at the end, which may be premature: see [`Reader::notices`].
    ///
    /// # Errors
    /// I/O errors; damaged content is reported as notices.
    #[expect(
        clippy::should_implement_trait,
        reason = "a frame lives in the reader's buffer: no iterator can lend it"
    )]
    pub fn next(&mut self) -> io::Result<Option<Frame<'_>>> {
        self.state.buffer.consume(std::mem::take(&mut self.pending));
        if self.done {
            return Ok(None);
        }
        let located = match &mut self.kind {
            Kind::Pcap(pcap) => pcap.next(&mut self.state)?,
            Kind::Pcapng(pcapng) => pcapng.next(&mut self.state)?,
        };
        let Some(at) = located else {
            self.done = true;
            if let Some(why) = self.state.buffer.broken() {
                let offset = self.state.buffer.offset();
                self.state
                    .notices
                    .add(NoticeKind::CutOff, offset, || format!("it cannot be unpacked further: {why}"));
            }
            return Ok(None);
        };
        self.pending = at.end;
        self.frames += 1;
        let big = match &self.kind {
            Kind::Pcap(_) => false,
            Kind::Pcapng(pcapng) => pcapng.big(),
        };
        let window = self.state.buffer.window();
        Ok(Some(Frame {
            time_ns: at.time_ns,
            interface: at.interface as u32,
            link: self.state.interfaces[at.interface].link,
            wire_len: at.wire_len,
            bytes: window.get(at.bytes.0..at.bytes.1).unwrap_or_default(),
            offset: self.state.buffer.offset(),
            options: Options::new(window.get(at.options.0..at.options.1).unwrap_or_default(), big),
        }))
    }

    /// Format of the file.
    pub fn format(&self) -> Format {
        match self.kind {
            Kind::Pcap(_) => Format::Pcap,
            Kind::Pcapng(_) => Format::Pcapng,
        }
    }
    /// Interfaces described so far, of all sections.
    pub fn interfaces(&self) -> &[Interface] {
        &self.state.interfaces
    }
    /// Notices about damage so far.
    pub fn notices(&self) -> &Notices {
        &self.state.notices
    }
    /// Number of frames returned.
    pub fn frames(&self) -> u64 {
        self.frames
    }
    /// Current offset in the file, bytes.
    pub fn position(&self) -> u64 {
        self.state.buffer.offset() + self.pending as u64
    }
}
