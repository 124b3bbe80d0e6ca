//! How long is a round trip? RFC 6298 section 2 in nanoseconds, or the integer arithmetic of BSD that
//! the simulators took over: clock ticks, smoothed by shifts.

use crate::tcp::config::{Estimator, RtoConfig};
use base::Span;

/// SRTT and RTTVAR.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rtt {
    /// RFC 6298, nanoseconds.
    Rfc6298 {
        /// Smoothed round-trip time; zero before the first sample.
        srtt: u64,
        /// Its variation.
        rttvar: u64,
        /// Whether there was a sample.
        primed: bool,
    },
    /// BSD: eight times the smoothed time and four times the variation, in ticks.
    Bsd {
        /// 8 SRTT.
        srtt8: i32,
        /// 4 RTTVAR.
        rttvar4: i32,
        /// Whether there was a sample, ever.
        primed: bool,
    },
}

impl Rtt {
    /// Before the first sample.
    pub fn new(config: &RtoConfig) -> Self {
        match config.estimator {
            Estimator::Rfc6298 => Rtt::Rfc6298 { srtt: 0, rttvar: 0, primed: false },
            Estimator::Bsd => Rtt::Bsd { srtt8: 0, rttvar4: 0, primed: false },
        }
    }

    /// Takes in a sample.
    pub fn sample(&mut self, rtt: Span, config: &RtoConfig) {
        let ns = rtt.as_nanos();
        match self {
            //= RFC 6298 section 2.2: SRTT = R, RTTVAR = R/2
            Rtt::Rfc6298 { srtt, rttvar, primed } if !*primed => {
                (*srtt, *rttvar, *primed) = (ns, ns / 2, true);
            }
            //= RFC 6298 section 2.3: RTTVAR first, with the old SRTT; beta 1/4, alpha 1/8
            Rtt::Rfc6298 { srtt, rttvar, .. } => {
                *rttvar = (3 * *rttvar + srtt.abs_diff(ns)) / 4;
                *srtt = (7 * *srtt + ns) / 8;
            }
            Rtt::Bsd { srtt8, rttvar4, primed } => {
                let tick = config.tick.as_nanos();
                // To the nearest tick, and never none.
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

    /// BSD: so many expirations in a row that the smoothed time is no longer believed; it moves into
    /// the variation, and the next sample starts anew.
    pub fn distrust(&mut self) {
        if let Rtt::Bsd { srtt8, rttvar4, .. } = self {
            *rttvar4 += *srtt8 >> 3;
            *srtt8 = 0;
        }
    }

    /// The smoothed time; `None` before the first sample.
    pub fn srtt(&self, config: &RtoConfig) -> Option<Span> {
        match *self {
            Rtt::Rfc6298 { srtt, primed, .. } => primed.then(|| Span::from_nanos(srtt)),
            Rtt::Bsd { srtt8, primed, .. } => {
                primed.then(|| Span::from_nanos((srtt8 >> 3) as u64 * config.tick.as_nanos()))
            }
        }
    }

    /// The variation; zero before the first sample.
    pub fn rttvar(&self, config: &RtoConfig) -> Span {
        match *self {
            Rtt::Rfc6298 { rttvar, .. } => Span::from_nanos(rttvar),
            Rtt::Bsd { rttvar4, .. } => Span::from_nanos((rttvar4 >> 2) as u64 * config.tick.as_nanos()),
        }
    }

    /// SRTT + K RTTVAR before bounds and back-off; `None` before the first sample.
    pub fn timeout(&self, config: &RtoConfig) -> Option<Span> {
        match *self {
            //= RFC 6298 section 2.3: RTO = SRTT + max(G, K RTTVAR)
            Rtt::Rfc6298 { srtt, rttvar, primed } => primed
                .then(|| Span::from_nanos(srtt + (u64::from(config.k) * rttvar).max(config.tick.as_nanos()))),
            Rtt::Bsd { srtt8, rttvar4, primed } => primed.then(|| {
                let ticks = ((2 * config.k as i32 * rttvar4 + srtt8) >> 3) as u64;
                Span::from_nanos(ticks * config.tick.as_nanos())
            }),
        }
    }

    /// RFC 4015 step 11: these, which were saved or sampled, and no others.
    pub fn assign(&mut self, srtt: Span, rttvar: Span, config: &RtoConfig) {
        *self = Rtt::new(config);
        self.at_least(srtt, rttvar, config);
    }

    /// No less than these, which were saved or sampled.
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
