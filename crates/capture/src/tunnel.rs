//! Tunnel decapsulation: GTP-U, L2TP, PPTP, VXLAN, Geneve, IP in IP, GRE.
//!
//! Tunnels of mobile cores (GTP-U), of access lines (L2TP, PPTP), of data centres (VXLAN, Geneve) and of everybody
//! (IP in IP, GRE) hide the connection that is asked about in a packet of their own ends.

use crate::link::{Link, Place, behind, ethertype, ppp, u16_at};
use crate::packet::Transport;
use base::wire::IpHead;

/// Tunnels within tunnels deeper than this nobody builds.
pub(crate) const DEPTH: usize = 6;

/// Protocol numbers of tunnels.
mod protocol {
    pub(super) const IPV4: u8 = 4;
    pub(super) const IPV6: u8 = 41;
    pub(super) const GRE: u8 = 47;
}

/// Ports of tunnels.
mod port {
    pub(super) const L2TP: u16 = 1701;
    pub(super) const GTP_U: u16 = 2152;
    /// As it is assigned, and as Linux numbered it before.
    pub(super) const VXLAN: [u16; 2] = [4789, 8472];
    pub(super) const GENEVE: u16 = 6081;
}

/// Where in what a packet carries the header of another IP packet stands.
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

/// A frame of Ethernet from `at` on.
fn ethernet(payload: &[u8], at: usize) -> Option<Place> {
    Some(Link::ETHERNET.network(payload.get(at..)?).ok()?.behind(at))
}

/// RFC 2784 with key and number (RFC 2890); version 1 carries PPP (RFC 2637).
fn gre(payload: &[u8]) -> Option<Place> {
    let (flags, kind) = (u16_at(payload, 0).ok()?, u16_at(payload, 2).ok()?);
    let has = |bit: u16| usize::from(flags & bit != 0) * 4;
    match (flags & 7, kind) {
        (1, 0x880b) => {
            let at = 8 + has(0x1000) + has(0x0080);
            Some(ppp(payload.get(at..)?, 0).ok()?.behind(at))
        }
        // Routes in the header are of an older kind (RFC 1701), which nobody writes.
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

/// 3GPP TS 29.281 section 5.1: what the user sent, with number and extension headers or without.
fn gtp(payload: &[u8]) -> Option<Place> {
    let [flags, kind] = *payload.first_chunk::<2>()?;
    // Version 1, not of charging; a message that carries a packet.
    if flags & 0xf0 != 0x30 || kind != 255 {
        return None;
    }
    let mut at = 8;
    if flags & 7 != 0 {
        let mut next = *payload.get(11)?;
        at = 12;
        // 3GPP TS 29.281 section 5.2.1: a length in words, the last byte is the kind of the next one
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

/// RFC 7348 section 5: a flag that the network's number is there, the number, a frame of Ethernet.
fn vxlan(payload: &[u8]) -> Option<Place> {
    if payload.first()? & 8 == 0 {
        return None;
    }
    ethernet(payload, 8)
}

/// RFC 8926 section 3.4: options of so many words, and the kind of what follows them.
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

/// RFC 2661 section 3.1: version 2, no control message; length, numbers and offset are there or not; then PPP.
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
