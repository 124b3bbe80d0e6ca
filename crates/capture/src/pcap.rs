//! Parser of the classic pcap format (draft-ietf-opsawg-pcap): file header of 24 bytes, then records, in both byte
//! orders.
//!
//! Timestamps in microseconds and nanoseconds, and the longer records of old Linux tools, are supported. An impossible
//! record length ends the reading, since the next record cannot be found.

use crate::buffer::LARGEST;
use crate::link::Link;
use crate::notice::NoticeKind;
use crate::reader::{Clock, Error, Interface, Located, State};
use std::io;

/// Bytes of the file header.
const HEADER: usize = 24;
/// Record size that is always accepted, bytes, whatever the snap length.
const USUAL: usize = 256 << 10;

/// Parser parameters from the file header.
pub(crate) struct Pcap {
    big: bool,
    /// Bytes of a record header.
    header: usize,
    /// Nanoseconds per unit of the sub-second field.
    unit: i64,
    /// Order of the two lengths in a record header.
    swapped: Swapped,
    /// Largest record, bytes.
    largest: usize,
}

/// Order of the two lengths: swapped by writers before version 2.3, either order in version 2.3.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Swapped {
    No,
    Yes,
    Perhaps,
}

impl Pcap {
    /// Parses the file header; `None` for another magic number.
    pub(crate) fn open(state: &mut State<'_>, magic: [u8; 4]) -> Result<Option<Pcap>, Error> {
        let (little, turned) = (u32::from_le_bytes(magic), u32::from_be_bytes(magic));
        let known = |magic: u32| match magic {
            0xa1b2_c3d4 => Some((16, 1000)),
            0xa1b2_3c4d => Some((16, 1)),
            // Records with interface, protocol and packet type behind the lengths.
            0xa1b2_cd34 => Some((24, 1000)),
            _ => None,
        };
        let (big, (header, unit)) = match (known(little), known(turned)) {
            (Some(known), _) => (false, known),
            (_, Some(known)) => (true, known),
            _ => return Ok(None),
        };
        if state.buffer.fill(HEADER)? < HEADER {
            return Err(Error::NoHeader);
        }
        let word = |at| u32_at(state.buffer.window(), at, big).unwrap_or(0);
        let half = |at| {
            let pair = state.buffer.window().get(at..at + 2).map_or([0, 0], |b| [b[0], b[1]]);
            if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
        };
        let swapped = match (half(4), half(6)) {
            (2, 0..=2) => Swapped::Yes,
            (2, 3) => Swapped::Perhaps,
            _ => Swapped::No,
        };
        let snap = word(16);
        // The upper bits of the link type describe frame check sequences, which IP lengths exclude.
        let link = Link(word(20) as u16);
        let clock = Clock { units: 1_000_000_000, offset: 0 };
        state.buffer.consume(HEADER);
        state.add_interface(Interface { link, snap, name: None, section: 0, lost: None, clock }, 0);
        let largest = (snap as usize).clamp(USUAL, LARGEST - header);
        Ok(Some(Pcap { big, header, unit, swapped, largest }))
    }

    #[inline]
    pub(crate) fn next(&mut self, state: &mut State<'_>) -> io::Result<Option<Located>> {
        let offset = state.buffer.offset();
        let here = state.buffer.fill(self.header)?;
        let Some(head) = state.buffer.window().get(..self.header) else {
            if here > 0 {
                let what = || format!("the file ends {here} bytes into the header of a record");
                state.notices.add(NoticeKind::CutOff, offset, what);
            }
            return Ok(None);
        };
        let word = |at| u32_at(head, at, self.big).unwrap_or(0);
        let (seconds, units) = (word(0), word(4));
        let (mut kept, mut wire) = (word(8), word(12));
        if self.swapped == Swapped::Yes || self.swapped == Swapped::Perhaps && kept > wire {
            std::mem::swap(&mut kept, &mut wire);
        }
        let kept = kept as usize;
        if kept > self.largest {
            let what = || format!("a record of {kept} bytes, more than one can have");
            state.notices.add(NoticeKind::Damaged, offset, what);
            let what = || "the start of the next record is unknown; the rest was not read".into();
            state.notices.add(NoticeKind::Stopped, offset, what);
            return Ok(None);
        }
        let end = self.header + kept;
        let here = state.buffer.fill(end)?;
        if here < end {
            let missing = end - here;
            state
                .notices
                .add(NoticeKind::CutOff, offset, || format!("the last record lacks {missing} bytes"));
            return Ok(None);
        }
        let time_ns =
            state.time(Some(i64::from(seconds) * 1_000_000_000 + i64::from(units) * self.unit), offset);
        Ok(Some(Located {
            time_ns,
            interface: 0,
            wire_len: wire.max(kept as u32),
            bytes: (self.header, end),
            options: (0, 0),
            end,
        }))
    }
}

#[inline]
fn u32_at(bytes: &[u8], at: usize, big: bool) -> Option<u32> {
    let four = *bytes.get(at..)?.first_chunk::<4>()?;
    Some(if big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
}
