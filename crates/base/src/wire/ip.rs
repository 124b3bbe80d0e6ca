//! IP headers, versions 4 and 6 (RFC 791, RFC 8200).
//!
//! Extension headers of version 6 are walked through; they count as header.

use super::{Malformed, u16_at, u32_at};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Which part of a packet a fragment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Bytes of the packet's inside that come before it.
    pub offset: u32,
    /// Others come after it.
    pub more: bool,
}

/// What the header of an IP packet says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpHead {
    /// 4 or 6.
    pub version: u8,
    /// ECN codepoint (RFC 3168 section 5).
    pub ecn: u8,
    /// Differentiated services codepoint (RFC 2474).
    pub class: u8,
    /// Hops it may still make.
    pub ttl: u8,
    /// What it carries. Of version 6: what stands behind the extension headers, or the extension header whose end is
    /// not here any more.
    pub protocol: u8,
    /// From where.
    pub source: IpAddr,
    /// To where.
    pub destination: IpAddr,
    /// Identification: 16 bits of version 4; the 32 of a fragment header of version 6, else `None`.
    pub id: Option<u32>,
    /// Version 4: routers must not cut it up. Version 6: always.
    pub whole: bool,
    /// Set if it is a part of a packet.
    pub fragment: Option<Fragment>,
    /// Bytes of the packet, all headers counted.
    pub size: u32,
    /// Bytes of its headers, extension headers counted. At most `size`.
    pub header: u32,
}

impl IpHead {
    /// Reads the header of a packet whose beginning at least is here. `wire` is how many bytes it had on the wire as
    /// far as the layer below knows, 0 if unknown: it counts where the header tells no length (a segment that the
    /// network card was to cut up, as captured before it did).
    ///
    /// # Errors
    /// The first thing about the bytes that no IP packet has. That there are fewer bytes than `size` is none.
    pub fn read(bytes: &[u8], wire: u32) -> Result<IpHead, Malformed> {
        match bytes.first().ok_or(Malformed::Short)? >> 4 {
            4 => IpHead::read_v4(bytes, wire),
            6 => IpHead::read_v6(bytes, wire),
            _ => Err(Malformed::Version),
        }
    }

    /// True if the transport's header stands at the beginning of its inside: all but later fragments.
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

    /// Extension headers tell the next one and, but for fragments, their length in eights of bytes (RFC 8200
    /// section 4; authentication in fours, RFC 4302 section 2.2). Each is at least eight bytes long, so this ends.
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
