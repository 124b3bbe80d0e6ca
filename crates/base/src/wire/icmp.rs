//! ICMP errors for packets above the MTU: "fragmentation needed" (RFC 792, RFC 1191) and "packet too big"
//! (RFC 4443 section 3.2; catalogue PR-05).

use super::checksum::Sum;
use super::{IpHead, u16_at, u32_at};
use std::net::{IpAddr, Ipv4Addr};

/// Protocol number of ICMP.
pub const ICMP: u8 = 1;
/// Protocol number of ICMPv6.
pub const ICMP6: u8 = 58;
/// Smallest MTU of an IPv6 link (RFC 8200 section 5).
pub const LEAST_MTU_V6: u32 = 1280;

/// Type and code: destination unreachable, fragmentation needed and DF set.
const UNREACHABLE: [u8; 2] = [3, 4];
/// Type and code: packet too big.
const TOO_BIG_V6: [u8; 2] = [2, 0];
/// Length of the ICMP header, bytes.
const HEAD: usize = 8;
/// Minimum quoted payload of the offending packet, bytes (RFC 792).
const QUOTED: usize = 8;

/// Source address of a router without an address of its own: the dummy address of RFC 7600 section 4.8.
pub const ROUTER: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// Content of an ICMP error about a packet above the MTU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooBig {
    /// MTU of the next hop; 0: not stated (before RFC 1191).
    pub mtu: u32,
    /// Length of the offending packet, from its header.
    pub size: u32,
    /// Source of the offending packet.
    pub source: IpAddr,
    /// Destination of the offending packet.
    pub destination: IpAddr,
    /// Protocol of the offending packet.
    pub protocol: u8,
    /// Ports of the offending packet, source first.
    pub ports: [u16; 2],
    /// Sequence number of a TCP segment.
    pub seq: u32,
}

/// ICMP error of a router for `packet`. None where no error may be sent: for a later fragment, a multicast,
/// another error (RFC 1122 section 3.2.2, RFC 4443 section 2.4), or bytes that are not a packet.
///
/// IPv6 has no dummy address for routers: the destination's address is used, which every reverse-path filter
/// accepts.
pub fn too_big(packet: &[u8], mtu: u32) -> Option<Vec<u8>> {
    let ip = IpHead::read(packet, 0).ok().filter(IpHead::is_first)?;
    let packet = packet.get(..ip.size as usize)?;
    if ip.destination.is_multicast() || is_error(&ip, packet.get(ip.header as usize..)?) {
        return None;
    }
    match (ip.source, ip.destination) {
        (IpAddr::V4(source), IpAddr::V4(_)) => {
            let quoted = packet.get(..(ip.header as usize + QUOTED).min(packet.len()))?;
            let mut out = vec![0u8; 20];
            let size = (20 + HEAD + quoted.len()) as u16;
            out[0] = 0x45;
            // Network control precedence (RFC 1812 section 4.3.2.5 asks for precedence 6 or 7).
            out[1] = 6 << 5;
            out[2..4].copy_from_slice(&size.to_be_bytes());
            (out[8], out[9]) = (64, ICMP);
            out[12..16].copy_from_slice(&ROUTER.octets());
            out[16..20].copy_from_slice(&source.octets());
            let sum = Sum::ZERO.and(&out).finish();
            out[10..12].copy_from_slice(&sum.to_be_bytes());
            out.extend(UNREACHABLE);
            out.extend([0; 4]);
            out.extend((mtu.min(u32::from(u16::MAX)) as u16).to_be_bytes());
            out.extend_from_slice(quoted);
            let sum = Sum::ZERO.and(&out[20..]).finish();
            out[22..24].copy_from_slice(&sum.to_be_bytes());
            Some(out)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            // Quotes as much as fits into the smallest MTU.
            let quoted = packet.get(..packet.len().min(LEAST_MTU_V6 as usize - 40 - HEAD))?;
            let length = HEAD + quoted.len();
            let mut out = vec![0u8; 40];
            out[0] = 0x60;
            out[4..6].copy_from_slice(&(length as u16).to_be_bytes());
            (out[6], out[7]) = (ICMP6, 64);
            out[8..24].copy_from_slice(&destination.octets());
            out[24..40].copy_from_slice(&source.octets());
            out.extend(TOO_BIG_V6);
            out.extend([0; 2]);
            out.extend(mtu.to_be_bytes());
            out.extend_from_slice(quoted);
            let sum = Sum::ZERO.and_pseudo(ip.destination, ip.source, ICMP6, length as u32).and(&out[40..]);
            let sum = sum.finish();
            out[42..44].copy_from_slice(&sum.to_be_bytes());
            Some(out)
        }
        _ => None,
    }
}

/// Whether a packet is itself an ICMP error.
fn is_error(ip: &IpHead, inside: &[u8]) -> bool {
    match (ip.protocol, inside.first()) {
        // Queries: echo, timestamp and their replies.
        (ICMP, Some(kind)) => !matches!(kind, 0 | 8 | 13 | 14),
        (ICMP6, Some(kind)) => *kind < 128,
        (ICMP | ICMP6, None) => true,
        _ => false,
    }
}

