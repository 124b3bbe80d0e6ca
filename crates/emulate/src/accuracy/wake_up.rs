//! Wake-up latency of a timer (`WakeUpLatency`): the driver sets its timer early by the least latency of the last
//! wake-ups.
//!
//! A wake-up is seldom quicker than the quickest of the last ones. So a sleep ends nearer to its due time, and hardly
//! ever before it, where the driver then waits for the rest.

use base::Span;

/// Number of wake-ups that count.
const SAMPLES: usize = 16;
/// Longest lead: a slower machine gains nothing from busy-waiting.
const MOST: Span = Span::from_nanos(50_000);
/// Least length of a sleep, as a multiple of the lead: bounds the processor time of waiting to a tenth.
const LONG: u64 = 10;

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

    /// Time by which the timer of a sleep of this length is set early; zero for a short one, and before the first
    /// [`SAMPLES`] wake-ups.
    pub(crate) fn lead(&self, sleep: Span) -> Span {
        if self.number < SAMPLES {
            return Span::ZERO;
        }
        let least = self.last.iter().copied().min().unwrap_or(Span::ZERO).min(MOST);
        if sleep < least.times(LONG) { Span::ZERO } else { least }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Span {
        Span::from_nanos(us * 1000)
    }

    #[test]
    fn the_quickest_of_the_last_wake_ups_leads() {
        let mut latency = WakeUpLatency::default();
        (0..15).for_each(|i| latency.add(us(40 + i)));
        assert_eq!(latency.lead(us(10_000)), Span::ZERO, "too few");
        latency.add(us(30));
        assert_eq!(latency.lead(us(10_000)), us(30));
        assert_eq!(latency.lead(us(299)), Span::ZERO, "a short sleep");
        // Sixteen slower ones later the quick one is forgotten.
        (0..16).for_each(|_| latency.add(us(70)));
        assert_eq!(latency.lead(us(10_000)), us(50), "never more than that");
    }
}
