//! Encoder and parser of RLC data blocks: MAC and RLC headers, length indicators, segments of LLC PDUs (3GPP TS 44.060
//! sections 10.2 to 10.4).

use super::bits::{FILLER, get_low, put_low};
use crate::coding::Scheme;
use crate::rlc::receive::BlockPart;
use std::ops::Range;

/// USF that the model assigns to no mobile (44.060 section 5.2.4.1 reserves the value 7 for the PRACH).
pub const FREE_USF: u8 = 7;

/// Length indicator before filler in the rest of an EGPRS block.
const REST: u8 = 127;

/// Fields of the MAC and RLC headers of a data block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// True in uplink blocks.
    pub up: bool,
    /// Temporary flow identity.
    pub tfi: u8,
    /// Downlink: USF, which grants the next uplink block to a mobile.
    pub usf: u8,
    /// Downlink: RRBP code of a poll; `None` without a poll.
    pub poll: Option<u8>,
    /// Uplink: countdown value.
    pub cv: u8,
    /// Uplink: SI, the window is stalled.
    pub stalled: bool,
    /// Uplink: R, the channel request was sent more than once.
    pub retry: bool,
}

impl Header {
    /// Header of a downlink block without poll and with a free USF.
    pub const fn down(tfi: u8) -> Header {
        Header { up: false, tfi, usf: FREE_USF, poll: None, cv: 15, stalled: false, retry: false }
    }
    /// Header of an uplink block with a countdown value.
    pub const fn up(tfi: u8, cv: u8) -> Header {
        Header { up: true, tfi, usf: FREE_USF, poll: None, cv, stalled: false, retry: false }
    }
}

/// Octets of an LLC PDU in a block to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece<'a> {
    /// Octets of the part.
    pub octets: &'a [u8],
    /// True if the PDU ends with this part.
    pub ends: bool,
}

/// RLC block to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit<'a> {
    /// Block sequence number on the wire, modulo SNS.
    pub bsn: u32,
    /// Whole block or half.
    pub part: BlockPart,
    /// Coding scheme of the block's first transmission, which determines its content.
    pub first_scheme: Scheme,
    /// Number of earlier transmissions, which determines the puncturing scheme.
    pub attempt: u8,
    /// Downlink: FBI; uplink: TI.
    pub flag: bool,
    /// Uplink with TI set: the TLLI in the block.
    pub tlli: Option<u32>,
    /// The block has a length indicator of value 0: the last one in GPRS, the first one in EGPRS.
    pub zero: bool,
    /// Parts of LLC PDUs in the block, in order.
    pub pieces: &'a [Piece<'a>],
}

/// Length indicators and data of one RLC block with `room` octets; the flag is true if the block has no length
/// indicator.
fn body(unit: &Unit<'_>, room: usize, egprs: bool) -> (bool, Vec<u8>) {
    // Big endian in GPRS (44.060 figure 10.2.2.1), least significant octet first in EGPRS (figure 10.3a.2.1).
    let tlli = unit.tlli.map(if egprs { u32::to_le_bytes } else { u32::to_be_bytes });
    let room = room.saturating_sub(tlli.map_or(0, |t| t.len()));
    let data: usize = unit.pieces.iter().map(|p| p.octets.len()).sum();
    let ends = unit.pieces.iter().filter(|p| p.ends).count();
    let zero = usize::from(unit.zero);
    // A PDU that ends at the end of the block has no length indicator: in GPRS it is the last PDU, in EGPRS the next block
    // indicates its end.
    let exact = ends > 0
        && unit.pieces.last().is_some_and(|p| p.ends)
        && data + ends - 1 + if egprs { zero } else { 0 } == room;
    let mut indicators: Vec<u8> = Vec::new();
    if egprs && unit.zero {
        indicators.push(0);
    }
    let last = unit.pieces.len().wrapping_sub(1);
    for (i, piece) in unit.pieces.iter().enumerate().filter(|(_, p)| p.ends) {
        if exact && i == last {
            break;
        }
        let length = piece.octets.len() as u8;
        indicators.push(if egprs { length << 1 } else { length << 2 | u8::from(i < last) << 1 });
    }
    if egprs && ends > 0 && !exact && unit.pieces.last().is_some_and(|p| p.ends) {
        let used = data + indicators.len();
        if used < room {
            indicators.push(REST << 1);
        }
    }
    if !egprs && unit.zero {
        indicators.push(0);
    }
    if let Some(octet) = indicators.last_mut() {
        *octet |= 1;
    }
    let none = indicators.is_empty();
    let mut out = indicators;
    out.extend(tlli.into_iter().flatten());
    unit.pieces.iter().for_each(|p| out.extend_from_slice(p.octets));
    out.resize(room + tlli.map_or(0, |t| t.len()), FILLER);
    (none, out)
}

