//! SCTP packets to bytes (RFC 9260 section 3): chunks with their parameters and padding, and the CRC32c.

use super::{Chunk, Cookie, Failure, Heartbeat, Init, Packet, crc32c};

pub(super) mod kind {
    //! Chunk types (RFC 9260 section 3.2, RFC 3758, RFC 4960 appendix A).
    pub(in crate::chunk) const DATA: u8 = 0;
    pub(in crate::chunk) const INIT: u8 = 1;
    pub(in crate::chunk) const INIT_ACK: u8 = 2;
    pub(in crate::chunk) const SACK: u8 = 3;
    pub(in crate::chunk) const HEARTBEAT: u8 = 4;
    pub(in crate::chunk) const HEARTBEAT_ACK: u8 = 5;
    pub(in crate::chunk) const ABORT: u8 = 6;
    pub(in crate::chunk) const SHUTDOWN: u8 = 7;
    pub(in crate::chunk) const SHUTDOWN_ACK: u8 = 8;
    pub(in crate::chunk) const ERROR: u8 = 9;
    pub(in crate::chunk) const COOKIE_ECHO: u8 = 10;
    pub(in crate::chunk) const COOKIE_ACK: u8 = 11;
    pub(in crate::chunk) const ECNE: u8 = 12;
    pub(in crate::chunk) const CWR: u8 = 13;
    pub(in crate::chunk) const SHUTDOWN_COMPLETE: u8 = 14;
    pub(in crate::chunk) const FORWARD_TSN: u8 = 192;
}

pub(super) mod parameter {
    //! Parameter types of INIT and INIT ACK, and of heartbeats.
    pub(in crate::chunk) const HEARTBEAT_INFO: u16 = 1;
    pub(in crate::chunk) const IPV4: u16 = 5;
    pub(in crate::chunk) const COOKIE: u16 = 7;
    pub(in crate::chunk) const ECN_CAPABLE: u16 = 0x8000;
    pub(in crate::chunk) const FORWARD_TSN: u16 = 0xc000;
}

/// The number on the wire of an offset from an initial number.
fn wire(initial: u32, offset: u64) -> u32 {
    initial.wrapping_add(offset as u32)
}

/// Appends the packet.
pub(super) fn encode(packet: &Packet, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(packet.ports[0].to_be_bytes());
    out.extend(packet.ports[1].to_be_bytes());
    out.extend(packet.tag.to_be_bytes());
    out.extend([0; 4]);
    for chunk in &packet.chunks {
        let at = out.len();
        let (kind, flags) = head(chunk);
        out.extend([kind, flags, 0, 0]);
        value(chunk, packet.initial, out);
        let length = (out.len() - at) as u16;
        out[at + 2..at + 4].copy_from_slice(&length.to_be_bytes());
        while !(out.len() - start).is_multiple_of(4) {
            out.push(0);
        }
    }
    let sum = crc32c::checksum(&out[start..]);
    out[start + 8..start + 12].copy_from_slice(&sum.to_le_bytes());
}

fn head(chunk: &Chunk) -> (u8, u8) {
    let bit = |n: u8, on: bool| u8::from(on) << n;
    match chunk {
        Chunk::Data(d) => {
            (kind::DATA, bit(0, d.end) | bit(1, d.begin) | bit(2, d.unordered) | bit(3, d.immediate))
        }
        Chunk::Init(_) => (kind::INIT, 0),
        Chunk::InitAck(..) => (kind::INIT_ACK, 0),
        Chunk::Sack(_) => (kind::SACK, 0),
        Chunk::Heartbeat(_) => (kind::HEARTBEAT, 0),
        Chunk::HeartbeatAck(_) => (kind::HEARTBEAT_ACK, 0),
        Chunk::Abort { reflected, .. } => (kind::ABORT, bit(0, *reflected)),
        Chunk::Shutdown(_) => (kind::SHUTDOWN, 0),
        Chunk::ShutdownAck => (kind::SHUTDOWN_ACK, 0),
        Chunk::Error(_) => (kind::ERROR, 0),
        Chunk::CookieEcho(_) => (kind::COOKIE_ECHO, 0),
        Chunk::CookieAck => (kind::COOKIE_ACK, 0),
        Chunk::Ecne(_) => (kind::ECNE, 0),
        Chunk::Cwr(_) => (kind::CWR, 0),
        Chunk::ShutdownComplete { reflected } => (kind::SHUTDOWN_COMPLETE, bit(0, *reflected)),
        Chunk::ForwardTsn(..) => (kind::FORWARD_TSN, 0),
        Chunk::Unknown(kind) => (*kind, 0),
    }
}

