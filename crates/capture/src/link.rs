//! Link-layer decoding of captured frames: link types (LINKTYPE_ values of draft-ietf-opsawg-pcaplinktype), and
//! position of the IP packet behind VLAN tags, MPLS labels, PPPoE and SNAP.

use crate::packet::Unread;
use crate::wrapped;

/// Position of an IP packet in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Offset of the packet's first byte.
    pub at: usize,
    /// Upper bound of the packet's length, from the layer below; a longer IP length is padding or an error.
    pub most: u32,
}

impl Place {
    /// Position without a bound.
    fn at(at: usize) -> Place {
        Place { at, most: u32::MAX }
    }

    /// Shifts a position that is relative to offset `before` of the frame.
    pub(crate) fn behind(self, before: usize) -> Place {
        Place { at: self.at + before, ..self }
    }
}

/// Link type (LINKTYPE_ value).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Link(pub u16);

impl Link {
    /// BSD loopback: address family of four bytes, in the byte order of the capturing host.
    pub const NULL: Link = Link(0);
    /// Ethernet.
    pub const ETHERNET: Link = Link(1);
    /// PPP, with or without HDLC framing.
    pub const PPP: Link = Link(9);
    /// FDDI.
    pub const FDDI: Link = Link(10);
    /// PPP with HDLC framing, or Cisco HDLC.
    pub const PPP_HDLC: Link = Link(50);
    /// PPPoE, from the PPPoE header on.
    pub const PPP_ETHER: Link = Link(51);
    /// Bare IPv4 or IPv6.
    pub const RAW: Link = Link(101);
    /// Cisco HDLC.
    pub const C_HDLC: Link = Link(104);
    /// IEEE 802.11, from the frame control field on.
    pub const IEEE802_11: Link = Link(105);
    /// OpenBSD loopback: address family of four bytes in network order.
    pub const LOOP: Link = Link(108);
    /// Linux cooked capture.
    pub const LINUX_SLL: Link = Link(113);
    /// IEEE 802.11 with a Prism header.
    pub const PRISM: Link = Link(119);
    /// IEEE 802.11 with a radiotap header.
    pub const RADIOTAP: Link = Link(127);
    /// IEEE 802.11 with an AVS header.
    pub const AVS: Link = Link(163);
    /// Per-packet information: a header with the link type of the frame.
    pub const PPI: Link = Link(192);
    /// Linux netfilter log.
    pub const NFLOG: Link = Link(239);
    /// Apple PKTAP header with the link type of the frame, as written by `tcpdump -i any` of macOS and by
    /// remote captures of phones.
    pub const PKTAP: Link = Link(258);
    /// PKTAP under its former number.
    pub const PKTAP_TOO: Link = Link(149);
    /// PPP with a leading direction byte.
    pub const PPP_PPPD: Link = Link(166);
    /// PPP with a leading direction byte, under another number.
    pub const PPP_WITH_DIR: Link = Link(204);
    /// Bare IPv4.
    pub const IPV4: Link = Link(228);
    /// Bare IPv6.
    pub const IPV6: Link = Link(229);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: Link = Link(276);
    /// Bare IP under other numbers of some systems.
    const RAW_TOO: [Link; 2] = [Link(12), Link(14)];

