//! Poisson arrivals with exponential durations: calls and packet users beside those of a bearer.

use crate::tdma::{BLOCKS_PER_SECOND, Tick};
use base::Span;
use base::rng::Stream;

/// Poisson arrivals with exponential durations.
pub(crate) struct Crowd {
    stream: Stream,
    /// Mean interarrival time in ticks, infinite without arrivals; below, mean duration in ticks.
    between: f64,
    pub(crate) stay: f64,
    next: Tick,
}

impl Crowd {
    /// Arrivals with a mean number of members and a mean duration; none at a mean of 0.
    pub(crate) fn new(mean: f64, stays: Span, stream: Stream) -> Crowd {
        let stay = stays.as_secs_f64() * BLOCKS_PER_SECOND as f64;
        let mut crowd = Crowd { stream, between: stay / mean, stay, next: 0 };
        crowd.next = if mean > 0.0 { crowd.draw(crowd.between) } else { Tick::MAX };
        crowd
    }

    /// An exponential duration in ticks, at least 1.
    pub(crate) fn draw(&mut self, mean: f64) -> Tick {
        let ticks = -mean * libm::log(self.stream.uniform());
        ticks.min(f64::from(Tick::MAX / 4)) as Tick + 1
    }

    /// The next arrival up to `now`: its time and its departure.
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