/// A GPRS data block as octets, spare bits included.
pub fn gprs(scheme: Scheme, header: &Header, unit: &Unit<'_>) -> Vec<u8> {
    let (none, body) = body(unit, scheme.payload() as usize, false);
    let mut out = Vec::with_capacity(body.len() + 4);
    if header.up {
        out.push((header.cv & 15) << 2 | u8::from(header.stalled) << 1 | u8::from(header.retry));
        out.push((header.tfi & 31) << 1 | u8::from(unit.tlli.is_some()));
    } else {
        out.push(
            header.poll.map_or(0, |rrbp| (rrbp & 3) << 4)
                | u8::from(header.poll.is_some()) << 3
                | header.usf & 7,
        );
        out.push((header.tfi & 31) << 1 | u8::from(unit.flag));
    }
    out.push((unit.bsn as u8 & 127) << 1 | u8::from(none));
    out.extend(body);
    if scheme != Scheme::Cs1 {
        out.push(0);
    }
    out
}

/// Coding and puncturing scheme field (44.060 section 10.4.8a).
fn cps(scheme: Scheme, units: &[Unit<'_>]) -> u8 {
    let version = |i: usize, n: u8| units.get(i).map_or(0, |u| u.attempt % n);
    let padded = units.first().is_some_and(|u| u.first_scheme == Scheme::Mcs8);
    let two = |base: u8| base + 3 * version(0, 3) + version(1, 3);
    match scheme {
        Scheme::Mcs9 => 4 * version(0, 3) + version(1, 3),
        Scheme::Mcs8 => two(11),
        Scheme::Mcs7 => two(20),
        Scheme::Mcs6 => version(0, 2) + if padded { 2 } else { 0 },
        Scheme::Mcs5 => 4 + version(0, 2),
        Scheme::Mcs4 => version(0, 3),
        Scheme::Mcs3 => 3 + version(0, 3) + if padded { 3 } else { 0 },
        Scheme::Mcs2 => 9 + version(0, 2),
        _ => 11 + version(0, 2),
    }
}

/// Layout of a header type: length in bits, positions of the fields after the first BSN.
struct Layout {
    header: usize,
    cps: u32,
}

/// Header types 1 to 3, downlink and uplink (44.060 sections 10.3a.3 and 10.3a.4).
fn layout(kind: u8, up: bool) -> Layout {
    let (header, cps) = match (kind, up) {
        (1, false) => (40, 5),
        (1, true) => (46, 5),
        (2, false) => (28, 3),
        (2, true) => (37, 3),
        _ => (31, 4),
    };
    Layout { header, cps }
}

fn spb(part: BlockPart) -> u64 {
    match part {
        BlockPart::Whole => 0,
        BlockPart::First => 2,
        BlockPart::Second => 3,
    }
}

/// An EGPRS data block as octets: one or two RLC blocks.
pub fn egprs(scheme: Scheme, header: &Header, units: &[Unit<'_>]) -> Vec<u8> {
    let properties = scheme.properties();
    let mut out = vec![0; usize::from(properties.octets[usize::from(header.up)])];
    let kind = properties.header;
    let layout = layout(kind, header.up);
    let mut at = 0;
    let mut put = |value: u64, bits: u32| {
        put_low(&mut out, at, value, bits);
        at += bits as usize;
    };
    if header.up {
        put(u64::from(header.retry), 1);
        put(u64::from(header.stalled), 1);
        put(u64::from(header.cv), 4);
        put(u64::from(header.tfi), 5);
    } else {
        put(u64::from(header.usf), 3);
        // ES/P: 0 without poll; 3 requests an Ack/Nack with the whole report (44.060 table 10.4.4b.1).
        put(if header.poll.is_some() { 3 } else { 0 }, 2);
        put(u64::from(header.poll.unwrap_or(0)), 2);
        put(u64::from(header.tfi), 5);
        put(0, 2);
    }
    let first = units.first().map_or(0, |u| u.bsn);
    put(u64::from(first), 11);
    if kind == 1 {
        let second = units.get(1).map_or(first, |u| u.bsn);
        put(u64::from(second.wrapping_sub(first) & 0x3ff), 10);
    }
    put(u64::from(cps(scheme, units)), layout.cps);
    if kind == 3 {
        put(units.first().map_or(0, |u| spb(u.part)), 2);
    }
    let mut at = layout.header;
    for unit in units {
        // MCS-8 content in a block of MCS-6 or MCS-3 follows 6 or 3 octets of padding (44.060 section 8.1.1).
        let whole = unit.first_scheme.payload() as usize;
        let content = if unit.part == BlockPart::Whole { whole } else { whole / 2 };
        at += 8 * (scheme.payload() as usize).saturating_sub(content);
        let (none, octets) = body(unit, whole, true);
        let half = octets.len() / 2;
        let (none, octets) = match unit.part {
            BlockPart::Whole => (none, &octets[..]),
            BlockPart::First => (none, &octets[..half]),
            BlockPart::Second => (true, &octets[half..]),
        };
        put_low(&mut out, at, u64::from(none), 1);
        put_low(&mut out, at + 1, u64::from(unit.flag), 1);
        at += 2;
        for octet in octets {
            put_low(&mut out, at, u64::from(*octet), 8);
            at += 8;
        }
    }
    out
}

/// Octet range of a block that belongs to one LLC PDU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Range in the block's octets.
    pub octets: Range<usize>,
    /// True if the PDU ends with this segment.
    pub ends: bool,
}

/// A parsed GPRS data block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Read {
    /// Header.
    pub header: Header,
    /// Block sequence number on the wire.
    pub bsn: u32,
    /// Downlink: FBI; uplink: TI.
    pub flag: bool,
    /// Uplink with TI set: the TLLI in the block.
    pub tlli: Option<u32>,
    /// EGPRS: a PDU ended with the previous block; always false after [`read_gprs`].
    pub zero: bool,
    /// Segments of LLC PDUs, as ranges of the parsed octets.
    pub segments: Vec<Segment>,
}

