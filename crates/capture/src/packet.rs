//! Decoder of a captured frame (`decode`): link, IP and transport headers in one pass, innermost packet of tunnels.
//!
//! No byte is copied. Lengths are those of the IP header, so a capture of headers alone counts the same bytes as a
//! full capture.

use crate::link::{Link, Place};
use crate::tunnel;
use base::wire::{IpHead, Malformed, SCTP, TCP, TcpHead, UDP};

/// Reason why a frame has no readable packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unread {
    /// The link type is not supported.
    #[error("a link type that is not read")]
    Link,
    /// Payload other than IP: EtherType, PPP protocol or address family; 0 if unknown.
    #[error("no IP packet: protocol {0:#06x}")]
    NotIp(u16),
    /// The frame, or its captured part, is too short.
    #[error("too short for its headers")]
    Short,
    /// Invalid IP header.
    #[error("an IP packet {0}")]
    Malformed(Malformed),
}

/// Transport header of an IP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// A TCP segment.
    Tcp(TcpHead),
    /// A UDP datagram.
    Udp {
        /// Source port.
        source: u16,
        /// Destination port.
        destination: u16,
    },
    /// An SCTP packet.
    Sctp {
        /// Source port.
        source: u16,
        /// Destination port.
        destination: u16,
        /// Verification tag (RFC 9260 section 3.1).
        tag: u32,
    },
    /// Later fragment without a transport header; the IP header has the protocol.
    Fragment,
    /// Another protocol, given in the IP header.
    Other,
    /// The transport header is truncated or invalid; the IP header has the protocol.
    Unreadable,
}

/// Decoded headers of a packet, and its payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// IP header.
    pub ip: IpHead,
    /// Transport header.
    pub transport: Transport,
    /// Payload bytes behind the transport header, by the IP length; behind the IP header if the transport header is
    /// not decoded.
    pub payload_len: u32,
    /// Captured part of the payload.
    pub payload: &'a [u8],
    /// Offset of the IP header in the frame; in a tunnel, of the inner IP header.
    pub network: usize,
    /// The capture truncated the packet.
    pub cut: bool,
}

impl Packet<'_> {
    /// The TCP header, if any.
    pub fn tcp(&self) -> Option<&TcpHead> {
        match &self.transport {
            Transport::Tcp(head) => Some(head),
            _ => None,
        }
    }
}

/// Decodes a frame of `wire_len` bytes on the wire, of which `frame` was captured. In a tunnel, the innermost
/// readable packet is returned.
///
/// # Errors
/// Reason why there is no readable packet.
#[inline]
pub fn decode(link: Link, frame: &[u8], wire_len: u32) -> Result<Packet<'_>, Unread> {
    let (packet, behind) = read(frame, link.network(frame)?, wire_len)?;
    match packet.transport {
        Transport::Udp { .. } | Transport::Other => Ok(innermost(frame, packet, behind)),
        _ => Ok(packet),
    }
}

/// Innermost readable packet of nested tunnels; without a tunnel, the packet itself.
fn innermost<'a>(frame: &'a [u8], mut packet: Packet<'a>, mut behind: usize) -> Packet<'a> {
    for _ in 0..tunnel::DEPTH {
        let Some(place) = tunnel::inside(&packet.ip, &packet.transport, packet.payload) else { break };
        let place = place.behind(behind);
        // The inner packet ends within the outer one.
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

/// Decodes the packet at `place`; also returns the offset of its payload in the frame.
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
    // Bytes behind the packet's end are padding or a trailer.
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

/// Transport header of an IP packet, and its length.
fn transport(ip: &IpHead, inner: &[u8]) -> (Transport, u32) {
    if !ip.is_first() {
        return (Transport::Fragment, 0);
    }
    let port = |at: usize| inner.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
    let ports = port(0).zip(port(2));
    match (ip.protocol, ports) {
        (TCP, _) => match TcpHead::read(inner) {
            // A header longer than its packet is invalid.
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
