//! Decoder of link, IP and transport headers in one pass.
//!
//! Link, IP and transport in one pass, no byte copied; lengths are those that IP tells, so that a capture of headers
//! only counts the same bytes as a whole one.

use crate::link::{Link, Place};
use crate::tunnel;
use base::wire::{IpHead, Malformed, SCTP, TCP, TcpHead, UDP};

/// Why a frame has no packet that can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unread {
    /// The link type is not known.
    #[error("a link type that is not read")]
    Link,
    /// It carries something else: ethertype, PPP protocol or address family; 0 if not even that is known.
    #[error("no IP packet: protocol {0:#06x}")]
    NotIp(u16),
    /// The capture kept too little of it, or the frame was too short.
    #[error("too short for its headers")]
    Short,
    /// The header of IP says what cannot be.
    #[error("an IP packet {0}")]
    Malformed(Malformed),
}

/// What an IP packet carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// A TCP segment.
    Tcp(TcpHead),
    /// A UDP datagram.
    Udp {
        /// From which port.
        source: u16,
        /// To which.
        destination: u16,
    },
    /// An SCTP packet.
    Sctp {
        /// From which port.
        source: u16,
        /// To which.
        destination: u16,
        /// Verification tag (RFC 9260 section 3.1).
        tag: u32,
    },
    /// A later fragment: the transport's header is in the first one. Its protocol is in the head.
    Fragment,
    /// Another protocol, which is in the head.
    Other,
    /// Too little of the transport's header is here, or it is shorter than one can be. Its protocol is in the head.
    Unreadable,
}

/// What the headers of a packet say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// The header of IP.
    pub ip: IpHead,
    /// What it carries.
    pub transport: Transport,
    /// Bytes behind the transport's header, by the lengths that IP tells; behind that of IP where the transport's is
    /// not read.
    pub payload_len: u32,
    /// As many of them as were captured.
    pub payload: &'a [u8],
    /// Where in the frame the header of IP begins: of a packet in a tunnel, the inner one.
    pub network: usize,
    /// Fewer bytes of the packet were captured than it had.
    pub cut: bool,
}

impl Packet<'_> {
    /// The head of the segment, if it is one.
    pub fn tcp(&self) -> Option<&TcpHead> {
        match &self.transport {
            Transport::Tcp(head) => Some(head),
            _ => None,
        }
    }
}

/// Reads the headers of a frame that had `wire_len` bytes on the wire, of which `frame` were captured. Of a packet in a
/// tunnel it is the inner one that is told, as far as it can be read.
///
/// # Errors
/// Why there is no packet, or none that can be read.
#[inline]
pub fn decode(link: Link, frame: &[u8], wire_len: u32) -> Result<Packet<'_>, Unread> {
    let (packet, behind) = read(frame, link.network(frame)?, wire_len)?;
    match packet.transport {
        Transport::Udp { .. } | Transport::Other => Ok(innermost(frame, packet, behind)),
        _ => Ok(packet),
    }
}

/// The packet that a packet carries, however deep; else itself.
fn innermost<'a>(frame: &'a [u8], mut packet: Packet<'a>, mut behind: usize) -> Packet<'a> {
    for _ in 0..tunnel::DEPTH {
        let Some(place) = tunnel::inside(&packet.ip, &packet.transport, packet.payload) else { break };
        let place = place.behind(behind);
        // What it carries ends where it ends.
        let end = (behind as u32).saturating_add(packet.payload_len);
        let kept = frame.get(..behind + packet.payload.len()).unwrap_or(frame);
        match read(kept, place, end) {
            Ok((inner, further)) if (place.at as u32).saturating_add(inner.ip.size) <= end => {
                (packet, behind) = (inner, further)
            }
            _ => break,
        }
    }
    packet
}

/// Reads the packet at that place, and where in the frame stands what it carries.
#[inline]
fn read(frame: &[u8], place: Place, wire_len: u32) -> Result<(Packet<'_>, usize), Unread> {
    let network = place.at;
    let bytes = frame.get(network..).unwrap_or_default();
    let wire = wire_len.saturating_sub(network as u32).max(bytes.len() as u32);
    let mut ip = IpHead::read(bytes, wire).map_err(|why| match why {
        Malformed::Short => Unread::Short,
        why => Unread::Malformed(why),
    })?;
    if place.most < ip.size && place.most >= ip.header {
        ip.size = place.most;
    }
    // What stands behind the packet's end is padding or a trailer.
    let size = ip.size as usize;
    let cut = bytes.len() < size;
    let inner = bytes.get(ip.header as usize..size.min(bytes.len())).unwrap_or_default();
    let (transport, header) = transport(&ip, inner);
    let packet = Packet {
        ip,
        transport,
        payload_len: (ip.size - ip.header).saturating_sub(header),
        payload: inner.get(header as usize..).unwrap_or_default(),
        network,
        cut,
    };
    Ok((packet, network + (ip.header + header) as usize))
}

/// What an IP packet carries, and how long its header is.
fn transport(ip: &IpHead, inner: &[u8]) -> (Transport, u32) {
    if !ip.is_first() {
        return (Transport::Fragment, 0);
    }
    let port = |at: usize| inner.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
    let ports = port(0).zip(port(2));
    match (ip.protocol, ports) {
        (TCP, _) => match TcpHead::read(inner) {
            // A header longer than its packet is none.
            Some((head, length)) if length as u32 <= ip.size - ip.header => {
                (Transport::Tcp(head), length as u32)
            }
            _ => (Transport::Unreadable, 0),
        },
        (UDP, Some((source, destination))) if ip.size - ip.header >= 8 => {
            (Transport::Udp { source, destination }, 8)
        }
        (SCTP, Some((source, destination))) => match inner.get(4..8) {
            Some(t) => (
                Transport::Sctp { source, destination, tag: u32::from_be_bytes([t[0], t[1], t[2], t[3]]) },
                12,
            ),
            None => (Transport::Unreadable, 0),
        },
        (UDP | SCTP, _) => (Transport::Unreadable, 0),
        _ => (Transport::Other, 0),
    }
}
