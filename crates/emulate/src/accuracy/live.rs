//! Live counters of lateness, shared by the driver and the display.
//!
//! Written by the driver at intervals, readable from any thread.

use super::lateness::Timing;
use base::{Span, Time};
use std::sync::atomic::{AtomicU64, Ordering};

/// Latest values of a run.
#[derive(Debug, Default)]
pub struct Live([AtomicU64; 5]);

/// Snapshot of the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Time since t = 0.
    pub at: Time,
    /// Packets sent.
    pub packets: u64,
    /// Median lateness.
    pub half: Span,
    /// 99th percentile of the lateness.
    pub p99: Span,
    /// Maximum lateness.
    pub max: Span,
}

impl Live {
    /// Stores the current values.
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

    /// Raw values, for another host.
    pub fn numbers(&self) -> [u64; 5] {
        [0, 1, 2, 3, 4].map(|i: usize| self.0[i].load(Ordering::Relaxed))
    }

    /// Stores raw values of another host.
    pub fn set(&self, numbers: [u64; 5]) {
        for (place, number) in self.0.iter().zip(numbers) {
            place.store(number, Ordering::Relaxed);
        }
    }

    /// Reads the values; they may stem from two successive updates.
    pub fn look(&self) -> Snapshot {
        let [at, packets, half, p99, max] = self.numbers();
        let span = Span::from_nanos;
        Snapshot { at: Time::from_nanos(at), packets, half: span(half), p99: span(p99), max: span(max) }
    }
}
