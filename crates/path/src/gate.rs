//! Gate: closed intervals of a link, listed or drawn from distributions, and the next opening time.
//!
//! The intervals depend on seed, repetition and time, never on traffic, so that all compared flows have the same
//! interruptions.

use base::dist::{Dist, Sampler};
use base::rng::Seed;
use base::{Span, Time};
use std::collections::VecDeque;

/// Point from which the distance to the next interval is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntervalReference {
    /// The start of the previous interval.
    Start,
    /// The end of the previous interval.
    End,
}

/// Start of the first interval.
#[derive(Clone, Debug, PartialEq)]
pub enum FirstInterval {
    /// Stationary, as if the process had been running for ever.
    Stationary,
    /// Drawn from this distribution, ns after t = 0.
    Drawn(Dist),
}

/// Definition of the closed intervals of a gate.
#[derive(Clone, Debug, PartialEq)]
pub enum Closures {
    /// Intervals drawn from distributions.
    Process {
        /// Distance of successive intervals, ns.
        every: Dist,
        /// Point from which `every` is counted.
        from: IntervalReference,
        /// Start of the first interval.
        first: FirstInterval,
        /// Duration of each interval, ns.
        lasts: Dist,
    },
    /// Listed intervals (start, end), ascending.
    List(Vec<(Time, Time)>),
}

/// Number of successive overlapping intervals after which the gate counts as closed for good, as with
/// interruptions of a minute that start every 30 seconds. It bounds the search for their end.
const ENDLESS: u32 = 100_000;

/// Gate in one repetition: the closed intervals that have not ended, and the generator of further intervals.
#[derive(Clone, Debug)]
pub struct Gate {
    source: Generator,
    /// Closed intervals (start, end), ascending; overlapping intervals of a process are merged.
    upcoming: VecDeque<(Time, Time)>,
}

#[derive(Clone, Debug)]
enum Generator {
    /// `next`: the interval drawn last, which overlaps no earlier interval.
    Process {
        every: Sampler,
        lasts: Sampler,
        from: IntervalReference,
        next: Option<(Time, Time)>,
    },
    List,
}

fn span(ns: f64) -> Span {
    Span::from_nanos(ns as u64)
}

impl Gate {
    /// Gate of one repetition. `name`, such as "radio.reselection", is the key of its random streams.
    pub fn new(closures: Closures, name: &str, seed: Seed) -> Self {
        match closures {
            Closures::Process { every, from, first, lasts } => {
                let mut lasts = Sampler::new(lasts, seed.stream(name, "lasts"));
                let stream = seed.stream(name, "first");
                let start = match first {
                    FirstInterval::Stationary => Sampler::new(every.clone(), stream).draw_stationary(),
                    FirstInterval::Drawn(dist) => Sampler::new(dist, stream).draw(),
                };
                let every = Sampler::new(every, seed.stream(name, "every"));
                let start = Time::ZERO + span(start);
                let end = start + span(lasts.draw());
                let next = Some((start, end));
                let source = Generator::Process { every, lasts, from, next };
                let mut gate = Gate { source, upcoming: VecDeque::new() };
                gate.extend();
                gate
            }
            Closures::List(list) => Gate { source: Generator::List, upcoming: list.into() },
        }
    }

    /// Appends the next interval, merged with all intervals that overlap it; false if there is no further interval.
    fn extend(&mut self) -> bool {
        let Generator::Process { every, lasts, from, next } = &mut self.source else { return false };
        let Some((begin, mut until)) = next.take() else { return false };
        let mut last = (begin, until);
        for _ in 0..ENDLESS {
            let origin = if *from == IntervalReference::Start { last.0 } else { last.1 };
            let start = origin + span(every.draw());
            let end = start + span(lasts.draw());
            // A process without progress would never end.
            let moves = start > origin || end > start;
            if start > until || !moves {
                *next = moves.then_some((start, end));
                self.upcoming.push_back((begin, until));
                return true;
            }
            until = until.max(end);
            last = (start, end);
        }
        self.upcoming.push_back((begin, Time::NEVER));
        true
    }

    /// First time from `t` on at which the gate is open; [`Time::NEVER`] if it is closed for good. `now` never
    /// decreases from call to call; `t` may decrease, but is not before `now`.
    #[inline]
    pub fn open_from(&mut self, now: Time, t: Time) -> Time {
        match self.upcoming.front() {
            Some(&(start, _)) if start <= t => self.open_after_closures(now, t),
            _ => t,
        }
    }

    fn open_after_closures(&mut self, now: Time, mut t: Time) -> Time {
        let mut i = 0;
        loop {
            // Another gate of the link is closed for good: this gate need not be searched.
            if t.is_never() {
                return t;
            }
            let Some(&(start, end)) = self.upcoming.get(i) else {
                if self.extend() {
                    continue;
                }
                return t;
            };
            if start > t {
                return t;
            }
            t = t.max(end);
            // Past intervals are removed; the last interval only after the next one was appended.
            if end <= now && i == 0 && (self.upcoming.len() > 1 || self.extend()) {
                self.upcoming.pop_front();
            } else {
                i += 1;
            }
        }
    }

    /// Whether the gate is closed at `t`, and the time until which this does not change. For `now` see
    /// [`Gate::open_from`].
    pub fn phase(&mut self, now: Time, t: Time) -> (bool, Time) {
        if t.is_never() {
            return (false, t);
        }
        let open = self.open_from(now, t);
        if open > t {
            return (true, open);
        }
        let next = self.upcoming.iter().find(|(start, _)| *start > t).copied();
        let next = next.or_else(|| if self.extend() { self.upcoming.back().copied() } else { None });
        (false, next.map_or(Time::NEVER, |(start, _)| start))
    }

