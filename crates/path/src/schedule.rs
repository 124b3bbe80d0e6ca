//! Who runs next? A tournament over one pending wake-up per element. Eight at a time play against each
//! other; the winner's time and number stand in the line above. So whoever runs next is known at once, a
//! change walks one path upwards, stopping where nothing changes, and there are few levels: one for the
//! links and ends of one connection, four for thousands of elements.
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
    winner: (u64, u32),
    /// One connection over one hop is four elements, and what most studies are made of: the winner of so few is
    /// found without the tree.
    few: bool,
    shuffle: Option<u64>,
}

/// Eight times and whose they are.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line {
    times: [u64; WIDTH],
    who: [u32; WIDTH],
}

const WIDTH: usize = 8;
/// So many elements are few.
const FEW: usize = 4;
const NEVER: u64 = Time::NEVER.as_nanos();

impl Line {
    /// The winner; the one further left of two that are equal.
    #[inline]
    fn winner(&self) -> (u64, u32) {
        let play = |a: (u64, usize), b: (u64, usize)| if b.0 < a.0 { b } else { a };
        let pair = |k: usize| play((self.times[k], k), (self.times[k + 1], k + 1));
        let (t, k) = play(play(pair(0), pair(2)), play(pair(4), pair(6)));
        (t, self.who[k])
    }

    /// The winner of the first [`FEW`], of the lowest level.
    #[inline(always)]
    fn winner_of_few(&self) -> (u64, u32) {
        let play = |a: (u64, u32), b: (u64, u32)| if b.0 < a.0 { b } else { a };
        let [a, b, c, d, ..] = self.times;
        play(play((a, 0), (b, 1)), play((c, 2), (d, 3)))
    }
}

impl Schedule {
    /// No wake-ups, for `elements` elements.
    pub fn new(elements: usize) -> Self {
        let mut lines = Vec::new();
        let mut levels = Vec::new();
        let (mut width, mut span) = (elements.max(1), 1);
        loop {
            width = width.div_ceil(WIDTH);
            levels.push(lines.len());
            let first = |line: usize, k: usize| ((line * WIDTH + k) * span) as u32;
            lines.extend(
                (0..width)
                    .map(|line| Line { times: [NEVER; WIDTH], who: std::array::from_fn(|k| first(line, k)) }),
            );
            span *= WIDTH;
            if width == 1 {
                break;
            }
        }
        Schedule { lines, levels, winner: (NEVER, 0), few: elements <= FEW, shuffle: None }
    }

    /// Breaks ties by a hash of this seed, the time and the place instead of by position.
    pub fn shuffle_ties(&mut self, seed: u64) {
        self.shuffle = Some(seed);
    }

    /// When element `i` is to run; [`Time::NEVER`] if it is not.
    #[inline]
    pub fn pending(&self, i: usize) -> Time {
        Time::from_nanos(self.lines[i / WIDTH].times[i % WIDTH])
    }

    /// Lets element `i` run at `t`, earlier or later than before.
    #[inline]
    pub fn set(&mut self, i: usize, t: Time) {
        if self.few
            && let Some(line) = self.lines.first_mut()
        {
            line.times[i % FEW] = t.as_nanos();
            self.winner = line.winner_of_few();
            return;
        }
        self.set_in_tree(i, t);
    }

    #[inline]
    fn set_in_tree(&mut self, i: usize, t: Time) {
        let mut at = i;
        let mut winner = (t.as_nanos(), i as u32);
        for &level in &self.levels {
            let line = &mut self.lines[level + at / WIDTH];
            let k = at % WIDTH;
            if (line.times[k], line.who[k]) == winner {
                return;
            }
            (line.times[k], line.who[k]) = winner;
            winner = line.winner();
            at /= WIDTH;
        }
        self.winner = winner;
    }

    /// Lets element `i` run no later than `t`. A later wish is not recorded: the element is asked
    /// again when it runs, which is cheaper than moving a timer that is restarted all the time.
    #[inline]
    pub fn no_later(&mut self, i: usize, t: Time) {
        if t >= self.pending(i) {
            return;
        }
        // Earlier than before: whoever won its line stands in the line above, so no line is searched.
        let (mut at, new) = (i, (t.as_nanos(), i as u32));
        if self.few
            && let Some(line) = self.lines.first_mut()
        {
            line.times[i % FEW] = new.0;
            self.winner = self.winner.min(new);
            return;
        }
        for (l, &level) in self.levels.iter().enumerate() {
            let line = &mut self.lines[level + at / WIDTH];
            (line.times[at % WIDTH], line.who[at % WIDTH]) = new;
            at /= WIDTH;
            let best = match self.levels.get(l + 1) {
                Some(above) => {
                    let above = &self.lines[above + at / WIDTH];
                    (above.times[at % WIDTH], above.who[at % WIDTH])
                }
                None => self.winner,
            };
            if best <= new {
                return;
            }
        }
        self.winner = new;
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
        let mut at = 0;
        for &level in self.levels.iter().rev() {
            let line = level + at;
            let hash = mix(self.shuffle.unwrap_or_default() ^ mix(t ^ mix(line as u64)));
            let tied = || (0..WIDTH).filter(|&k| self.lines[line].times[k] == t);
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
