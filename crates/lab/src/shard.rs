//! Shard of a sweep: a fixed share of its repetitions, by number, so that several hosts divide a sweep
//! without communication.
//!
//! A repetition has the number `repetition x cells + cell`. This number does not depend on the number of
//! repetitions, so that a shard can be continued with more of them. A shard takes every n-th number, which
//! spreads cells of unequal cost evenly; a range takes consecutive numbers.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// A share of the repetitions of a sweep: numbers `first`, `first + step`, ... below `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardPart {
    first: u64,
    step: u64,
    end: u64,
}

impl ShardPart {
    /// Every repetition of every cell.
    pub const WHOLE: ShardPart = ShardPart { first: 0, step: 1, end: u64::MAX };

    /// A range of consecutive numbers.
    pub fn range(numbers: Range<u64>) -> ShardPart {
        ShardPart { first: numbers.start, step: 1, end: numbers.end }
    }

    /// True if the part includes this repetition; `cells` is the number of cells of the grid.
    pub fn holds(self, cell: u32, repetition: u64, cells: u64) -> bool {
        let number = repetition.saturating_mul(cells).saturating_add(u64::from(cell));
        (self.first..self.end).contains(&number) && (number - self.first).is_multiple_of(self.step)
    }

    /// Number of repetitions of a sweep of `total` repetitions that the part includes.
    pub fn count(self, total: u64) -> u64 {
        total.min(self.end).saturating_sub(self.first).div_ceil(self.step)
    }
}

impl From<Shard> for ShardPart {
    fn from(shard: Shard) -> ShardPart {
        ShardPart { first: u64::from(shard.number) - 1, step: u64::from(shard.of), end: u64::MAX }
    }
}

/// One of several equal shares of a sweep, written `3/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    number: u32,
    of: u32,
}

impl Shard {
    /// Number of the shard, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// The number of shards.
    pub fn of(self) -> u32 {
        self.of
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(number, of)| {
            let number: u32 = number.trim().parse().ok()?;
            Some((number, of.trim().parse::<u32>().ok()?))
        });
        match parts {
            Some((number, of)) if number >= 1 && number <= of => Ok(Shard { number, of }),
            Some((0, of)) => Err(format!("shards are numbered from 1: 1/{of} is the first")),
            Some((number, of)) => Err(format!("there is no shard {number} of {of}")),
            None => Err("a shard is written NUMBER/OF, as in 3/16".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shards_are_written_as_fractions() {
        let shard: Shard = "3/16".parse().unwrap();
        assert_eq!((shard.number(), shard.of(), shard.to_string().as_str()), (3, 16, "3/16"));
        for wrong in ["0/16", "17/16", "3", "3/0", "a/b", "-1/4", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn shards_hold_each_repetition_once(of in 1_u32..9, cells in 1_u32..7, repetitions in 0_u64..20) {
            let shards: Vec<ShardPart> =
                (1..=of).map(|n| format!("{n}/{of}").parse::<Shard>().unwrap().into()).collect();
            let mut counts = vec![0; shards.len()];
            for (cell, repetition) in (0..cells).flat_map(|c| (0..repetitions).map(move |r| (c, r))) {
                let of_it: Vec<usize> =
                    (0..shards.len()).filter(|i| shards[*i].holds(cell, repetition, cells.into())).collect();
                prop_assert_eq!(of_it.len(), 1);
                counts[of_it[0]] += 1;
            }
            let total = u64::from(cells) * repetitions;
            for (shard, count) in shards.iter().zip(counts) {
                prop_assert_eq!(shard.count(total), count);
            }
        }

        #[test]
        fn a_range_holds_its_numbers(a in 0_u64..50, n in 0_u64..50, cells in 1_u32..5, repetitions in 0_u64..20) {
            let part = ShardPart::range(a..a + n);
            let keys = (0..cells).flat_map(|c| (0..repetitions).map(move |r| (c, r)));
            let held = keys.filter(|(c, r)| part.holds(*c, *r, cells.into())).count() as u64;
            prop_assert_eq!(part.count(u64::from(cells) * repetitions), held);
        }
    }
}
