//! CPU budget of the real-time thread (`sched_rt_runtime_us`).
//!
//! The kernel stops a real-time thread that had a processor for 95 % of a second for the rest of it, 50 ms
//! (`sched_rt_runtime_us`). So the thread's time on the processor is counted, working or spinning: from some point on
//! it does not spin, and before the kernel would stop it, it rests for a moment by itself.

use base::{Span, Time};

/// What a thread has used of the present period, and for how long it spins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strain {
    /// For so long it spins at most; zero: never.
    most: Span,
    /// For so long it spins at present.
    window: Span,
    /// Which period it is; none before the first look.
    period: Option<u64>,
    /// The thread's time on the processor at its beginning.
    began: Span,
    /// What was used of it when it was last looked.
    used: Span,
    looked: Time,
    /// Until when it spins, if it does.
    until: Time,
}

const PERIOD: Span = Span::from_millis(100);
/// Beyond this share of a period nothing is spun: well below all of it, others still run.
const SPIN_BUDGET: Span = Span::from_millis(80);
/// Beyond this one it rests: 8 ms late in a period is better than 50 ms in each second.
const AT_MOST: Span = Span::from_millis(92);
/// Asking for the time on the processor costs a call, so it is done this often.
const BETWEEN: Span = Span::from_millis(1);
/// A wake-up is hardly ever later than this on a machine that is awake, so spinning for less buys nothing.
const LEAST: Span = Span::from_nanos(20_000);

impl Strain {
    /// A thread that spins for `spin` before what is due.
    pub(crate) fn new(spin: Span) -> Strain {
        Strain {
            most: spin,
            window: spin,
            period: None,
            began: Span::ZERO,
            used: Span::ZERO,
            looked: Time::ZERO,
            until: Time::NEVER,
        }
    }

    /// It does not spin: without real-time priority whoever does is preempted just when it matters.
    pub(crate) fn never_spin(&mut self) {
        (self.most, self.window) = (Span::ZERO, Span::ZERO);
    }

    /// So long before what is due it stops sleeping.
    pub(crate) fn window(&self) -> Span {
        self.window
    }

    /// Takes in how long the thread has been on the processor in its life, if it is time to ask. Where a period was nearly
    /// used up, it spins for less long from then on, and at last not at all: late by a little less often is worth more than
    /// exact most of the time.
    pub(crate) fn look(&mut self, now: Time, cpu: impl FnOnce() -> Span) {
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
            // What the thread did before is nobody's concern.
        } else if self.used > SPIN_BUDGET {
            let half = Span::from_nanos(self.window.as_nanos() / 2);
            self.window = if half < LEAST { Span::ZERO } else { half };
        } else if self.used.times(2) < SPIN_BUDGET {
            self.window = self.window.times(2).max(LEAST).min(self.most);
        }
        (self.period, self.began, self.used) = (period, cpu, Span::ZERO);
    }

    /// Whether it may spin from `now` until `due`. What was allowed once is not taken back.
    pub(crate) fn may_spin(&mut self, now: Time, due: Time) -> bool {
        if self.window.is_zero() {
            return false;
        }
        if self.until != due && self.used + due.since(now) <= SPIN_BUDGET {
            self.until = due;
        }
        self.until == due
    }

    /// Until when it has to rest, if it has to.
    pub(crate) fn rest(&self) -> Option<Time> {
        let period = self.period.filter(|_| self.used > AT_MOST)?;
        Some(Time::from_nanos((period + 1) * PERIOD.as_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIN: Span = Span::from_nanos(200_000);

    fn at(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    /// A thread that always has something to do, for `seconds`; what it used of each second.
    fn busy(strain: &mut Strain, seconds: u64) -> Vec<u64> {
        let (mut now, mut cpu) = (0, 0);
        let mut shares = vec![0; seconds as usize];
        while now < seconds * 1_000_000 {
            strain.look(at(now), || Span::from_nanos(cpu * 1000));
            match strain.rest() {
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
        let mut strain = Strain::new(SPIN);
        for share in busy(&mut strain, 5) {
            assert!((900_000..945_000).contains(&share), "{share} us of a second");
        }
        assert_eq!(strain.window(), Span::ZERO);
    }

    #[test]
    fn who_has_little_to_do_spins_as_long_as_asked() {
        let mut strain = Strain::new(SPIN);
        busy(&mut strain, 2);
        for ms in 2_000..4_000 {
            // A tenth of the time at work.
            strain.look(at(ms * 1000), || Span::from_millis(1840 + (ms - 2_000) / 10));
            assert_eq!(strain.rest(), None);
        }
        assert_eq!(strain.window(), SPIN);
        assert!(strain.may_spin(at(4_000_000), at(4_000_150)));
    }

    #[test]
    fn spinning_ends_before_the_period_does() {
        let mut strain = Strain::new(SPIN);
        strain.look(at(0), || Span::ZERO);
        strain.look(at(79_900), || Span::from_millis(79));
        assert!(strain.may_spin(at(79_900), at(80_100)));
        strain.look(at(81_000), || Span::from_nanos(80_100_000));
        assert!(!strain.may_spin(at(81_000), at(81_200)));
        let mut fair = Strain::new(SPIN);
        fair.never_spin();
        assert!(!fair.may_spin(at(0), at(10)));
    }
}
