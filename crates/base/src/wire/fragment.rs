//! Fragmentation and reassembly of IPv4 packets (RFC 791 sections 2.3 and 3.2; catalogue NS-21).
//!
//! Only senders fragment IPv6, so routers do not (RFC 8200 section 4.5).

use super::checksum::Sum;
use super::{IpHead, u16_at};

/// Smallest MTU of an IPv4 link (RFC 791 section 3.2).
pub const LEAST_MTU: u32 = 68;
/// Unit of fragment offsets, bytes.
const UNIT: usize = 8;
/// Flag of an option that is copied into every fragment (RFC 791 section 3.1).
const COPIED: u8 = 1 << 7;

/// Computes the header checksum.
fn seal(packet: &mut [u8], header: usize) {
    if let Some(head) = packet.get_mut(..header) {
        head[10..12].fill(0);
        let sum = Sum::ZERO.and(head).finish();
        head[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Payload bytes per fragment with a header of `header` bytes.
pub fn carries(mtu: u32, header: u32) -> u32 {
    mtu.saturating_sub(header) / UNIT as u32 * UNIT as u32
}

/// Fragments a packet so that no fragment exceeds `mtu`. `None` if it is not IPv4, has DF set, is truncated,
/// or the header leaves no room.
pub fn cut(packet: &[u8], mtu: u32) -> Option<Vec<Vec<u8>>> {
    let ip = IpHead::read(packet, 0).ok().filter(|ip| ip.version == 4 && !ip.whole)?;
    let (header, size) = (ip.header as usize, ip.size as usize);
    let inside = packet.get(header..size)?;
    let each = carries(mtu, ip.header) as usize;
    if each == 0 {
        return None;
    }
    let (offset, more) = ip.fragment.map_or((0, false), |f| (f.offset as usize, f.more));
    let later = later_header(packet.get(..header)?);
    let count = inside.len().div_ceil(each);
    let fragment = |(k, part): (usize, &[u8])| {
        let head = if k == 0 { packet.get(..header).unwrap_or_default() } else { &later };
        let mut out = [head, part].concat();
        let last = k + 1 == count && !more;
        let place = ((offset + k * each) / UNIT) as u16 | if last { 0 } else { 0x2000 };
        let length = out.len() as u16;
        out[2..4].copy_from_slice(&length.to_be_bytes());
        out[6..8].copy_from_slice(&place.to_be_bytes());
        seal(&mut out, head.len());
        out
    };
    Some(inside.chunks(each).enumerate().map(fragment).collect())
}

/// One fragment of a packet without options: at most `len` bytes of its payload from `from` on. `None` if it
/// is not IPv4.
pub fn piece(packet: &[u8], from: u32, len: u32, more: bool) -> Option<Vec<u8>> {
    let ip = IpHead::read(packet, 0).ok().filter(|ip| ip.version == 4)?;
    let inside = packet.get(ip.header as usize..)?;
    let (from, until) = (from as usize, (from + len) as usize);
    let part = inside.get(from.min(inside.len())..until.min(inside.len()))?;
    let mut out = [packet.get(..ip.header as usize)?, part].concat();
    let place = (from / UNIT) as u16 | if more { 0x2000 } else { 0 };
    let length = out.len() as u16;
    out[2..4].copy_from_slice(&length.to_be_bytes());
    out[6..8].copy_from_slice(&place.to_be_bytes());
    seal(&mut out, ip.header as usize);
    Some(out)
}

/// Header of all fragments but the first, with the copied options only.
fn later_header(header: &[u8]) -> Vec<u8> {
    let (fixed, mut options) = header.split_at(20.min(header.len()));
    let mut out = fixed.to_vec();
    while let Some(&kind) = options.first() {
        let length = match (kind, options.get(1)) {
            (0, _) => break,
            (1, _) => 1,
            (_, Some(&length)) if (2..=options.len()).contains(&usize::from(length)) => usize::from(length),
            _ => break,
        };
        if kind & COPIED != 0 {
            out.extend_from_slice(&options[..length]);
        }
        options = &options[length..];
    }
    out.resize(out.len().next_multiple_of(4), 0);
    out[0] = 0x40 | (out.len() / 4) as u8;
    out
}

/// Identity of a fragmented packet (RFC 791 section 3.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    /// Source and destination address.
    pub ends: [std::net::IpAddr; 2],
    /// Protocol.
    pub protocol: u8,
    /// Identification.
    pub id: u32,
}

/// Key, offset, payload length and more-fragments flag of a fragment. None for whole packets, and for IPv6
/// fragments, whose header length is computed differently.
pub fn read(packet: &[u8]) -> Option<(Key, u32, u32, bool)> {
    let ip = IpHead::read(packet, 0).ok().filter(|ip| ip.version == 4)?;
    let part = ip.fragment?;
    packet.get(..ip.size as usize)?;
    let key = Key { ends: [ip.source, ip.destination], protocol: ip.protocol, id: ip.id? };
    Some((key, part.offset, ip.size - ip.header, part.more))
}

/// Reassembles fragments, in any order, that cover the payload without a gap. None if there is a gap or the
/// packet would be too long.
pub fn join(fragments: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut parts = Vec::new();
    for packet in fragments {
        let ip = IpHead::read(packet, 0).ok()?;
        let at = ip.fragment.map_or(0, |part| part.offset as usize);
        parts.push((
            at,
            packet.get(..ip.header as usize)?,
            packet.get(ip.header as usize..ip.size as usize)?,
        ));
    }
    parts.sort_by_key(|(at, ..)| *at);
    let mut out = parts.first().filter(|(at, ..)| *at == 0)?.1.to_vec();
    let header = out.len();
    for (at, _, inside) in parts {
        if at + header > out.len() {
            return None;
        }
        // Skip bytes that an earlier fragment already contributed.
        out.extend_from_slice(inside.get(out.len() - header - at..).unwrap_or_default());
    }
    let length = u16::try_from(out.len()).ok()?;
    out[2..4].copy_from_slice(&length.to_be_bytes());
    let flags = u16_at(&out, 6)? & 0x4000;
    out[6..8].copy_from_slice(&flags.to_be_bytes());
    seal(&mut out, header);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A packet with one copied and one not copied option, and `inside` bytes of payload.
    fn packet(inside: usize, options: bool) -> Vec<u8> {
        let mut p = vec![0u8; 20];
        if options {
            // Loose source route (copied), then a timestamp (not copied).
            p.extend([0x83, 3, 4, 1, 68, 4, 5, 0]);
        }
        p[0] = 0x40 | (p.len() / 4) as u8;
        p[4..6].copy_from_slice(&77u16.to_be_bytes());
        (p[8], p[9]) = (64, super::super::UDP);
        p[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        let header = p.len();
        p.extend((0..inside).map(|i| i as u8));
        let size = (p.len() as u16).to_be_bytes();
        p[2..4].copy_from_slice(&size);
        seal(&mut p, header);
        p
    }

    /// RFC 791, example of the fragmentation procedure: 452 bytes of payload behind a header of 20 bytes, MTU
    /// 280.
    #[test]
    fn the_example_of_rfc_791() {
        let fragments = cut(&packet(452, false), 280).unwrap();
        let heads: Vec<_> =
            fragments.iter().map(|f| (f.len(), u16_at(f, 6).unwrap() & 0x1fff, f[6] & 0x20 != 0)).collect();
        assert_eq!(heads, [(276, 0, true), (216, 32, false)]);
    }

    #[test]
    fn what_must_stay_whole_is_not_cut() {
        let mut whole = packet(100, false);
        whole[6] = 0x40;
        assert_eq!(cut(&whole, 68), None);
        assert_eq!(cut(&packet(100, false)[..50], 68), None);
        assert_eq!(cut(&packet(100, false), 27), None);
    }

    #[test]
    fn later_fragments_have_the_options_that_are_copied() {
        let fragments = cut(&packet(200, true), 100).unwrap();
        assert_eq!(fragments.iter().map(|f| usize::from(f[0] & 15) * 4).collect::<Vec<_>>(), [28, 24, 24]);
        assert_eq!(&fragments[1][20..24], [0x83, 3, 4, 0]);
    }

    proptest! {
        #[test]
        fn what_was_cut_comes_together(inside in 1usize..3000, mtu in 68u32..1600, again in 68u32..600, options: bool, turn in 0usize..40) {
            let whole = packet(inside, options);
            let size = whole.len();
            let mut fragments: Vec<Vec<u8>> = cut(&whole, mtu).unwrap();
            prop_assert!(fragments.iter().all(|f| f.len() <= mtu as usize));
            fragments = fragments.iter().flat_map(|f| cut(f, again).unwrap()).collect();
            for f in &fragments {
                let header = usize::from(f[0] & 15) * 4;
                prop_assert_eq!(Sum::ZERO.and(&f[..header]).finish(), 0);
            }
            let n = fragments.len();
            fragments.rotate_left(turn % n);
            prop_assert_eq!(join(&fragments), Some(whole));
            if n > 2 {
                fragments.remove(turn % n);
                let missing = join(&fragments);
                prop_assert!(missing.is_none_or(|packet| packet.len() < size));
            }
        }

        #[test]
        fn nothing_makes_it_panic(list in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 0..4), mtu in 0u32..200) {
            let list: Vec<Vec<u8>> = list.into_iter().map(|mut b| {
                if let Some(first) = b.first_mut() { *first = 0x40 | (*first & 7); }
                b
            }).collect();
            for b in &list {
                let _ = (cut(b, mtu), read(b));
            }
            let _ = join(&list);
        }
    }
}