    /// Closed intervals that start before `until`.
    pub fn closures_before(mut self, until: Time) -> impl Iterator<Item = (Time, Time)> {
        while self.upcoming.back().is_some_and(|&(start, _)| start < until) && self.extend() {}
        self.upcoming.into_iter().filter(move |&(start, _)| start < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Seed = Seed { seed: 1, repetition: 3 };

    fn reselections() -> Closures {
        Closures::Process {
            every: Dist::Uniform(20e9, 40e9),
            from: IntervalReference::Start,
            first: FirstInterval::Stationary,
            lasts: Dist::Uniform(3e9, 15e9),
        }
    }

    /// NS-04: distances from start to start, and durations, lie in the ranges of their distributions.
    #[test]
    fn intervals_and_lengths_lie_where_they_should() {
        let gate = Gate::new(reselections(), "radio.reselection", SEED);
        let closures = gate.closures_before(Time::from_nanos(30_000_000_000_000)).collect::<Vec<_>>();
        assert!(closures.len() > 900);
        for (start, end) in &closures {
            assert!((3.0..=15.0).contains(&end.since(*start).as_secs_f64()));
        }
        for pair in closures.windows(2) {
            assert!((20.0..=40.0).contains(&pair[1].0.since(pair[0].0).as_secs_f64()));
        }
    }

    #[test]
    fn the_weather_is_the_same_whatever_the_traffic() {
        let mut busy = Gate::new(reselections(), "radio.reselection", SEED);
        let mut deep = busy.clone();
        let mut idle = busy.clone();
        let s = |x| Time::ZERO + Span::from_secs(x);
        for ms in 0..300_000u64 {
            let t = Time::from_nanos(ms * 1_000_000);
            busy.open_from(t, t);
            deep.open_from(t, t + Span::from_secs(60)); // a long queue looks far ahead
        }
        let expected = idle.open_from(s(400), s(400));
        assert_eq!(busy.open_from(s(400), s(400)), expected);
        assert_eq!(deep.open_from(s(400), s(400)), expected);
    }

    #[test]
    fn looking_ahead_does_not_lose_the_present() {
        let s = |x| Time::ZERO + Span::from_secs(x);
        let mut gate = Gate::new(Closures::List(vec![(s(10), s(20)), (s(30), s(40))]), "g", SEED);
        assert_eq!(gate.open_from(s(0), s(35)), s(40));
        assert_eq!(gate.open_from(s(5), s(15)), s(20));
        assert_eq!(gate.open_from(s(25), s(25)), s(25));
    }

    fn every_second(lasts: Dist) -> Closures {
        let every = Dist::Constant(1e9);
        Closures::Process {
            first: FirstInterval::Drawn(every.clone()),
            every,
            from: IntervalReference::Start,
            lasts,
        }
    }

    /// Interruptions longer than their distance close the gate for good; the first query returns this.
    #[test]
    fn a_gate_that_never_opens_again_says_so() {
        let s = |x| Time::ZERO + Span::from_secs(x);
        let mut gate = Gate::new(every_second(Dist::Constant(2e9)), "g", SEED);
        assert_eq!(gate.open_from(s(0), s(0)), s(0));
        assert_eq!(gate.phase(s(0), s(0)), (false, s(1)));
        assert_eq!(gate.open_from(s(1), s(1)), Time::NEVER);
        assert_eq!(gate.phase(s(5), s(5)), (true, Time::NEVER));
        assert_eq!(gate.closures_before(s(1000)).collect::<Vec<_>>(), [(s(1), Time::NEVER)]);
        // Another gate of the same link is queried at that time; the query must end.
        let mut other = Gate::new(reselections(), "other", SEED);
        assert_eq!(other.open_from(s(5), Time::NEVER), Time::NEVER);
        assert_eq!(other.phase(s(5), Time::NEVER), (false, Time::NEVER));
    }

    /// Overlapping drawn intervals are merged for any order of queries; other intervals are not.
    #[test]
    fn drawn_closures_that_overlap_are_one() {
        let lasts = Dist::Uniform(0.1e9, 1.7e9);
        let until = Time::ZERO + Span::from_secs(300);
        let closures = Gate::new(every_second(lasts.clone()), "g", SEED).closures_before(until);
        let closures: Vec<_> = closures.collect();
        assert!(closures.iter().any(|(start, end)| end.since(*start).as_secs_f64() > 1.7), "some overlap");
        assert!(closures.windows(2).all(|pair| pair[0].1 < pair[1].0), "and are one");
        assert!(closures.len() > 100);
        let mut walked = Gate::new(every_second(lasts), "g", SEED);
        for ms in 0..300_000 {
            let t = Time::from_nanos(ms * 1_000_000);
            let inside = closures.iter().find(|(start, end)| *start <= t && t < *end);
            assert_eq!(walked.open_from(t, t), inside.map_or(t, |(_, end)| *end));
        }
    }

    #[test]
    fn overlapping_closures_are_one() {
        let s = |x| Time::ZERO + Span::from_secs(x);
        let mut gate = Gate::new(Closures::List(vec![(s(1), s(5)), (s(3), s(9)), (s(20), s(21))]), "g", SEED);
        assert_eq!(gate.open_from(s(0), s(0)), s(0));
        assert_eq!(gate.open_from(s(2), s(2)), s(9));
        assert_eq!(gate.open_from(s(9), s(9)), s(9));
        assert_eq!(gate.open_from(s(20), s(20)), s(21));
    }
}
