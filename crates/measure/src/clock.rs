//! Clock of the measurement; the only place of this crate that reads it or waits.
//!
//! The one place of this crate that asks, and that waits.

use base::{Span, Time};
use std::time::{Duration, Instant};

/// Runs from the moment it is made.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts one.
    #[allow(clippy::disallowed_methods, reason = "this is a driver: it owns the clock")]
    pub fn start() -> Clock {
        Clock(Instant::now())
    }
    /// The present.
    pub fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
    /// How long until `t`; zero if it is past.
    pub(crate) fn until(&self, t: Time) -> Span {
        t.since(self.now())
    }
}

/// Waits.
#[allow(clippy::disallowed_methods, reason = "this is a driver: it waits")]
pub(crate) fn sleep(span: Span) {
    std::thread::sleep(Duration::from_nanos(span.as_nanos()));
}
