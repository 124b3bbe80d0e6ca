//! Set of byte ranges (`Ranges`): half-open, ascending, disjoint; for SACKed and missing bytes.

/// Set of bytes as ascending, disjoint ranges.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub(crate) struct Ranges(Vec<(u64, u64)>);

/// Upper limit of ranges; a range that would exceed it is discarded.
const MOST: usize = 4096;

impl Ranges {
    /// Adds `[left, right)`; returns whether any of its bytes is new.
    pub(crate) fn add(&mut self, left: u64, right: u64) -> bool {
        if left >= right || self.holds(left, right) {
            return false;
        }
        let from = self.0.partition_point(|r| r.1 < left);
        let to = self.0.partition_point(|r| r.0 <= right);
        if from == to && self.0.len() >= MOST {
            return false;
        }
        let mut merged = (left, right);
        if from < to {
            merged = (left.min(self.0[from].0), right.max(self.0[to - 1].1));
        }
        self.0.splice(from..to, [merged]);
        true
    }

    /// Removes all bytes below `edge`.
    pub(crate) fn forget_below(&mut self, edge: u64) {
        let gone = self.0.partition_point(|r| r.1 <= edge);
        if gone > 0 {
            self.0.drain(..gone);
        }
        if let Some(first) = self.0.first_mut() {
            first.0 = first.0.max(edge);
        }
    }

    /// Whether all of `[left, right)` is in the set.
    pub(crate) fn holds(&self, left: u64, right: u64) -> bool {
        let at = self.0.partition_point(|r| r.1 <= left);
        self.0.get(at).is_some_and(|r| r.0 <= left && right <= r.1)
    }

    /// Whether any byte of `[left, right)` is in the set.
    pub(crate) fn overlaps(&self, left: u64, right: u64) -> bool {
        let at = self.0.partition_point(|r| r.1 <= left);
        left < right && self.0.get(at).is_some_and(|r| r.0 < right)
    }

    /// Removes `[left, right)`.
    pub(crate) fn take(&mut self, left: u64, right: u64) {
        let from = self.0.partition_point(|r| r.1 <= left);
        let to = self.0.partition_point(|r| r.0 < right);
        if from >= to || left >= right {
            return;
        }
        let (first, last) = (self.0[from].0, self.0[to - 1].1);
        let rest = [(first, left), (right, last)].into_iter().filter(|r| r.0 < r.1);
        self.0.splice(from..to, rest);
    }

    /// One past the highest byte.
    pub(crate) fn top(&self) -> Option<u64> {
        self.0.last().map(|r| r.1)
    }

    /// Number of bytes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.0.iter().map(|r| r.1 - r.0).sum()
    }

    /// Whether the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether the union of `ranges` contains all of `[left, right)`.
pub(crate) fn cover(left: u64, right: u64, ranges: &mut [(u64, u64)]) -> bool {
    ranges.sort_unstable();
    let mut upto = left;
    for &(l, r) in ranges.iter() {
        if l > upto {
            return false;
        }
        upto = upto.max(r);
        if upto >= right {
            return true;
        }
    }
    upto >= right
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_set(adds in proptest::collection::vec((0u64..60, 1u64..12), 0..40), below in 0u64..70) {
            let (mut ranges, mut plain) = (Ranges::default(), [false; 80]);
            for (left, length) in adds {
                let new = plain[left as usize..(left + length) as usize].iter().any(|b| !b);
                prop_assert_eq!(ranges.add(left, left + length), new);
                plain[left as usize..(left + length) as usize].fill(true);
            }
            ranges.forget_below(below);
            plain[..below as usize].fill(false);
            prop_assert_eq!(ranges.bytes(), plain.iter().filter(|b| **b).count() as u64);
            for left in 0..79 {
                prop_assert_eq!(ranges.holds(left, left + 1), plain[left as usize]);
            }
            prop_assert!(ranges.0.windows(2).all(|w| w[0].1 < w[1].0));
        }
    }
}
