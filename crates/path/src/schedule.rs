//! Who runs next? A tournament over one pending wake-up per element. Each line of the tree holds eight
//! times and fills one cache line; in the line above stands the least of them. So the earliest is at the
//! top, a change walks one path upwards, stopping where nothing changes, and there are few levels: one
//! for the links and ends of one connection, four for thousands of elements.
//!
//! Ties go to the element with the smaller number, which the builder gives out downstream first
//! (`docs/adr/0002-engine.md`); with a shuffle seed they go by hash, to prove that results do not
//! hang on it.

use base::Time;
use base::rng::mix;

/// The pending wake-ups of all elements.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Level by level, elements first; the last line is the top.
    lines: Vec<Line>,
    /// Where each level begins in `lines`, elements first.
    levels: Vec<usize>,
    /// The least of all.
    earliest: u64,
    shuffle: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line([u64; WIDTH]);

const WIDTH: usize = 8;
const NEVER: u64 = Time::NEVER.as_nanos();

impl Line {
    #[inline]
    fn least(&self) -> u64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)))
    }

    /// Which of the eight are `t`, a bit each.
    #[inline]
    fn places(&self, t: u64) -> u32 {
        let mut bits = 0;
        for (k, time) in self.0.iter().enumerate() {
            bits |= u32::from(*time == t) << k;
        }
        bits
    }
}

impl Schedule {
    /// No wake-ups, for `elements` elements.
    pub fn new(elements: usize) -> Self {
        let mut levels = Vec::new();
        let (mut lines, mut width) = (0, elements.max(1));
        loop {
            width = width.div_ceil(WIDTH);
            levels.push(lines);
            lines += width;
            if width == 1 {
                break;
            }
        }
        Schedule { lines: vec![Line([NEVER; WIDTH]); lines], levels, earliest: NEVER, shuffle: None }
    }

    /// Breaks ties by a hash of this seed, the time and the place instead of by position.
    pub fn shuffle_ties(&mut self, seed: u64) {
        self.shuffle = Some(seed);
    }

    /// When element `i` is to run; [`Time::NEVER`] if it is not.
    #[inline]
    pub fn pending(&self, i: usize) -> Time {
        Time::from_nanos(self.lines[i / WIDTH].0[i % WIDTH])
    }

    /// Lets element `i` run at `t`, earlier or later than before.
    #[inline]
    pub fn set(&mut self, i: usize, t: Time) {
        let (mut at, mut least) = (i, t.as_nanos());
        for &level in &self.levels {
            let line = &mut self.lines[level + at / WIDTH];
            let place = &mut line.0[at % WIDTH];
            if *place == least {
                return;
            }
            *place = least;
            least = line.least();
            at /= WIDTH;
        }
        self.earliest = least;
    }

    /// Lets element `i` run no later than `t`. A later wish is not recorded: the element is asked
    /// again when it runs, which is cheaper than moving a timer that is restarted all the time.
    #[inline]
    pub fn no_later(&mut self, i: usize, t: Time) {
        if t < self.pending(i) {
            self.set(i, t);
        }
    }

    /// The earliest wake-up and whose it is.
    #[inline]
    pub fn first(&self) -> Option<(Time, usize)> {
        let t = self.earliest;
        if t == NEVER {
            return None;
        }
        let mut at = 0;
        for &level in self.levels.iter().rev() {
            let mut places = self.lines[level + at].places(t);
            if self.shuffle.is_some() {
                places = self.shuffled(places, level + at, t);
            }
            at = at * WIDTH + places.trailing_zeros() as usize;
        }
        Some((Time::from_nanos(t), at))
    }

    /// One of several places, by hash.
    #[cold]
    fn shuffled(&self, mut places: u32, line: usize, t: u64) -> u32 {
        let hash = mix(self.shuffle.unwrap_or_default() ^ mix(t ^ mix(line as u64)));
        for _ in 0..hash % u64::from(places.count_ones()) {
            places &= places - 1;
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the plainest queue there is: a list that is searched.
        #[test]
        fn agrees_with_a_searched_list(n in 1usize..600, ops in proptest::collection::vec((0usize..600, 0u64..50), 1..300)) {
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
