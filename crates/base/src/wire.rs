//! What do the bytes of an IP packet say? What a head needs to know: length, ECN, which protocol, and of a
//! TCP segment its numbers and options. Nothing here trusts what it reads: whatever the bytes are, the answer
//! is a digest or a reason why there is none.
//!
//! Sequence numbers are 32 bits here and nowhere else; [`unwrap`] makes stream offsets of them.

/// Protocol number of TCP.
pub const TCP: u8 = 6;
/// Protocol number of UDP.
pub const UDP: u8 = 17;

crate::named! {
    /// Why bytes are no IP packet.
    pub enum Malformed {
        /// Fewer bytes than the smallest header.
        Short = "shorter than its header",
        /// Neither version 4 nor version 6.
        Version = "of no known version",
        /// The header says it is shorter than a header can be.
        Header = "of a wrong header length",
        /// The length it tells is not the length it has.
        Length = "cut off",
    }
}

/// TCP's flag bits, as in the header.
pub mod flag {
    /// No more data.
    pub const FIN: u8 = 1;
    /// Opens.
    pub const SYN: u8 = 1 << 1;
    /// Aborts.
    pub const RST: u8 = 1 << 2;
    /// Hand over at once.
    pub const PSH: u8 = 1 << 3;
    /// The acknowledgement number counts.
    pub const ACK: u8 = 1 << 4;
    /// ECN echo (RFC 3168).
    pub const ECE: u8 = 1 << 6;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u8 = 1 << 7;
}

/// What an IP packet says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest {
    /// Bytes of the packet, all headers counted.
    pub size: u32,
    /// 4 or 6.
    pub version: u8,
    /// ECN codepoint (RFC 3168 section 5).
    pub ecn: u8,
    /// Differentiated services codepoint (RFC 2474).
    pub class: u8,
    /// What it carries: [`TCP`], [`UDP`] or another.
    pub protocol: u8,
    /// Bytes behind the transport's header; behind that of IP where the transport is unknown.
    pub payload: u32,
    /// The head of a TCP segment, if it is one and all of its header is here.
    pub tcp: Option<TcpHead>,
}

/// What the header of a TCP segment says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpHead {
    /// From which port.
    pub source: u16,
    /// To which.
    pub destination: u16,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Next byte expected.
    pub ack: u32,
    /// See [`flag`].
    pub flags: u8,
    /// Receive window, not scaled.
    pub window: u16,
    /// Largest segment that may come (RFC 9293 section 3.7.1), on a SYN.
    pub mss: Option<u16>,
    /// Shift of the windows that follow (RFC 7323 section 2), on a SYN.
    pub scale: Option<u8>,
    /// TSval and TSecr (RFC 7323 section 3).
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks (RFC 2018), as many as `sacks` says.
    pub sack: [(u32, u32); 4],
    /// How many SACK blocks there are.
    pub sacks: u8,
}

impl TcpHead {
    /// True if one of these flags is set.
    pub const fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
    /// The SACK blocks, first one first.
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sacks).min(4)]
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16_at(bytes, at)?) << 16 | u32::from(u16_at(bytes, at + 2)?))
}

/// Reads an IP packet, version 4 or 6. Bytes behind its end are none of it.
///
/// # Errors
/// The first thing about the bytes that no IP packet has.
pub fn read(bytes: &[u8]) -> Result<Digest, Malformed> {
    match bytes.first().ok_or(Malformed::Short)? >> 4 {
        4 => read_v4(bytes),
        6 => read_v6(bytes),
        _ => Err(Malformed::Version),
    }
}

fn read_v4(bytes: &[u8]) -> Result<Digest, Malformed> {
    let (Some(total), Some(fragment), true) = (u16_at(bytes, 2), u16_at(bytes, 6), bytes.len() >= 20) else {
        return Err(Malformed::Short);
    };
    let header = usize::from(bytes[0] & 15) * 4;
    if header < 20 || header > usize::from(total) {
        return Err(Malformed::Header);
    }
    let packet = bytes.get(..usize::from(total)).ok_or(Malformed::Length)?;
    // Only the first fragment has the transport's header.
    let first = fragment & 0x1fff == 0;
    Ok(digest(packet, 4, bytes[1], bytes[9], header, first))
}

fn read_v6(bytes: &[u8]) -> Result<Digest, Malformed> {
    let (Some(payload), true) = (u16_at(bytes, 4), bytes.len() >= 40) else { return Err(Malformed::Short) };
    let packet = bytes.get(..40 + usize::from(payload)).ok_or(Malformed::Length)?;
    let traffic = bytes[0] << 4 | bytes[1] >> 4;
    let (mut next, mut at, mut first) = (bytes[6], 40, true);
    // Extension headers tell the next one and, but for fragments, their length in eights of bytes
    // (RFC 8200 section 4). Each is at least eight bytes long, so this ends.
    while let 0 | 43 | 44 | 60 = next {
        let (Some(&following), Some(&length)) = (packet.get(at), packet.get(at + 1)) else {
            return Err(Malformed::Header);
        };
        if next == 44 {
            first = u16_at(packet, at + 2).ok_or(Malformed::Header)? & 0xfff8 == 0;
            at += 8;
        } else {
            at += 8 * (usize::from(length) + 1);
        }
        next = following;
        if at > packet.len() {
            return Err(Malformed::Header);
        }
        if !first {
            break;
        }
    }
    Ok(digest(packet, 6, traffic, next, at, first))
}

