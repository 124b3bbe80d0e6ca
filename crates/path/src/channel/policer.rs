//! Token-bucket policer (RFC 2697 with one rate and one burst): drops packets of a class above its rate (catalogue
//! QM-11).
//!
//! The state is the time at which the bucket is full again, in whole nanoseconds, so that no tokens are lost
//! to rounding.

use base::{Rate, Span, Time};

/// Token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policer {
    rate: Rate,
    /// Time to fill the empty bucket.
    depth: Span,
    /// Time at which the bucket is full again.
    full_at: Time,
}

impl Policer {
    /// A full bucket of `burst` bytes, filled at `rate`.
    pub fn new(rate: Rate, burst: u64) -> Self {
        Policer { rate, depth: rate.span_of(burst), full_at: Time::ZERO }
    }

    /// This bucket, full again no earlier than `other`: a new rate does not refill the bucket.
    pub(crate) fn as_full_as(self, other: Option<&Policer>) -> Policer {
        Policer { full_at: other.map_or(self.full_at, |other| other.full_at.max(self.full_at)), ..self }
    }

    /// Whether a packet of `size` bytes conforms; a conforming packet consumes its tokens.
    pub(crate) fn conforms(&mut self, now: Time, size: u32) -> bool {
        let full_at = self.full_at.max(now) + self.rate.span_of(u64::from(size));
        if full_at.since(now) > self.depth {
            return false;
        }
        self.full_at = full_at;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A burst of the bucket size passes, then traffic at the token rate.
    #[test]
    fn a_bucket_lets_its_rate_through() {
        let mut bucket = Policer::new(Rate::from_bps(80_000), 3000);
        let passed =
            |bucket: &mut Policer, ms: u64| bucket.conforms(Time::ZERO + Span::from_millis(ms), 1000);
        assert_eq!((0..5).filter(|_| passed(&mut bucket, 0)).count(), 3);
        // Token rate of 10 kB/s for ten seconds, with 20 kB/s offered.
        assert_eq!((1..=200).filter(|i| passed(&mut bucket, 50 * i)).count(), 100);
    }
}