/// Coding scheme of a GPRS block by its length, spare bits included.
pub fn scheme_of(octets: usize) -> Option<Scheme> {
    Some(match octets {
        23 => Scheme::Cs1,
        33 | 34 => Scheme::Cs2,
        39 | 40 => Scheme::Cs3,
        53 | 54 => Scheme::Cs4,
        _ => return None,
    })
}

/// Reads a GPRS data block; `None` if it is a control block, too short, or inconsistent.
pub fn read_gprs(up: bool, block: &[u8]) -> Option<Read> {
    let scheme = scheme_of(block.len())?;
    let end = 3 + scheme.payload() as usize;
    let (mac, rlc) = (*block.first()?, *block.get(1)?);
    if mac >> 6 != 0 {
        return None;
    }
    let header = if up {
        Header {
            cv: mac >> 2 & 15,
            stalled: mac & 2 != 0,
            retry: mac & 1 != 0,
            ..Header::up(rlc >> 1 & 31, 15)
        }
    } else {
        let poll = (mac & 8 != 0).then_some(mac >> 4 & 3);
        Header { usf: mac & 7, poll, ..Header::down(rlc >> 1 & 31) }
    };
    let number = *block.get(2)?;
    let flag = rlc & 1 != 0;
    let mut at = 3;
    let mut lengths = Vec::new();
    let mut more = number & 1 == 0;
    let mut rest = !more;
    while more {
        let octet = *block.get(at).filter(|_| at < end)?;
        at += 1;
        more = octet & 1 == 0;
        // Another PDU follows; length 0 means that this PDU continues in the next block.
        rest = octet & 2 != 0 || octet >> 2 == 0;
        if octet >> 2 > 0 {
            lengths.push(usize::from(octet >> 2));
        }
    }
    let tlli = if up && flag {
        let octets: [u8; 4] = block.get(at..at + 4)?.try_into().ok()?;
        at += 4;
        Some(u32::from_be_bytes(octets))
    } else {
        None
    };
    // PI: a packet flow identifier of one octet follows.
    if up && rlc & 0x40 != 0 {
        at += 1;
    }
    let segments = segments(at, end, &lengths, rest)?;
    Some(Read { header, bsn: u32::from(number >> 1), flag, tlli, zero: false, segments })
}

