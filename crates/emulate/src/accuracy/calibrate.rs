//! Timer calibration before an emulation: lateness of wake-ups by method (sleeping or spinning, real-time priority or
//! not), and choice of the best method.

use super::lateness::Histogram;
use super::wake_up::WakeUpLatency;
use base::Span;
use netns::sys::{self, PollSet};

/// Method of waiting for a due time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitMethod {
    /// Use real-time priority.
    pub realtime: bool,
    /// Time before the due time at which the thread stops sleeping and spins.
    pub spin: Span,
}

/// Lateness of one method.
#[derive(Clone, Debug)]
pub struct LatenessTrial {
    /// Method of waiting.
    pub method: WaitMethod,
    /// Lateness of the wake-ups.
    pub late: Histogram,
}

/// Result of a calibration.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Trials, one for each available method.
    pub trials: Vec<LatenessTrial>,
    /// Index of the best trial.
    pub best: usize,
}

/// Number of wake-ups of a trial.
const WAKES: u64 = 120;
/// Least interval of wake-ups, ns; a prime, to avoid a common period with other timers. Intervals are up to a quarter
/// longer.
const EVERY: u64 = 997_000;
/// Step of the sequence that varies the interval, ns; a prime, to avoid a common period with other timers.
const WOBBLE: u64 = 331_000;
/// Spin window of the spinning method: the processor wakes up within this time.
pub const SPIN: Span = Span::from_nanos(200_000);
/// Largest 99th percentile of the lateness on a quiet machine.
const QUIET: Span = Span::from_nanos(200_000);
/// Largest lateness on a quiet machine.
const CALM: Span = Span::from_millis(2);

impl Calibration {
    /// Measures for about half a second. `realtime`: also try real-time priority; `spin`: spin window requested by
    /// the user, which replaces the choice.
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

    /// Best method.
    pub fn method(&self) -> WaitMethod {
        self.trials[self.best].method
    }

    /// Lateness of the best method.
    pub fn late(&self) -> &Histogram {
        &self.trials[self.best].late
    }

    /// Whether the machine is quiet enough for emulations without lateness.
    pub fn quiet(&self) -> bool {
        self.late().quantile(0.99) <= QUIET && self.late().max() <= CALM
    }
}

/// Index of the best trial. Trials are ordered by cost: a later trial is better only if its 99th percentile is less
/// than two thirds of that of the best earlier trial. `asked`: the user requested a method, which is the last
/// trial.
fn best(trials: &[LatenessTrial], asked: bool) -> usize {
    if asked {
        return trials.len() - 1;
    }
    let p99 = |i: usize| trials[i].late.quantile(0.99).as_nanos();
    (1..trials.len()).fold(0, |best, i| if 3 * p99(i) < 2 * p99(best) { i } else { best })
}

/// Measures one method in the calling thread; None if the method is not available.
fn tried(method: WaitMethod) -> Option<LatenessTrial> {
    sys::punctual();
    if method.realtime {
        sys::real_time(sys::DRIVER).ok()?;
    }
    let mut waiting = PollSet::new(std::iter::empty());
    let mut late = Histogram::default();
    let mut latency = WakeUpLatency::default();
    let mut due = sys::monotonic() + EVERY;
    for i in 0..WAKES {
        // As the driver does.
        let leads = method.realtime && method.spin.is_zero();
        let lead = if leads { latency.lead(Span::from_nanos(EVERY)) } else { method.spin };
        let armed = due.saturating_sub(lead.as_nanos());
        waiting.wait(Span::from_nanos(armed.saturating_sub(sys::monotonic()))).ok()?;
        let mut now = sys::monotonic();
        latency.add(Span::from_nanos(now.saturating_sub(armed)));
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

    /// On any machine a method is available, and no wake-up is early.
    #[test]
    fn something_is_found() {
        let found = Calibration::of_this_machine(true, None);
        assert!(found.late().count() == WAKES && found.best < found.trials.len());
    }
}
