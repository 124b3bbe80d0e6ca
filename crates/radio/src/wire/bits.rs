//! Writer and reader of bit fields in RLC/MAC messages: most significant bit first as in CSN.1 (3GPP TS 24.007 annex
//! B), least significant first as in EGPRS data blocks (44.060 section 10.0b).

/// Spare padding octet of GSM messages (44.060 section 11).
pub const FILLER: u8 = 0x2b;

/// Writer of bit fields, most significant bit first.
#[derive(Clone, Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    bits: usize,
}

impl BitWriter {
    /// An empty bit string.
    pub fn new() -> Self {
        BitWriter::default()
    }
    /// Appends the lowest `bits` bits of `value`, at most 64.
    #[must_use]
    pub fn put(mut self, value: u64, bits: u32) -> Self {
        for i in (0..bits).rev() {
            self.push(value >> i & 1 == 1);
        }
        self
    }
    /// Appends one bit.
    pub fn push(&mut self, bit: bool) {
        if self.bits.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if bit && let Some(last) = self.bytes.last_mut() {
            *last |= 0x80 >> (self.bits % 8);
        }
        self.bits += 1;
    }
    /// Number of bits written.
    pub fn len(&self) -> usize {
        self.bits
    }
    /// Whether no bit is written.
    pub fn is_empty(&self) -> bool {
        self.bits == 0
    }
    /// The octets, padded with the filler pattern or truncated to `octets` octets.
    pub fn filled(mut self, octets: usize) -> Vec<u8> {
        while self.bits < octets * 8 {
            let bit = FILLER << (self.bits % 8) & 0x80 != 0;
            self.push(bit);
        }
        self.bytes.truncate(octets);
        self.bytes
    }
}

/// Reader of bit fields, most significant bit first.
#[derive(Clone, Copy, Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    /// A reader at the first bit of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        BitReader { bytes, at: 0 }
    }
    /// Reads the next field of `bits` bits, at most 64; `None` if fewer bits are left.
    pub fn take(&mut self, bits: u32) -> Option<u64> {
        if self.at + bits as usize > self.bytes.len() * 8 || bits > 64 {
            return None;
        }
        let mut value = 0;
        for _ in 0..bits {
            let octet = self.bytes.get(self.at / 8)?;
            value = value << 1 | u64::from(octet >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(value)
    }
    /// Reads the next bit.
    pub fn flag(&mut self) -> Option<bool> {
        Some(self.take(1)? == 1)
    }
    /// Reads the next bit and compares it with the filler at its position: true for H in CSN.1's L|H.
    pub fn high(&mut self) -> Option<bool> {
        let filler = FILLER << (self.at % 8) & 0x80 != 0;
        Some(self.flag()? != filler)
    }
    /// Number of bits left.
    pub fn left(&self) -> usize {
        (self.bytes.len() * 8).saturating_sub(self.at)
    }
}

/// Writes `bits` of `value` into `bytes`, least significant bit first, from bit `at` on; bits beyond the end
/// are dropped.
pub fn put_low(bytes: &mut [u8], at: usize, value: u64, bits: u32) {
    for i in 0..bits as usize {
        let place = at + i;
        if let Some(octet) = bytes.get_mut(place / 8) {
            let mask = 1 << (place % 8);
            if value >> i & 1 == 1 { *octet |= mask } else { *octet &= !mask }
        }
    }
}

/// Reads `bits` from bit `at` on, least significant bit first; `None` beyond the end.
pub fn get_low(bytes: &[u8], at: usize, bits: u32) -> Option<u64> {
    let mut value = 0;
    for i in 0..bits as usize {
        let octet = bytes.get((at + i) / 8)?;
        value |= u64::from(octet >> ((at + i) % 8) & 1) << i;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_in_both_orders_come_back() {
        let bytes = BitWriter::new().put(0b10_0101, 6).put(3, 2).put(0x1234_5678, 32).filled(7);
        assert_eq!(bytes, [0b1001_0111, 0x12, 0x34, 0x56, 0x78, FILLER, FILLER]);
        let mut r = BitReader::new(&bytes);
        assert_eq!((r.take(6), r.take(2), r.take(32)), (Some(0b10_0101), Some(3), Some(0x1234_5678)));
        assert_eq!((r.high(), r.left(), r.take(16)), (Some(false), 15, None));
        let mut low = [0u8; 4];
        put_low(&mut low, 5, 0x6a5, 11);
        assert_eq!(get_low(&low, 5, 11), Some(0x6a5));
        assert_eq!(get_low(&low, 30, 3), None);
    }
}
