//! Internet checksum (RFC 1071): ones' complement of the ones' complement sum of 16-bit words.

use std::net::IpAddr;

/// Sum before folding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Empty sum.
    pub const ZERO: Sum = Sum(0);

    /// Adds bytes. Only the last part may have an odd length.
    #[must_use]
    pub fn and(self, bytes: &[u8]) -> Sum {
        // Words of 32 bits: 2^16 is 1 in ones' complement arithmetic of 16 bits.
        let (words, rest) = bytes.as_chunks::<4>();
        let sum = words.iter().fold(self.0, |sum, word| sum + u64::from(u32::from_be_bytes(*word)));
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        Sum(sum + u64::from(u32::from_be_bytes(last)))
    }

    /// Adds a word of 32 bits, as it is on the wire.
    #[must_use]
    #[inline]
    pub fn and_word(self, word: u32) -> Sum {
        Sum(self.0 + u64::from(word))
    }

    /// Adds another sum.
    #[must_use]
    #[inline]
    pub fn plus(self, other: Sum) -> Sum {
        Sum(self.0 + other.0)
    }

    /// Adds the pseudo header (RFC 9293 section 3.1, RFC 8200 section 8.1) of a transport header and payload
    /// of `length` bytes in total.
    #[must_use]
    pub fn and_pseudo(self, source: IpAddr, destination: IpAddr, protocol: u8, length: u32) -> Sum {
        let mut sum = self;
        for address in [source, destination] {
            sum = match address {
                IpAddr::V4(a) => sum.and(&a.octets()),
                IpAddr::V6(a) => sum.and(&a.octets()),
            };
        }
        Sum(sum.0 + u64::from(protocol)).and(&length.to_be_bytes())
    }

    /// Checksum for the header field.
    pub fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}
