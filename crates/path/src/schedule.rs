//! Event schedule: tournament tree over one pending wake-up per element.
//!
//! A tournament over one pending wake-up per element. Eight at a time play against each other; the winner's time and
//! number stand in the line above. So whoever runs next is known at once, a change walks one path upwards, and there
//! are few levels: one for the links and ends of one connection, four for thousands of elements.
//!
//! What plays is one number, a key: the time, and in its lowest bits the place in the line. So the least key says
//! when and who at once, and of two equal times the one further left is less.
//!
//! Ties go to the element with the smaller number, which the builder gives out downstream first
//! (`docs/adr/0002-engine.md`); with a shuffle seed they go by hash, to prove that results do not
//! hang on it.

use base::Time;
use base::rng::mix;

/// The pending wake-ups of all elements.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// The elements' own keys, eight to a line.
    elements: Vec<Keys>,
    /// The lines above, level by level, lowest first; the last one is the top.
    above: Vec<Above>,
    /// Where each level begins in `above`.
    levels: Vec<usize>,
    winner: (u64, u32),
    /// One connection over one hop is four elements, and what most studies are made of: the winner of so few is
    /// found without the tree.
    few: bool,
    shuffle: Option<u64>,
}

/// A line: eight keys.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Keys([u64; WIDTH]);

/// A line of winners, each with the number of its element.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Above {
    keys: Keys,
    who: [u32; WIDTH],
}

const WIDTH: usize = 8;
/// A place in a line, in the lowest bits of a key.
const PLACE: u64 = WIDTH as u64 - 1;
/// So many elements are few.
const FEW: usize = 4;
/// The last time that a key holds, 73 years: what is later never comes.
const NEVER: u64 = u64::MAX / WIDTH as u64;

/// What plays for time `t` at place `k`.
#[inline(always)]
fn key(t: Time, k: usize) -> u64 {
    t.as_nanos().min(NEVER) * WIDTH as u64 + k as u64
}

/// The time of a key.
#[inline(always)]
fn time_of(key: u64) -> Time {
    let t = key / WIDTH as u64;
    if t == NEVER { Time::NEVER } else { Time::from_nanos(t) }
}

impl Keys {
    /// Of a line in which nothing is pending.
    fn idle() -> Self {
        Keys(std::array::from_fn(|k| key(Time::NEVER, k)))
    }

    /// The winner.
    #[inline(always)]
    fn least(&self) -> u64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        (a.min(b).min(c.min(d))).min(e.min(f).min(g.min(h)))
    }

    /// The winner of the first [`FEW`].
    #[inline(always)]
    fn least_of_few(&self) -> u64 {
        let [a, b, c, d, ..] = self.0;
        a.min(b).min(c.min(d))
    }
}

impl Schedule {
    /// No wake-ups, for `elements` elements.
    pub fn new(elements: usize) -> Self {
        let mut above = Vec::new();
        let mut levels = Vec::new();
        let lines = elements.max(1).div_ceil(WIDTH);
        // Of the line below each place: how many elements it spans.
        let (mut width, mut span) = (lines, WIDTH);
        while width > 1 {
            width = width.div_ceil(WIDTH);
            levels.push(above.len());
            let first = |line: usize, k: usize| ((line * WIDTH + k) * span) as u32;
            let line = |line| Above { keys: Keys::idle(), who: std::array::from_fn(|k| first(line, k)) };
            above.extend((0..width).map(line));
            span *= WIDTH;
        }
        Schedule {
            elements: vec![Keys::idle(); lines],
            above,
            levels,
            winner: (NEVER, 0),
            few: elements <= FEW,
            shuffle: None,
        }
    }

    /// Breaks ties by a hash of this seed, the time and the place instead of by position.
    pub fn shuffle_ties(&mut self, seed: u64) {
        self.shuffle = Some(seed);
    }

    /// When element `i` is to run; [`Time::NEVER`] if it is not.
    #[inline]
    pub fn pending(&self, i: usize) -> Time {
        time_of(self.elements[i / WIDTH].0[i % WIDTH])
    }

    /// Lets element `i` run at `t`, earlier or later than before.
    #[inline]
    pub fn set(&mut self, i: usize, t: Time) {
        if self.few
            && let Some(line) = self.elements.first_mut()
        {
            line.0[i % FEW] = key(t, i % FEW);
            let least = line.least_of_few();
            self.winner = (least / WIDTH as u64, (least & PLACE) as u32);
            return;
        }
        self.set_in_tree(i, t);
    }

    #[inline]
    fn set_in_tree(&mut self, i: usize, t: Time) {
        let (mut at, k) = (i / WIDTH, i % WIDTH);
        let Some(line) = self.elements.get_mut(at) else { return };
        line.0[k] = key(t, k);
        let mut least = line.least();
        let mut who = ((i - k) as u64 + (least & PLACE)) as u32;
        // Whoever ran was the winner of every line, so all of them are played again.
        for &level in &self.levels {
            let k = at % WIDTH;
            at /= WIDTH;
            let Some(line) = self.above.get_mut(level + at) else { return };
            line.keys.0[k] = least & !PLACE | k as u64;
            line.who[k] = who;
            least = line.keys.least();
            who = line.who[(least & PLACE) as usize];
        }
        self.winner = (least / WIDTH as u64, who);
    }

    /// Lets element `i` run no later than `t`. A later wish is not recorded: the element is asked
    /// again when it runs, which is cheaper than moving a timer that is restarted all the time.
    #[inline]
    pub fn no_later(&mut self, i: usize, t: Time) {
        let (mut at, k) = (i / WIDTH, i % WIDTH);
        let new = key(t, k);
        let Some(line) = self.elements.get_mut(at) else { return };
        if new >= line.0[k] {
            return;
        }
        line.0[k] = new;
        // Earlier than before: whoever won its line stands in the line above, so no line is searched.
        let (t, who) = (new / WIDTH as u64, i as u32);
        for &level in &self.levels {
            let k = at % WIDTH;
            at /= WIDTH;
            let Some(line) = self.above.get_mut(level + at) else { return };
            let new = t * WIDTH as u64 + k as u64;
            if (line.keys.0[k], line.who[k]) <= (new, who) {
                return;
            }
            (line.keys.0[k], line.who[k]) = (new, who);
        }
        self.winner = self.winner.min((t, who));
    }

    /// The earliest wake-up and whose it is.
    #[inline]
    pub fn first(&self) -> Option<(Time, usize)> {
        let (t, who) = self.winner;
        if t == NEVER {
            return None;
        }
        let who = if self.shuffle.is_some() { self.shuffled(t) } else { who as usize };
        Some((Time::from_nanos(t), who))
    }

    /// One of those who run at `t`, the earliest time, by hash.
    #[cold]
    fn shuffled(&self, t: u64) -> usize {
        // Lines are numbered from those of the elements to the top.
        let below = self.elements.len();
        let mut at = 0;
        for level in self.levels.iter().rev().map(|level| below + level).chain([0]) {
            let line = level + at;
            let keys =
                line.checked_sub(below).map_or_else(|| self.elements[line], |line| self.above[line].keys);
            let hash = mix(self.shuffle.unwrap_or_default() ^ mix(t ^ mix(line as u64)));
            let tied = || (0..WIDTH).filter(|&k| keys.0[k] / WIDTH as u64 == t);
            let chosen = hash as usize % tied().count();
            at = at * WIDTH + tied().nth(chosen).unwrap_or_default();
        }
        at
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
