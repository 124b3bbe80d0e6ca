//! RTP and RTCP on the wire (RFC 3550 sections 5.1, 6.4 to 6.6), in UDP datagrams.

use crate::packet::{Block, Compound, Content, HEADER, Rtp, SenderInfo, chunk};

/// UDP port of data; the next one is RTCP's (RFC 3550 section 11).
pub const PORT: u16 = 5004;
/// RTCP packet types (RFC 3550 section 12.1).
const SR: u8 = 200;
const RR: u8 = 201;
const SDES: u8 = 202;
const BYE: u8 = 203;
/// Source description item CNAME.
const CNAME: u8 = 1;
/// Version 2 in the upper two bits.
const VERSION: u8 = 2 << 6;

/// Reason why a packet cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Fewer octets than its header or length field requires.
    #[error("the packet ends inside a header")]
    Short,
    /// Version other than 2.
    #[error("the version is not 2")]
    Version,
    /// A compound packet that does not begin with a report.
    #[error("the compound packet does not begin with a report")]
    NoReport,
}

fn word(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// RTP header that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Marker bit.
    pub marker: bool,
    /// Payload type.
    pub payload_type: u8,
    /// Sequence number.
    pub seq: u16,
    /// Timestamp.
    pub timestamp: u32,
    /// Source.
    pub ssrc: u32,
    /// Octets before the payload.
    pub length: usize,
}

impl Header {
    /// Appends the header (RFC 3550 section 5.1), without contributing sources.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        out.push(u8::from(self.marker) << 7 | self.payload_type & 0x7f);
        out.extend_from_slice(&self.seq.to_be_bytes());
        word(out, self.timestamp);
        word(out, self.ssrc);
    }

    /// Reads a header; contributing sources and the extension are passed over.
    pub fn read(bytes: &[u8]) -> Result<Header, Malformed> {
        let fixed: &[u8; 12] = bytes.first_chunk().ok_or(Malformed::Short)?;
        if fixed[0] >> 6 != 2 {
            return Err(Malformed::Version);
        }
        let mut length = 12 + 4 * usize::from(fixed[0] & 15);
        if fixed[0] & 0x10 != 0 {
            let extension = bytes.get(length..length + 4).ok_or(Malformed::Short)?;
            length += 4 + 4 * usize::from(u16::from_be_bytes([extension[2], extension[3]]));
        }
        if length > bytes.len() {
            return Err(Malformed::Short);
        }
        Ok(Header {
            marker: fixed[1] & 0x80 != 0,
            payload_type: fixed[1] & 0x7f,
            seq: u16::from_be_bytes([fixed[2], fixed[3]]),
            timestamp: u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
            ssrc: u32::from_be_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]),
            length,
        })
    }
}

/// Appends the common header of an RTCP packet: `octets` with this header, and a count.
fn control(out: &mut Vec<u8>, kind: u8, count: usize, octets: u32) {
    out.push(VERSION | (count & 31) as u8);
    out.push(kind);
    out.extend_from_slice(&((octets / 4 - 1) as u16).to_be_bytes());
}

impl Compound {
    /// Appends the compound packet.
    pub fn write(&self, out: &mut Vec<u8>) {
        let blocks = &self.blocks[..self.blocks.len().min(31)];
        let octets = 8 + 24 * blocks.len() as u32;
        match &self.sender {
            Some(info) => {
                control(out, SR, blocks.len(), octets + 20);
                word(out, self.ssrc);
                out.extend_from_slice(&info.ntp.to_be_bytes());
                word(out, info.timestamp);
                word(out, info.packets);
                word(out, info.octets);
            }
            None => {
                control(out, RR, blocks.len(), octets);
                word(out, self.ssrc);
            }
        }
        for block in blocks {
            word(out, block.ssrc);
            word(out, u32::from(block.fraction) << 24 | block.lost as u32 & 0x00ff_ffff);
            word(out, block.highest);
            word(out, block.jitter);
            word(out, block.last_report);
            word(out, block.since_last_report);
        }
        if !self.cname.is_empty() {
            let text = &self.cname.as_bytes()[..self.cname.len().min(255)];
            let octets = chunk(text.len() as u32);
            control(out, SDES, 1, 4 + octets);
            let end = out.len() + octets as usize;
            word(out, self.ssrc);
            out.extend_from_slice(&[CNAME, text.len() as u8]);
            out.extend_from_slice(text);
            out.resize(end, 0);
        }
        if self.bye {
            control(out, BYE, 1, 8);
            word(out, self.ssrc);
        }
    }

