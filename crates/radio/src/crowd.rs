//! Poisson arrivals with exponential durations: additional voice calls and packet users in the load of a cell.

use crate::tdma::{BLOCKS_PER_SECOND, Tick};
use base::Span;
use base::rng::Stream;

/// Generator of arrivals and durations.
pub(crate) struct Crowd {
    stream: Stream,
    /// Mean interarrival time in ticks; infinite without arrivals.
    between: f64,
    /// Mean duration in ticks.
    pub(crate) stay: f64,
    next: Tick,
}

impl Crowd {
    /// A generator for a mean number of members in steady state and a mean duration `stays`; no arrivals for a mean of 0.
    pub(crate) fn new(mean: f64, stays: Span, stream: Stream) -> Crowd {
        let stay = stays.as_secs_f64() * BLOCKS_PER_SECOND as f64;
        let mut crowd = Crowd { stream, between: stay / mean, stay, next: 0 };
        crowd.next = if mean > 0.0 { crowd.draw(crowd.between) } else { Tick::MAX };
        crowd
    }

    /// Draws an exponential duration with this mean in ticks; at least 1.
    pub(crate) fn draw(&mut self, mean: f64) -> Tick {
        let ticks = -mean * libm::log(self.stream.uniform());
        ticks.min(f64::from(Tick::MAX / 4)) as Tick + 1
    }

    /// The next arrival up to `now`: ticks of arrival and departure; `None` if no arrival is left.
    pub(crate) fn arrival(&mut self, now: Tick) -> Option<(Tick, Tick)> {
        let at = self.next;
        if at > now {
            return None;
        }
        let (gap, stay) = (self.draw(self.between), self.draw(self.stay));
        self.next = at.saturating_add(gap);
        Some((at, at.saturating_add(stay)))
    }
}