fn digest(packet: &[u8], version: u8, traffic: u8, protocol: u8, header: usize, first: bool) -> Digest {
    let inner = packet.get(header..).unwrap_or_default();
    let (tcp, behind) = match protocol {
        TCP if first => match tcp_head(inner) {
            Some((head, length)) => (Some(head), length),
            None => (None, 0),
        },
        UDP if first => (None, 8),
        _ => (None, 0),
    };
    Digest {
        size: packet.len() as u32,
        version,
        ecn: traffic & 3,
        class: traffic >> 2,
        protocol,
        payload: inner.len().saturating_sub(behind) as u32,
        tcp,
    }
}

/// The head of a segment and how long its header is.
fn tcp_head(segment: &[u8]) -> Option<(TcpHead, usize)> {
    let length = usize::from(*segment.get(12)? >> 4) * 4;
    if length < 20 {
        return None;
    }
    let options = segment.get(20..length)?;
    let mut head = TcpHead {
        source: u16_at(segment, 0)?,
        destination: u16_at(segment, 2)?,
        seq: u32_at(segment, 4)?,
        ack: u32_at(segment, 8)?,
        flags: *segment.get(13)?,
        window: u16_at(segment, 14)?,
        ..TcpHead::default()
    };
    read_options(options, &mut head);
    Some((head, length))
}

/// Reads what it knows; at the first option that cannot be right, the rest is left alone.
fn read_options(mut options: &[u8], head: &mut TcpHead) {
    while let [kind, rest @ ..] = options {
        match kind {
            0 => return,
            1 => {
                options = rest;
                continue;
            }
            _ => {}
        }
        let Some(&length) = rest.first() else { return };
        let length = usize::from(length);
        if length < 2 {
            return;
        }
        let Some(value) = options.get(2..length) else { return };
        match (kind, value.len()) {
            (2, 2) => head.mss = u16_at(value, 0),
            (3, 1) => head.scale = value.first().copied(),
            (8, 8) => head.timestamps = u32_at(value, 0).zip(u32_at(value, 4)),
            (5, n) if n % 8 == 0 && n <= 32 => {
                head.sacks = 0;
                for block in value.chunks_exact(8) {
                    if let Some(edges) = u32_at(block, 0).zip(u32_at(block, 4)) {
                        head.sack[usize::from(head.sacks)] = edges;
                        head.sacks += 1;
                    }
                }
            }
            _ => {}
        }
        options = options.get(length..).unwrap_or_default();
    }
}

/// Gives an IP packet another ECN codepoint and mends the checksum of its header (RFC 1624). Bytes that
/// are no IP packet stay as they are.
pub fn set_ecn(bytes: &mut [u8], ecn: u8) {
    let ecn = ecn & 3;
    match bytes.first().map(|b| b >> 4) {
        Some(4) if bytes.len() >= 20 => {
            let old = u16::from_be_bytes([bytes[0], bytes[1]]);
            bytes[1] = bytes[1] & !3 | ecn;
            let new = u16::from_be_bytes([bytes[0], bytes[1]]);
            let sum = u16::from_be_bytes([bytes[10], bytes[11]]);
            // HC' = ~(~HC + ~m + m')
            let mut acc = u32::from(!sum) + u32::from(!old) + u32::from(new);
            acc = (acc & 0xffff) + (acc >> 16);
            acc = (acc & 0xffff) + (acc >> 16);
            bytes[10..12].copy_from_slice(&(!(acc as u16)).to_be_bytes());
        }
        Some(6) if bytes.len() >= 40 => bytes[1] = bytes[1] & !(3 << 4) | ecn << 4,
        _ => {}
    }
}

