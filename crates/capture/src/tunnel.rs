//! Decapsulation of captured tunnel packets: position of the inner IP packet in GTP-U, L2TP, PPTP, VXLAN, Geneve, IP
//! in IP and GRE.

use crate::link::{Link, Place, behind, ethertype, ppp, u16_at};
use crate::packet::Transport;
use base::wire::IpHead;

/// Upper limit of nested tunnels.
pub(crate) const DEPTH: usize = 6;

/// IP protocol numbers of tunnels.
mod protocol {
    pub(super) const IPV4: u8 = 4;
    pub(super) const IPV6: u8 = 41;
    pub(super) const GRE: u8 = 47;
}

/// UDP ports of tunnels.
mod port {
    pub(super) const L2TP: u16 = 1701;
    pub(super) const GTP_U: u16 = 2152;
    /// Assigned port, and former default port of Linux.
    pub(super) const VXLAN: [u16; 2] = [4789, 8472];
    pub(super) const GENEVE: u16 = 6081;
}

/// Position of the inner IP packet in the payload of a tunnel packet; None if it is not a tunnel.
pub(crate) fn inside(ip: &IpHead, transport: &Transport, payload: &[u8]) -> Option<Place> {
    match *transport {
        Transport::Other => match ip.protocol {
            // The inner header follows the outer one: RFC 2003 section 3, RFC 2473 section 3, RFC 4213 section 3.1.
            protocol::IPV4 | protocol::IPV6 => Link::RAW.network(payload).ok(),
            protocol::GRE => gre(payload),
            _ => None,
        },
        Transport::Udp { source, destination } => match destination {
            port::L2TP => l2tp(payload),
            port::GENEVE => geneve(payload),
            to if port::VXLAN.contains(&to) => vxlan(payload),
            to if to == port::GTP_U || source == port::GTP_U => gtp(payload),
            _ if source == port::L2TP => l2tp(payload),
            _ => None,
        },
        _ => None,
    }
}

/// Position of the IP packet in an Ethernet frame at offset `at`.
fn ethernet(payload: &[u8], at: usize) -> Option<Place> {
    Some(Link::ETHERNET.network(payload.get(at..)?).ok()?.behind(at))
}

/// GRE (RFC 2784) with key and sequence number (RFC 2890); version 1 carries PPP (RFC 2637).
fn gre(payload: &[u8]) -> Option<Place> {
    let (flags, kind) = (u16_at(payload, 0).ok()?, u16_at(payload, 2).ok()?);
    let has = |bit: u16| usize::from(flags & bit != 0) * 4;
    match (flags & 7, kind) {
        (1, 0x880b) => {
            let at = 8 + has(0x1000) + has(0x0080);
            Some(ppp(payload.get(at..)?, 0).ok()?.behind(at))
        }
        // Source routes of RFC 1701 are obsolete.
        (0, _) if flags & 0x4000 == 0 => {
            let at = 4 + has(0x8000) + has(0x2000) + has(0x1000);
            match kind {
                ethertype::BRIDGED => ethernet(payload, at),
                _ => behind(payload, at, kind).ok(),
            }
        }
        _ => None,
    }
}

/// GTP-U (3GPP TS 29.281 section 5.1): G-PDU with optional sequence number and extension headers.
fn gtp(payload: &[u8]) -> Option<Place> {
    let [flags, kind] = *payload.first_chunk::<2>()?;
    // Version 1, protocol type GTP (not GTP'), message type G-PDU.
    if flags & 0xf0 != 0x30 || kind != 255 {
        return None;
    }
    let mut at = 8;
    if flags & 7 != 0 {
        let mut next = *payload.get(11)?;
        at = 12;
        // 3GPP TS 29.281 section 5.2.1: length in words; the last byte is the type of the next extension header.
        while flags & 4 != 0 && next != 0 {
            let length = usize::from(*payload.get(at)?) * 4;
            if length == 0 {
                return None;
            }
            next = *payload.get(at + length - 1)?;
            at += length;
        }
    }
    Some(Link::RAW.network(payload).ok()?.behind(at))
}

/// VXLAN (RFC 7348 section 5): I flag, VNI, Ethernet frame.
fn vxlan(payload: &[u8]) -> Option<Place> {
    if payload.first()? & 8 == 0 {
        return None;
    }
    ethernet(payload, 8)
}

/// Geneve (RFC 8926 section 3.4): option length in words, protocol type of the payload.
fn geneve(payload: &[u8]) -> Option<Place> {
    let first = *payload.first()?;
    if first >> 6 != 0 {
        return None;
    }
    let at = 8 + usize::from(first & 0x3f) * 4;
    match u16_at(payload, 2).ok()? {
        ethertype::BRIDGED => ethernet(payload, at),
        kind => behind(payload, at, kind).ok(),
    }
}

/// L2TP (RFC 2661 section 3.1): version 2, data message, optional length, sequence numbers and offset; then PPP.
fn l2tp(payload: &[u8]) -> Option<Place> {
    let flags = u16_at(payload, 0).ok()?;
    if flags & 0x800f != 2 {
        return None;
    }
    let mut at = 6;
    if flags & 0x4000 != 0 {
        at += 2;
    }
    if flags & 0x0800 != 0 {
        at += 4;
    }
    if flags & 0x0200 != 0 {
        at += 2 + usize::from(u16_at(payload, at).ok()?);
    }
    Some(ppp(payload.get(at..)?, 0).ok()?.behind(at))
}
