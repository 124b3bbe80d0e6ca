//! Monotonic clock of a run; the only place of this crate that reads it.
//!
//! The one place of this crate that asks: nanoseconds of the monotonic clock since the origin of a run.

use base::{Span, Time};

/// The machine's own monotonic clock, nanoseconds.
pub fn monotonic() -> u64 {
    super::sys::monotonic()
}

/// The clock of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    origin: u64,
}

impl Clock {
    /// A clock that will show t = 0 so long from now.
    pub fn starting_in(lead: Span) -> Clock {
        Clock { origin: super::sys::monotonic() + lead.as_nanos() }
    }
    /// A clock whose t = 0 is this instant of the machine's own monotonic clock, nanoseconds.
    pub fn with_origin(origin: u64) -> Clock {
        Clock { origin }
    }
    /// The instant of the machine's own monotonic clock at which it shows t = 0, nanoseconds.
    pub fn origin(&self) -> u64 {
        self.origin
    }
    /// The present; t = 0 until the origin has come.
    pub fn now(&self) -> Time {
        Time::from_nanos(super::sys::monotonic().saturating_sub(self.origin))
    }
    /// The time of day (UT) at t = 0, as the machine's clock has it now.
    pub fn time_of_day(&self) -> Span {
        const DAY: i128 = 86_400_000_000_000;
        let ahead = i128::from(self.origin) - i128::from(super::sys::monotonic());
        Span::from_nanos((i128::from(super::sys::realtime()) + ahead).rem_euclid(DAY) as u64)
    }
    /// How long until `t`; zero if it is past.
    pub fn until(&self, t: Time) -> Span {
        Span::from_nanos(self.raw(t).saturating_sub(super::sys::monotonic()))
    }
    /// True until the origin has come.
    pub fn is_before(&self) -> bool {
        super::sys::monotonic() < self.origin
    }
    /// The instant on the machine's own monotonic clock.
    pub fn raw(&self, t: Time) -> u64 {
        self.origin.saturating_add(t.as_nanos())
    }
}