/// Packet that an ICMP error quotes, as far as it is quoted; `None` for other packets.
pub fn quoted(packet: &[u8]) -> Option<&[u8]> {
    let ip = IpHead::read(packet, 0).ok().filter(|ip| ip.fragment.is_none())?;
    let inside = packet.get(ip.header as usize..ip.size as usize)?;
    is_error(&ip, inside).then(|| inside.get(HEAD..)).flatten()
}

/// Reads an ICMP error about a packet above the MTU; `None` for other packets, or with a wrong checksum.
pub fn read(packet: &[u8]) -> Option<TooBig> {
    let ip = IpHead::read(packet, 0).ok().filter(|ip| ip.fragment.is_none())?;
    let inside = packet.get(ip.header as usize..ip.size as usize)?;
    let kind = [*inside.first()?, *inside.get(1)?];
    let (mtu, sum) = match (ip.protocol, kind) {
        (ICMP, UNREACHABLE) => (u32::from(u16_at(inside, 6)?), Sum::ZERO),
        (ICMP6, TOO_BIG_V6) => {
            let pseudo = Sum::ZERO.and_pseudo(ip.source, ip.destination, ICMP6, inside.len() as u32);
            (u32_at(inside, 4)?, pseudo)
        }
        _ => return None,
    };
    if sum.and(inside).finish() != 0 {
        return None;
    }
    let quoted = inside.get(HEAD..)?;
    let about = IpHead::read(quoted, 0).ok().filter(IpHead::is_first)?;
    let at = about.header as usize;
    Some(TooBig {
        mtu,
        size: about.size,
        source: about.source,
        destination: about.destination,
        protocol: about.protocol,
        ports: [u16_at(quoted, at)?, u16_at(quoted, at + 2)?],
        seq: u32_at(quoted, at + 4)?,
    })
}

/// MTU to assume if the router states none: the plateau below `size` (RFC 1191 section 7.1).
pub fn plateau(size: u32) -> u32 {
    const PLATEAUS: [u32; 10] = [32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 508, 296, 68];
    PLATEAUS.into_iter().find(|&p| p < size).unwrap_or(68)
}

#[cfg(test)]
mod tests {
    use super::super::segment::{self, End, IpFields};
    use super::*;
    use crate::tcp::Segment;
    use proptest::prelude::*;

    fn segment(v6: bool) -> Vec<u8> {
        let address = |last: u16| -> IpAddr {
            if v6 { [0xfd00, 0, 0, 0, 0, 0, 0, last].into() } else { [10, 0, 0, last as u8].into() }
        };
        let end = |last: u16| End { address: address(last), port: 5000 + last, first: 100, ..End::NOBODY };
        let mut bytes = Vec::new();
        let data = Segment { seq: 1, len: 1400, has_ack: true, ..Segment::default() };
        segment::packet(
            &mut bytes,
            &end(1),
            &end(2),
            &data,
            IpFields { ttl: 64, ..IpFields::default() },
            usize::MAX,
        );
        bytes
    }

    #[test]
    fn a_message_says_what_did_not_fit() {
        for v6 in [false, true] {
            let packet = segment(v6);
            let message = too_big(&packet, 1300).unwrap();
            let read = read(&message).unwrap();
            assert_eq!(
                (read.mtu, read.size, read.ports, read.seq),
                (1300, packet.len() as u32, [5001, 5002], 101)
            );
            assert_eq!((read.protocol, message.len()), (super::super::TCP, if v6 { 1280 } else { 56 }));
            // A message with a changed byte is rejected.
            let mut wrong = message.clone();
            let last = wrong.len() - 1;
            wrong[last] ^= 1;
            assert_eq!(super::read(&wrong), None);
        }
    }

    #[test]
    fn no_error_answers_an_error_a_multicast_or_a_later_fragment() {
        let packet = segment(false);
        let message = too_big(&packet, 600).unwrap();
        assert_eq!(too_big(&message, 40), None);
        let mut to_many = packet.clone();
        to_many[16] = 224;
        assert_eq!(too_big(&to_many, 600), None);
        let mut later = packet.clone();
        later[6..8].copy_from_slice(&9u16.to_be_bytes());
        assert_eq!(too_big(&later, 600), None);
    }

    /// RFC 1191 section 7.1, table 7-1.
    #[test]
    fn a_silent_router_is_answered_with_the_next_plateau() {
        assert_eq!([1500, 1492, 1006, 576, 100, 68, 20].map(plateau), [1492, 1006, 508, 508, 68, 68, 68]);
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..160), v6: bool, protocol in 0usize..4, mtu: u32) {
            if let Some(first) = bytes.first_mut() {
                *first = if v6 { 0x60 } else { 0x45 };
            }
            if let Some(p) = bytes.get_mut(if v6 { 6 } else { 9 }) {
                *p = [ICMP, ICMP6, 6, 17][protocol];
            }
            let _ = read(&bytes);
            if let Some(message) = too_big(&bytes, mtu) {
                prop_assert!(too_big(&message, mtu).is_none());
            }
        }

        #[test]
        fn changed_messages_are_no_harm(v6: bool, changes in proptest::collection::vec((0usize..1300, any::<u8>()), 0..8)) {
            let mut message = too_big(&segment(v6), 1300).unwrap();
            for (at, value) in changes {
                let n = message.len();
                message[at % n] = value;
            }
            let _ = read(&message);
        }
    }
}