    /// Name of the link type; `None` if it is not decoded.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Link::NULL | Link::LOOP => "loopback",
            Link::ETHERNET => "Ethernet",
            Link::PPP | Link::PPP_HDLC | Link::PPP_PPPD | Link::PPP_WITH_DIR => "PPP",
            Link::PPP_ETHER => "PPPoE",
            Link::C_HDLC => "Cisco HDLC",
            Link::FDDI => "FDDI",
            Link::LINUX_SLL => "Linux cooked",
            Link::LINUX_SLL2 => "Linux cooked, version 2",
            Link::IEEE802_11 | Link::PRISM | Link::RADIOTAP | Link::AVS => "IEEE 802.11",
            Link::PPI => "PPI",
            Link::NFLOG => "Linux's packet filter",
            Link::PKTAP | Link::PKTAP_TOO => "Apple's PKTAP",
            Link::IPV4 => "IPv4",
            Link::IPV6 => "IPv6",
            link if link == Link::RAW || Link::RAW_TOO.contains(&link) => "IP",
            _ => return None,
        })
    }

    /// Finds the IP packet in a frame.
    ///
    /// # Errors
    /// Reason why there is none.
    pub fn network(self, frame: &[u8]) -> Result<Place, Unread> {
        match self {
            // Ethernet first, since it is the most frequent.
            Link::ETHERNET => by_ethertype(frame, 12),
            Link::NULL | Link::LOOP => family(frame),
            Link::PPP | Link::PPP_HDLC => ppp(frame, 0),
            Link::PPP_PPPD | Link::PPP_WITH_DIR => ppp(frame, 1),
            Link::PPP_ETHER => ppp_session(frame, 0),
            Link::C_HDLC => by_ethertype(frame, 2),
            Link::FDDI => match frame.first() {
                Some(control) if control & 0xf0 == 0x50 => llc(frame, 13),
                Some(_) => Err(Unread::NotIp(0)),
                None => Err(Unread::Short),
            },
            Link::LINUX_SLL => by_ethertype(frame, 14),
            Link::LINUX_SLL2 => behind(frame, 20, u16_at(frame, 0)?),
            Link::IPV4 | Link::IPV6 => Ok(Place::at(0)),
            Link::IEEE802_11 | Link::PRISM | Link::RADIOTAP | Link::AVS => wrapped::wireless(self, frame),
            Link::PPI | Link::NFLOG | Link::PKTAP | Link::PKTAP_TOO => wrapped::named(self, frame),
            link if link == Link::RAW || Link::RAW_TOO.contains(&link) => Ok(Place::at(0)),
            _ => Err(Unread::Link),
        }
    }
}

/// EtherTypes used by several link types.
pub(crate) mod ethertype {
    pub(crate) const IPV4: u16 = 0x0800;
    pub(crate) const IPV6: u16 = 0x86dd;
    pub(crate) const VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
    pub(crate) const MPLS: [u16; 2] = [0x8847, 0x8848];
    pub(crate) const PPP_SESSION: u16 = 0x8864;
    /// Ethernet frame in a tunnel (transparent Ethernet bridging).
    pub(crate) const BRIDGED: u16 = 0x6558;
    /// Linux cooked capture: an LLC frame follows.
    pub(crate) const LLC: u16 = 4;
    /// Smallest EtherType; below it the field is a length (IEEE 802.3).
    pub(crate) const FIRST: u16 = 0x0600;
}

/// Upper limit of nested tags or labels.
const DEPTH: usize = 16;

pub(crate) fn u16_at(frame: &[u8], at: usize) -> Result<u16, Unread> {
    match frame.get(at..at + 2) {
        Some(b) => Ok(u16::from_be_bytes([b[0], b[1]])),
        None => Err(Unread::Short),
    }
}

/// Position of the IP packet behind an EtherType or length field at `at`.
#[inline]
fn by_ethertype(frame: &[u8], at: usize) -> Result<Place, Unread> {
    let protocol = u16_at(frame, at)?;
    behind(frame, at + 2, protocol)
}

/// Position of the IP packet behind a header of type `protocol` at `at`.
#[inline]
pub(crate) fn behind(frame: &[u8], mut at: usize, mut protocol: u16) -> Result<Place, Unread> {
    for _ in 0..DEPTH {
        match protocol {
            ethertype::IPV4 | ethertype::IPV6 => return Ok(Place::at(at)),
            tag if ethertype::VLAN.contains(&tag) => {
                protocol = u16_at(frame, at + 2)?;
                at += 4;
            }
            label if ethertype::MPLS.contains(&label) => return mpls(frame, at),
            ethertype::PPP_SESSION => return ppp_session(frame, at),
            ethertype::LLC => return llc(frame, at),
            length if length < ethertype::FIRST => return llc(frame, at),
            other => return Err(Unread::NotIp(other)),
        }
    }
    Err(Unread::NotIp(protocol))
}

