//! Wake-up latency of a sleep (`WakeUpLatency`): the driver ends its sleeps early by the third quartile of the last
//! latencies.
//!
//! Most sleeps then end just before their due time, and the driver waits for the rest. An idle processor wakes up slowly,
//! a busy one quickly, so the latency is measured all the time.

use base::Span;

/// Number of wake-ups that count.
const SAMPLES: usize = 16;
/// Rank of the latency that counts among them, in ascending order: the third quartile.
const RANK: usize = 11;
/// Longest lead: a slower machine gains nothing from busy-waiting.
const MOST: Span = Span::from_nanos(200_000);
/// Greatest share of a sleep that is spent waiting.
const SHARE: u64 = 10;
/// Shortest sleep that ends early: there are too many shorter ones, and the processor is awake.
const SHORT: Span = Span::from_nanos(250_000);

/// Latencies of the last wake-ups.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WakeUpLatency {
    last: [Span; SAMPLES],
    number: usize,
}

impl WakeUpLatency {
    /// Adds the latency of a wake-up.
    pub(crate) fn add(&mut self, latency: Span) {
        self.last[self.number % SAMPLES] = latency;
        self.number += 1;
    }

    /// Third quartile of the last latencies; zero before the first [`SAMPLES`].
    pub(crate) fn third_quartile(&self) -> Span {
        if self.number < SAMPLES {
            return Span::ZERO;
        }
        let mut last = self.last;
        let (_, latency, _) = last.select_nth_unstable(RANK);
        *latency
    }

    /// Time by which a sleep of this length ends early; zero for a short one.
    pub(crate) fn lead(&self, sleep: Span) -> Span {
        if sleep < SHORT {
            return Span::ZERO;
        }
        self.third_quartile().min(MOST).min(Span::from_nanos(sleep.as_nanos() / SHARE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Span {
        Span::from_nanos(us * 1000)
    }

    #[test]
    fn most_of_the_last_wake_ups_lead() {
        let mut latency = WakeUpLatency::default();
        (0..15).for_each(|i| latency.add(us(40 + i)));
        assert_eq!(latency.lead(us(10_000)), Span::ZERO, "too few");
        latency.add(us(900));
        assert_eq!(latency.lead(us(10_000)), us(51));
        assert_eq!(latency.lead(us(400)), us(40), "a tenth of the sleep");
        assert_eq!(latency.lead(us(249)), Span::ZERO, "a short sleep");
        // Sixteen slower ones later the quick ones are forgotten.
        (0..16).for_each(|_| latency.add(us(700)));
        assert_eq!(latency.lead(us(10_000)), us(200), "never more than that");
    }
}
