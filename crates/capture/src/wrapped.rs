//! Pseudo-headers before captured frames: IEEE 802.11 with radiotap, Prism or AVS header, PPI, PKTAP, netfilter log
//! (NFLOG).
//!
//! Fields have the byte order of the capturing machine, nearly always little-endian. Where both are possible, the
//! order consistent with the frame is used.

use crate::link::{Link, Place, llc, u16_at};
use crate::packet::Unread;

fn le16(frame: &[u8], at: usize) -> Result<usize, Unread> {
    u16_at(frame, at).map(|n| usize::from(n.swap_bytes()))
}

fn le32(frame: &[u8], at: usize) -> Result<u32, Unread> {
    Ok((le16(frame, at)? | le16(frame, at + 2)? << 16) as u32)
}

/// Bytes behind a header of `length` bytes.
fn after(frame: &[u8], length: usize) -> Result<&[u8], Unread> {
    frame.get(length..).ok_or(Unread::Short)
}

/// Position of the IP packet in an IEEE 802.11 frame, with or without a capture header.
pub(crate) fn wireless(link: Link, frame: &[u8]) -> Result<Place, Unread> {
    let (length, padded) = match link {
        Link::RADIOTAP => radiotap(frame)?,
        // Some drivers write one header under the other's link type.
        Link::PRISM | Link::AVS => match frame.get(..4).ok_or(Unread::Short)? {
            [0x80, 0x21, 0x10, 1 | 2] => (u16_at(frame, 6)?.into(), false),
            _ => (144, false),
        },
        _ => (0, false),
    };
    Ok(data(after(frame, length)?, padded)?.behind(length))
}

/// Length of a radiotap header, and whether the 802.11 header is padded to 32 bits.
fn radiotap(frame: &[u8]) -> Result<(usize, bool), Unread> {
    let length = le16(frame, 2)?;
    if length < 8 {
        return Err(Unread::NotIp(0));
    }
    // Present words; the highest bit announces another word.
    let (mut at, first) = (4, le32(frame, 4)?);
    while le32(frame, at)? >> 31 == 1 && at < length {
        at += 4;
    }
    at += 4;
    if first & 1 != 0 {
        // TSFT field: eight bytes, aligned to eight.
        at = at.next_multiple_of(8) + 8;
    }
    let flags = if first & 2 != 0 && at < length { *frame.get(at).ok_or(Unread::Short)? } else { 0 };
    Ok((length, flags & 0x20 != 0))
}

/// Position of the IP packet in an IEEE 802.11 frame (section 9.2): only unencrypted data frames carry IP.
fn data(frame: &[u8], padded: bool) -> Result<Place, Unread> {
    let (kind, flags) = match frame.get(..2).ok_or(Unread::Short)? {
        [kind, flags] => (*kind, *flags),
        _ => return Err(Unread::Short),
    };
    let (carries, quality) = (kind & 0x4f == 0x08, kind & 0x80 != 0);
    // Protected frame.
    if !carries || flags & 0x40 != 0 {
        return Err(Unread::NotIp(0));
    }
    let mut at = 24;
    if flags & 3 == 3 {
        at += 6;
    }
    let mut several = false;
    if quality {
        several = *frame.get(at).ok_or(Unread::Short)? & 0x80 != 0;
        at += if flags & 0x80 != 0 { 6 } else { 2 };
    }
    if padded {
        at = at.next_multiple_of(4);
    }
    if several {
        // A-MSDU: the first subframe is decoded, behind two addresses and a length.
        at += 14;
    }
    llc(frame, at)
}

/// Position of the IP packet behind a header that contains the link type of the frame.
pub(crate) fn named(link: Link, frame: &[u8]) -> Result<Place, Unread> {
    let (length, next) = match link {
        Link::PPI => (le16(frame, 2)?, le32(frame, 4)?),
        Link::NFLOG => return logged(frame),
        _ => {
            let told = le32(frame, 0)?;
            let read =
                |at: usize| Ok(if told < 1 << 16 { le32(frame, at)? } else { le32(frame, at)?.swap_bytes() });
            // The record type shows whether a packet follows.
            if read(4)? != 1 {
                return Err(Unread::NotIp(0));
            }
            (read(0)? as usize, read(8)?)
        }
    };
    if length < 8 {
        return Err(Unread::NotIp(0));
    }
    let next = u16::try_from(next).map(Link).map_err(|_| Unread::Link)?;
    // These headers are never nested; the check bounds the recursion.
    if matches!(next, Link::PPI | Link::NFLOG | Link::PKTAP | Link::PKTAP_TOO) {
        return Err(Unread::Link);
    }
    Ok(next.network(after(frame, length)?)?.behind(length))
}

/// Position of the IP packet in a netfilter log: TLVs padded to words, one of which is the packet.
fn logged(frame: &[u8]) -> Result<Place, Unread> {
    const PACKET: usize = 9;
    let mut at = 4;
    // Each TLV has at least four bytes, so the loop ends.
    loop {
        let big = u16_at(frame, at)?;
        let (mut length, mut kind) = (le16(frame, at)?, le16(frame, at + 2)?);
        // A TLV beyond the frame has the opposite byte order, unless it is the packet, which a snap length may have
        // truncated.
        if at + length > frame.len() && kind & 0x7fff != PACKET && at + usize::from(big) <= frame.len() {
            (length, kind) = (usize::from(big), usize::from(u16_at(frame, at + 2)?));
        }
        if kind & 0x7fff == PACKET {
            return Link::RAW.network(frame).map(|place| place.behind(at + 4));
        }
        if length < 4 {
            return Err(Unread::NotIp(0));
        }
        at += length.next_multiple_of(4);
    }
}
