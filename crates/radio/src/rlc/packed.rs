//! Report of received blocks in a quarter of its size, for reports that wait in long lists until they arrive.

use super::Bsn;
use super::bits::Bits;
use super::receive::Receiver;

/// Words of a bitmap that a packed report holds: at least 129 blocks wherever the first one lies in its word.
const WORDS: usize = 3;

/// A [`super::receive::Report`] with only the words of the bitmap from V(Q) to V(R), and without the final block.
#[derive(Clone, Debug)]
pub struct PackedReport {
    complete: Bsn,
    end: Bsn,
    bitmap: Bitmap,
}

#[derive(Clone, Debug)]
enum Bitmap {
    /// Length of the ring, and its words from that of V(Q).
    Short(u16, [u64; WORDS]),
    /// All of the ring, for more blocks.
    Long(Box<Bits>),
}

impl PackedReport {
    /// Report of a receiver that covers the whole window, as [`Receiver::report`].
    #[inline]
    pub fn of(receiver: &Receiver) -> PackedReport {
        let (complete, end, received) = (receiver.vq(), receiver.vr(), receiver.received());
        let bitmap = if end.saturating_sub(complete) <= 64 * (WORDS as u32 - 1) {
            let words = std::array::from_fn(|k| received.word(place(received, complete, k)));
            Bitmap::Short(received.length() as u16, words)
        } else {
            Bitmap::Long(Box::new(*received))
        };
        PackedReport { complete, end, bitmap }
    }

    /// V(Q).
    #[inline]
    pub fn complete(&self) -> Bsn {
        self.complete
    }

    /// First block that the report does not cover.
    pub(super) fn end(&self) -> Bsn {
        self.end
    }

    /// Length of the ring of blocks.
    pub(super) fn length(&self) -> u32 {
        match &self.bitmap {
            Bitmap::Short(length, _) => u32::from(*length),
            Bitmap::Long(bits) => bits.length(),
        }
    }

    /// Word `i` of the ring, for a word with blocks from V(Q) to the end of the report.
    #[inline]
    pub(super) fn word(&self, i: usize) -> u64 {
        match &self.bitmap {
            Bitmap::Long(bits) => bits.word(i),
            Bitmap::Short(length, words) => {
                let all = usize::from(*length) / 64 - 1;
                let first = self.complete as usize / 64;
                words[(i.wrapping_sub(first) & all).min(WORDS - 1)]
            }
        }
    }
}

/// Index of the word `k` words after that of a block.
#[inline]
fn place(bits: &Bits, bsn: Bsn, k: usize) -> usize {
    (bits.index(bsn) / 64 + k) & (bits.length() as usize / 64 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rlc::bits::words_in;
    use crate::rlc::receive::BlockPart;
    use crate::rlc::{Mode, Numbering};
    use base::rng::mix;

    /// A packed report has V(Q), V(R) and the bit of each block between as the report has, for gaps
    /// up to the window, in rings of all lengths.
    #[test]
    fn a_packed_report_says_what_the_report_says() {
        for window in [64, 192, 384, 1024] {
            let mut receiver = Receiver::new(Numbering::egprs(window), Mode::Acknowledged, false);
            let (mut short, mut long) = (0, 0);
            for i in 0..20_000_u64 {
                let draw = mix(i);
                let reach = if (i / 1000).is_multiple_of(2) { window.min(40) } else { window };
                let bsn = receiver.vq() + (draw >> 8) as u32 % reach;
                receiver.take(bsn, BlockPart::Whole, draw.is_multiple_of(500));
                let (packed, report) = (PackedReport::of(&receiver), receiver.report());
                match packed.bitmap {
                    Bitmap::Short(..) => short += 1,
                    Bitmap::Long(_) => long += 1,
                }
                assert_eq!((packed.complete, packed.end), (report.complete, report.end));
                let ring = report.received.length();
                assert_eq!(packed.length(), ring);
                words_in(ring - 1, report.complete, report.end, |i, mask| {
                    assert_eq!(packed.word(i) & mask, report.received.word(i) & mask, "{window} {i}");
                });
            }
            assert!(short > 500 && (window <= 128 || long > 1000), "{window}: {short} {long}");
        }
    }
}
