//! Clock of a measurement (monotonic time since its start) and sleeping; the only place in this crate that reads time.

use base::{Span, Time};
use std::time::{Duration, Instant};

/// Monotonic clock that starts at its creation.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts the clock.
    #[allow(clippy::disallowed_methods, reason = "this is a driver: it owns the clock")]
    pub fn start() -> Clock {
        Clock(Instant::now())
    }
    /// Time since the start of the clock.
    pub fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
    /// Time until `t`; zero if `t` is past.
    pub(crate) fn until(&self, t: Time) -> Span {
        t.since(self.now())
    }
}

/// Sleeps for `span`.
#[allow(clippy::disallowed_methods, reason = "this is a driver: it waits")]
pub(crate) fn sleep(span: Span) {
    std::thread::sleep(Duration::from_nanos(span.as_nanos()));
}
