//! Encoder of SCTP packets (RFC 9260 section 3): chunks with parameters and padding, and the CRC32c.

use super::{Chunk, Failure, Init, Packet, crc32c};

pub(super) mod kind {
    //! Chunk types (RFC 9260 section 3.2, RFC 3758, RFC 4820, RFC 4960 appendix A).
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
    pub(in crate::chunk) const PAD: u8 = 132;
    pub(in crate::chunk) const FORWARD_TSN: u8 = 192;
}

pub(super) mod parameter {
    //! Parameter types of INIT and INIT ACK, and of heartbeats.
    pub(in crate::chunk) const HEARTBEAT_INFO: u16 = 1;
    pub(in crate::chunk) const IPV4: u16 = 5;
    pub(in crate::chunk) const IPV6: u16 = 6;
    pub(in crate::chunk) const COOKIE: u16 = 7;
    pub(in crate::chunk) const UNRECOGNIZED: u16 = 8;
    pub(in crate::chunk) const ADDRESS_TYPES: u16 = 12;
    pub(in crate::chunk) const ECN_CAPABLE: u16 = 0x8000;
    pub(in crate::chunk) const FORWARD_TSN: u16 = 0xc000;
}

/// TSN on the wire of an offset from an initial TSN.
fn wire(initial: u32, offset: u64) -> u32 {
    initial.wrapping_add(offset as u32)
}

/// Appends the bytes of the packet.
pub(super) fn encode(packet: &Packet, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(packet.ports[0].to_be_bytes());
    out.extend(packet.ports[1].to_be_bytes());
    out.extend(packet.tag.to_be_bytes());
    out.extend([0; 4]);
    let mut body = Vec::new();
    for chunk in &packet.chunks {
        let (kind, flags) = head(chunk);
        body.clear();
        value(chunk, packet.initial, &mut body);
        let [high, low] = (4 + body.len() as u16).to_be_bytes();
        out.extend([kind, flags, high, low]);
        out.extend(&body);
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
        Chunk::Pad(_) => (kind::PAD, 0),
        Chunk::ForwardTsn(..) => (kind::FORWARD_TSN, 0),
        Chunk::Unknown(kind, flags, _) => (*kind, *flags),
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
            self::parameter(parameter::COOKIE, cookie, out);
        }
        Chunk::Sack(sack) => {
            out.extend(wire(peer, sack.cumulative).wrapping_sub(1).to_be_bytes());
            out.extend(sack.window.to_be_bytes());
            out.extend((sack.gaps.len() as u16).to_be_bytes());
            out.extend((sack.duplicates.len() as u16).to_be_bytes());
            // Offsets from the Cumulative TSN Ack, which is `cumulative` minus 1.
            for (from, to) in &sack.gaps {
                out.extend(((from - sack.cumulative + 1) as u16).to_be_bytes());
                out.extend(((to - sack.cumulative) as u16).to_be_bytes());
            }
            for tsn in &sack.duplicates {
                out.extend(wire(peer, *tsn).to_be_bytes());
            }
        }
        Chunk::Heartbeat(info) | Chunk::HeartbeatAck(info) => {
            self::parameter(parameter::HEARTBEAT_INFO, info, out);
        }
        Chunk::Abort { cause, .. } => cause.iter().for_each(|cause| failure(cause, out)),
        Chunk::Error(cause) => failure(cause, out),
        Chunk::Shutdown(cumulative) => out.extend(wire(peer, *cumulative).wrapping_sub(1).to_be_bytes()),
        Chunk::Ecne(tsn) => out.extend(wire(peer, *tsn).to_be_bytes()),
        Chunk::Cwr(tsn) => out.extend(wire(own, *tsn).to_be_bytes()),
        Chunk::CookieEcho(bytes) | Chunk::Unknown(_, _, bytes) => out.extend(bytes.iter()),
        Chunk::ForwardTsn(cumulative, streams) => {
            out.extend(wire(own, *cumulative).wrapping_sub(1).to_be_bytes());
            for (stream, ssn) in streams {
                out.extend(stream.to_be_bytes());
                out.extend((*ssn as u16).to_be_bytes());
            }
        }
        Chunk::Pad(bytes) => out.resize(out.len() + usize::from(*bytes), 0),
        Chunk::ShutdownAck | Chunk::CookieAck | Chunk::ShutdownComplete { .. } => {}
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
            self::parameter(parameter, &[], out);
        }
    }
    for report in &init.unrecognized {
        parameter(parameter::UNRECOGNIZED, report, out);
    }
}

/// Appends a parameter or cause: type, length, value. Padding between parameters counts in the chunk length,
/// padding of the last parameter does not (section 3.2).
fn parameter(kind: u16, value: &[u8], out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend(kind.to_be_bytes());
    out.extend((4 + value.len() as u16).to_be_bytes());
    out.extend(value);
}

fn failure(failure: &Failure, out: &mut Vec<u8>) {
    let (code, info): (u16, Vec<u8>) = match failure {
        Failure::InvalidStream(stream) => (1, [stream.to_be_bytes(), [0, 0]].concat()),
        Failure::StaleCookie(late) => (3, late.to_be_bytes().to_vec()),
        Failure::UnrecognizedChunk(chunk) => (6, chunk.to_vec()),
        Failure::InvalidParameter => (7, Vec::new()),
        Failure::NoUserData(tsn) => (9, tsn.to_be_bytes().to_vec()),
        Failure::ShuttingDown => (10, Vec::new()),
        Failure::NewAddresses => (11, Vec::new()),
        Failure::UserAbort => (12, Vec::new()),
        Failure::ProtocolViolation => (13, Vec::new()),
        Failure::Other(code) => (*code, Vec::new()),
    };
    parameter(code, &info, out);
}
