//! Link framing: offset of the IP packet in Ethernet (IEEE 802.3), VLAN (IEEE 802.1Q), PPPoE (RFC 2516) and
//! PPP frames (RFC 1661, RFC 1662).

use super::u16_at;

/// Framing of a network interface or serial line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// Ethernet frame from the destination address on, without the frame check sequence, which hardware adds
    /// and removes.
    Ethernet,
    /// PPP frame from the address field on, with the frame check sequence ([`super::hdlc`]).
    Ppp,
}

/// Ethertypes of IPv4 and IPv6.
const IP: [u16; 2] = [0x0800, 0x86dd];
/// Ethertypes of VLAN tags.
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// Ethertype of PPPoE sessions.
const PPP_SESSION: u16 = 0x8864;
/// Maximum number of stacked VLAN tags.
const TAGS: usize = 4;
/// Protocol numbers of PPP for IP (RFC 1332 section 2, RFC 5072 section 3).
const PPP_IP: [u16; 2] = [0x0021, 0x0057];

impl Framing {
    /// Offset of the IP packet in a frame; `None` if the frame carries another protocol.
    pub fn packet(self, frame: &[u8]) -> Option<usize> {
        let at = match self {
            Framing::Ethernet => ethernet(frame)?,
            Framing::Ppp => ppp(frame, if frame.starts_with(&[0xff, 0x03]) { 2 } else { 0 })?,
        };
        matches!(frame.get(at)? >> 4, 4 | 6).then_some(at)
    }
}

fn ethernet(frame: &[u8]) -> Option<usize> {
    let mut at = 12;
    for _ in 0..=TAGS {
        match u16_at(frame, at)? {
            kind if IP.contains(&kind) => return Some(at + 2),
            kind if VLAN.contains(&kind) => at += 4,
            // Version and code, session id, length: six bytes.
            PPP_SESSION => return ppp(frame, at + 2 + 6),
            _ => return None,
        }
    }
    None
}

/// Offset of the IP packet behind the PPP protocol number at `at`, which has one byte if it is odd (RFC 1661
/// section 2); `None` for other protocols.
fn ppp(frame: &[u8], at: usize) -> Option<usize> {
    let first = *frame.get(at)?;
    let (protocol, behind) =
        if first & 1 == 1 { (first.into(), at + 1) } else { (u16_at(frame, at)?, at + 2) };
    PPP_IP.contains(&protocol).then_some(behind)
}

/// Protocol number of ICMPv6.
const ICMP6: u8 = 58;
/// ICMPv6 types of neighbour discovery (RFC 4861).
const NEIGHBOURS: std::ops::RangeInclusive<u8> = 133..=137;
/// Hop limit of neighbour discovery packets (RFC 4861).
const WHOLE_WAY: u8 = 255;

/// Whether an IP packet is IPv6 neighbour discovery, the counterpart of ARP frames. Routers never forward it,
/// so it originates on this wire (RFC 4861 section 6.1).
pub fn is_between_neighbours(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first >> 4 == 6)
        && packet.get(6) == Some(&ICMP6)
        && packet.get(7) == Some(&WHOLE_WAY)
        && packet.get(40).is_some_and(|kind| NEIGHBOURS.contains(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ethernet_of(tags: &[u8], inner: &[u8]) -> Vec<u8> {
        [&[0; 12], tags, inner].concat()
    }

    #[test]
    fn packets_are_found_behind_what_stands_before_them() {
        let at = |frame: &[u8]| Framing::Ethernet.packet(frame);
        assert_eq!(at(&ethernet_of(&[8, 0], &[0x45])), Some(14));
        assert_eq!(at(&ethernet_of(&[0x86, 0xdd], &[0x60])), Some(14));
        assert_eq!(at(&ethernet_of(&[0x81, 0, 0, 5, 8, 0], &[0x45])), Some(18));
        assert_eq!(at(&ethernet_of(&[0x88, 0xa8, 0, 1, 0x81, 0, 0, 5, 8, 0], &[0x45])), Some(22));
        let session = [0x88, 0x64, 0x11, 0, 0, 1, 0, 22, 0, 0x21];
        assert_eq!(at(&ethernet_of(&session, &[0x45])), Some(22));
        // ARP, spanning tree, and frames with the type of IP but without an IP packet.
        for other in [&[8, 6][..], &[0, 38, 0x42, 0x42, 3], &[8, 0, 0x15], &[]] {
            assert_eq!(at(&ethernet_of(other, &[])), None);
        }
        let at = |frame: &[u8]| Framing::Ppp.packet(frame);
        assert_eq!(at(&[0xff, 3, 0, 0x21, 0x45]), Some(4));
        assert_eq!(at(&[0xff, 3, 0x21, 0x45]), Some(3));
        assert_eq!(at(&[0x57, 0x60]), Some(1));
        assert_eq!(at(&[0, 0x57, 0x60]), Some(2));
        assert_eq!(at(&[0xff, 3, 0xc0, 0x21, 1, 1, 0, 4]), None);
        assert_eq!(at(&[0xff, 3, 0, 0x2d, 0x45]), None);
    }

    #[test]
    fn neighbours_are_told_from_others() {
        let mut packet = [0; 48];
        packet[0] = 0x60;
        packet[6..8].copy_from_slice(&[58, 255]);
        packet[40] = 135;
        assert!(is_between_neighbours(&packet));
        packet[40] = 128; // An echo request is no neighbour discovery.
        assert!(!is_between_neighbours(&packet));
        packet[40] = 135;
        packet[7] = 64; // A packet forwarded by a router is not from a neighbour.
        assert!(!is_between_neighbours(&packet));
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_the_packet_is_in_them(frame: Vec<u8>) {
            for framing in [Framing::Ethernet, Framing::Ppp] {
                prop_assert!(framing.packet(&frame).is_none_or(|at| at < frame.len()));
            }
            is_between_neighbours(&frame);
        }
    }
}
