//! Iterator over the unfinished repetitions of a sweep, by cell and repetition, with a bit set of the
//! finished ones.

use crate::shard::ShardPart;

/// Bit set of finished repetitions.
#[derive(Debug)]
pub(super) struct FinishedSet {
    repetitions: u64,
    bits: Vec<u64>,
    count: u64,
}

impl FinishedSet {
    /// An empty set, for this number of repetitions per cell.
    pub(super) fn none(repetitions: u32) -> FinishedSet {
        FinishedSet { repetitions: u64::from(repetitions), bits: Vec::new(), count: 0 }
    }

    /// Marks a repetition as finished; idempotent.
    pub(super) fn add(&mut self, cell: u32, repetition: u64) {
        let number = u64::from(cell) * self.repetitions + repetition;
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        self.count += u64::from(self.bits[word] & bit == 0);
        self.bits[word] |= bit;
    }

    /// Number of finished repetitions.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    fn has(&self, cell: u32, repetition: u64) -> bool {
        let number = u64::from(cell) * self.repetitions + repetition;
        self.bits.get((number / 64) as usize).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }
}

/// Iterator over the unfinished repetitions of a part, as (cell, repetition).
pub(super) struct UnfinishedRepetitions {
    next: (u32, u64),
    cells: u32,
    part: ShardPart,
    done: FinishedSet,
}

impl UnfinishedRepetitions {
    /// Unfinished repetitions of `part` in a grid of `cells` cells.
    pub(super) fn new(cells: u32, part: ShardPart, done: FinishedSet) -> UnfinishedRepetitions {
        UnfinishedRepetitions { next: (0, 0), cells, part, done }
    }
}

impl Iterator for UnfinishedRepetitions {
    type Item = (u32, u64);

    fn next(&mut self) -> Option<(u32, u64)> {
        while self.next.0 < self.cells {
            let (cell, repetition) = self.next;
            if repetition >= self.done.repetitions {
                self.next = (cell + 1, 0);
                continue;
            }
            self.next.1 += 1;
            if self.part.holds(cell, repetition, u64::from(self.cells)) && !self.done.has(cell, repetition) {
                return Some((cell, repetition));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_repetitions_are_not_returned() {
        let mut done = FinishedSet::none(3);
        [(0, 1), (2, 2), (0, 1)].into_iter().for_each(|(cell, repetition)| done.add(cell, repetition));
        assert_eq!(done.count(), 2);
        let left: Vec<_> = UnfinishedRepetitions::new(3, ShardPart::WHOLE, done).collect();
        assert_eq!(left, [(0, 0), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]);
        // Number = repetition x cells + cell: 3 and 4 are the second repetitions of the first two cells.
        let part: Vec<_> =
            UnfinishedRepetitions::new(3, ShardPart::range(3..5), FinishedSet::none(3)).collect();
        assert_eq!(part, [(0, 1), (1, 1)]);
        assert_eq!(UnfinishedRepetitions::new(3, ShardPart::WHOLE, FinishedSet::none(0)).next(), None);
    }
}
