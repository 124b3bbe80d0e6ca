//! Ring of bits of an RLC window, one bit for each block, addressed by absolute block sequence number.

use super::Bsn;

/// Number of 64-bit words for the largest window, 1024 blocks.
const WORDS: usize = 16;

/// Ring of up to 1024 bits; the bit of a block is its sequence number modulo the ring's length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Bits {
    /// Length of the ring minus 1; the length is a power of two from 64 to 1024. The field is beside the first words, in
    /// one cache line.
    mask: u32,
    words: [u64; WORDS],
}

impl Bits {
    /// A ring of `length` clear bits; `length` is a power of two from 64 to 1024.
    pub fn new(length: u32) -> Bits {
        let length = length.next_power_of_two().clamp(64, 64 * WORDS as u32);
        Bits { words: [0; WORDS], mask: length - 1 }
    }

    /// Length of the ring, in blocks.
    #[inline]
    pub fn length(&self) -> u32 {
        self.mask + 1
    }

    /// Index of a block's bit in the ring.
    #[inline]
    pub fn index(&self, bsn: Bsn) -> usize {
        (bsn & self.mask) as usize
    }

    /// Whether the bit of `bsn` is set.
    #[inline]
    pub fn get(&self, bsn: Bsn) -> bool {
        let i = self.index(bsn);
        self.words[i / 64 % WORDS] >> (i % 64) & 1 == 1
    }
    /// Sets the bit of `bsn`.
    #[inline]
    pub fn set(&mut self, bsn: Bsn) {
        let i = self.index(bsn);
        self.words[i / 64 % WORDS] |= 1 << (i % 64);
    }
    /// Clears the bit of `bsn`.
    #[inline]
    pub fn clear(&mut self, bsn: Bsn) {
        let i = self.index(bsn);
        self.words[i / 64 % WORDS] &= !(1 << (i % 64));
    }
    /// Sets the bits at or after `from` and before `to`; the range is at most one ring long.
    pub fn set_all(&mut self, from: Bsn, to: Bsn) {
        words_in(self.mask, from, to, |i, mask| self.words[i % WORDS] |= mask);
    }
    /// Whether all bits are clear.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.used().iter().all(|w| *w == 0)
    }
    /// Number of set bits.
    pub fn count(&self) -> u32 {
        self.used().iter().map(|w| w.count_ones()).sum()
    }

    /// The words that the ring's length uses.
    fn used(&self) -> &[u64] {
        &self.words[..(self.mask as usize + 1) / 64]
    }

    /// The first set bit at or after `from` and before `to`; the range is at most one ring long.
    #[inline]
    pub fn first(&self, from: Bsn, to: Bsn) -> Option<Bsn> {
        self.scan(from, to, 0)
    }
    /// The first clear bit at or after `from` and before `to`; the range is at most one ring long.
    #[inline]
    pub fn first_clear(&self, from: Bsn, to: Bsn) -> Option<Bsn> {
        self.scan(from, to, u64::MAX)
    }

    #[inline]
    fn scan(&self, from: Bsn, to: Bsn, flip: u64) -> Option<Bsn> {
        let mut at = from;
        while at < to {
            let i = self.index(at);
            let rest = (self.words[i / 64 % WORDS] ^ flip) >> (i % 64);
            if rest != 0 {
                let found = at + rest.trailing_zeros();
                return (found < to).then_some(found);
            }
            at += 64 - (i % 64) as u32;
        }
        None
    }

    /// Word number `i` of the ring.
    #[inline]
    pub(crate) fn word(&self, i: usize) -> u64 {
        self.words[i]
    }
    /// Word number `i` of the ring, mutable.
    #[inline]
    pub(crate) fn word_mut(&mut self, i: usize) -> &mut u64 {
        &mut self.words[i]
    }
}

/// Calls `word(index, mask)` for each word that the range touches in a ring of `ring + 1` bits, with a mask of the
/// range's bits. A word can occur twice if the range wraps within it.
#[inline]
pub(crate) fn words_in(ring: u32, from: Bsn, to: Bsn, mut word: impl FnMut(usize, u64)) {
    let mut at = from;
    while at < to {
        let i = at & ring;
        let n = (64 - i % 64).min(to - at);
        let mask = if n == 64 { u64::MAX } else { ((1u64 << n) - 1) << (i % 64) };
        word((i / 64) as usize, mask);
        at += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Model test against a vector of flags.
        #[test]
        fn agrees_with_a_vector(words in 0u32..5, base in 0u32..5000, sets in proptest::collection::vec(0u32..1024, 0..80), from in 0u32..1024, len in 0u32..1024) {
            let length = 64u32 << words;
            let mut bits = Bits::new(length);
            let mut filled = bits;
            let mut plain = vec![false; length as usize];
            for s in &sets {
                let b = base + s % length;
                bits.set(b);
                plain[(b % length) as usize] = true;
            }
            let (from, to) = (base + from % length, base + from % length + len % (length + 1));
            let find = |want: bool| (from..to).find(|b| plain[(b % length) as usize] == want);
            prop_assert_eq!(bits.first(from, to), find(true));
            prop_assert_eq!(bits.first_clear(from, to), find(false));
            prop_assert_eq!(bits.count() as usize, plain.iter().filter(|p| **p).count());
            let mut inside = 0;
            words_in(length - 1, from, to, |i, mask| inside += (bits.word(i) & mask).count_ones());
            filled.set_all(from, to);
            prop_assert!((base..base + length).all(|b| filled.get(b) == (from..to).any(|c| c % length == b % length)));
            prop_assert_eq!(inside as usize, (from..to).filter(|b| plain[(b % length) as usize]).count());
        }
    }
}
