//! Event schedule: tournament tree over the pending wake-ups of elements, one per element.
//!
//! A line has eight entries. Its winner, the earliest entry, is stored with its element number in the line above. The
//! root therefore contains the next element, and a change updates one path from leaf to root. The tree has one level
//! for a single connection, four for thousands of elements.
//!
//! Each entry is a single number, its key: the time, with the place in the line in its lowest bits. The least
//! key thus gives time and place, and at equal times the leftmost entry wins.
//!
//! Keys are compared as floating-point numbers with the same bits, which for positive normal numbers sort like
//! integers. The least of two takes one instruction of a processor then, and two as integers.
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
    /// Lines of winners, in the order of a heap: the root first, the lines below line `n` from `8 n + 1` on.
    above: Vec<Above>,
    /// Number of the first line of elements in that order, after all lines that the levels above could have.
    first: usize,
    /// Lines in use on each level above the elements, lowest level first.
    widths: Vec<usize>,
    /// Earliest entry of the tree: nanoseconds and element.
    winner: (u64, u32),
    /// Keys of at most [`FEW`] elements without shuffled ties, as for one connection over one hop, the most common
    /// case. The earliest is found without the tree, and only when it is asked for.
    few: Option<Keys>,
    /// Seed of the hash that breaks ties; none: the smaller element number runs first.
    shuffle: Option<u64>,
}

/// A line of eight keys.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Keys([f64; WIDTH]);

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
/// Key of time 0 at place 0: the bits of the least normal number. Smaller ones are denormal, and compare as zero
/// in a process that asks for that.
const ZERO: u64 = f64::MIN_POSITIVE.to_bits();
/// Largest time that a key holds, 36 years; later times count as never.
const NEVER: u64 = (f64::MAX.to_bits() - ZERO) / WIDTH as u64;

/// Key of time `t` at place `k`.
#[inline(always)]
fn key(t: Time, k: usize) -> f64 {
    f64::from_bits(t.as_nanos().min(NEVER) * WIDTH as u64 + (ZERO + k as u64))
}

/// Nanoseconds of a key; [`NEVER`] if there is no time.
#[inline(always)]
fn nanos_of(key: f64) -> u64 {
    (key.to_bits() - ZERO) / WIDTH as u64
}

/// Place of a key in its line.
#[inline(always)]
fn place_of(key: f64) -> usize {
    (key.to_bits() & PLACE) as usize
}

/// The time of a key, at place `k`.
#[inline(always)]
fn moved(key: f64, k: usize) -> f64 {
    f64::from_bits(key.to_bits() & !PLACE | k as u64)
}

