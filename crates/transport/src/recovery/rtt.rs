//! RTT estimator ([`Rtt`]): SRTT, RTTVAR and RTO by RFC 6298, BSD, Linux or the Eifel timer.
//!
//! In this file: RFC 6298 section 2 in nanoseconds (with the gains of RFC 7323 appendix G), and the integer arithmetic
//! of BSD that the simulators use (clock ticks, shifts). Linux and Eifel estimators have files of their own.

use super::eifel_timer::EifelTimer;
use super::linux_rtt::{Linux22Rtt, LinuxRtt};
use crate::recovery::config::{Estimator, RtoConfig};
use base::Span;

/// State of the sender at an RTT sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Round {
    /// SND.UNA after the ACK.
    pub acked_to: u64,
    /// One past the highest byte sent.
    pub next: u64,
    /// Bytes outstanding before the ACK.
    pub flight: u64,
    /// Bytes newly acknowledged by the ACK.
    pub acked: u64,
    /// Segment size, bytes; 0: unknown.
    pub mss: u32,
    /// Congestion window, bytes.
    pub cwnd: u64,
}

impl Round {
    //= RFC 7323 appendix G: ExpectedSamples = ceiling(FlightSize / (SMSS * 2))
    /// Expected samples per window if every second segment is acknowledged.
    fn expected_samples(&self) -> u64 {
        self.flight.div_ceil(2 * u64::from(self.mss.max(1))).clamp(1, 10_000)
    }

    /// Fraction of the flight that the ACK newly acknowledges, in segments; `None` if the segment size is unknown.
    pub(super) fn share(&self) -> Option<f64> {
        let segments = |bytes: u64| bytes.div_ceil(u64::from(self.mss)).max(1) as f64;
        (self.mss > 0).then(|| segments(self.acked) / segments(self.flight))
    }
}

/// State of an RTT estimator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rtt {
    /// RFC 6298, nanoseconds.
    Rfc6298 {
        /// Smoothed round-trip time; zero before the first sample.
        srtt: u64,
        /// RTT variation.
        rttvar: u64,
        /// Whether there was a sample.
        primed: bool,
    },
    /// BSD: eight times SRTT and four times RTTVAR, in ticks.
    Bsd {
        /// 8 SRTT.
        srtt8: i32,
        /// 4 RTTVAR.
        rttvar4: i32,
        /// Whether there was a sample, ever.
        primed: bool,
    },
    /// Linux since 2.4.
    Linux(LinuxRtt),
    /// Linux 2.2.
    Linux22(Linux22Rtt),
    /// The Eifel retransmission timer.
    Eifel(EifelTimer),
}

impl Rtt {
    /// State before the first sample.
    pub fn new(config: &RtoConfig) -> Self {
        match config.estimator {
            Estimator::Rfc6298 | Estimator::Rfc7323 => Rtt::Rfc6298 { srtt: 0, rttvar: 0, primed: false },
            Estimator::Bsd => Rtt::Bsd { srtt8: 0, rttvar4: 0, primed: false },
            Estimator::Linux => Rtt::Linux(LinuxRtt::default()),
            Estimator::Linux22 => Rtt::Linux22(Linux22Rtt::default()),
            Estimator::Eifel => Rtt::Eifel(EifelTimer::default()),
        }
    }

    /// Processes an RTT sample without state of the sender.
    pub fn sample(&mut self, rtt: Span, config: &RtoConfig) {
        self.sample_in(rtt, &Round::default(), config);
    }

