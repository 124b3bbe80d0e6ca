//! CPU budget of the real-time driver (`CpuBudget`): spin window, and sleep before the kernel throttles the thread.
//!
//! The kernel lets real-time threads run for 95 % of each second (`sched_rt_runtime_us`) and stops them for the
//! remaining 50 ms. The driver therefore counts its CPU time: beyond a budget it stops spinning, and just before the
//! kernel's limit it sleeps briefly.

use base::{Span, Time};

/// CPU use in the current period, and spin window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuBudget {
    /// Largest spin window; zero: no spinning.
    most: Span,
    /// Current spin window.
    window: Span,
    /// Index of the current period; None before the first sample.
    period: Option<u64>,
    /// CPU time of the thread at the start of the period.
    began: Span,
    /// CPU time used in the period, at the last sample.
    used: Span,
    /// Time of the last sample.
    looked: Time,
    /// Due time until which spinning is permitted.
    until: Time,
}

/// Period of the budget.
const PERIOD: Span = Span::from_millis(100);
/// CPU time of a period beyond which the thread does not spin, so that other threads can run.
const SPIN_BUDGET: Span = Span::from_millis(80);
/// CPU time of a period beyond which the thread sleeps until the period ends: at most 8 ms, where the kernel would
/// stop the thread for 50 ms.
const AT_MOST: Span = Span::from_millis(92);
/// Sample interval; reading the CPU time is a system call.
const BETWEEN: Span = Span::from_millis(1);
/// Least spin window other than zero: wake-ups of an active machine are seldom later than this.
const LEAST: Span = Span::from_nanos(20_000);

impl CpuBudget {
    /// Budget with the largest spin window `spin`.
    pub(crate) fn new(spin: Span) -> CpuBudget {
        CpuBudget {
            most: spin,
            window: spin,
            period: None,
            began: Span::ZERO,
            used: Span::ZERO,
            looked: Time::ZERO,
            until: Time::NEVER,
        }
    }

    /// Disables spinning: without real-time priority a spinning thread is preempted when it is needed.
    pub(crate) fn never_spin(&mut self) {
        (self.most, self.window) = (Span::ZERO, Span::ZERO);
    }

    /// Time before the due time at which the thread stops sleeping; zero for the rest of a period whose budget is used.
    pub(crate) fn window(&self) -> Span {
        if self.used > SPIN_BUDGET { Span::ZERO } else { self.window }
    }

    /// Samples the thread's CPU time, at most once per interval. After a period with more CPU time than
    /// [`SPIN_BUDGET`] the spin window is halved; after one with less than half of it, doubled. A smaller window makes
    /// packets slightly late, but avoids sleeps in which packets are milliseconds late. It stays above the wake-up
    /// `latency`: with a window below it most packets are late, otherwise those of the rest of the period.
    pub(crate) fn look(&mut self, now: Time, latency: impl FnOnce() -> Span, cpu: impl FnOnce() -> Span) {
        let period = Some(now.as_nanos() / PERIOD.as_nanos());
        if self.period == period && now < self.looked + BETWEEN {
            return;
        }
        let cpu = cpu();
        self.looked = now;
        self.used = cpu - self.began;
        if self.period == period {
            return;
        }
        if self.period.is_none() {
            // CPU time before the first period does not count.
        } else if self.used > SPIN_BUDGET {
            let half = Span::from_nanos(self.window.as_nanos() / 2);
            if half >= latency().max(LEAST) {
                self.window = half;
            }
        } else if self.used.times(2) < SPIN_BUDGET {
            self.window = self.window.times(2).max(LEAST).min(self.most);
        }
        (self.period, self.began, self.used) = (period, cpu, Span::ZERO);
    }

    /// Whether the thread may spin from `now` until `due`: if the budget suffices, or it was permitted before for
    /// this `due`.
    pub(crate) fn may_spin(&mut self, now: Time, due: Time) -> bool {
        if self.window().is_zero() {
            return false;
        }
        if self.until != due && self.used + due.since(now) <= SPIN_BUDGET {
            self.until = due;
        }
        self.until == due
    }

    /// End of the period, until which the thread must sleep; `None` below the limit [`AT_MOST`].
    pub(crate) fn rest(&self) -> Option<Time> {
        let period = self.period.filter(|_| self.used > AT_MOST)?;
        Some(Time::from_nanos((period + 1) * PERIOD.as_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIN: Span = Span::from_nanos(200_000);
    const LATENCY: Span = Span::from_nanos(60_000);

    fn at(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    /// Simulates a thread that is always busy for `seconds`; returns the CPU time used in each second.
    fn busy(cpu_budget: &mut CpuBudget, seconds: u64) -> Vec<u64> {
        let (mut now, mut cpu) = (0, 0);
        let mut shares = vec![0; seconds as usize];
        while now < seconds * 1_000_000 {
            cpu_budget.look(at(now), || LATENCY, || Span::from_nanos(cpu * 1000));
            match cpu_budget.rest() {
                Some(until) => now = until.as_nanos() / 1000,
                None => {
                    shares[(now / 1_000_000) as usize] += 50;
                    (now, cpu) = (now + 50, cpu + 50);
                }
            }
        }
        shares
    }

    #[test]
    fn no_second_is_used_up() {
        let mut cpu_budget = CpuBudget::new(SPIN);
        for share in busy(&mut cpu_budget, 5) {
            assert!((900_000..945_000).contains(&share), "{share} us of a second");
        }
        assert_eq!(cpu_budget.window(), Span::ZERO, "the period's budget is used");
        assert_eq!(cpu_budget.window, Span::from_nanos(100_000), "half of it is below the latency");
    }

    #[test]
    fn who_has_little_to_do_spins_as_long_as_asked() {
        let mut cpu_budget = CpuBudget::new(SPIN);
        busy(&mut cpu_budget, 2);
        for ms in 2_000..4_000 {
            // Busy for a tenth of the time.
            cpu_budget.look(at(ms * 1000), || LATENCY, || Span::from_millis(1840 + (ms - 2_000) / 10));
            assert_eq!(cpu_budget.rest(), None);
        }
        assert_eq!(cpu_budget.window(), SPIN);
        assert!(cpu_budget.may_spin(at(4_000_000), at(4_000_150)));
    }

    #[test]
    fn spinning_ends_before_the_period_does() {
        let mut cpu_budget = CpuBudget::new(SPIN);
        cpu_budget.look(at(0), || LATENCY, || Span::ZERO);
        cpu_budget.look(at(79_900), || LATENCY, || Span::from_millis(79));
        assert!(cpu_budget.may_spin(at(79_900), at(80_100)));
        cpu_budget.look(at(81_000), || LATENCY, || Span::from_nanos(80_100_000));
        assert!(!cpu_budget.may_spin(at(81_000), at(81_200)));
        let mut fair = CpuBudget::new(SPIN);
        fair.never_spin();
        assert!(!fair.may_spin(at(0), at(10)));
    }
}
