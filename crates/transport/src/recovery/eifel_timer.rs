//! Eifel retransmission timer (Ludwig and Sklower 2000; catalogue EI-18).
//!
//! "The Eifel Retransmission Timer", Computer Communication Review 30(3), 2000. It has three rules. A falling
//! RTT leaves the variation unchanged, so that the timeout falls only as fast as SRTT. One gain for both
//! averages spreads a total weight of one over the samples of a flight, and the RTO multiplies the variation by
//! the inverse gain. The variation rises with the gain and falls with the squared gain. The minimum RTO is the last RTT
//! plus two ticks.
//!
//! ```text
//! DELTA  = RTT - SRTT
//! GAIN   = segments newly acknowledged / segments in flight, at most 1/3
//! RTTVAR = RTTVAR + GAIN' (DELTA - RTTVAR)   if DELTA >= 0, else RTTVAR
//!          GAIN' = GAIN if DELTA >= RTTVAR, else GAIN^2
//! SRTT   = SRTT + GAIN DELTA
//! RTO    = max(SRTT + RTTVAR / GAIN, RTT + 2 ticks)
//! ```
//!
//! 1/3 is the gain where one segment per flight is timed. The paper's other part, a timer that runs from the
//! transmission of the oldest segment, is option `rto.restart = "oldest"`.

use super::rtt::Round;
use base::Span;

/// Maximum weight of one sample.
const MAX_GAIN: f64 = 1.0 / 3.0;

/// Estimator state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EifelTimer {
    /// Smoothed round-trip time, ns.
    srtt: f64,
    /// RTT variation, ns.
    rttvar: f64,
    /// Gain of the last sample; 0 before the first.
    gain: f64,
    /// Last sample, ns.
    last: f64,
}

impl EifelTimer {
    /// Processes a sample.
    pub fn sample(&mut self, rtt: Span, round: &Round) {
        let r = rtt.as_nanos() as f64;
        let gain = round.share().map_or(MAX_GAIN, |share| share.min(MAX_GAIN));
        if self.gain == 0.0 {
            // The paper does not specify the first sample: RFC 6298 section 2.2.
            (self.srtt, self.rttvar) = (r, r / 2.0);
        } else {
            let delta = r - self.srtt;
            if delta >= 0.0 {
                let gain = if delta >= self.rttvar { gain } else { gain * gain };
                self.rttvar += gain * (delta - self.rttvar);
            }
            self.srtt += gain * delta;
        }
        (self.gain, self.last) = (gain, r);
    }

    /// SRTT; `None` before the first sample.
    pub fn srtt(&self) -> Option<Span> {
        (self.gain > 0.0).then(|| Span::from_nanos(self.srtt as u64))
    }

    /// RTTVAR.
    pub fn rttvar(&self) -> Span {
        Span::from_nanos(self.rttvar as u64)
    }

    /// The timeout; `None` before the first sample.
    pub fn timeout(&self, tick: Span) -> Option<Span> {
        let floor = self.last + 2.0 * tick.as_nanos() as f64;
        (self.gain > 0.0)
            .then(|| Span::from_nanos((self.srtt + self.rttvar / self.gain).max(floor).min(1e15) as u64))
    }

    /// Raises both values to these minima.
    pub fn at_least(&mut self, srtt: Span, rttvar: Span) {
        self.srtt = self.srtt.max(srtt.as_nanos() as f64);
        self.rttvar = self.rttvar.max(rttvar.as_nanos() as f64);
        if self.gain == 0.0 {
            self.gain = MAX_GAIN;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TICK: Span = Span::from_millis(10);

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    /// One acknowledgement of `acked` of `flight` segments.
    fn round(acked: u64, flight: u64) -> Round {
        Round { acked: acked * 1000, flight: flight * 1000, mss: 1000, ..Round::default() }
    }

    /// EI-18: the equations by hand, one sample a flight: a gain of a third.
    #[test]
    fn eifel_timer_by_hand() {
        let mut e = EifelTimer::default();
        e.sample(ms(900), &round(1, 1)); // SRTT 900, RTTVAR 450: 900 + 3 x 450
        assert_eq!(e.timeout(TICK), Some(ms(2250)));
        // DELTA 900 >= RTTVAR: RTTVAR 450 + 450/3 = 600, SRTT 900 + 300 = 1200: 1200 + 1800.
        e.sample(ms(1800), &round(1, 1));
        assert_eq!(e.timeout(TICK), Some(ms(3000)));
        // DELTA 300 < RTTVAR, so the gain is a ninth: 600 - 300/9; SRTT 1300.
        e.sample(ms(1500), &round(1, 1));
        assert_eq!(e.timeout(TICK).map(|t| t.as_nanos() / 1_000_000), Some(1300 + 1700));
        // DELTA -600: the variation stays, SRTT falls to 1100.
        let before = e.rttvar();
        e.sample(ms(700), &round(1, 1));
        assert_eq!(e.rttvar(), before);
        assert_eq!(e.timeout(TICK).map(|t| t.as_nanos() / 1_000_000), Some(1100 + 1700));
    }

    /// EI-18: the gain is the share of the flight: 1/10 with ten segments, 2/10 with delayed
    /// acknowledgements, and its inverse multiplies the variation.
    #[test]
    fn eifel_gain_scales_with_the_flight() {
        for (acked, srtt, weight) in [(1, 1100, 10), (2, 1200, 5)] {
            let mut e = EifelTimer::default();
            e.sample(ms(1000), &round(1, 1));
            e.sample(ms(2000), &round(acked, 10));
            assert_eq!(e.srtt(), Some(ms(srtt)), "{acked}");
            let expected = e.srtt().unwrap() + e.rttvar().times(weight);
            let got = e.timeout(TICK).unwrap();
            assert!(got.as_nanos().abs_diff(expected.as_nanos()) < 20, "{got:?} {expected:?}");
        }
    }

    proptest! {
        /// EI-18: never below the last round trip and two ticks, whatever came before; and a shorter round
        /// trip never makes the timeout longer at the same load.
        #[test]
        fn eifel_floor_and_direction(samples in proptest::collection::vec((1u64..60_000, 1u64..4, 1u64..100), 1..60)) {
            let mut e = EifelTimer::default();
            let load = round(1, samples[0].2);
            for (rtt, acked, flight) in samples {
                e.sample(ms(rtt), &round(acked, flight));
                prop_assert!(e.timeout(TICK).unwrap() >= ms(rtt) + TICK.times(2));
            }
            e.sample(ms(60_000), &load);
            let mut last = e.timeout(TICK).unwrap();
            for rtt in [50_000, 20_000, 5_000, 1_000, 1] {
                if e.srtt().unwrap() < ms(rtt) { break; }
                e.sample(ms(rtt), &load);
                let now = e.timeout(TICK).unwrap();
                prop_assert!(now <= last, "{:?} after {:?}", now, last);
                last = now;
            }
        }
    }
}
