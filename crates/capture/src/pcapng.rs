//! Parser of the pcapng format (draft-ietf-opsawg-pcapng): blocks of several sections, interfaces, packets, options,
//! resumption after damage.
//!
//! Each section has a byte order and interfaces of its own. Enhanced, simple and obsolete packet blocks and interface
//! statistics are parsed; other blocks are skipped. An impossible length is damage. Reading resumes at the next packet
//! block or section header with two equal lengths and consistent fields, a pattern that seldom occurs by chance.

use crate::buffer::LARGEST;
use crate::link::Link;
use crate::notice::NoticeKind;
use crate::reader::{Clock, Error, Interface, Located, State};
use std::io;

mod kind {
    pub(super) const SECTION: u32 = 0x0a0d_0d0a;
    pub(super) const INTERFACE: u32 = 1;
    pub(super) const OBSOLETE_PACKET: u32 = 2;
    pub(super) const SIMPLE_PACKET: u32 = 3;
    pub(super) const STATISTICS: u32 = 5;
    pub(super) const ENHANCED_PACKET: u32 = 6;
}

mod code {
    pub(super) const END: u16 = 0;
    pub(super) const COMMENT: u16 = 1;
    pub(super) const FLAGS: u16 = 2;
    pub(super) const INTERFACE_NAME: u16 = 2;
    pub(super) const DROPPED: u16 = 5;
    pub(super) const RESOLUTION: u16 = 9;
    pub(super) const OFFSET: u16 = 14;
}

/// Byte-order magic.
const ORDER: u32 = 0x1a2b_3c4d;
/// Length of block type and both length fields, bytes.
const FRAME: usize = 12;
/// Upper limit of interfaces in a file.
const INTERFACES: usize = 1 << 16;
/// Longest interface name, bytes; the rest is discarded.
const NAME: usize = 256;
/// Longest block at which reading resumes after damage, bytes.
const RESUME: usize = 512 << 10;

/// Parser state.
pub(crate) struct Pcapng {
    big: bool,
    /// Index of the present section.
    section: u32,
    /// Number of sections so far.
    sections: u32,
    /// Index of the first interface of the present section.
    first: usize,
}

/// Result of parsing a block.
enum Block {
    /// Valid block without a frame.
    Passed,
    Frame(Located),
    /// Damaged block, with the reason.
    Damaged(&'static str),
    End,
}

impl Pcapng {
    /// Whether a file with this magic is pcapng.
    pub(crate) fn begins_with(magic: [u8; 4]) -> bool {
        u32::from_le_bytes(magic) == kind::SECTION
    }

    pub(crate) fn open(state: &mut State<'_>) -> Result<Pcapng, Error> {
        let head = state.buffer.window().first_chunk::<12>().ok_or(Error::NoHeader)?;
        let Some(big) = order(&head[8..]) else {
            return Err(Error::Unknown("a section of no known byte order".into()));
        };
        Ok(Pcapng { big, section: 0, sections: 0, first: 0 })
    }

    /// Whether numbers of the present section are big-endian.
    pub(crate) fn big(&self) -> bool {
        self.big
    }

