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
        // Words of 32 bits: 2^16 is 1 in ones' complement arithmetic of 16 bits. The sum does not depend on the byte
        // order but for a swap at the end (RFC 1071 section 2, B), so words are added in that of the machine.
        let (words, rest) = bytes.as_chunks::<4>();
        let sum: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        let folded = fold(sum + u64::from(u32::from_ne_bytes(last)));
        Sum(self.0 + u64::from(u16::from_be_bytes(folded.to_ne_bytes())))
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
        !fold(self.0)
    }
}

/// Ones' complement sum of the four words of 16 bits.
#[inline]
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The sum of RFC 1071: words of 16 bits in network order, an odd last byte padded with 0.
        #[test]
        fn words_are_summed_in_network_order(bytes: Vec<u8>, before: u32) {
            let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
            let mut sum = u64::from(before) + bytes.chunks(2).map(word).sum::<u64>();
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            prop_assert_eq!(Sum::ZERO.and_word(before).and(&bytes).finish(), !(sum as u16));
        }
    }
}
