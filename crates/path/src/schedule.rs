//! Who runs next? A tournament over one pending wake-up per element: each inner node holds the
//! earlier of its two children, so the winner is at the root and a change walks one path upwards,
//! stopping where nothing changes.
//!
//! Ties go to the element with the smaller number, which the builder gives out downstream first
//! (`docs/adr/0002-engine.md`); with a shuffle seed they go by hash, to prove that results do not
//! hang on it.

use base::Time;
use base::rng::mix;

/// The pending wake-ups of all elements.
#[derive(Debug, Clone)]
pub struct Schedule {
    // Node 1 is the root, the children of i are 2i and 2i + 1, leaves start at `leaves`.
    times: Vec<u64>,
    leaves: usize,
    shuffle: Option<u64>,
}

const NEVER: u64 = Time::NEVER.as_nanos();

impl Schedule {
    /// No wake-ups, for `elements` elements.
    pub fn new(elements: usize) -> Self {
        let leaves = elements.next_power_of_two().max(2);
        Schedule { times: vec![NEVER; 2 * leaves], leaves, shuffle: None }
    }

    /// Breaks ties by a hash of this seed, the time and the place instead of by position.
    pub fn shuffle_ties(&mut self, seed: u64) {
        self.shuffle = Some(seed);
    }

    /// When element `i` is to run; [`Time::NEVER`] if it is not.
    pub fn pending(&self, i: usize) -> Time {
        Time::from_nanos(self.times[self.leaves + i])
    }

    /// Lets element `i` run at `t`, earlier or later than before.
    #[inline]
    pub fn set(&mut self, i: usize, t: Time) {
        let mut at = self.leaves + i;
        self.times[at] = t.as_nanos();
        while at > 1 {
            let earlier = self.times[at & !1].min(self.times[at | 1]);
            at >>= 1;
            if self.times[at] == earlier {
                return;
            }
            self.times[at] = earlier;
        }
    }

    /// Lets element `i` run no later than `t`. A later wish is not recorded: the element is asked
    /// again when it runs, which is cheaper than moving a timer that is restarted all the time.
    #[inline]
    pub fn no_later(&mut self, i: usize, t: Time) {
        if t.as_nanos() < self.times[self.leaves + i] {
            self.set(i, t);
        }
    }

    /// The earliest wake-up and whose it is.
    #[inline]
    pub fn first(&self) -> Option<(Time, usize)> {
        let t = self.times[1];
        if t == NEVER {
            return None;
        }
        let mut at = 1;
        while at < self.leaves {
            at *= 2;
            if self.times[at] != t || (self.shuffle.is_some() && self.prefer_right(at, t)) {
                at += 1;
            }
        }
        Some((Time::from_nanos(t), at - self.leaves))
    }

    #[cold]
    fn prefer_right(&self, left: usize, t: u64) -> bool {
        let seed = self.shuffle.unwrap_or_default();
        self.times[left + 1] == t && mix(seed ^ mix(t ^ mix(left as u64))) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the plainest queue there is: a list that is searched.
        #[test]
        fn agrees_with_a_searched_list(n in 1usize..40, ops in proptest::collection::vec((0usize..40, 0u64..50), 1..200)) {
            let mut schedule = Schedule::new(n);
            let mut list = vec![NEVER; n];
            for (i, t) in ops {
                let i = i % n;
                let t = if t == 49 { NEVER } else { t };
                if t % 2 == 0 {
                    schedule.set(i, Time::from_nanos(t));
                    list[i] = t;
                } else {
                    schedule.no_later(i, Time::from_nanos(t));
                    list[i] = list[i].min(t);
                }
                let expected = list.iter().enumerate().min_by_key(|(i, t)| (**t, *i))
                    .filter(|(_, t)| **t != NEVER)
                    .map(|(i, t)| (Time::from_nanos(*t), i));
                prop_assert_eq!(schedule.first(), expected);
            }
        }

        #[test]
        fn shuffling_changes_the_order_of_ties_only(seed in any::<u64>(), n in 2usize..20) {
            let mut schedule = Schedule::new(n);
            schedule.shuffle_ties(seed);
            for i in 0..n {
                schedule.set(i, Time::from_nanos(i as u64 / 3));
            }
            let mut seen = vec![false; n];
            let mut last = Time::ZERO;
            while let Some((t, i)) = schedule.first() {
                prop_assert!(t >= last && !seen[i]);
                last = t;
                seen[i] = true;
                schedule.set(i, Time::NEVER);
            }
            prop_assert!(seen.iter().all(|s| *s));
        }
    }
}