    #[inline]
    pub(crate) fn next(&mut self, state: &mut State<'_>) -> io::Result<Option<Located>> {
        loop {
            match self.block(state)? {
                Block::Frame(located) => return Ok(Some(located)),
                Block::Passed => {}
                Block::End => return Ok(None),
                Block::Damaged(what) => {
                    let offset = state.buffer.offset();
                    state.notices.add(NoticeKind::Damaged, offset, || format!("a block {what}"));
                    if !self.resume(state)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Parses the block at the start of the window.
    #[inline]
    fn block(&mut self, state: &mut State<'_>) -> io::Result<Block> {
        let here = state.buffer.fill(FRAME)?;
        let Some(head) = state.buffer.window().first_chunk::<12>() else {
            return Ok(self.cut_off(state, here));
        };
        let word = |at: usize, big| {
            let four = [head[at], head[at + 1], head[at + 2], head[at + 3]];
            if big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
        };
        let kind = word(0, self.big);
        if kind == kind::SECTION {
            match order(&head[8..]) {
                Some(big) => self.big = big,
                None => return Ok(Block::Damaged("begins a section of no known byte order")),
            }
        }
        let length = word(4, self.big) as usize;
        if length < FRAME || !length.is_multiple_of(4) {
            return Ok(Block::Damaged("of an impossible length"));
        }
        if length > LARGEST {
            return Ok(Block::Damaged("longer than one can be"));
        }
        let here = state.buffer.fill(length)?;
        let Some(block) = state.buffer.window().get(..length) else {
            return Ok(self.cut_off(state, here));
        };
        if u32_at(block, length - 4, self.big) != Some(length as u32) {
            return Ok(Block::Damaged("whose two lengths differ"));
        }
        match kind {
            kind::ENHANCED_PACKET | kind::OBSOLETE_PACKET => return Ok(self.packet(state, kind, length)),
            kind::SIMPLE_PACKET => return Ok(self.simple(state, length)),
            kind::SECTION => {
                (self.section, self.sections) = (self.sections, self.sections + 1);
                self.first = state.interfaces.len();
            }
            kind::INTERFACE => {
                let offset = state.buffer.offset();
                if state.interfaces.len() == INTERFACES {
                    let what = || format!("more than {INTERFACES} interfaces; the rest was not read");
                    state.notices.add(NoticeKind::Stopped, offset, what);
                    return Ok(Block::End);
                }
                match interface(block, self.big, self.section) {
                    Ok(interface) => state.add_interface(interface, offset),
                    Err(what) => return Ok(Block::Damaged(what)),
                }
            }
            kind::STATISTICS => {
                let options = block.get(20..length - 4).unwrap_or_default();
                let lost =
                    Options::new(options, self.big).find(code::DROPPED).and_then(|v| u64_at(v, 0, self.big));
                let interface = u32_at(block, 8, self.big).unwrap_or(u32::MAX) as usize;
                if let (Some(lost), Some(at)) = (lost, state.interfaces.get_mut(self.first + interface)) {
                    at.lost = Some(lost);
                }
            }
            _ => {}
        }
        state.buffer.consume(length);
        Ok(Block::Passed)
    }

    /// Handles a block beyond the end of the file; if another block follows, the length is damaged instead.
    #[cold]
    fn cut_off(&mut self, state: &mut State<'_>, here: usize) -> Block {
        if here == 0 {
            return Block::End;
        }
        if find(state.buffer.window().get(4..).unwrap_or_default(), self.big, RESUME).is_some() {
            return Block::Damaged("longer than the file");
        }
        let offset = state.buffer.offset();
        state.notices.add(NoticeKind::CutOff, offset, || format!("the file ends {here} bytes into a block"));
        Block::End
    }

    /// Parses an enhanced packet block, or an obsolete packet block (16-bit interface, drop count).
    #[inline]
    fn packet(&mut self, state: &mut State<'_>, kind: u32, length: usize) -> Block {
        let big = self.big;
        let block = state.buffer.window();
        let Some(fixed) = block.get(8..28).filter(|_| length >= 32) else {
            return Block::Damaged("too short for a packet");
        };
        let word = |at| u32_at(fixed, at, big).unwrap_or(0);
        let interface = match (kind, big) {
            (kind::ENHANCED_PACKET, _) => word(0),
            (_, true) => word(0) >> 16,
            (_, false) => word(0) & 0xffff,
        };
        let units = u64::from(word(4)) << 32 | u64::from(word(8));
        let (kept, wire_len) = (word(12) as usize, word(16));
        let padded = kept.next_multiple_of(4);
        if padded > length - 32 {
            return Block::Damaged("shorter than the packet in it");
        }
        let offset = state.buffer.offset();
        let at = self.first + interface as usize;
        let Some(clock) = state.interfaces.get(at).map(|interface| interface.clock) else {
            let what = || format!("a packet of interface {interface}, which is not described; left out");
            state.notices.add(NoticeKind::NoInterface, offset, what);
            state.buffer.consume(length);
            return Block::Passed;
        };
        Block::Frame(Located {
            time_ns: state.time(clock.nanos(units), offset),
            interface: at,
            wire_len: wire_len.max(kept as u32),
            bytes: (28, 28 + kept),
            options: (28 + padded, length - 4),
            end: length,
        })
    }

    /// Parses a simple packet block: first interface of the section, no timestamp.
    fn simple(&mut self, state: &mut State<'_>, length: usize) -> Block {
        let offset = state.buffer.offset();
        let Some(wire_len) = u32_at(state.buffer.window(), 8, self.big).filter(|_| length >= 16) else {
            return Block::Damaged("too short for a packet");
        };
        let Some(interface) = state.interfaces.get(self.first) else {
            let what = || "a packet of no described interface; left out".into();
            state.notices.add(NoticeKind::NoInterface, offset, what);
            state.buffer.consume(length);
            return Block::Passed;
        };
        let snap = if interface.snap == 0 { usize::MAX } else { interface.snap as usize };
        let kept = (wire_len as usize).min(snap).min(length - 16);
        state.notices.add(NoticeKind::NoTime, offset, || "packets without a time".into());
        Block::Frame(Located {
            time_ns: state.time_ns,
            interface: self.first,
            wire_len,
            bytes: (12, 12 + kept),
            options: (0, 0),
            end: length,
        })
    }

    /// Moves to the next block that is certainly valid; returns whether there is one.
    #[cold]
    fn resume(&mut self, state: &mut State<'_>) -> io::Result<bool> {
        let from = state.buffer.offset();
        state.buffer.consume(1);
        loop {
            let here = state.buffer.fill(2 * RESUME)?;
            let ended = here < 2 * RESUME;
            let until = if ended { here } else { RESUME };
            if let Some(at) = find(state.buffer.window(), self.big, until) {
                state.buffer.consume(at);
                let (offset, lost) = (state.buffer.offset(), state.buffer.offset() - from);
                let what = || format!("reading continues at byte {offset}; {lost} bytes were skipped");
                state.notices.add(NoticeKind::Resumed, offset, what);
                return Ok(true);
            }
            if ended {
                let what = || "no further block can be found; the rest was not read".into();
                state.notices.add(NoticeKind::Stopped, from, what);
                return Ok(false);
            }
            state.buffer.consume(until);
        }
    }
}

/// Byte order of a section: true if big-endian; None if the magic number is invalid.
fn order(magic: &[u8]) -> Option<bool> {
    match (u32_at(magic, 0, false)?, u32_at(magic, 0, true)?) {
        (ORDER, _) => Some(false),
        (_, ORDER) => Some(true),
        _ => None,
    }
}

/// Offset below `until` of the first block that is certainly valid.
fn find(bytes: &[u8], big: bool, until: usize) -> Option<usize> {
    (0..until.min(bytes.len())).find(|&at| {
        let block = bytes.get(at..).unwrap_or_default();
        let (kind, big) = match u32_at(block, 0, big) {
            Some(kind @ (kind::ENHANCED_PACKET | kind::OBSOLETE_PACKET)) => (kind, big),
            Some(kind @ kind::SECTION) => match order(block.get(8..).unwrap_or_default()) {
                Some(big) => (kind, big),
                None => return false,
            },
            _ => return false,
        };
        let Some(length) = u32_at(block, 4, big).map(|length| length as usize) else { return false };
        let fits = match kind {
            kind::SECTION => length >= 28,
            _ => u32_at(block, 20, big).is_some_and(|kept| length >= 32 && kept as usize <= length - 32),
        };
        fits && length <= RESUME
            && length.is_multiple_of(4)
            && u32_at(block, length - 4, big) == Some(length as u32)
    })
}

/// Parses an interface description block.
fn interface(block: &[u8], big: bool, section: u32) -> Result<Interface, &'static str> {
    let (Some(link), Some(snap)) = (block.get(8..10), u32_at(block, 12, big)) else {
        return Err("too short to describe an interface");
    };
    let link = [link[0], link[1]];
    let link = Link(if big { u16::from_be_bytes(link) } else { u16::from_le_bytes(link) });
    let options = Options::new(block.get(16..block.len() - 4).unwrap_or_default(), big);
    let name = options.find(code::INTERFACE_NAME).map(|name| {
        let name = name.get(..NAME).unwrap_or(name);
        String::from_utf8_lossy(name).into_owned()
    });
    // Timestamp resolution, microseconds by default; the highest bit selects powers of two, otherwise of ten.
    let resolution = options.find(code::RESOLUTION).and_then(|v| v.first().copied()).unwrap_or(6);
    let exponent = u32::from(resolution & 0x7f);
    let units = if resolution & 0x80 != 0 { 1u64.checked_shl(exponent) } else { 10u64.checked_pow(exponent) };
    let Some(units) = units else { return Err("that describes a clock finer than 64 bits can count") };
    let offset = options.find(code::OFFSET).and_then(|v| u64_at(v, 0, big)).unwrap_or(0) as i64;
    Ok(Interface { link, snap, name, section, lost: None, clock: Clock { units, offset } })
}

/// Options of a block: code, length, value padded to four bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl<'a> Options<'a> {
    pub(crate) fn new(bytes: &'a [u8], big: bool) -> Self {
        Options { bytes, big }
    }
    fn find(self, code: u16) -> Option<&'a [u8]> {
        let mut rest = self;
        while let Some((found, value)) = rest.take() {
            if found == code {
                return Some(value);
            }
        }
        None
    }
    /// Removes and returns the next option.
    fn take(&mut self) -> Option<(u16, &'a [u8])> {
        let head = self.bytes.first_chunk::<4>()?;
        let half = |at: usize| {
            let two = [head[at], head[at + 1]];
            if self.big { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) }
        };
        let (code, length) = (half(0), usize::from(half(2)));
        if code == code::END {
            return None;
        }
        let value = self.bytes.get(4..4 + length)?;
        self.bytes = self.bytes.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    }
    pub(crate) fn comments(self) -> Comments<'a> {
        Comments(self)
    }
    pub(crate) fn flags(self) -> Option<u32> {
        u32_at(self.find(code::FLAGS)?, 0, self.big)
    }
}

/// Comments on a frame.
#[derive(Clone, Debug)]
pub struct Comments<'a>(Options<'a>);

impl<'a> Iterator for Comments<'a> {
    type Item = &'a str;
    /// Next comment; it ends before invalid UTF-8.
    fn next(&mut self) -> Option<&'a str> {
        loop {
            let (code, value) = self.0.take()?;
            if code == code::COMMENT {
                return Some(value.utf8_chunks().next().map_or("", |chunk| chunk.valid()));
            }
        }
    }
}

#[inline]
fn u32_at(bytes: &[u8], at: usize, big: bool) -> Option<u32> {
    let four = *bytes.get(at..)?.first_chunk::<4>()?;
    Some(if big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
}

fn u64_at(bytes: &[u8], at: usize, big: bool) -> Option<u64> {
    let eight = *bytes.get(at..)?.first_chunk::<8>()?;
    Some(if big { u64::from_be_bytes(eight) } else { u64::from_le_bytes(eight) })
}