/// IEEE 802.2 LLC, with SNAP (RFC 1042).
pub(crate) fn llc(frame: &[u8], at: usize) -> Result<Place, Unread> {
    match frame.get(at..at + 3).ok_or(Unread::Short)? {
        [0xaa, 0xaa, 3] => match frame.get(at + 3..at + 8).ok_or(Unread::Short)? {
            // OUI for EtherTypes, or for bridges.
            [0, 0, 0 | 0xf8, high, low] => match u16::from_be_bytes([*high, *low]) {
                length if length < ethertype::FIRST => Err(Unread::NotIp(length)),
                protocol => behind(frame, at + 8, protocol),
            },
            _ => Err(Unread::NotIp(0)),
        },
        [6, 6, 3] => Ok(Place::at(at + 3)),
        _ => Err(Unread::NotIp(0)),
    }
}

/// MPLS labels of four bytes up to the bottom of the stack (RFC 3032), then IP, by its version field.
fn mpls(frame: &[u8], mut at: usize) -> Result<Place, Unread> {
    for _ in 0..DEPTH {
        let label = frame.get(at..at + 4).ok_or(Unread::Short)?;
        at += 4;
        if label[2] & 1 != 0 {
            return match frame.get(at).ok_or(Unread::Short)? >> 4 {
                4 | 6 => Ok(Place::at(at)),
                _ => Err(Unread::NotIp(ethertype::MPLS[0])),
            };
        }
    }
    Err(Unread::NotIp(ethertype::MPLS[0]))
}

/// PPPoE session header: version and type, code, session, length; then PPP (RFC 2516).
fn ppp_session(frame: &[u8], at: usize) -> Result<Place, Unread> {
    match frame.get(at + 1).ok_or(Unread::Short)? {
        0 => {
            let place = ppp_protocol(frame, at + 6)?;
            // The PPPoE length counts from the protocol field on. Some devices count the padding of short
            // frames in the IP length.
            let told = u32::from(u16_at(frame, at + 4)?);
            let before = (place.at - at - 6) as u32;
            Ok(Place { most: if told > before { told - before } else { u32::MAX }, ..place })
        }
        _ => Err(Unread::NotIp(ethertype::PPP_SESSION)),
    }
}

/// PPP, with or without HDLC address and control fields (RFC 1662), or Cisco HDLC.
pub(crate) fn ppp(frame: &[u8], at: usize) -> Result<Place, Unread> {
    match frame.get(at..at + 2).ok_or(Unread::Short)? {
        [0xff, 3] => ppp_protocol(frame, at + 2),
        [0x0f | 0x8f, 0] => by_ethertype(frame, at + 2),
        _ => ppp_protocol(frame, at),
    }
}

/// PPP protocol field of one or two bytes; its last byte is odd (RFC 1661 section 2).
fn ppp_protocol(frame: &[u8], at: usize) -> Result<Place, Unread> {
    let first = *frame.get(at).ok_or(Unread::Short)?;
    let (protocol, at) =
        if first & 1 == 1 { (u16::from(first), at + 1) } else { (u16_at(frame, at)?, at + 2) };
    match protocol {
        0x21 | 0x57 => Ok(Place::at(at)),
        0x281 | 0x283 => mpls(frame, at),
        other => Err(Unread::NotIp(other)),
    }
}

/// Address family in either byte order: 2 is IPv4 on all systems; the value of IPv6 differs between systems.
fn family(frame: &[u8]) -> Result<Place, Unread> {
    let b = frame.first_chunk::<4>().ok_or(Unread::Short)?;
    let (big, little) = (u32::from_be_bytes(*b), u32::from_le_bytes(*b));
    match big.min(little) {
        2 | 10 | 24 | 28 | 30 => Ok(Place::at(4)),
        other => Err(Unread::NotIp(other as u16)),
    }
}
