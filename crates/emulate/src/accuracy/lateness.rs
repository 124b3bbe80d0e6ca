//! Lateness histogram of an emulation, its timing accuracy (`Timing`), and the reason why a run is not faithful.
//!
//! The histogram has constant relative precision and never allocates during a run.

use crate::accuracy::overhead::Overhead;
use base::Span;
use serde::{Deserialize, Serialize};

/// Histogram of durations. A class is at most a sixteenth as wide as its values.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum: u64,
    max: u64,
}

/// log2 of the number of classes for each power of two.
const SUB_BITS: u32 = 4;
/// Number of classes for each power of two.
const SUB: u64 = 1 << SUB_BITS;

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; class(u64::MAX) + 1], total: 0, sum: 0, max: 0 }
    }
}

/// Index of the class of a duration in ns.
fn class(ns: u64) -> usize {
    if ns < SUB {
        return ns as usize;
    }
    let shift = 63 - ns.leading_zeros() - SUB_BITS;
    ((u64::from(shift) + 1) * SUB + ((ns >> shift) - SUB)) as usize
}

/// Largest duration of a class, ns.
fn top(class: usize) -> u64 {
    let (group, rest) = (class as u64 / SUB, class as u64 % SUB);
    if group == 0 {
        return rest;
    }
    let shift = group - 1;
    // The last class ends at `u64::MAX`.
    ((u128::from(SUB + rest + 1) << shift) - 1).min(u128::from(u64::MAX)) as u64
}

impl Histogram {
    /// Adds a duration.
    pub fn add(&mut self, length: Span) {
        let ns = length.as_nanos();
        if let Some(count) = self.counts.get_mut(class(ns)) {
            *count += 1;
        }
        self.total += 1;
        self.sum = self.sum.saturating_add(ns);
        self.max = self.max.max(ns);
    }
    /// Number of durations.
    pub fn count(&self) -> u64 {
        self.total
    }
    /// Sum of the durations.
    pub fn sum(&self) -> Span {
        Span::from_nanos(self.sum)
    }
    /// Maximum (exact).
    pub fn max(&self) -> Span {
        Span::from_nanos(self.max)
    }
    /// Quantile `q` (0 to 1), at most a sixteenth too large; zero without durations.
    pub fn quantile(&self, q: f64) -> Span {
        let rank = ((q.clamp(0.0, 1.0) * self.total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (i, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Span::from_nanos(top(i).min(self.max));
            }
        }
        Span::ZERO
    }
    /// Number of durations above `limit`; durations less than a sixteenth above it may be missing.
    pub fn above(&self, limit: Span) -> u64 {
        self.counts.iter().skip(class(limit.as_nanos()) + 1).sum()
    }
    /// Serialisable form with the non-empty classes.
    pub fn pack(&self) -> Packed {
        let full = self.counts.iter().enumerate().filter(|(_, n)| **n > 0);
        Packed { counts: full.map(|(i, n)| (i, *n)).collect(), sum: self.sum, max: self.max }
    }
    /// Histogram from its serialisable form; unknown classes are discarded.
    pub fn unpack(packed: &Packed) -> Histogram {
        let mut h = Histogram { sum: packed.sum, max: packed.max, ..Histogram::default() };
        for (class, n) in &packed.counts {
            if let Some(count) = h.counts.get_mut(*class) {
                *count = count.saturating_add(*n);
                h.total = h.total.saturating_add(*n);
            }
        }
        h
    }
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }
}

/// Serialisable histogram: non-empty classes, sum and maximum in ns.
#[derive(Clone, Default, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed {
    counts: Vec<(usize, u64)>,
    sum: u64,
    max: u64,
}

/// Timing accuracy of an emulation.
#[derive(Clone, Default, Debug)]
pub struct Timing {
    /// Lateness of packets: time from the due time to the return of the system call that wrote the packet.
    pub egress: Histogram,
    /// Upper bound of the time that a packet waited to be read while the driver was awake: time since the last read of
    /// its device. Waiting while the driver slept is not included; `egress` covers late wake-ups.
    pub ingress: Histogram,
    /// Packets refused by the kernel.
    pub refused: u64,
    /// Packets dropped by a device before they were read.
    pub overrun: u64,
    /// Packets read that were not valid IP.
    pub strange: u64,
    /// The driver had real-time priority.
    pub realtime: bool,
    /// The devices of all network stacks on this host have segmentation offload.
    pub offload: bool,
    /// Packet transport between hosts, if there are several.
    pub between: Option<Overhead>,
}

impl Timing {
    /// Reason why a run is not faithful: too many packets later than `limit`, or losses outside of the model.
    pub fn fault(&self, limit: Span) -> Option<String> {
        // Up to 1 % of the packets may be late, at least one.
        let (late, all) = (self.egress.above(limit), self.egress.count());
        if late > all.div_ceil(100) {
            return Some(format!(
                "{late} of {all} packets left more than {:.3} ms late, and one in a hundred may",
                limit.as_secs_f64() * 1e3
            ));
        }
        if self.refused + self.overrun > 0 {
            return Some(format!("{} packets were lost outside the model", self.refused + self.overrun));
        }
        self.between.as_ref().and_then(|between| between.fault(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_class_holds_what_falls_into_it(ns: u64) {
            let c = class(ns);
            prop_assert!(ns <= top(c));
            prop_assert!(c == 0 || ns > top(c - 1));
            prop_assert!(top(c) - ns <= ns / SUB + 1);
        }

        #[test]
        fn quantiles_are_those_of_a_sorted_list(mut list in proptest::collection::vec(0u64..10_000_000_000, 1..200), q in 0.0f64..=1.0) {
            let mut h = Histogram::default();
            for ns in &list {
                h.add(Span::from_nanos(*ns));
            }
            list.sort_unstable();
            let rank = ((q * list.len() as f64).ceil() as usize).max(1);
            let exact = list[rank - 1];
            let told = h.quantile(q).as_nanos();
            prop_assert!(told >= exact && told - exact <= exact / SUB + 1);
            prop_assert_eq!(h.max().as_nanos(), list[list.len() - 1]);
        }
    }

    /// Lateness is measured, and a run above its limit does not count (SW-60).
    #[test]
    fn late_or_lossy_is_not_faithful() {
        let mut t = Timing::default();
        for ms in 0..1000 {
            t.egress.add(if ms < 989 { Span::ZERO } else { Span::from_millis(2) });
        }
        assert!(t.fault(Span::from_millis(1)).is_some_and(|why| why.contains("late")));
        assert!(t.fault(Span::from_millis(3)).is_none());
        t.overrun = 1;
        assert!(t.fault(Span::from_millis(3)).is_some_and(|why| why.contains("lost")));
    }
}
