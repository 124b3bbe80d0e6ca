//! DCCP on the wire: header, options, checksum (RFC 4340 sections 5, 9). Sequence numbers are always extended (X = 1).

use crate::ackvec::AckVector;
use crate::packet::{Dccp, Kind, Negotiation, Opt, ReportedInterval, ResetCode, SEQ_MASK};
use base::wire::checksum::Sum;
use std::net::IpAddr;

/// IP protocol number.
pub const PROTOCOL: u8 = 33;
/// Bytes of the generic header with an extended sequence number.
const GENERIC: usize = 16;
/// Longest header: the data offset has eight bits of words.
const LONGEST: usize = 255 * 4;

base::named! {
    /// Why bytes are no DCCP packet.
    pub enum Malformed {
        /// Fewer bytes than its header.
        Short = "shorter than its header",
        /// The data offset points into the header or behind the packet.
        Offset = "of a wrong data offset",
        /// A reserved packet type.
        Kind = "of a reserved type",
        /// Short sequence numbers, which are never agreed on here.
        ShortNumbers = "with short sequence numbers",
        /// An option that does not fit.
        Options = "with an option that does not fit",
    }
}

fn put48(out: &mut Vec<u8>, n: u64) {
    out.extend_from_slice(&(n & SEQ_MASK).to_be_bytes()[2..]);
}

fn fixed(kind: Kind) -> usize {
    GENERIC
        + match kind {
            Kind::Request => 4,
            Kind::Response | Kind::Reset => 12,
            Kind::Data => 0,
            _ => 8,
        }
}

/// Appends the packet, its payload as zeros; the checksum field is left 0 for [`seal`].
pub fn write(packet: &Dccp, out: &mut Vec<u8>) {
    let start = out.len();
    let mut options = Vec::new();
    packet.options.iter().for_each(|o| option(o, &mut options));
    options.truncate(LONGEST - fixed(packet.kind));
    while options.len() % 4 != 0 {
        options.push(0);
    }
    let header = fixed(packet.kind) + options.len();
    out.extend_from_slice(&packet.ports.0.to_be_bytes());
    out.extend_from_slice(&packet.ports.1.to_be_bytes());
    out.push((header / 4) as u8);
    out.push(packet.ccval << 4 | packet.coverage & 15);
    out.extend_from_slice(&[0, 0]);
    out.push((packet.kind as u8) << 1 | 1);
    out.push(0);
    put48(out, packet.seq);
    if !matches!(packet.kind, Kind::Request | Kind::Data) {
        out.extend_from_slice(&[0, 0]);
        put48(out, packet.ack.unwrap_or(0));
    }
    match packet.kind {
        Kind::Request | Kind::Response => out.extend_from_slice(&packet.service.to_be_bytes()),
        Kind::Reset => {
            let (code, data) = packet.reset.unwrap_or((ResetCode::Unspecified, [0; 3]));
            out.push(code as u8);
            out.extend_from_slice(&data);
        }
        _ => {}
    }
    out.extend_from_slice(&options);
    out.resize(start + header + packet.payload as usize, 0);
}

/// Writes the checksum over the pseudo header and the covered part (RFC 4340 section 9.1, 9.2).
pub fn seal(bytes: &mut [u8], source: IpAddr, destination: IpAddr) {
    let Some(sum) = checksum(bytes, source, destination) else { return };
    if let Some(field) = bytes.get_mut(6..8) {
        field.copy_from_slice(&sum.to_be_bytes());
    }
}

/// True if the checksum is right.
pub fn is_intact(bytes: &[u8], source: IpAddr, destination: IpAddr) -> bool {
    let stored = bytes.get(6..8).map(|b| u16::from_be_bytes([b[0], b[1]]));
    let mut copy = bytes.to_vec();
    if let Some(field) = copy.get_mut(6..8) {
        field.fill(0);
    }
    stored.is_some() && stored == checksum(&copy, source, destination)
}