/// Segments of the given lengths from octet `at`; with `rest`, the remaining octets up to `end` are one more segment.
fn segments(mut at: usize, end: usize, lengths: &[usize], rest: bool) -> Option<Vec<Segment>> {
    let mut all = Vec::new();
    for length in lengths {
        let octets = at..at + length;
        if octets.end > end {
            return None;
        }
        at = octets.end;
        all.push(Segment { octets, ends: true });
    }
    if rest && at < end {
        all.push(Segment { octets: at..end, ends: false });
    }
    Some(all)
}

/// Coding scheme of a radio block by its length, and whether it is a control block (always CS-1). `None` for other
/// lengths.
pub fn kind_of(up: bool, block: &[u8]) -> Option<(Scheme, bool)> {
    let egprs =
        Scheme::EGPRS.iter().find(|s| usize::from(s.properties().octets[usize::from(up)]) == block.len());
    let scheme = egprs.copied().or_else(|| scheme_of(block.len()))?;
    Some((scheme, scheme == Scheme::Cs1 && block.first()? >> 6 != 0))
}

/// A parsed RLC block of an EGPRS radio block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Aligned {
    /// Block sequence number on the wire.
    pub bsn: u32,
    /// Whole block or half; a half contains half of the block's octets.
    pub part: BlockPart,
    /// Downlink: FBI; uplink: TI.
    pub flag: bool,
    /// True if the block has no length indicator.
    pub none: bool,
    /// Length indicators and data, shifted to octet boundaries.
    pub octets: Vec<u8>,
}