/// The stream offset nearest to `near` whose low 32 bits are `wire`; never below 0.
pub fn unwrap(near: u64, wire: u32) -> u64 {
    let ahead = wire.wrapping_sub(near as u32) as i32;
    let at = near.saturating_add_signed(i64::from(ahead));
    // Below zero there is nothing: then it is the one above.
    if at as u32 == wire { at } else { near.saturating_add(u64::from(wire.wrapping_sub(near as u32))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(header: &[u8]) -> u16 {
        let mut acc: u32 =
            header.chunks(2).map(|c| u32::from(c[0]) << 8 | c.get(1).map_or(0, |b| u32::from(*b))).sum();
        while acc > 0xffff {
            acc = (acc & 0xffff) + (acc >> 16);
        }
        acc as u16
    }

    /// A segment with timestamps and two SACK blocks.
    fn packet(payload: usize, tos: u8) -> Vec<u8> {
        let mut b = vec![0u8; 20];
        let mut tcp = vec![0u8; 20];
        tcp[0..2].copy_from_slice(&5000u16.to_be_bytes());
        tcp[2..4].copy_from_slice(&6000u16.to_be_bytes());
        tcp[4..8].copy_from_slice(&7u32.to_be_bytes());
        tcp[8..12].copy_from_slice(&9u32.to_be_bytes());
        tcp[13] = flag::ACK | flag::PSH;
        tcp[14..16].copy_from_slice(&512u16.to_be_bytes());
        tcp.extend([1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4]);
        tcp.extend([1, 1, 5, 18, 0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40, 0, 0, 0, 50]);
        tcp[12] = ((tcp.len() / 4) << 4) as u8;
        tcp.extend(vec![0u8; payload]);
        let total = (20 + tcp.len()) as u16;
        b[0] = 0x45;
        b[1] = tos;
        b[2..4].copy_from_slice(&total.to_be_bytes());
        b[8] = 64;
        b[9] = TCP;
        let check = !sum(&b);
        b[10..12].copy_from_slice(&check.to_be_bytes());
        b.extend(tcp);
        b
    }

    #[test]
    fn a_segment_is_read() {
        let d = read(&packet(100, 0xb8 | 2)).unwrap();
        assert_eq!((d.size, d.version, d.ecn, d.class, d.protocol, d.payload), (172, 4, 2, 46, TCP, 100));
        let t = d.tcp.unwrap();
        assert_eq!((t.source, t.destination, t.seq, t.ack, t.window), (5000, 6000, 7, 9, 512));
        assert_eq!(t.timestamps, Some((3, 4)));
        assert_eq!(t.blocks(), [(20, 30), (40, 50)]);
        assert!(t.has(flag::ACK) && !t.has(flag::SYN | flag::FIN | flag::RST));
    }

    #[test]
    fn a_packet_of_version_6_is_read_through_its_extensions() {
        let v4 = packet(10, 0);
        let mut b = vec![0x6f, 0xe0, 0, 0];
        let inner = &v4[20..];
        b.extend((8 + inner.len() as u16).to_be_bytes());
        b.extend([60, 64]);
        b.extend([0; 32]);
        b.extend([TCP, 0, 0, 0, 0, 0, 0, 0]);
        b.extend(inner);
        let d = read(&b).unwrap();
        assert_eq!((d.version, d.ecn, d.class, d.protocol, d.payload), (6, 2, 63, TCP, 10));
        assert_eq!(d.tcp.unwrap().seq, 7);
        set_ecn(&mut b, 1);
        let d = read(&b).unwrap();
        assert_eq!((d.ecn, d.class), (1, 63));
        // A later fragment carries no head.
        b[6] = 44;
        b[40..48].copy_from_slice(&[TCP, 0, 0, 0x10, 0, 0, 0, 0]);
        assert!(read(&b).unwrap().tcp.is_none());
    }

    #[test]
    fn what_is_no_packet_is_told() {
        assert_eq!(read(&[]), Err(Malformed::Short));
        assert_eq!(read(&[0x45, 0]), Err(Malformed::Short));
        assert_eq!(read(&[0x75; 40]), Err(Malformed::Version));
        let mut b = packet(4, 0);
        b[0] = 0x44;
        assert_eq!(read(&b), Err(Malformed::Header));
        let b = packet(4, 0);
        assert_eq!(read(&b[..b.len() - 1]), Err(Malformed::Length));
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), version in 0u8..16, ecn: u8) {
            if let Some(first) = bytes.first_mut() {
                *first = version << 4 | *first & 15;
            }
            if let Ok(d) = read(&bytes) {
                prop_assert!(d.size as usize <= bytes.len() && d.payload <= d.size);
                set_ecn(&mut bytes, ecn);
                prop_assert_eq!(read(&bytes).map(|d| d.ecn), Ok(ecn & 3));
            }
        }

        #[test]
        fn nothing_inside_a_segment_makes_it_panic(payload in 0usize..50, changes in proptest::collection::vec((0usize..120, any::<u8>()), 0..12)) {
            let mut bytes = packet(payload, 0);
            for (at, value) in changes {
                let n = bytes.len();
                bytes[at % n] = value;
            }
            if let Ok(d) = read(&bytes) {
                prop_assert!(d.payload <= d.size);
            }
        }

        #[test]
        fn the_checksum_stays_right(tos: u8, ecn in 0u8..4) {
            let mut bytes = packet(3, tos);
            set_ecn(&mut bytes, ecn);
            prop_assert_eq!(sum(&bytes[..20]), 0xffff);
            prop_assert_eq!(bytes[1], tos & !3 | ecn);
        }

        #[test]
        fn offsets_come_back(at in 0u64..1 << 40, away in -(1i64 << 31) + 1..1i64 << 31) {
            let near = at.saturating_add_signed(away);
            prop_assert_eq!(unwrap(near, at as u32), at);
        }
    }
}
