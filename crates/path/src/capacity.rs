//! Service curve of a link: rate over time (unlimited, constant, in steps, changed during intervals), bits served,
//! and end of a packet's transmission.
//!
//! The rate may change during a transmission; rate 0 suspends it.

use crate::gate::Gate;
use base::{Rate, Span, Time};

/// Rate of a link over time.
#[derive(Clone, Debug)]
pub enum Capacity {
    /// Infinite rate: transmission takes no time.
    Unlimited,
    /// Constant rate.
    Fixed(Rate),
    /// Steps: each rate applies from its time on, the first rate also before that. With a period the steps
    /// repeat.
    Steps {
        /// Ascending times, each with the rate from then on.
        steps: Vec<(Time, Rate)>,
        /// Period of the steps.
        period: Option<Span>,
    },
    /// Another capacity, changed during given intervals. The changes in force apply in the order of the list.
    Changing {
        /// Capacity outside of the intervals.
        base: Box<Capacity>,
        /// Intervals, and the change in each.
        changes: Vec<(Gate, Change)>,
    },
}

/// Temporary change of a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Replaces the rate.
    To(Rate),
    /// Multiplies the rate.
    Times(f64),
}

/// Maximum steps of the curve within one transmission; beyond them the transmission counts as endless.
const MAX_STEPS: u32 = 1_000_000;

impl Capacity {
    /// Rate at `t` (none: unlimited), and a time until which it does not change. `now` never decreases from call
    /// to call, and `t` is not before `now`.
    fn segment(&mut self, now: Time, t: Time) -> (Option<Rate>, Time) {
        match self {
            Capacity::Unlimited => (None, Time::NEVER),
            Capacity::Fixed(rate) => (Some(*rate), Time::NEVER),
            Capacity::Steps { steps, period } => {
                let (round, within) = match period {
                    Some(p) if !p.is_zero() => {
                        let n = t.as_nanos() / p.as_nanos();
                        (Time::from_nanos(n * p.as_nanos()), Time::from_nanos(t.as_nanos() % p.as_nanos()))
                    }
                    _ => (Time::ZERO, t),
                };
                let i = steps.partition_point(|(from, _)| *from <= within);
                let rate = steps.get(i.saturating_sub(1)).map_or(Rate::default(), |(_, r)| *r);
                let until = match (steps.get(i), period) {
                    (Some((next, _)), _) => round + next.since(Time::ZERO),
                    (None, Some(p)) if !p.is_zero() => round + *p,
                    _ => Time::NEVER,
                };
                (Some(rate), until)
            }
            Capacity::Changing { base, changes } => {
                let (mut rate, mut until) = base.segment(now, t);
                for (gate, change) in changes {
                    let (active, end) = gate.phase(now, t);
                    until = until.min(end);
                    if active {
                        rate = match (*change, rate) {
                            (Change::To(r), _) => Some(r),
                            (Change::Times(f), Some(r)) => Some(Rate::from_bps((r.bps() as f64 * f) as u64)),
                            (Change::Times(_), None) => None,
                        };
                    }
                }
                (rate, until)
            }
        }
    }

    /// A time until which the rate stays below `floor` bit/s, if it is below at `t`; otherwise none.
    pub fn below(&mut self, t: Time, floor: u64) -> Option<Time> {
        let (rate, until) = self.segment(t, t);
        rate.filter(|rate| rate.bps() < floor).map(|_| until)
    }

    /// Bits served from `from` to `to`, rounded down in each step; [`u64::MAX`] at an unlimited rate. `from` is
    /// not before the current time.
    pub fn bits_between(&mut self, from: Time, to: Time) -> u64 {
        let mut t = from;
        let mut bits = 0u128;
        while t < to {
            let (rate, until) = self.segment(from, t);
            let Some(rate) = rate else { return u64::MAX };
            let end = until.min(to);
            bits += u128::from(end.since(t).as_nanos()) * u128::from(rate.bps()) / 1_000_000_000;
            t = end;
        }
        u64::try_from(bits).unwrap_or(u64::MAX)
    }