/// Reads the header of an EGPRS data block and the data of its RLC blocks; `None` if the length fits no
/// scheme. Halves of a block are returned as they are; padding of MCS-8 content is removed.
pub fn read_egprs(up: bool, block: &[u8]) -> Option<(Header, Vec<Aligned>)> {
    let scheme = Scheme::EGPRS
        .iter()
        .find(|s| usize::from(s.properties().octets[usize::from(up)]) == block.len())
        .copied()?;
    let kind = scheme.properties().header;
    let layout = layout(kind, up);
    let mut at = 0;
    let mut take = |bits: u32| {
        let value = get_low(block, at, bits);
        at += bits as usize;
        value
    };
    let header = if up {
        let (retry, stalled) = (take(1)? == 1, take(1)? == 1);
        let cv = take(4)? as u8;
        Header { retry, stalled, ..Header::up(take(5)? as u8, cv) }
    } else {
        let usf = take(3)? as u8;
        let (asked, rrbp) = (take(2)? != 0, take(2)? as u8);
        let header = Header { usf, poll: asked.then_some(rrbp), ..Header::down(take(5)? as u8) };
        take(2)?;
        header
    };
    let first = take(11)? as u32;
    let second = if kind == 1 { Some((first + take(10)? as u32) & 2047) } else { None };
    let padding = padding(scheme, take(layout.cps)? as u8);
    let part = match if kind == 3 { take(2)? } else { 0 } {
        2 => BlockPart::First,
        3 => BlockPart::Second,
        _ => BlockPart::Whole,
    };
    let mut at = layout.header + 8 * padding;
    let content = scheme.payload() as usize - padding;
    let mut units = Vec::new();
    for bsn in [Some(first), second].into_iter().flatten() {
        let (none, flag) = (get_low(block, at, 1)? == 1, get_low(block, at + 1, 1)? == 1);
        at += 2;
        let octets = (0..content).map(|i| get_low(block, at + 8 * i, 8).map(|o| o as u8));
        units.push(Aligned { bsn, part, flag, none, octets: octets.collect::<Option<Vec<u8>>>()? });
        at += 8 * content;
    }
    Some((header, units))
}

/// Octets of padding before MCS-8 content in a block of MCS-3 or MCS-6; `cps`: coding and puncturing scheme field.
fn padding(scheme: Scheme, cps: u8) -> usize {
    match scheme {
        Scheme::Mcs6 if cps >= 2 => 6,
        Scheme::Mcs3 if cps >= 6 => 3,
        _ => 0,
    }
}