    /// Reads a compound packet. Packets of other types are passed over.
    pub fn read(mut bytes: &[u8]) -> Result<Compound, Malformed> {
        let mut compound = Compound::default();
        let mut first = true;
        while !bytes.is_empty() {
            let head: &[u8; 4] = bytes.first_chunk().ok_or(Malformed::Short)?;
            if head[0] >> 6 != 2 {
                return Err(Malformed::Version);
            }
            let length = 4 * (1 + usize::from(u16::from_be_bytes([head[2], head[3]])));
            let (packet, rest) = bytes.split_at_checked(length).ok_or(Malformed::Short)?;
            let (kind, count) = (head[1], usize::from(head[0] & 31));
            if first && !matches!(kind, SR | RR) {
                return Err(Malformed::NoReport);
            }
            first = false;
            match kind {
                SR | RR => compound.read_report(kind, count, packet)?,
                SDES if count > 0 => compound.read_name(packet),
                BYE => compound.bye = true,
                _ => {}
            }
            bytes = rest;
        }
        if first { Err(Malformed::Short) } else { Ok(compound) }
    }

    fn read_report(&mut self, kind: u8, count: usize, packet: &[u8]) -> Result<(), Malformed> {
        let at = |n: usize| -> Result<u32, Malformed> {
            let bytes = packet.get(4 * n..4 * n + 4).ok_or(Malformed::Short)?;
            Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        self.ssrc = at(1)?;
        let mut n = 2;
        if kind == SR {
            let ntp = u64::from(at(2)?) << 32 | u64::from(at(3)?);
            self.sender = Some(SenderInfo { ntp, timestamp: at(4)?, packets: at(5)?, octets: at(6)? });
            n = 7;
        }
        for _ in 0..count {
            let loss = at(n + 1)?;
            self.blocks.push(Block {
                ssrc: at(n)?,
                fraction: (loss >> 24) as u8,
                // 24 bits with sign.
                lost: ((loss << 8) as i32) >> 8,
                highest: at(n + 2)?,
                jitter: at(n + 3)?,
                last_report: at(n + 4)?,
                since_last_report: at(n + 5)?,
            });
            n += 6;
        }
        Ok(())
    }

    fn read_name(&mut self, packet: &[u8]) {
        if let [_, _, _, _, _, _, _, _, CNAME, length, text @ ..] = packet
            && let Some(text) = text.get(..usize::from(*length))
        {
            self.cname = String::from_utf8_lossy(text).into_owned();
        }
    }
}

/// Appends a UDP datagram; the checksum is zero, not computed (RFC 768).
pub fn datagram(packet: &Rtp, out: &mut Vec<u8>) {
    let start = out.len();
    let port = PORT + u16::from(matches!(packet.content, Content::Control(_)));
    for value in [port, port, 0, 0] {
        out.extend_from_slice(&value.to_be_bytes());
    }
    match &packet.content {
        Content::Data { seq, timestamp, marker, payload_type, header, bytes, .. } => {
            let (marker, payload_type, timestamp) = (*marker, *payload_type, *timestamp);
            let (seq, ssrc, length) = (*seq as u16, packet.ssrc, HEADER as usize);
            Header { marker, payload_type, seq, timestamp, ssrc, length }.write(out);
            out.resize(out.len() + (header + bytes) as usize, 0);
        }
        Content::Control(compound) => compound.write(out),
    }
    let length = u16::try_from(out.len() - start).unwrap_or(u16::MAX);
    out[start + 4..start + 6].copy_from_slice(&length.to_be_bytes());
}
