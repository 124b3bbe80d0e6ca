//! Set of byte ranges that have arrived (`Ranges`), to mark duplicate arrivals in a picture.

use std::collections::BTreeMap;

/// Disjoint byte ranges that do not touch: start and end of each.
#[derive(Default)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds `from..to`; returns whether all of it was in the set before.
    pub(crate) fn add(&mut self, from: u64, to: u64) -> bool {
        if to <= from {
            return true;
        }
        let before = self.0.range(..=from).next_back().map(|(a, b)| (*a, *b));
        if before.is_some_and(|(_, end)| end >= to) {
            return true;
        }
        let mut start = from;
        if let Some((a, end)) = before
            && end >= from
        {
            start = a;
        }
        let mut end = to;
        while let Some((a, b)) = self.0.range(start..=end).next().map(|(a, b)| (*a, *b)) {
            end = end.max(b);
            self.0.remove(&a);
        }
        self.0.insert(start, end);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_a_set_of_bytes(adds in prop::collection::vec((0u64..60, 0u64..20), 0..40)) {
            let mut ranges = Ranges::default();
            let mut set = std::collections::BTreeSet::new();
            for (from, len) in adds {
                let all = (from..from + len).all(|b| set.contains(&b));
                prop_assert_eq!(ranges.add(from, from + len), all);
                set.extend(from..from + len);
            }
            let held: u64 = ranges.0.iter().map(|(a, b)| b - a).sum();
            prop_assert_eq!(held, set.len() as u64);
        }
    }
}