/// Segments of one EGPRS RLC block; `none`: the block has no length indicator. The returned flag is true if a PDU ended
/// with the previous block.
pub fn read_egprs_body(none: bool, data: &[u8]) -> Option<(bool, Vec<Segment>)> {
    let (mut at, mut zero, mut rest) = (0, false, true);
    let mut lengths = Vec::new();
    let mut more = !none;
    while more {
        let octet = *data.get(at)?;
        at += 1;
        more = octet & 1 == 0;
        match octet >> 1 {
            0 => zero = true,
            REST => rest = false,
            n => lengths.push(usize::from(n)),
        }
    }
    Some((zero, segments(at, data.len(), &lengths, rest)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit<'a>(bsn: u32, scheme: Scheme, zero: bool, pieces: &'a [Piece<'a>]) -> Unit<'a> {
        Unit {
            bsn,
            part: BlockPart::Whole,
            first_scheme: scheme,
            attempt: 0,
            flag: false,
            tlli: None,
            zero,
            pieces,
        }
    }

    /// A block that a real PCU has parsed: countdown value 0, TLLI, ten octets of an LLC frame, filler.
    #[test]
    fn an_uplink_block_as_a_real_pcu_reads_it() {
        let frame = [0x01, 0xc0, 0x01, 0x08, 0x03, 0xe5, 0xe0, 0, 0, 0];
        let pieces = [Piece { octets: &frame, ends: true }];
        let u = Unit { tlli: Some(0xb876_5432), ..unit(0, Scheme::Cs1, false, &pieces) };
        let block = gprs(Scheme::Cs1, &Header::up(0, 0), &u);
        assert_eq!(block[..8], [0x00, 0x01, 0x00, 0x29, 0xb8, 0x76, 0x54, 0x32]);
        assert_eq!((block.len(), block[8..18] == frame, block[18]), (23, true, FILLER));
        let read = read_gprs(true, &block).unwrap();
        assert_eq!((read.tlli, read.segments), (u.tlli, vec![Segment { octets: 8..18, ends: true }]));
    }

    /// GP-07: lengths of blocks, spare bits included.
    #[test]
    fn gp_07_octets_of_blocks() {
        let octets = [7u8; 20];
        let pieces = [Piece { octets: &octets, ends: false }];
        let of = |s: Scheme| gprs(s, &Header::down(1), &unit(3, s, false, &pieces)).len();
        assert_eq!(Scheme::GPRS.iter().map(|s| of(*s)).collect::<Vec<_>>(), [23, 34, 40, 54]);
        let of = |s: Scheme| egprs(s, &Header::down(1), &[unit(3, s, false, &pieces)]).len();
        assert_eq!(
            Scheme::EGPRS.iter().map(|s| of(*s)).collect::<Vec<_>>(),
            [27, 33, 42, 49, 60, 78, 118, 142, 154]
        );
    }

    proptest! {
        /// Blocks of the RLC feed are parsed back to equal octets and ends of each PDU.
        #[test]
        fn cut_blocks_come_back(sizes in proptest::collection::vec(1u32..200, 1..6), which in 0usize..13, up: bool) {
            let scheme = Scheme::ALL[which];
            let is_egprs = scheme.is_egprs();
            let mut feed = crate::rlc::feed::Feed::new(is_egprs);
            let pdus: Vec<Vec<u8>> = sizes.iter().enumerate().map(|(p, n)| (0..*n).map(|i| (p as u32 * 40 + i) as u8).collect()).collect();
            sizes.iter().enumerate().for_each(|(i, s)| feed.push(*s, i));
            let mut back: Vec<Vec<u8>> = vec![Vec::new()];
            let mut bsn = 0;
            while let Some(cut) = feed.cut(scheme.payload(), bsn) {
                let (mut left, mut pdu, mut offset) = (u32::from(cut.octets), cut.pdu as usize, cut.offset);
                let mut pieces = Vec::new();
                for i in 0.. {
                    if left == 0 { break }
                    let n = left.min(sizes[pdu] - offset);
                    pieces.push(Piece { octets: &pdus[pdu][offset as usize..(offset + n) as usize], ends: i < u32::from(cut.ends) });
                    (left, pdu, offset) = (left - n, pdu + 1, 0);
                }
                let header = if up { Header::up(5, 9) } else { Header { usf: 2, poll: Some(1), ..Header::down(5) } };
                let u = unit(bsn, scheme, cut.zero, &pieces);
                if is_egprs {
                    let block = egprs(scheme, &header, &[u]);
                    let (h, units) = read_egprs(up, &block).unwrap();
                    prop_assert_eq!(h, header);
                    prop_assert_eq!(units[0].bsn, bsn);
                    let (zero, segments) = read_egprs_body(units[0].none, &units[0].octets).unwrap();
                    prop_assert_eq!(zero, cut.zero);
                    if zero { back.push(Vec::new()) }
                    for s in segments {
                        back.last_mut().unwrap().extend_from_slice(&units[0].octets[s.octets]);
                        if s.ends { back.push(Vec::new()) }
                    }
                } else {
                    let block = gprs(scheme, &header, &u);
                    let read = read_gprs(up, &block).unwrap();
                    prop_assert_eq!(read.header, header);
                    prop_assert_eq!(read.bsn, bsn & 127);
                    for s in read.segments {
                        back.last_mut().unwrap().extend_from_slice(&block[s.octets]);
                        if s.ends { back.push(Vec::new()) }
                    }
                }
                bsn += 1;
            }
            back.retain(|p| !p.is_empty());
            prop_assert_eq!(back, pdus);
        }

        /// The parsers accept arbitrary octets without a panic.
        #[test]
        fn any_octets_are_read(block in proptest::collection::vec(any::<u8>(), 0..160), up: bool) {
            if let Some(read) = read_gprs(up, &block) {
                prop_assert!(read.segments.iter().all(|s| s.octets.end <= block.len()));
            }
            for unit in read_egprs(up, &block).map(|(_, u)| u).unwrap_or_default() {
                if let Some((_, segments)) = read_egprs_body(unit.none, &unit.octets) {
                    prop_assert!(segments.iter().all(|s| s.octets.end <= unit.octets.len()));
                }
            }
        }
    }
}