fn checksum(bytes: &[u8], source: IpAddr, destination: IpAddr) -> Option<u16> {
    let header = usize::from(*bytes.get(4)?) * 4;
    let covered = match bytes.get(5)? & 15 {
        0 => bytes.len(),
        words => bytes.len().min(header + 4 * (usize::from(words) - 1)),
    };
    let length = u32::try_from(bytes.len()).ok()?;
    Some(Sum::ZERO.and_pseudo(source, destination, PROTOCOL, length).and(&bytes[..covered]).finish())
}

fn option(option: &Opt, out: &mut Vec<u8>) {
    let mut with = |number: u8, content: &[u8]| {
        // A length of one byte counts number and length.
        let content = &content[..content.len().min(253)];
        out.push(number);
        out.push(content.len() as u8 + 2);
        out.extend_from_slice(content);
    };
    match option {
        Opt::Mandatory => out.push(1),
        Opt::SlowReceiver => out.push(2),
        Opt::Feature(negotiation, feature, values) => {
            let mut content = vec![*feature];
            content.extend_from_slice(values);
            with(negotiation.number(), &content);
        }
        Opt::InitCookie(cookie) => with(36, cookie),
        Opt::NdpCount(n) => {
            let bytes = n.to_be_bytes();
            let skip = bytes.iter().take(7).take_while(|b| **b == 0).count().max(2);
            with(37, &bytes[skip..]);
        }
        Opt::AckVector(vector) => {
            let mut bytes = Vec::new();
            vector.write(&mut bytes);
            // A vector of more than 253 bytes continues in further options.
            for part in bytes.chunks(253) {
                with(38, part);
            }
        }
        Opt::Timestamp(t) => with(41, &t.to_be_bytes()),
        Opt::TimestampEcho(t, elapsed) => {
            let mut content = t.to_be_bytes().to_vec();
            match (u16::try_from(*elapsed), *elapsed) {
                (_, 0) => {}
                (Ok(short), _) => content.extend_from_slice(&short.to_be_bytes()),
                (Err(_), long) => content.extend_from_slice(&long.to_be_bytes()),
            }
            with(42, &content);
        }
        Opt::ElapsedTime(t) => match u16::try_from(*t) {
            Ok(short) => with(43, &short.to_be_bytes()),
            Err(_) => with(43, &t.to_be_bytes()),
        },
        Opt::DataChecksum(sum) => with(44, &sum.to_be_bytes()),
        Opt::LossEventRate(inverse) => with(192, &inverse.to_be_bytes()),
        Opt::LossIntervals(skip, intervals) => {
            let mut content = vec![*skip];
            for interval in intervals.iter().take(28) {
                content.extend_from_slice(&interval.lossless.to_be_bytes()[1..]);
                content.extend_from_slice(&interval.lossy.to_be_bytes()[1..]);
                content.extend_from_slice(&interval.data.to_be_bytes()[1..]);
            }
            with(193, &content);
        }
        Opt::ReceiveRate(rate) => with(194, &rate.to_be_bytes()),
        Opt::Other(number, content) if *number >= 32 => with(*number, content),
        Opt::Other(number, _) => out.push(*number),
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b))
}

/// The number nearest to `near` whose low 48 bits are `wire`; never below 0.
pub fn unwrap48(near: u64, wire: u64) -> u64 {
    let ahead = (wire.wrapping_sub(near) & SEQ_MASK) as i64;
    let signed = if ahead >= 1 << 47 { ahead - (1 << 48) } else { ahead };
    let at = near.saturating_add_signed(signed);
    if at & SEQ_MASK == wire & SEQ_MASK { at } else { near.saturating_add(ahead as u64) }
}

