//! What time is it? The one place of this crate that asks: nanoseconds of the monotonic clock since the
//! origin of a run.

use base::{Span, Time};

/// The clock of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    origin: u64,
}

impl Clock {
    /// A clock that will show t = 0 so long from now.
    pub fn starting_in(lead: Span) -> Clock {
        Clock { origin: crate::sys::monotonic() + lead.as_nanos() }
    }
    /// The present; t = 0 until the origin has come.
    pub fn now(&self) -> Time {
        Time::from_nanos(crate::sys::monotonic().saturating_sub(self.origin))
    }
    /// How long until `t`; zero if it is past.
    pub fn until(&self, t: Time) -> Span {
        Span::from_nanos(self.raw(t).saturating_sub(crate::sys::monotonic()))
    }
    /// True until the origin has come.
    pub fn is_before(&self) -> bool {
        crate::sys::monotonic() < self.origin
    }
    /// The instant on the machine's own monotonic clock.
    pub(crate) fn raw(&self, t: Time) -> u64 {
        self.origin.saturating_add(t.as_nanos())
    }
}