fn value(chunk: &Chunk, [own, peer]: [u32; 2], out: &mut Vec<u8>) {
    match chunk {
        Chunk::Data(d) => {
            out.extend(wire(own, d.tsn).to_be_bytes());
            out.extend(d.stream.to_be_bytes());
            out.extend((d.ssn as u16).to_be_bytes());
            out.extend(d.ppid.to_be_bytes());
            out.resize(out.len() + d.len as usize, 0);
        }
        Chunk::Init(init) => self::init(init, out),
        Chunk::InitAck(init, cookie) => {
            self::init(init, out);
            out.extend(parameter::COOKIE.to_be_bytes());
            out.extend((4 + super::COOKIE as u16).to_be_bytes());
            self::cookie(cookie, out);
        }
        Chunk::Sack(sack) => {
            out.extend(wire(peer, sack.cumulative).wrapping_sub(1).to_be_bytes());
            out.extend(sack.window.to_be_bytes());
            out.extend((sack.gaps.len() as u16).to_be_bytes());
            out.extend((sack.duplicates.len() as u16).to_be_bytes());
            // Offsets from the cumulative TSN ack, which is one below `cumulative`.
            for (from, to) in &sack.gaps {
                out.extend(((from - sack.cumulative + 1) as u16).to_be_bytes());
                out.extend(((to - sack.cumulative) as u16).to_be_bytes());
            }
            for tsn in &sack.duplicates {
                out.extend(wire(peer, *tsn).to_be_bytes());
            }
        }
        Chunk::Heartbeat(beat) | Chunk::HeartbeatAck(beat) => heartbeat(beat, out),
        Chunk::Abort { cause, .. } => cause.iter().for_each(|cause| failure(*cause, out)),
        Chunk::Error(cause) => failure(*cause, out),
        Chunk::Shutdown(cumulative) => out.extend(wire(peer, *cumulative).wrapping_sub(1).to_be_bytes()),
        Chunk::Ecne(tsn) => out.extend(wire(peer, *tsn).to_be_bytes()),
        Chunk::Cwr(tsn) => out.extend(wire(own, *tsn).to_be_bytes()),
        Chunk::CookieEcho(cookie) => self::cookie(cookie, out),
        Chunk::ForwardTsn(cumulative, streams) => {
            out.extend(wire(own, *cumulative).wrapping_sub(1).to_be_bytes());
            for (stream, ssn) in streams {
                out.extend(stream.to_be_bytes());
                out.extend((*ssn as u16).to_be_bytes());
            }
        }
        Chunk::ShutdownAck | Chunk::CookieAck | Chunk::ShutdownComplete { .. } | Chunk::Unknown(_) => {}
    }
}

fn init(init: &Init, out: &mut Vec<u8>) {
    out.extend(init.tag.to_be_bytes());
    out.extend(init.window.to_be_bytes());
    out.extend(init.outbound.to_be_bytes());
    out.extend(init.inbound.to_be_bytes());
    out.extend(init.initial.to_be_bytes());
    let addresses = if init.addresses > 1 { init.addresses } else { 0 };
    for path in 0..addresses {
        out.extend(parameter::IPV4.to_be_bytes());
        out.extend([0, 8, 10, path, 0, 0]);
    }
    for (wanted, parameter) in
        [(init.ecn, parameter::ECN_CAPABLE), (init.forward_tsn, parameter::FORWARD_TSN)]
    {
        if wanted {
            out.extend(parameter.to_be_bytes());
            out.extend([0, 4]);
        }
    }
}

fn cookie(cookie: &Cookie, out: &mut Vec<u8>) {
    out.extend(cookie_fields(cookie));
    out.extend(cookie.mac.to_be_bytes());
}

/// What the authenticator of a cookie covers.
pub(crate) fn cookie_fields(cookie: &Cookie) -> Vec<u8> {
    let Cookie { made, own_tag, own_initial, peer, .. } = cookie;
    let mut out = Vec::with_capacity(super::COOKIE as usize);
    out.extend(made.to_be_bytes());
    out.extend(own_tag.to_be_bytes());
    out.extend(own_initial.to_be_bytes());
    out.extend(peer.tag.to_be_bytes());
    out.extend(peer.window.to_be_bytes());
    out.extend(peer.outbound.to_be_bytes());
    out.extend(peer.inbound.to_be_bytes());
    out.extend(peer.initial.to_be_bytes());
    out.extend([peer.addresses, u8::from(peer.ecn), u8::from(peer.forward_tsn), 0]);
    out.resize(super::COOKIE as usize - 8, 0);
    out
}

fn heartbeat(beat: &Heartbeat, out: &mut Vec<u8>) {
    out.extend(parameter::HEARTBEAT_INFO.to_be_bytes());
    out.extend(24u16.to_be_bytes());
    out.extend([beat.path, 0, 0, 0]);
    out.extend(beat.sent.to_be_bytes());
    out.extend(beat.nonce.to_be_bytes());
}

fn failure(failure: Failure, out: &mut Vec<u8>) {
    let (code, info): (u16, Vec<u8>) = match failure {
        Failure::InvalidStream(stream) => (1, [stream.to_be_bytes(), [0, 0]].concat()),
        Failure::StaleCookie(late) => (3, late.to_be_bytes().to_vec()),
        Failure::NoUserData(tsn) => (9, tsn.to_be_bytes().to_vec()),
        Failure::UserAbort => (12, Vec::new()),
        Failure::ProtocolViolation => (13, Vec::new()),
        Failure::Other(code) => (code, Vec::new()),
    };
    out.extend(code.to_be_bytes());
    out.extend((4 + info.len() as u16).to_be_bytes());
    out.extend(info);
}
