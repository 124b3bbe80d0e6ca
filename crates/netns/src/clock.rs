//! Monotonic clock of a run; the only place of this crate that reads it.
//!
//! Time is in nanoseconds of the monotonic clock since the origin of a run.

use base::{Span, Time};

/// Monotonic clock of the machine, ns.
pub fn monotonic() -> u64 {
    super::sys::monotonic()
}

/// The clock of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    origin: u64,
}

impl Clock {
    /// Clock with t = 0 at `lead` from now.
    pub fn starting_in(lead: Span) -> Clock {
        Clock { origin: super::sys::monotonic() + lead.as_nanos() }
    }
    /// Clock with t = 0 at `origin`, ns of the machine's monotonic clock.
    pub fn with_origin(origin: u64) -> Clock {
        Clock { origin }
    }
    /// Monotonic time of t = 0, ns.
    pub fn origin(&self) -> u64 {
        self.origin
    }
    /// Current time; t = 0 before the origin.
    pub fn now(&self) -> Time {
        Time::from_nanos(super::sys::monotonic().saturating_sub(self.origin))
    }
    /// Time of day (UT) at t = 0, by the machine's present wall clock.
    pub fn time_of_day(&self) -> Span {
        const DAY: i128 = 86_400_000_000_000;
        let ahead = i128::from(self.origin) - i128::from(super::sys::monotonic());
        Span::from_nanos((i128::from(super::sys::realtime()) + ahead).rem_euclid(DAY) as u64)
    }
    /// Time until `t`; zero if it is past.
    pub fn until(&self, t: Time) -> Span {
        Span::from_nanos(self.raw(t).saturating_sub(super::sys::monotonic()))
    }
    /// Whether the origin is in the future.
    pub fn is_before(&self) -> bool {
        super::sys::monotonic() < self.origin
    }
    /// Monotonic time of `t`, ns.
    pub fn raw(&self, t: Time) -> u64 {
        self.origin.saturating_add(t.as_nanos())
    }
}
