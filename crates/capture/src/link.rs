//! Link-layer headers of captures (LINKTYPE values), down to the IP packet.
//!
//! That hangs on the link type (the LINKTYPE_ values of draft-ietf-opsawg-pcaplinktype) and on what stands between it
//! and IP: VLAN tags, MPLS labels, PPPoE, SNAP.

use crate::packet::Unread;
use crate::wrapped;

/// Where an IP packet stands in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its first byte.
    pub at: usize,
    /// As many bytes the layer below says that it has at most: what IP tells beyond that is padding or a mistake.
    pub most: u32,
}

impl Place {
    /// From there on, as long as it says itself.
    fn at(at: usize) -> Place {
        Place { at, most: u32::MAX }
    }

    /// In a frame of which this is told from `before` on.
    pub(crate) fn behind(self, before: usize) -> Place {
        Place { at: self.at + before, ..self }
    }
}

/// A link type as captures number it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Link(pub u16);

impl Link {
    /// Four bytes with an address family, in the byte order of whoever captured.
    pub const NULL: Link = Link(0);
    /// Ethernet.
    pub const ETHERNET: Link = Link(1);
    /// PPP, with or without HDLC framing.
    pub const PPP: Link = Link(9);
    /// FDDI.
    pub const FDDI: Link = Link(10);
    /// PPP in HDLC framing, or Cisco's.
    pub const PPP_HDLC: Link = Link(50);
    /// PPPoE, from its header on.
    pub const PPP_ETHER: Link = Link(51);
    /// Bare IP, either version.
    pub const RAW: Link = Link(101);
    /// Cisco's HDLC.
    pub const C_HDLC: Link = Link(104);
    /// IEEE 802.11, from the frame's control field on.
    pub const IEEE802_11: Link = Link(105);
    /// Four bytes with an address family in network order.
    pub const LOOP: Link = Link(108);
    /// Linux, any interface.
    pub const LINUX_SLL: Link = Link(113);
    /// IEEE 802.11 behind what the card measured, in Prism's form.
    pub const PRISM: Link = Link(119);
    /// The same in the form of radiotap.
    pub const RADIOTAP: Link = Link(127);
    /// The same in the form of AVS.
    pub const AVS: Link = Link(163);
    /// Any link type, named in a header before it.
    pub const PPI: Link = Link(192);
    /// Packets that Linux's packet filter logged, with its remarks.
    pub const NFLOG: Link = Link(239);
    /// Any link type behind Apple's header, as `tcpdump -i any` of macOS and remote captures of phones write it.
    pub const PKTAP: Link = Link(258);
    /// The same under the number it had before.
    pub const PKTAP_TOO: Link = Link(149);
    /// PPP behind a byte that says which way.
    pub const PPP_PPPD: Link = Link(166);
    /// The same, otherwise numbered.
    pub const PPP_WITH_DIR: Link = Link(204);
    /// Bare IP version 4.
    pub const IPV4: Link = Link(228);
    /// Bare IP version 6.
    pub const IPV6: Link = Link(229);
    /// Linux, any interface, second version.
    pub const LINUX_SLL2: Link = Link(276);
    /// Bare IP, numbered as some systems do.
    const RAW_TOO: [Link; 2] = [Link(12), Link(14)];

    /// A name for it; `None` if its frames are not read.
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

    /// Where in the frame the IP packet begins.
    ///
    /// # Errors
    /// Why there is none, or none that can be found.
    pub fn network(self, frame: &[u8]) -> Result<Place, Unread> {
        match self {
            // The first, because most are.
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

/// Ethertypes, which several link types use.
pub(crate) mod ethertype {
    pub(crate) const IPV4: u16 = 0x0800;
    pub(crate) const IPV6: u16 = 0x86dd;
    pub(crate) const VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
    pub(crate) const MPLS: [u16; 2] = [0x8847, 0x8848];
    pub(crate) const PPP_SESSION: u16 = 0x8864;
    /// A frame of Ethernet in a tunnel.
    pub(crate) const BRIDGED: u16 = 0x6558;
    /// Linux cooked: what follows is LLC.
    pub(crate) const LLC: u16 = 4;
    /// From here on it is an ethertype, below it is a length (IEEE 802.3).
    pub(crate) const FIRST: u16 = 0x0600;
}

/// More tags or labels than this nobody stacks.
const DEPTH: usize = 16;

pub(crate) fn u16_at(frame: &[u8], at: usize) -> Result<u16, Unread> {
    match frame.get(at..at + 2) {
        Some(b) => Ok(u16::from_be_bytes([b[0], b[1]])),
        None => Err(Unread::Short),
    }
}

/// An ethertype or length stands at `at`, and what it speaks of behind it.
#[inline]
fn by_ethertype(frame: &[u8], at: usize) -> Result<Place, Unread> {
    let protocol = u16_at(frame, at)?;
    behind(frame, at + 2, protocol)
}

/// What is of type `protocol` begins at `at`.
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

/// IEEE 802.2, and SNAP behind it (RFC 1042).
pub(crate) fn llc(frame: &[u8], at: usize) -> Result<Place, Unread> {
    match frame.get(at..at + 3).ok_or(Unread::Short)? {
        [0xaa, 0xaa, 3] => match frame.get(at + 3..at + 8).ok_or(Unread::Short)? {
            // Of the organisation that numbers ethertypes; the other is that of bridges.
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

/// Labels of four bytes, the last one marked (RFC 3032); then IP, as the first half byte says.
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

/// Version and type, code, session, length, then PPP (RFC 2516).
fn ppp_session(frame: &[u8], at: usize) -> Result<Place, Unread> {
    match frame.get(at + 1).ok_or(Unread::Short)? {
        0 => {
            let place = ppp_protocol(frame, at + 6)?;
            // Its own length tells from the protocol on. Boxes are seen that carry the padding of short frames over and
            // count it as IP.
            let told = u32::from(u16_at(frame, at + 4)?);
            let before = (place.at - at - 6) as u32;
            Ok(Place { most: if told > before { told - before } else { u32::MAX }, ..place })
        }
        _ => Err(Unread::NotIp(ethertype::PPP_SESSION)),
    }
}

/// PPP, perhaps with address and control of HDLC (RFC 1662), which may also be Cisco's.
pub(crate) fn ppp(frame: &[u8], at: usize) -> Result<Place, Unread> {
    match frame.get(at..at + 2).ok_or(Unread::Short)? {
        [0xff, 3] => ppp_protocol(frame, at + 2),
        [0x0f | 0x8f, 0] => by_ethertype(frame, at + 2),
        _ => ppp_protocol(frame, at),
    }
}

/// The protocol, in one byte or two: the last one is odd (RFC 1661 section 2).
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

/// An address family in either byte order: 2 is IPv4 everywhere, IPv6 differs between systems.
fn family(frame: &[u8]) -> Result<Place, Unread> {
    let b = frame.first_chunk::<4>().ok_or(Unread::Short)?;
    let (big, little) = (u32::from_be_bytes(*b), u32::from_le_bytes(*b));
    match big.min(little) {
        2 | 10 | 24 | 28 | 30 => Ok(Place::at(4)),
        other => Err(Unread::NotIp(other as u16)),
    }
}
