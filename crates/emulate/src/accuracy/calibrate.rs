//! Timer calibration before a run: sleeping or spinning, with or without real-time priority.
//!
//! Before a run the timer is tried: asleep and spinning, with real-time priority where it is to be had. What wakes up
//! closest to its time is used, and what it reached is told.

use super::lateness::Histogram;
use base::Span;
use netns::sys::{self, Waiting};
use std::os::fd::AsRawFd as _;

/// A way to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// With real-time priority.
    pub realtime: bool,
    /// So long before the time it stops sleeping and spins.
    pub spin: Span,
}

/// How late a way to wait woke up.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The way.
    pub way: Way,
    /// From the time to be woken to being awake.
    pub late: Histogram,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// What was tried.
    pub trials: Vec<Trial>,
    /// Which of them is best.
    pub best: usize,
}

/// Wake-ups of a trial, and the time from one to the next; the numbers make them meet nothing regular.
const WAKES: u64 = 120;
const EVERY: u64 = 997_000;
const WOBBLE: u64 = 331_000;
/// Spinning pays from about here on: below, the processor is not awake in time.
pub const SPIN: Span = Span::from_nanos(200_000);
/// A machine on which one wake-up in a hundred is later than this, or one ever later than the other, is noisy.
const QUIET: Span = Span::from_nanos(200_000);
const CALM: Span = Span::from_millis(2);

impl Calibration {
    /// Tries for about half a second. `realtime`: whether real-time priority is wanted; `spin`: a length of spinning
    /// that is asked for, in place of a choice.
    pub fn of_this_machine(realtime: bool, spin: Option<Span>) -> Calibration {
        let mut ways = vec![Way { realtime: false, spin: Span::ZERO }];
        if realtime {
            ways.push(Way { realtime: true, spin: spin.unwrap_or(Span::ZERO) });
            if spin.is_none() {
                ways.push(Way { realtime: true, spin: SPIN });
            }
        }
        let tried = |way| {
            let trial = std::thread::spawn(move || tried(way)).join();
            trial.ok().flatten()
        };
        let mut trials: Vec<Trial> = ways.into_iter().filter_map(tried).collect();
        if trials.is_empty() {
            trials.push(Trial { way: Way { realtime: false, spin: Span::ZERO }, late: Histogram::default() });
        }
        let best = best(&trials, spin.is_some());
        Calibration { trials, best }
    }

    /// The way to wait.
    pub fn way(&self) -> Way {
        self.trials[self.best].way
    }

    /// How late it was.
    pub fn late(&self) -> &Histogram {
        &self.trials[self.best].late
    }

    /// Whether the machine lets a run be exact: what others do on it shows in few wake-ups.
    pub fn quiet(&self) -> bool {
        self.late().quantile(0.99) <= QUIET && self.late().max() <= CALM
    }
}

/// The one with the least lateness of 99 in a hundred, if it is less by a third than that of a way before it: what
/// takes more of the machine has to be worth it. What was asked for is kept.
fn best(trials: &[Trial], asked: bool) -> usize {
    if asked {
        return trials.len() - 1;
    }
    let p99 = |i: usize| trials[i].late.quantile(0.99).as_nanos();
    (1..trials.len()).fold(0, |best, i| if 3 * p99(i) < 2 * p99(best) { i } else { best })
}

/// Tries one way in the calling thread; none if it cannot be had.
fn tried(way: Way) -> Option<Trial> {
    sys::punctual();
    if way.realtime {
        sys::real_time(sys::DRIVER).ok()?;
    }
    let timer = sys::timer().ok()?;
    let mut waiting = Waiting::new([timer.as_raw_fd()].into_iter());
    let mut late = Histogram::default();
    let mut due = sys::monotonic() + EVERY;
    for i in 0..WAKES {
        sys::set_timer(&timer, due.saturating_sub(way.spin.as_nanos())).ok()?;
        waiting.wait().ok()?;
        let mut now = sys::monotonic();
        while now < due {
            now = sys::monotonic();
        }
        late.add(Span::from_nanos(now - due));
        due = due.max(now) + EVERY + (i * WOBBLE) % EVERY / 4;
    }
    Some(Trial { way, late })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(realtime: bool, spin: Span, us: u64) -> Trial {
        let mut late = Histogram::default();
        for _ in 0..100 {
            late.add(Span::from_nanos(1000 * us));
        }
        Trial { way: Way { realtime, spin }, late }
    }

    #[test]
    fn what_costs_more_has_to_be_worth_it() {
        let choose = |asleep, fifo, spun| {
            best(
                &[trial(false, Span::ZERO, asleep), trial(true, Span::ZERO, fifo), trial(true, SPIN, spun)],
                false,
            )
        };
        assert_eq!(choose(100, 90, 80), 0);
        assert_eq!(choose(400, 50, 40), 1);
        assert_eq!(choose(400, 50, 10), 2);
    }

    /// Whatever the machine is like, something is found, and nobody wakes up early.
    #[test]
    fn something_is_found() {
        let found = Calibration::of_this_machine(true, None);
        assert!(found.late().count() == WAKES && found.best < found.trials.len());
    }
}
