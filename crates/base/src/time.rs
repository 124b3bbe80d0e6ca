//! Simulated time: instants ([`Time`]) and durations ([`Span`]) in nanoseconds.
//!
//! Both count whole nanoseconds, instants from the start of the run. They are different types, so that adding
//! two instants does not compile.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// An instant: nanoseconds since the start of the run. [`Time::NEVER`] sorts after all other instants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A duration in nanoseconds; never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

const NANOS: f64 = 1e9;

/// Converts seconds to nanoseconds, rounded to the nearest; saturates; NaN and negative numbers yield zero.
fn nanos_from_secs(s: f64) -> u64 {
    (s * NANOS + 0.5) as u64
}

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// No time; additions to it have no effect.
    pub const NEVER: Time = Time(u64::MAX);

    /// From nanoseconds since the start.
    pub const fn from_nanos(ns: u64) -> Self {
        Time(ns)
    }
    /// From seconds since the start, to the nearest nanosecond.
    pub fn from_secs_f64(s: f64) -> Self {
        Time(nanos_from_secs(s))
    }
    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS
    }
    /// Duration since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
    /// True for [`Time::NEVER`].
    pub const fn is_never(self) -> bool {
        self.0 == u64::MAX
    }
}

impl Span {
    /// Zero duration.
    pub const ZERO: Span = Span(0);
    /// Longer than any run.
    pub const FOREVER: Span = Span(u64::MAX);

    /// From nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Span(ns)
    }
    /// From milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Span(ms * 1_000_000)
    }
    /// From whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Span(s * 1_000_000_000)
    }
    /// From seconds, rounded to the nearest nanosecond; negative and NaN give zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Span(nanos_from_secs(s))
    }
    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS
    }
    /// `n` times this duration; saturates.
    pub const fn times(self, n: u64) -> Span {
        Span(self.0.saturating_mul(n))
    }
    /// True if zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, s: Span) -> Time {
        Time(self.0.saturating_add(s.0))
    }
}
impl AddAssign<Span> for Time {
    fn add_assign(&mut self, s: Span) {
        *self = *self + s;
    }
}
impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, s: Span) -> Time {
        Time(self.0.saturating_sub(s.0))
    }
}
impl Add for Span {
    type Output = Span;
    fn add(self, s: Span) -> Span {
        Span(self.0.saturating_add(s.0))
    }
}
impl AddAssign for Span {
    fn add_assign(&mut self, s: Span) {
        *self = *self + s;
    }
}
impl Sub for Span {
    type Output = Span;
    fn sub(self, s: Span) -> Span {
        Span(self.0.saturating_sub(s.0))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_never() { f.write_str("never") } else { write!(f, "{:.9} s", self.as_secs_f64()) }
    }
}
impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs_f64())
    }
}