/// Parses a packet; `near`: expected sequence and acknowledgement number, to extend the 48 bits on the wire.
///
/// # Errors
/// The first reason found why the bytes are not a valid DCCP packet ([`Malformed`]).
pub fn read(bytes: &[u8], near: (u64, u64)) -> Result<Dccp, Malformed> {
    let head: &[u8; GENERIC] =
        bytes.get(..GENERIC).and_then(|b| b.try_into().ok()).ok_or(Malformed::Short)?;
    let kind = *Kind::ALL.get(usize::from(head[8] >> 1 & 15)).ok_or(Malformed::Kind)?;
    if head[8] & 1 == 0 {
        return Err(Malformed::ShortNumbers);
    }
    let offset = usize::from(head[4]) * 4;
    if offset < fixed(kind) || offset > bytes.len() {
        return Err(Malformed::Offset);
    }
    let mut packet = Dccp::new(kind, unwrap48(near.0, number(&head[10..16])), None);
    packet.ports = (u16::from_be_bytes([head[0], head[1]]), u16::from_be_bytes([head[2], head[3]]));
    (packet.ccval, packet.coverage) = (head[5] >> 4, head[5] & 15);
    let behind = &bytes[GENERIC..offset];
    let mut at = 0;
    if !matches!(kind, Kind::Request | Kind::Data) {
        packet.ack = Some(unwrap48(near.1, number(&behind[2..8])));
        at = 8;
    }
    match kind {
        Kind::Request | Kind::Response => {
            packet.service = number(&behind[at..at + 4]) as u32;
            at += 4;
        }
        Kind::Reset => {
            let code = ResetCode::ALL.get(usize::from(behind[at])).copied();
            let data = [behind[at + 1], behind[at + 2], behind[at + 3]];
            packet.reset = Some((code.unwrap_or(ResetCode::Unspecified), data));
            at += 4;
        }
        _ => {}
    }
    packet.options = options(&behind[at..])?;
    packet.payload = u32::try_from(bytes.len() - offset).map_err(|_| Malformed::Offset)?;
    Ok(packet)
}

fn options(mut bytes: &[u8]) -> Result<Vec<Opt>, Malformed> {
    let mut options: Vec<Opt> = Vec::new();
    while let Some(&kind) = bytes.first() {
        if kind < 32 {
            match kind {
                0 => {}
                1 => options.push(Opt::Mandatory),
                2 => options.push(Opt::SlowReceiver),
                other => options.push(Opt::Other(other, Vec::new())),
            }
            bytes = &bytes[1..];
            continue;
        }
        let length = usize::from(*bytes.get(1).ok_or(Malformed::Options)?);
        let content = bytes.get(2..length).ok_or(Malformed::Options)?;
        bytes = &bytes[length..];
        let read = known(kind, content).unwrap_or_else(|| Opt::Other(kind, content.to_vec()));
        // Adjacent Ack Vector options are parts of one long vector.
        if let (Opt::AckVector(next), Some(Opt::AckVector(vector))) = (&read, options.last_mut()) {
            next.runs().for_each(|(state, n)| vector.push(state, n));
            continue;
        }
        options.push(read);
    }
    Ok(options)
}

fn known(kind: u8, content: &[u8]) -> Option<Opt> {
    if let Some(negotiation) = Negotiation::of(kind) {
        return Some(Opt::Feature(negotiation, *content.first()?, content[1..].to_vec()));
    }
    let four = || <[u8; 4]>::try_from(content).ok().map(u32::from_be_bytes);
    Some(match kind {
        36 => Opt::InitCookie(content.to_vec()),
        37 if (1..=6).contains(&content.len()) => Opt::NdpCount(number(content)),
        38 => Opt::AckVector(AckVector::read(content)),
        41 => Opt::Timestamp(four()?),
        42 if matches!(content.len(), 4 | 6 | 8) => {
            Opt::TimestampEcho(number(&content[..4]) as u32, number(&content[4..]) as u32)
        }
        43 if matches!(content.len(), 2 | 4) => Opt::ElapsedTime(number(content) as u32),
        44 => Opt::DataChecksum(four()?),
        192 => Opt::LossEventRate(four()?),
        193 if content.len() % 9 == 1 => {
            let intervals = content[1..].chunks_exact(9).map(|c| ReportedInterval {
                lossless: number(&c[..3]) as u32,
                lossy: number(&c[3..6]) as u32,
                data: number(&c[6..]) as u32,
            });
            Opt::LossIntervals(content[0], intervals.collect())
        }
        194 => Opt::ReceiveRate(four()?),
        _ => return None,
    })
}