/// The smaller number. Unlike [`f64::min`] it is undefined for NaN, which no key is, and one instruction.
#[inline(always)]
fn less(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

impl Keys {
    /// A line without pending wake-ups.
    fn idle() -> Self {
        Keys(std::array::from_fn(|k| key(Time::NEVER, k)))
    }

    /// Least key. One after the other: compilers read a tree of comparisons in words wider than a key, which
    /// have to wait for the key stored just before.
    #[inline(always)]
    fn least(&self) -> f64 {
        let [first, others @ ..] = self.0;
        others.into_iter().fold(first, less)
    }

    /// Least of the first [`FEW`] keys.
    #[inline(always)]
    fn least_of_few(&self) -> f64 {
        let [a, b, c, d, ..] = self.0;
        less(less(less(a, b), c), d)
    }
}

impl Schedule {
    /// A schedule without wake-ups for `elements` elements.
    pub fn new(elements: usize) -> Self {
        let lines = elements.max(1).div_ceil(WIDTH);
        let mut widths = Vec::new();
        while let width @ 2.. = widths.last().copied().unwrap_or(lines) {
            widths.push(width.div_ceil(WIDTH));
        }
        let (mut above, mut first) = (Vec::new(), 0);
        for (level, &width) in widths.iter().enumerate().rev() {
            // Number of elements below each place of a line.
            let span = WIDTH.pow(level as u32 + 1);
            let who = |line: usize, k: usize| ((line * WIDTH + k) * span) as u32;
            let line = |line| Above { keys: Keys::idle(), who: std::array::from_fn(|k| who(line, k)) };
            // Levels above the lowest one are complete, whether or not there are elements below.
            let complete = WIDTH.pow((widths.len() - 1 - level) as u32);
            above.extend((0..if level > 0 { complete } else { width }).map(line));
            first += complete;
        }
        Schedule {
            elements: vec![Keys::idle(); lines],
            above,
            first,
            widths,
            winner: (NEVER, 0),
            few: (elements <= FEW).then(Keys::idle),
            shuffle: None,
        }
    }

    /// Breaks ties by a hash of `seed`, time and line instead of by element number.
    pub fn shuffle_ties(&mut self, seed: u64) {
        self.shuffle = Some(seed);
        if let (Some(few), Some(line)) = (self.few.take(), self.elements.first_mut()) {
            *line = few;
            self.set_in_tree(0, self.pending(0));
        }
    }

    /// Wake-up of element `i`; [`Time::NEVER`] if none.
    #[inline]
    pub fn pending(&self, i: usize) -> Time {
        let key = match &self.few {
            Some(line) => line.0[i % FEW],
            None => self.elements[i / WIDTH].0[i % WIDTH],
        };
        let t = nanos_of(key);
        if t == NEVER { Time::NEVER } else { Time::from_nanos(t) }
    }

    /// Sets the wake-up of element `i` to `t`, earlier or later than before.
    #[inline(always)] // part of the network's loop
    pub fn set(&mut self, i: usize, t: Time) {
        if let Some(line) = &mut self.few {
            line.0[i % FEW] = key(t, i % FEW);
            return;
        }
        self.set_in_tree(i, t);
    }

    #[inline(always)]
    fn set_in_tree(&mut self, i: usize, t: Time) {
        let (at, k) = (i / WIDTH, i % WIDTH);
        let Some(line) = self.elements.get_mut(at) else { return };
        line.0[k] = key(t, k);
        let mut least = line.least();
        let mut who = (i - k + place_of(least)) as u32;
        let mut at = self.first + at;
        // The element that ran had won every line on its path, so all of them are recomputed.
        while at > 0 {
            at -= 1;
            let k = at % WIDTH;
            at /= WIDTH;
            let Some(line) = self.above.get_mut(at) else { return };
            line.keys.0[k] = moved(least, k);
            line.who[k] = who;
            least = line.keys.least();
            who = line.who[place_of(least)];
        }
        self.winner = (nanos_of(least), who);
    }

    /// Sets the wake-up of element `i` to `t` if that is earlier than before. A later time is not stored: the element
    /// runs at the earlier time and is queried again. This is cheaper than a change for each restart of a timer.
    #[inline(always)] // part of the network's loop
    pub fn no_later(&mut self, i: usize, t: Time) {
        if let Some(line) = &mut self.few {
            line.0[i % FEW] = less(key(t, i % FEW), line.0[i % FEW]);
            return;
        }
        self.no_later_in_tree(i, t);
    }

    #[inline(always)]
    fn no_later_in_tree(&mut self, i: usize, t: Time) {
        let (at, k) = (i / WIDTH, i % WIDTH);
        let new = key(t, k);
        let Some(line) = self.elements.get_mut(at) else { return };
        if new >= line.0[k] {
            return;
        }
        line.0[k] = new;
        // The new key is smaller than before, so comparing with the stored winners suffices; no line is
        // searched.
        let who = i as u32;
        let mut at = self.first + at;
        while at > 0 {
            at -= 1;
            let k = at % WIDTH;
            at /= WIDTH;
            let Some(line) = self.above.get_mut(at) else { return };
            let new = moved(new, k);
            if line.keys.0[k] < new || line.keys.0[k] == new && line.who[k] <= who {
                return;
            }
            (line.keys.0[k], line.who[k]) = (new, who);
        }
        self.winner = self.winner.min((nanos_of(new), who));
    }

    /// Time of the earliest wake-up, and number of its element.
    #[inline]
    pub fn first(&self) -> Option<(Time, usize)> {
        if let Some(line) = &self.few {
            let least = line.least_of_few();
            let t = nanos_of(least);
            return (t != NEVER).then(|| (Time::from_nanos(t), place_of(least)));
        }
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
        // For the hash, lines are numbered from those of the elements up to the root.
        let mut number = self.elements.len() + self.widths.iter().sum::<usize>();
        // Lines before those of a level, in the order of a heap.
        let mut before = 0;
        let mut at = 0;
        for level in (0..=self.widths.len()).rev() {
            let width = level.checked_sub(1).map_or(self.elements.len(), |above| self.widths[above]);
            number -= width;
            let keys = if level > 0 { self.above[before + at].keys } else { self.elements[at] };
            let hash = mix(self.shuffle.unwrap_or_default() ^ mix(t ^ mix((number + at) as u64)));
            let tied = || (0..WIDTH).filter(|&k| nanos_of(keys.0[k]) == t);
            let chosen = hash as usize % tied().count();
            at = at * WIDTH + tied().nth(chosen).unwrap_or_default();
            before = before * WIDTH + 1;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_sort_like_times_and_are_normal_numbers() {
        let times = [0, 1, 1 << 40, 1 << 53, NEVER - 1, NEVER];
        for (k, t) in (0..WIDTH).flat_map(|k| times.map(|t| (k, t))) {
            let this = key(Time::from_nanos(t), k);
            assert!(this.is_normal() && (nanos_of(this), place_of(this)) == (t, k));
            assert!(t == 0 || key(Time::from_nanos(t - 1), WIDTH - 1) < this);
        }
    }

    #[test]
    fn times_beyond_the_largest_key_count_as_never() {
        let mut schedule = Schedule::new(9);
        schedule.set(8, Time::from_nanos(NEVER));
        assert_eq!((schedule.first(), schedule.pending(8)), (None, Time::NEVER));
        schedule.no_later(8, Time::from_nanos(NEVER - 1));
        assert_eq!(schedule.first(), Some((Time::from_nanos(NEVER - 1), 8)));
    }

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