    /// Processes an RTT sample, with the state of the sender (`round`).
    #[inline]
    pub fn sample_in(&mut self, rtt: Span, round: &Round, config: &RtoConfig) {
        let ns = rtt.as_nanos();
        match self {
            //= RFC 6298 section 2.2: SRTT = R, RTTVAR = R/2
            Rtt::Rfc6298 { srtt, rttvar, primed } if !*primed => {
                (*srtt, *rttvar, *primed) = (ns, ns / 2, true);
            }
            //= RFC 6298 section 2.3: RTTVAR first, with the old SRTT; beta 1/4, alpha 1/8
            Rtt::Rfc6298 { srtt, rttvar, .. } => {
                //= RFC 7323 appendix G: alpha' = alpha / ExpectedSamples, beta' = beta / ExpectedSamples
                let n = if config.estimator == Estimator::Rfc7323 { round.expected_samples() } else { 1 };
                *rttvar = ((4 * n - 1) * *rttvar + srtt.abs_diff(ns)) / (4 * n);
                *srtt = ((8 * n - 1) * *srtt + ns) / (8 * n);
            }
            Rtt::Linux(linux) => linux.sample(rtt, round, config.tick, config.min),
            Rtt::Linux22(linux) => linux.sample(rtt, round, config.tick),
            Rtt::Eifel(eifel) => eifel.sample(rtt, round),
            Rtt::Bsd { srtt8, rttvar4, primed } => {
                let tick = config.tick.as_nanos();
                // To the nearest tick, at least one.
                let ticks = ((ns + tick / 2) / tick).clamp(1, 30_000) as i32;
                *primed = true;
                if *srtt8 == 0 {
                    (*srtt8, *rttvar4) = (ticks << 3, ticks << 1);
                    return;
                }
                let error = ticks - (*srtt8 >> 3);
                *srtt8 = (*srtt8 + error).max(1);
                *rttvar4 = (*rttvar4 + error.abs() - (*rttvar4 >> 2)).max(1);
            }
        }
    }

    /// BSD, after many consecutive expiries: adds SRTT to RTTVAR and discards SRTT until the next sample.
    pub fn distrust(&mut self) {
        if let Rtt::Bsd { srtt8, rttvar4, .. } = self {
            *rttvar4 += *srtt8 >> 3;
            *srtt8 = 0;
        }
    }

    /// SRTT; `None` before the first sample.
    pub fn srtt(&self, config: &RtoConfig) -> Option<Span> {
        match *self {
            Rtt::Rfc6298 { srtt, primed, .. } => primed.then(|| Span::from_nanos(srtt)),
            Rtt::Bsd { srtt8, primed, .. } => {
                primed.then(|| Span::from_nanos((srtt8 >> 3) as u64 * config.tick.as_nanos()))
            }
            Rtt::Linux(linux) => linux.srtt(config.tick),
            Rtt::Linux22(linux) => linux.srtt(config.tick),
            Rtt::Eifel(eifel) => eifel.srtt(),
        }
    }

    /// RTTVAR; zero before the first sample.
    pub fn rttvar(&self, config: &RtoConfig) -> Span {
        match *self {
            Rtt::Rfc6298 { rttvar, .. } => Span::from_nanos(rttvar),
            Rtt::Bsd { rttvar4, .. } => Span::from_nanos((rttvar4 >> 2) as u64 * config.tick.as_nanos()),
            Rtt::Linux(linux) => linux.rttvar(config.tick),
            Rtt::Linux22(linux) => linux.rttvar(config.tick),
            Rtt::Eifel(eifel) => eifel.rttvar(),
        }
    }

    /// SRTT + K RTTVAR before bounds and back-off; `None` before the first sample.
    #[inline]
    pub fn timeout(&self, config: &RtoConfig) -> Option<Span> {
        match *self {
            //= RFC 6298 section 2.3: RTO = SRTT + max(G, K RTTVAR)
            Rtt::Rfc6298 { srtt, rttvar, primed } => primed
                .then(|| Span::from_nanos(srtt + (u64::from(config.k) * rttvar).max(config.tick.as_nanos()))),
            Rtt::Bsd { srtt8, rttvar4, primed } => primed.then(|| {
                let ticks = ((2 * config.k as i32 * rttvar4 + srtt8) >> 3) as u64;
                Span::from_nanos(ticks * config.tick.as_nanos())
            }),
            Rtt::Linux(linux) => linux.timeout(config.tick),
            Rtt::Linux22(linux) => linux.timeout(config.tick),
            Rtt::Eifel(eifel) => eifel.timeout(config.tick),
        }
    }

