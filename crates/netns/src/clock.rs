//! Clock of a run (`Clock`): time since its origin, from the machine's monotonic clock in ns; the only place in this
//! crate that reads time.

use base::{Span, Time};

/// Monotonic clock of the machine, ns.
pub fn monotonic() -> u64 {
    super::sys::monotonic()
}

/// Clock of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    origin: u64,
}

impl Clock {
    /// Clock with t = 0 at `lead` from now.
    pub fn starting_in(lead: Span) -> Clock {
        Clock { origin: super::sys::monotonic() + lead.as_nanos() }
    }
    /// Clock with t = 0 at `origin`, in ns of the machine's monotonic clock.
    pub fn with_origin(origin: u64) -> Clock {
        Clock { origin }
    }
    /// Monotonic time at t = 0, ns.
    pub fn origin(&self) -> u64 {
        self.origin
    }
    /// Current time; 0 before the origin.
    pub fn now(&self) -> Time {
        Time::from_nanos(super::sys::monotonic().saturating_sub(self.origin))
    }
    /// Time of day (UT) at t = 0, by the current wall clock of the machine.
    pub fn time_of_day(&self) -> Span {
        const DAY: i128 = 86_400_000_000_000;
        let ahead = i128::from(self.origin) - i128::from(super::sys::monotonic());
        Span::from_nanos((i128::from(super::sys::realtime()) + ahead).rem_euclid(DAY) as u64)
    }
    /// Time until `t`; zero if `t` is past.
    pub fn until(&self, t: Time) -> Span {
        Span::from_nanos(self.raw(t).saturating_sub(super::sys::monotonic()))
    }
    /// Whether the origin is in the future.
    pub fn is_before(&self) -> bool {
        super::sys::monotonic() < self.origin
    }
    /// Monotonic time at `t`, ns.
    pub fn raw(&self, t: Time) -> u64 {
        self.origin.saturating_add(t.as_nanos())
    }
}
