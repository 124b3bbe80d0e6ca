//! SACK scoreboard: reported ranges above the cumulative ACK.
//!
//! Ranges are ascending and disjoint. Memory depends on the number of holes, not on the window.

use base::tcp::Block;

/// SACKed ranges, all above the cumulative ACK.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scoreboard {
    ranges: Vec<Block>,
    bytes: u64,
}

impl Scoreboard {
    /// Removes all ranges.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.bytes = 0;
    }

    /// Removes ranges below the cumulative ACK `una`, and cuts a range that contains it.
    pub fn acked(&mut self, una: u64) {
        if self.ranges.first().is_none_or(|r| r.left >= una) {
            return;
        }
        let gone = self.ranges.partition_point(|r| r.right <= una);
        for r in self.ranges.drain(..gone) {
            self.bytes -= r.right - r.left;
        }
        if let Some(first) = self.ranges.first_mut()
            && first.left < una
        {
            self.bytes -= una - first.left;
            first.left = una;
        }
    }

    /// Adds a block within `[una, max)`; true if part of it was not SACKed before. Ignores blocks outside: DSACKs
    /// (RFC 2883) and invalid blocks.
    pub fn add(&mut self, block: Block, una: u64, max: u64) -> bool {
        self.add_telling(block, una, max, |_| {})
    }

    /// Adds a block as [`Self::add`] does; calls `tell` for each part of the block that was not SACKed before.
    pub fn add_telling(&mut self, block: Block, una: u64, max: u64, mut tell: impl FnMut(Block)) -> bool {
        let (left, right) = (block.left, block.right);
        if left < una || right > max || left >= right {
            return false;
        }
        let before = self.bytes;
        // Ranges that overlap or adjoin the block are merged.
        let from = self.ranges.partition_point(|r| r.right < left);
        let to = self.ranges.partition_point(|r| r.left <= right);
        let mut merged = Block { left, right };
        if from < to {
            merged.left = left.min(self.ranges[from].left);
            merged.right = right.max(self.ranges[to - 1].right);
        }
        let mut at = left;
        for r in &self.ranges[from..to] {
            if at < r.left.min(right) {
                tell(Block { left: at, right: r.left.min(right) });
            }
            at = at.max(r.right);
        }
        if at < right {
            tell(Block { left: at, right });
        }
        let covered: u64 = self.ranges[from..to].iter().map(|r| r.right - r.left).sum();
        self.bytes = self.bytes - covered + (merged.right - merged.left);
        self.ranges.splice(from..to, [merged]);
        self.bytes != before
    }

    /// True if nothing is SACKed.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Bytes SACKed.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// SACKed ranges, ascending.
    pub fn ranges(&self) -> &[Block] {
        &self.ranges
    }

    /// One past the highest SACKed byte; 0 if there is none.
    pub fn highest(&self) -> u64 {
        self.ranges.last().map_or(0, |r| r.right)
    }

    /// First byte from `seq` on that is not SACKed, if any byte above it is.
    pub fn next_hole(&self, seq: u64) -> Option<u64> {
        let i = self.ranges.partition_point(|r| r.right <= seq);
        let next = self.ranges.get(i)?;
        if next.left > seq {
            return Some(seq);
        }
        // Inside a range: the hole starts at its end, and exists only if another range follows.
        self.ranges.get(i + 1).map(|_| next.right)
    }

    /// End of the range that contains `seq`, if there is one.
    pub fn end_of_range_at(&self, seq: u64) -> Option<u64> {
        let i = self.ranges.partition_point(|r| r.right <= seq);
        self.ranges.get(i).filter(|r| r.left <= seq).map(|r| r.right)
    }

    /// Start of the next range above `seq`, if there is one.
    pub fn next_range_after(&self, seq: u64) -> Option<u64> {
        let i = self.ranges.partition_point(|r| r.left <= seq);
        self.ranges.get(i).map(|r| r.left)
    }

    /// Bytes SACKed below `seq`.
    pub fn bytes_below(&self, seq: u64) -> u64 {
        let upto = self.ranges.partition_point(|r| r.left < seq);
        self.ranges[..upto].iter().map(|r| r.right.min(seq) - r.left).sum()
    }

    /// Whether `dupthresh` separate ranges, or `bytes_above` bytes, are SACKed above `seq` (RFC 6675 section
    /// 4, IsLost).
    pub fn is_lost(&self, seq: u64, dupthresh: u32, bytes_above: u64) -> bool {
        let i = self.ranges.partition_point(|r| r.right <= seq);
        let above = &self.ranges[i..];
        if above.len() >= dupthresh as usize {
            return true;
        }
        let bytes: u64 = above.iter().map(|r| r.right - r.left.max(seq)).sum();
        bytes >= bytes_above
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain set of bytes.
        #[test]
        fn agrees_with_a_set_of_bytes(
            blocks in proptest::collection::vec((0u64..60, 1u64..15), 1..30),
            acks in proptest::collection::vec(0u64..60, 1..30),
        ) {
            let mut board = Scoreboard::default();
            let mut set = [false; 64];
            let mut una = 0;
            for ((left, len), ack) in blocks.into_iter().zip(acks.into_iter().cycle()) {
                let right = left + len;
                let mut told = 0;
                let before = set;
                let news = board.add_telling(Block { left, right }, una, 64, |part| {
                    assert!(!before[part.left as usize..part.right as usize].contains(&true));
                    told += part.right - part.left;
                });
                let mut expected = false;
                if left >= una && right <= 64 {
                    for b in left..right {
                        expected |= !set[b as usize];
                        set[b as usize] = true;
                    }
                }
                prop_assert_eq!(news, expected);
                let count = |set: &[bool]| set.iter().filter(|b| **b).count() as u64;
                prop_assert_eq!(told, count(&set) - count(&before));
                prop_assert_eq!(board.bytes_below(30), count(&set[..30]));
                if ack > una && ack % 3 == 0 {
                    una = ack;
                    board.acked(una);
                    set[..una as usize].fill(false);
                }
                prop_assert_eq!(board.bytes(), set.iter().filter(|x| **x).count() as u64);
                for pair in board.ranges().windows(2) {
                    prop_assert!(pair[0].right < pair[1].left);
                }
                for seq in una..64 {
                    let hole = (seq..64).find(|b| !set[*b as usize]);
                    let hole = hole.filter(|h| set[*h as usize..].iter().any(|x| *x));
                    prop_assert_eq!(board.next_hole(seq), hole, "from {}", seq);
                }
            }
        }
    }
}