    /// Sets SRTT and RTTVAR (RFC 4015 step 11, RFC 9040 section 6.1).
    pub fn assign(&mut self, srtt: Span, rttvar: Span, config: &RtoConfig) {
        *self = Rtt::new(config);
        self.at_least(srtt, rttvar, config);
        if let Rtt::Linux(linux) = self {
            linux.keep_above(config.min, config.tick);
        }
    }

    /// Raises SRTT and RTTVAR to these minima.
    pub fn at_least(&mut self, srtt_floor: Span, rttvar_floor: Span, config: &RtoConfig) {
        match self {
            Rtt::Rfc6298 { srtt, rttvar, primed } => {
                *srtt = (*srtt).max(srtt_floor.as_nanos());
                *rttvar = (*rttvar).max(rttvar_floor.as_nanos());
                *primed = true;
            }
            Rtt::Bsd { srtt8, rttvar4, primed } => {
                let tick = config.tick.as_nanos();
                *srtt8 = (*srtt8).max((srtt_floor.as_nanos() / tick) as i32 * 8);
                *rttvar4 = (*rttvar4).max((rttvar_floor.as_nanos() / tick) as i32 * 4);
                *primed = true;
            }
            Rtt::Linux(linux) => linux.at_least(srtt_floor, rttvar_floor, config.tick),
            Rtt::Linux22(linux) => linux.at_least(srtt_floor, rttvar_floor, config.tick),
            Rtt::Eifel(eifel) => eifel.at_least(srtt_floor, rttvar_floor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Config;

    #[test]
    fn rfc_6298_by_hand() {
        let config = Config::default().rto;
        let mut rtt = Rtt::new(&config);
        rtt.sample(Span::from_millis(800), &config);
        assert_eq!(rtt.timeout(&config), Some(Span::from_millis(2400)));
        rtt.sample(Span::from_millis(400), &config);
        // RTTVAR = 3/4 400 + 1/4 400 = 400, SRTT = 7/8 800 + 1/8 400 = 750.
        assert_eq!(rtt.timeout(&config), Some(Span::from_millis(2350)));
    }

    /// TB-17, EI-18: a longer sequence, and the sequence with ten samples expected per window.
    #[test]
    fn rfc_6298_and_rfc_7323_sequences_by_hand() {
        let mut config = Config::default().rto;
        // (sample, SRTT, RTTVAR) in ms: 1000, then RTTVAR = 3/4 and 1/4, SRTT = 7/8 and 1/8.
        let steps =
            [(1000, 1000.0, 500.0), (2000, 1125.0, 625.0), (1125, 1125.0, 468.75), (165, 1005.0, 591.5625)];
        let mut rtt = Rtt::new(&config);
        for (sample, srtt, rttvar) in steps {
            rtt.sample(Span::from_millis(sample), &config);
            assert_eq!(rtt.srtt(&config), Some(Span::from_secs_f64(srtt / 1000.0)));
            assert_eq!(rtt.rttvar(&config), Span::from_secs_f64(rttvar / 1000.0));
        }
        config.estimator = Estimator::Rfc7323;
        let round = Round { flight: 20_000, mss: 1000, ..Round::default() }; // ceil(20000 / 2000) = 10
        let mut rtt = Rtt::new(&config);
        rtt.sample_in(Span::from_millis(1000), &round, &config);
        rtt.sample_in(Span::from_millis(1800), &round, &config);
        // RTTVAR = 500 + (800 - 500) / 40 = 507.5; SRTT = 1000 + 800 / 80 = 1010.
        assert_eq!(rtt.timeout(&config), Some(Span::from_millis(1010 + 2030)));
    }

    #[test]
    fn bsd_ticks_by_hand() {
        let config = Config::profile("ns2-2001").unwrap().rto;
        let mut rtt = Rtt::new(&config);
        rtt.sample(Span::from_millis(721), &config); // 7 ticks: SRTT 7, RTTVAR 3.5
        assert_eq!(rtt.timeout(&config), Some(Span::from_millis(2100)));
        rtt.sample(Span::from_millis(990), &config); // 10 ticks: 8 SRTT 59, 4 RTTVAR 14
        assert_eq!(rtt.timeout(&config), Some(Span::from_millis(2100)));
    }
}
