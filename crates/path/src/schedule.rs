//! Event schedule: tournament tree over the pending wake-ups of elements, one per element.
//!
//! A line has eight entries. Its winner, the earliest entry, is stored with its element number in the line above. The
//! root therefore contains the next element, and a change updates one path from leaf to root. The tree has one level
//! for a single connection, four for thousands of elements.
//!
//! Each entry is a single number, its key: the time, with the place in the line in its lowest bits. The least
//! key thus gives time and place, and at equal times the leftmost entry wins.
//!
//! Ties go to the element with the smaller number, which the builder assigns downstream first
//! (`docs/adr/0002-engine.md`). With a shuffle seed ties are broken by hash, to test that results do not
//! depend on them.

use base::Time;
use base::rng::mix;

/// Pending wake-ups of all elements.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Keys of the elements, eight to a line.
    elements: Vec<Keys>,
    /// Lines of winners, level by level, lowest level first; the last line is the root.
    above: Vec<Above>,
    /// Start of each level in `above`.
    levels: Vec<usize>,
    /// Time of the earliest wake-up, nanoseconds, and its element.
    winner: (u64, u32),
    /// Whether there are at most [`FEW`] elements, as for one connection over one hop, the most common case. The
    /// winner is then found without the tree.
    few: bool,
    /// Seed of the hash that breaks ties; none: the smaller element number runs first.
    shuffle: Option<u64>,
}

/// A line of eight keys.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Keys([u64; WIDTH]);

/// A line of winners, each with its element number.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Above {
    keys: Keys,
    who: [u32; WIDTH],
}

const WIDTH: usize = 8;
/// Mask of the place in a line, the lowest bits of a key.
const PLACE: u64 = WIDTH as u64 - 1;
/// Maximum number of elements without the tree.
const FEW: usize = 4;
/// Largest time in a key, nanoseconds (73 years); later times count as never.
const NEVER: u64 = u64::MAX / WIDTH as u64;

/// Key of time `t` at place `k`.
#[inline(always)]
fn key(t: Time, k: usize) -> u64 {
    t.as_nanos().min(NEVER) * WIDTH as u64 + k as u64
}

/// Time of a key.
#[inline(always)]
fn time_of(key: u64) -> Time {
    let t = key / WIDTH as u64;
    if t == NEVER { Time::NEVER } else { Time::from_nanos(t) }
}

impl Keys {
    /// A line without pending wake-ups.
    fn idle() -> Self {
        Keys(std::array::from_fn(|k| key(Time::NEVER, k)))
    }

    /// Least key.
    #[inline(always)]
    fn least(&self) -> u64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        (a.min(b).min(c.min(d))).min(e.min(f).min(g.min(h)))
    }

    /// Least of the first [`FEW`] keys.
    #[inline(always)]
    fn least_of_few(&self) -> u64 {
        let [a, b, c, d, ..] = self.0;
        a.min(b).min(c.min(d))
    }
}

impl Schedule {
    /// A schedule without wake-ups for `elements` elements.
    pub fn new(elements: usize) -> Self {
        let mut above = Vec::new();
        let mut levels = Vec::new();
        let lines = elements.max(1).div_ceil(WIDTH);
        // Number of elements below each place of a line.
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

    /// Breaks ties by a hash of `seed`, time and line instead of by element number.
    pub fn shuffle_ties(&mut self, seed: u64) {
        self.shuffle = Some(seed);
    }

    /// Wake-up of element `i`; [`Time::NEVER`] if none.
    #[inline]
    pub fn pending(&self, i: usize) -> Time {
        time_of(self.elements[i / WIDTH].0[i % WIDTH])
    }

    /// Sets the wake-up of element `i` to `t`, earlier or later than before.
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
        // The element may have been the winner of each line on its path to the root, so all are recomputed.
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

    /// Sets the wake-up of element `i` to `t` if that is earlier than before. A later time is not stored: the element
    /// runs at the earlier time and is queried again. This is cheaper than a change for each restart of a timer.
    #[inline]
    pub fn no_later(&mut self, i: usize, t: Time) {
        let (mut at, k) = (i / WIDTH, i % WIDTH);
        let new = key(t, k);
        let Some(line) = self.elements.get_mut(at) else { return };
        if new >= line.0[k] {
            return;
        }
        line.0[k] = new;
        // The new key is smaller than before, so a comparison with the stored winners suffices.
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

    /// Time of the earliest wake-up, and number of its element.
    #[inline]
    pub fn first(&self) -> Option<(Time, usize)> {
        let (t, who) = self.winner;
        if t == NEVER {
            return None;
        }
        let who = if self.shuffle.is_some() { self.shuffled(t) } else { who as usize };
        Some((Time::from_nanos(t), who))
    }

    /// One of the elements with the earliest time `t`, chosen by hash.
    #[cold]
    fn shuffled(&self, t: u64) -> usize {
        // Lines are numbered from the lines of elements up to the root.
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
        /// The first wake-up agrees with a linear search of a list.
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
