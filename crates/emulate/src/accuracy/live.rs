//! Live counters of an emulation (`Live`): time, packets and lateness, written by the driver at intervals, readable by
//! any thread.

use super::lateness::Timing;
use base::{Span, Time};
use std::sync::atomic::{AtomicU64, Ordering};

/// Latest values, without locks.
#[derive(Debug, Default)]
pub struct Live([AtomicU64; 5]);

/// Values at one time.
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
    /// Stores the values of `timing` at the time `at`.
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

    /// Raw values, for transport to another host.
    pub fn numbers(&self) -> [u64; 5] {
        [0, 1, 2, 3, 4].map(|i: usize| self.0[i].load(Ordering::Relaxed))
    }

    /// Stores raw values from another host.
    pub fn set(&self, numbers: [u64; 5]) {
        for (place, number) in self.0.iter().zip(numbers) {
            place.store(number, Ordering::Relaxed);
        }
    }

    /// Latest values; they may mix two successive updates.
    pub fn look(&self) -> Snapshot {
        let [at, packets, half, p99, max] = self.numbers();
        let span = Span::from_nanos;
        Snapshot { at: Time::from_nanos(at), packets, half: span(half), p99: span(p99), max: span(max) }
    }
}
