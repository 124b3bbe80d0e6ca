//! Wire format of IP packets: digest of IP and transport headers, ECN marking, connection hash, sequence
//! number unwrapping.
//!
//! [`IpHead`] and [`TcpHead`] read one header each, also from truncated captures. [`read`] digests a whole
//! packet: length, ECN, protocol, and the fields and options of a TCP segment. Input is untrusted: any bytes
//! yield either a result or the reason why they are malformed.
//!
//! Sequence numbers have 32 bits only on the wire; [`unwrap`] converts them to stream offsets.

pub mod checksum;
pub mod deadline;
pub mod fragment;
pub mod frame;
pub mod hdlc;
pub mod icmp;
mod ip;
pub mod join;
pub mod offload;
pub mod reset;
pub mod sctp;
pub mod segment;
mod tcp;

pub use ip::{Fragment, IpHead};
pub use tcp::{TcpHead, flag, option};

use std::net::IpAddr;

/// Protocol number of TCP.
pub const TCP: u8 = 6;
/// Protocol number of UDP.
pub const UDP: u8 = 17;
/// Protocol number of DCCP.
pub const DCCP: u8 = 33;
/// Protocol number of SCTP.
pub const SCTP: u8 = 132;

crate::named! {
    /// Defect of bytes that are no IP packet.
    pub enum Malformed {
        /// Fewer bytes than the smallest header.
        Short = "shorter than its header",
        /// Neither version 4 nor version 6.
        Version = "of no known version",
        /// The stated header length is too small.
        Header = "of a wrong header length",
        /// The stated length differs from the actual length.
        Length = "cut off",
    }
}

/// Digest of an IP packet.
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
    /// Protocol number: [`TCP`], [`UDP`] or another.
    pub protocol: u8,
    /// Bytes behind the transport header; for SCTP the user data; for an unknown transport the bytes behind
    /// the IP header.
    pub payload: u32,
    /// Head of a TCP segment, if it is one and its header is complete.
    pub tcp: Option<TcpHead>,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16_at(bytes, at)?) << 16 | u32::from(u16_at(bytes, at + 2)?))
}

/// Destination address of an IP packet; `None` if the bytes are no IP header.
pub fn destination(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.first()? >> 4 {
        4 => Some(IpAddr::from(<[u8; 4]>::try_from(bytes.get(16..20)?).ok()?)),
        6 => Some(IpAddr::from(<[u8; 16]>::try_from(bytes.get(24..40)?).ok()?)),
        _ => None,
    }
}

/// Hash (FNV-1a) of both addresses and ports of an IP packet, equal for both directions; `None` if the bytes
/// are no IP packet. Ports are included for TCP and UDP.
pub fn connection(bytes: &[u8]) -> Option<u64> {
    let ip = IpHead::read(bytes, 0).ok()?;
    let ports = matches!(ip.protocol, TCP | UDP).then_some(ip.header as usize);
    let port = |at: usize| ports.and_then(|ports| u16_at(bytes, ports + at)).unwrap_or(0);
    let mut ends = [(ip.source, port(0)), (ip.destination, port(2))];
    ends.sort_unstable();
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for (address, port) in ends {
        match address {
            IpAddr::V4(address) => address.octets().into_iter().for_each(&mut add),
            IpAddr::V6(address) => address.octets().into_iter().for_each(&mut add),
        }
        port.to_be_bytes().into_iter().for_each(&mut add);
    }
    add(ip.protocol);
    Some(hash)
}

/// Reads a complete IPv4 or IPv6 packet. Bytes behind its end are ignored.
///
/// # Errors
/// First defect found in the bytes.
pub fn read(bytes: &[u8]) -> Result<Digest, Malformed> {
    let ip = IpHead::read(bytes, 0)?;
    let inner = bytes.get(ip.header as usize..ip.size as usize).ok_or(Malformed::Length)?;
    let (tcp, behind) = match ip.protocol {
        // An incomplete TCP header is left out.
        TCP if ip.is_first() => TcpHead::read(inner).filter(|(head, _)| !head.cut).unzip(),
        UDP if ip.is_first() => (None, Some(8)),
        _ => (None, None),
    };
    let payload = match (behind, ip.protocol) {
        // A chunk's length field may exceed the packet.
        (None, SCTP) if ip.is_first() => sctp::payload(inner).min(inner.len() as u32),
        // RFC 4340 section 5.1: the data offset counts words of the whole header.
        (None, DCCP) if ip.is_first() && inner.len() > 4 => {
            inner.len().saturating_sub(usize::from(inner[4]) * 4) as u32
        }
        _ => inner.len().saturating_sub(behind.unwrap_or(0)) as u32,
    };
    Ok(Digest {
        size: ip.size,
        version: ip.version,
        ecn: ip.ecn,
        class: ip.class,
        protocol: ip.protocol,
        payload,
        tcp,
    })
}

/// Sets the ECN codepoint of an IP packet and updates the header checksum (RFC 1624). Other bytes stay
/// unchanged.
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

/// Stream offset nearest to `near` with the low 32 bits `wire`; never below 0.
pub fn unwrap(near: u64, wire: u32) -> u64 {
    let ahead = wire.wrapping_sub(near as u32) as i32;
    let at = near.saturating_add_signed(i64::from(ahead));
    // Instead of a negative result, the next offset above `near`.
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
