//! Timer calibration before a run: sleeping or spinning, with or without real-time priority.
//!
//! Trial runs of sleeping and spinning, with real-time priority where available. The way with the least
//! lateness is used, and its lateness is reported.

use super::lateness::Histogram;
use base::Span;
use netns::sys::{self, PollSet};
use std::os::fd::AsRawFd as _;

/// A way to wait for a due time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitMethod {
    /// With real-time priority.
    pub realtime: bool,
    /// Time before the due time at which it stops sleeping and spins.
    pub spin: Span,
}

/// Lateness of one way.
#[derive(Clone, Debug)]
pub struct LatenessTrial {
    /// The way.
    pub method: WaitMethod,
    /// Lateness of its wake-ups.
    pub late: Histogram,
}

/// Result of a calibration.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Trials.
    pub trials: Vec<LatenessTrial>,
    /// Index of the best trial.
    pub best: usize,
}

/// Wake-ups of a trial, mean interval and its variation in ns; the primes avoid a common period with other
/// timers.
const WAKES: u64 = 120;
const EVERY: u64 = 997_000;
const WOBBLE: u64 = 331_000;
/// Smallest spin window that pays: below it, the processor does not wake up in time.
pub const SPIN: Span = Span::from_nanos(200_000);
/// Limits of a quiet machine: lateness of 99 % of wake-ups (`QUIET`), and of all (`CALM`).
const QUIET: Span = Span::from_nanos(200_000);
const CALM: Span = Span::from_millis(2);

impl Calibration {
    /// Takes about half a second. `realtime`: try real-time priority; `spin`: a spin window requested by the
    /// user, in place of a choice.
    pub fn of_this_machine(realtime: bool, spin: Option<Span>) -> Calibration {
        let mut ways = vec![WaitMethod { realtime: false, spin: Span::ZERO }];
        if realtime {
            ways.push(WaitMethod { realtime: true, spin: spin.unwrap_or(Span::ZERO) });
            if spin.is_none() {
                ways.push(WaitMethod { realtime: true, spin: SPIN });
            }
        }
        let tried = |method| {
            let trial = std::thread::spawn(move || tried(method)).join();
            trial.ok().flatten()
        };
        let mut trials: Vec<LatenessTrial> = ways.into_iter().filter_map(tried).collect();
        if trials.is_empty() {
            trials.push(LatenessTrial {
                method: WaitMethod { realtime: false, spin: Span::ZERO },
                late: Histogram::default(),
            });
        }
        let best = best(&trials, spin.is_some());
        Calibration { trials, best }
    }

    /// The best way.
    pub fn method(&self) -> WaitMethod {
        self.trials[self.best].method
    }

    /// Lateness of the best way.
    pub fn late(&self) -> &Histogram {
        &self.trials[self.best].late
    }

    /// Whether the machine is quiet enough for exact runs.
    pub fn quiet(&self) -> bool {
        self.late().quantile(0.99) <= QUIET && self.late().max() <= CALM
    }
}

/// Index of the trial with the least 99th percentile, if it is a third below that of a cheaper way. A
/// requested way is kept.
fn best(trials: &[LatenessTrial], asked: bool) -> usize {
    if asked {
        return trials.len() - 1;
    }
    let p99 = |i: usize| trials[i].late.quantile(0.99).as_nanos();
    (1..trials.len()).fold(0, |best, i| if 3 * p99(i) < 2 * p99(best) { i } else { best })
}

/// Tries one way in the calling thread; None if it is not available.
fn tried(method: WaitMethod) -> Option<LatenessTrial> {
    sys::punctual();
    if method.realtime {
        sys::real_time(sys::DRIVER).ok()?;
    }
    let timer = sys::timer().ok()?;
    let mut waiting = PollSet::new([timer.as_raw_fd()].into_iter());
    let mut late = Histogram::default();
    let mut due = sys::monotonic() + EVERY;
    for i in 0..WAKES {
        sys::set_timer(&timer, due.saturating_sub(method.spin.as_nanos())).ok()?;
        waiting.wait().ok()?;
        let mut now = sys::monotonic();
        while now < due {
            now = sys::monotonic();
        }
        late.add(Span::from_nanos(now - due));
        due = due.max(now) + EVERY + (i * WOBBLE) % EVERY / 4;
    }
    Some(LatenessTrial { method, late })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(realtime: bool, spin: Span, us: u64) -> LatenessTrial {
        let mut late = Histogram::default();
        for _ in 0..100 {
            late.add(Span::from_nanos(1000 * us));
        }
        LatenessTrial { method: WaitMethod { realtime, spin }, late }
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

    /// On any machine a way is found, and no wake-up is early.
    #[test]
    fn something_is_found() {
        let found = Calibration::of_this_machine(true, None);
        assert!(found.late().count() == WAKES && found.best < found.trials.len());
    }
}
