//! Live counters of lateness, shared by the driver and the display.
//!
//! A few numbers that the driver writes now and then and anybody may read.

use super::lateness::Timing;
use base::{Span, Time};
use std::sync::atomic::{AtomicU64, Ordering};

/// The latest numbers of a run.
#[derive(Debug, Default)]
pub struct Live([AtomicU64; 5]);

/// What they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// When, from t = 0.
    pub at: Time,
    /// Packets that have left.
    pub packets: u64,
    /// The lateness that half of them do not exceed.
    pub half: Span,
    /// That which 99 of a hundred do not exceed.
    pub p99: Span,
    /// The greatest.
    pub max: Span,
}

impl Live {
    /// Writes down the present.
    pub(crate) fn note(&self, at: Time, timing: &Timing) {
        let late = &timing.egress;
        self.set([
            at.as_nanos(),
            late.count(),
            late.quantile(0.5).as_nanos(),
            late.quantile(0.99).as_nanos(),
            late.max().as_nanos(),
        ]);
    }

    /// The bare numbers, for another host.
    pub fn numbers(&self) -> [u64; 5] {
        [0, 1, 2, 3, 4].map(|i: usize| self.0[i].load(Ordering::Relaxed))
    }

    /// Those of another host.
    pub fn set(&self, numbers: [u64; 5]) {
        for (place, number) in self.0.iter().zip(numbers) {
            place.store(number, Ordering::Relaxed);
        }
    }

    /// Reads them; they may be of two moments, one just after the other.
    pub fn look(&self) -> Look {
        let [at, packets, half, p99, max] = self.numbers();
        let span = Span::from_nanos;
        Look { at: Time::from_nanos(at), packets, half: span(half), p99: span(p99), max: span(max) }
    }
}
