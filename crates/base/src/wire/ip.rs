//! IP header, versions 4 and 6 (RFC 791, RFC 8200): reader of addresses, length, ECN, fragment fields and
//! extension headers.
//!
//! Extension headers of IPv6 are skipped; they count as header.

use super::{Malformed, u16_at, u32_at};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Range of a packet's payload in a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Offset in the payload, bytes.
    pub offset: u32,
    /// More fragments flag.
    pub more: bool,
}

/// Fields of an IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpHead {
    /// IP version: 4 or 6.
    pub version: u8,
    /// ECN codepoint (RFC 3168 section 5).
    pub ecn: u8,
    /// Differentiated services codepoint (RFC 2474).
    pub class: u8,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Protocol number. In IPv6, the protocol behind the extension headers, or the extension header that is
    /// truncated.
    pub protocol: u8,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Identification: 16 bits in IPv4; 32 bits in an IPv6 fragment header, otherwise `None`.
    pub id: Option<u32>,
    /// DF bit of IPv4; always set for IPv6.
    pub whole: bool,
    /// Offset and flag of a fragment; `None` for a whole packet.
    pub fragment: Option<Fragment>,
    /// Size of the packet, all headers counted, bytes.
    pub size: u32,
    /// Size of the headers, extension headers counted, bytes. At most `size`.
    pub header: u32,
}

impl IpHead {
    /// Reads the header of a packet that may be truncated behind it. `wire` is the packet's size on the wire
    /// as known to the lower layer, 0 if unknown. It applies where the header states no length (a segment
    /// captured before segmentation offload).
    ///
    /// # Errors
    /// First defect found in the bytes. Truncation behind the header is no error.
    pub fn read(bytes: &[u8], wire: u32) -> Result<IpHead, Malformed> {
        match bytes.first().ok_or(Malformed::Short)? >> 4 {
            4 => IpHead::read_v4(bytes, wire),
            6 => IpHead::read_v6(bytes, wire),
            _ => Err(Malformed::Version),
        }
    }

    /// Whether the transport header is at the start of the payload: true for all packets but later fragments.
    pub fn is_first(&self) -> bool {
        self.fragment.is_none_or(|f| f.offset == 0)
    }

    fn read_v4(bytes: &[u8], wire: u32) -> Result<IpHead, Malformed> {
        let b = bytes.first_chunk::<20>().ok_or(Malformed::Short)?;
        let at = |k: usize| u16::from_be_bytes([b[k], b[k + 1]]);
        let header = u32::from(b[0] & 15) * 4;
        let size = match at(2) {
            0 => wire,
            told => u32::from(told),
        };
        if header < 20 || header > size {
            return Err(Malformed::Header);
        }
        let (offset, more) = (u32::from(at(6) & 0x1fff) * 8, at(6) & 0x2000 != 0);
        Ok(IpHead {
            version: 4,
            ecn: b[1] & 3,
            class: b[1] >> 2,
            ttl: b[8],
            protocol: b[9],
            source: IpAddr::V4(Ipv4Addr::new(b[12], b[13], b[14], b[15])),
            destination: IpAddr::V4(Ipv4Addr::new(b[16], b[17], b[18], b[19])),
            id: Some(u32::from(at(4))),
            whole: at(6) & 0x4000 != 0,
            fragment: (offset > 0 || more).then_some(Fragment { offset, more }),
            size,
            header,
        })
    }

    fn read_v6(bytes: &[u8], wire: u32) -> Result<IpHead, Malformed> {
        let b = bytes.first_chunk::<40>().ok_or(Malformed::Short)?;
        let address = |k: usize| {
            let bytes: [u8; 16] = std::array::from_fn(|i| b[k + i]);
            IpAddr::V6(Ipv6Addr::from(bytes))
        };
        let traffic = b[0] << 4 | b[1] >> 4;
        let size = match u16::from_be_bytes([b[4], b[5]]) {
            0 => wire.max(40),
            told => 40 + u32::from(told),
        };
        let mut head = IpHead {
            version: 6,
            ecn: traffic & 3,
            class: traffic >> 2,
            ttl: b[7],
            protocol: b[6],
            source: address(8),
            destination: address(24),
            id: None,
            whole: true,
            fragment: None,
            size,
            header: 40,
        };
        head.walk(bytes)?;
        Ok(head)
    }

    /// Extension headers state the next one and, except for fragments, their length in units of 8 bytes (RFC
    /// 8200 section 4; authentication in units of 4, RFC 4302 section 2.2). Each has at least 8 bytes, so the
    /// loop ends.
    fn walk(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        while let 0 | 43 | 44 | 51 | 60 | 135 | 139 | 140 = self.protocol {
            let at = self.header as usize;
            let (Some(&next), Some(&told)) = (bytes.get(at), bytes.get(at + 1)) else {
                return if self.header + 8 > self.size { Err(Malformed::Header) } else { Ok(()) };
            };
            let length = match self.protocol {
                44 => 8,
                51 => 4 * (u32::from(told) + 2),
                _ => 8 * (u32::from(told) + 1),
            };
            if self.header + length > self.size {
                return Err(Malformed::Header);
            }
            if self.protocol == 44 {
                let (Some(place), Some(id)) = (u16_at(bytes, at + 2), u32_at(bytes, at + 4)) else {
                    return Ok(());
                };
                let fragment = Fragment { offset: u32::from(place & 0xfff8), more: place & 1 != 0 };
                self.id = Some(id);
                self.fragment = (fragment.offset > 0 || fragment.more).then_some(fragment);
            }
            self.header += length;
            self.protocol = next;
            if !self.is_first() {
                break;
            }
        }
        Ok(())
    }
}
