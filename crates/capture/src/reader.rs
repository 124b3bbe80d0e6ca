//! Capture reader for pcap and pcapng.
//!
//! One reader for pcap and pcapng, which looks at the first bytes to know which it is. Memory hangs on the largest
//! frame and the number of interfaces, never on how long the file is.

use crate::buffer::Buffer;
use crate::link::Link;
use crate::notice::{NoticeKind, Notices};
use crate::packet::{Packet, Unread, decode};
use crate::pcap::Pcap;
use crate::pcapng::{Comments, Options, Pcapng};
use std::io::{self, Read};

/// Why a file cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file's own trouble.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is another kind of file.
    #[error("neither pcap nor pcapng: it begins with {0}; editcap can convert many other kinds of capture")]
    Unknown(String),
    /// It is packed in a way that is not unpacked here.
    #[error("the file is packed; unpack it first: {0}")]
    Packed(&'static str),
    /// Nothing in it.
    #[error("the file is empty")]
    Empty,
    /// The header of the file is not all there.
    #[error("the file ends in its own header")]
    NoHeader,
}

/// How packed files begin, and who unpacks them.
const PACKED: [(&[u8], &str); 5] = [
    (&[0x1f, 0x8b], "gzip -dc"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd -dc"),
    (&[0xfd, b'7', b'z', b'X'], "xz -dc"),
    (b"BZh", "bzip2 -dc"),
    (b"PK", "unzip -p"),
];

base::named! {
    /// How a file is written.
    pub enum Format {
        /// The classic one.
        Pcap = "pcap",
        /// The next generation (draft-ietf-opsawg-pcapng).
        Pcapng = "pcapng",
    }
}

/// Where frames were captured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// What its frames begin with.
    pub link: Link,
    /// No more bytes of a frame than this were kept; 0 if all.
    pub snap: u32,
    /// Its name, if it is said.
    pub name: Option<String>,
    /// Which section of the file it belongs to, from 0.
    pub section: u32,
    /// Frames that the capture itself lost, if it is said.
    pub lost: Option<u64>,
    pub(crate) clock: Clock,
}

/// What a unit of time is, and when it is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Clock {
    /// Units of a second.
    pub(crate) units: u64,
    /// Seconds to be added.
    pub(crate) offset: i64,
}

impl Clock {
    /// Nanoseconds since 1970; `None` if 64 bits cannot hold them.
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

/// A captured frame. Its bytes are those of the reader's buffer.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Nanoseconds since 1970, or since whatever the capturing clock counted from.
    pub time_ns: i64,
    /// Which of [`Reader::interfaces`].
    pub interface: u32,
    /// What it begins with.
    pub link: Link,
    /// How many bytes it had.
    pub wire_len: u32,
    /// Those that were kept.
    pub bytes: &'a [u8],
    /// Where in the file its record begins.
    pub offset: u64,
    options: Options<'a>,
}

impl<'a> Frame<'a> {
    /// What its headers say.
    ///
    /// # Errors
    /// Why there is no packet, or none that can be read.
    #[inline]
    pub fn decode(&self) -> Result<Packet<'a>, Unread> {
        decode(self.link, self.bytes, self.wire_len)
    }
    /// The comments on it.
    pub fn comments(&self) -> Comments<'a> {
        self.options.comments()
    }
    /// Flags of an enhanced packet block: direction, kind of reception, errors.
    pub fn flags(&self) -> Option<u32> {
        self.options.flags()
    }
}

/// Where in the buffer's window a frame is.
pub(crate) struct Located {
    pub(crate) time_ns: i64,
    pub(crate) interface: usize,
    pub(crate) wire_len: u32,
    /// Its bytes.
    pub(crate) bytes: (usize, usize),
    /// Its options; empty if there are none.
    pub(crate) options: (usize, usize),
    /// Where its record ends.
    pub(crate) end: usize,
}

/// What both formats share.
pub(crate) struct State<R> {
    pub(crate) buffer: Buffer<R>,
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) notices: Notices,
    /// Time of the frame before.
    pub(crate) time_ns: i64,
}

impl<R> State<R> {
    /// The time of a frame; what does not fit is told and becomes that of the frame before.
    pub(crate) fn time(&mut self, nanos: Option<i64>, offset: u64) -> i64 {
        match nanos {
            Some(nanos) => self.time_ns = nanos,
            None => {
                self.notices.add(NoticeKind::TimeRange, offset, || "a time beyond what 64 bits hold".into())
            }
        }
        self.time_ns
    }

    /// Adds an interface, and says so if its link is not known.
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

/// Reads a capture from anything that can be read.
pub struct Reader<R> {
    state: State<R>,
    kind: Kind,
    /// Bytes of the window that the frame given last takes.
    pending: usize,
    frames: u64,
    done: bool,
}

impl<R: Read> Reader<R> {
    /// Looks at the beginning of a file.
    ///
    /// # Errors
    /// It cannot be read, or is no capture.
    pub fn open(from: R) -> Result<Self, Error> {
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

    /// The next frame; `None` at the end, which may come early: see [`Reader::notices`].
    ///
    /// # Errors
    /// The file's own, not those of what it holds.
    #[inline]
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

    /// How the file is written.
    pub fn format(&self) -> Format {
        match self.kind {
            Kind::Pcap(_) => Format::Pcap,
            Kind::Pcapng(_) => Format::Pcapng,
        }
    }
    /// The interfaces described so far, of all sections.
    pub fn interfaces(&self) -> &[Interface] {
        &self.state.interfaces
    }
    /// What was not as it should be so far.
    pub fn notices(&self) -> &Notices {
        &self.state.notices
    }
    /// How many frames were given.
    pub fn frames(&self) -> u64 {
        self.frames
    }
    /// How far it has come, in bytes of the file.
    pub fn position(&self) -> u64 {
        self.state.buffer.offset() + self.pending as u64
    }
}