    /// End of a transmission of `bytes` bytes that starts at `start`; [`Time::NEVER`] if it does not end. `now`
    /// is not after `start`.
    pub fn finish(&mut self, now: Time, start: Time, bytes: u32) -> Time {
        if start.is_never() {
            return start;
        }
        let mut bits = u64::from(bytes) * 8;
        // The common case: one 64-bit division.
        if let (Capacity::Fixed(rate), Some(scaled)) = (&*self, bits.checked_mul(1_000_000_000))
            && rate.bps() > 0
        {
            return start + Span::from_nanos(scaled.div_ceil(rate.bps()));
        }
        let mut t = start;
        for _ in 0..MAX_STEPS {
            let (rate, until) = self.segment(now, t);
            let Some(rate) = rate else { return t };
            if rate.bps() > 0 {
                let need = Span::from_nanos(nanos_for(bits, rate.bps()));
                if until.is_never() || t + need <= until {
                    return t + need;
                }
                let done = u128::from(until.since(t).as_nanos()) * u128::from(rate.bps()) / 1_000_000_000;
                bits -= u64::try_from(done).unwrap_or(bits).min(bits);
                if bits == 0 {
                    return until;
                }
            } else if until.is_never() {
                return Time::NEVER;
            }
            t = until;
        }
        Time::NEVER
    }
}

/// Transmission time of `bits` bits at `bps` bit/s, nanoseconds, rounded up.
fn nanos_for(bits: u64, bps: u64) -> u64 {
    let n = (u128::from(bits) * 1_000_000_000).div_ceil(u128::from(bps));
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn s(x: u64) -> Time {
        Time::ZERO + Span::from_secs(x)
    }
    fn kbps(x: u64) -> Rate {
        Rate::from_bps(x * 1000)
    }

    #[test]
    fn a_rate_can_change_under_a_packet() {
        // 8000 bits: 1 s at 4 kbit/s leaves 4000, which take 4 s at 1 kbit/s.
        let mut c = Capacity::Steps { steps: vec![(s(0), kbps(4)), (s(1), kbps(1))], period: None };
        assert_eq!(c.finish(s(0), s(0), 1000), s(5));
    }

    #[test]
    fn rate_zero_freezes_service_in_the_middle() {
        let mut c =
            Capacity::Steps { steps: vec![(s(0), kbps(4)), (s(1), kbps(0)), (s(10), kbps(4))], period: None };
        assert_eq!(c.finish(s(0), s(0), 1000), s(11));
        let mut stopped = Capacity::Steps { steps: vec![(s(0), kbps(4)), (s(1), kbps(0))], period: None };
        assert!(stopped.finish(s(0), s(0), 1000).is_never());
    }

    #[test]
    fn steps_repeat_with_their_period() {
        let mut c = Capacity::Steps {
            steps: vec![(s(0), kbps(8)), (s(1), kbps(0))],
            period: Some(Span::from_secs(2)),
        };
        assert_eq!(c.finish(s(0), s(0), 3000), s(5)); // 8000 bits in seconds 0, 2 and 4
        assert_eq!(c.bits_between(s(101), s(102)), 0);
    }

    proptest! {
        /// Two parts sent one after the other take as long as the whole, up to rounding.
        #[test]
        fn service_adds_up(start in 0u64..5_000_000_000, a in 1u32..3000, b in 1u32..3000) {
            let mut c = Capacity::Steps {
                steps: vec![(Time::ZERO, kbps(30)), (s(1), kbps(7)), (s(3), kbps(0)), (s(4), kbps(300))],
                period: Some(Span::from_secs(5)),
            };
            let start = Time::from_nanos(start);
            let whole = c.finish(start, start, a + b);
            let first = c.finish(start, start, a);
            let parts = c.finish(start, first, b);
            prop_assert!(parts >= whole);
            // Each part may round up once in every step that it crosses.
            prop_assert!(parts.since(whole) < Span::from_nanos(1_000_000), "{:?} {:?}", whole, parts);
        }
    }
}
