//! Block error processes of a bearer direction: constant rates, two states, recorded rates, or C/I curves with fading.
//!
//! With C/I, the error rate follows from the average curves of the coding scheme. A fading process correlates
//! neighbouring blocks. The curves are from a link simulation of typical urban profiles, shifted to the reference
//! performance of 3GPP TS 45.005 (deviation about 1 dB).

use crate::coding::Scheme;
use crate::tdma::Tick;
use base::rng::Stream;

base::named! {
    /// Channel profile of 3GPP TS 45.005 annex C.
    pub enum Profile {
        /// Typical urban, 3 km/h, without frequency hopping.
        Tu3 = "tu3",
        /// Typical urban, 50 km/h, without frequency hopping.
        Tu50 = "tu50",
        /// Typical urban with ideal frequency hopping.
        Hopping = "ideal-hopping",
    }
}

/// Block error rate by mean C/I, a logistic function in dB.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Curve {
    /// C/I at a block error rate of 50 %, dB.
    pub x50: f64,
    /// Scale of the logistic function, dB.
    pub s: f64,
}

const fn curve(x50: f64, s: f64) -> Curve {
    Curve { x50, s }
}

/// Curves for the minimum receiver of the specification: rows in the order of [`Scheme`], columns of [`Profile`].
static CURVES: [[Curve; 3]; 13] = [
    [curve(5.2, 3.65), curve(4.7, 2.43), curve(4.6, 2.02)],
    [curve(6.9, 3.69), curve(7.8, 2.49), curve(7.7, 2.03)],
    [curve(8.2, 3.73), curve(9.6, 2.52), curve(10.0, 2.08)],
    [curve(13.2, 3.71), curve(17.3, 2.89), curve(18.0, 2.66)],
    [curve(4.8, 3.67), curve(4.4, 2.43), curve(4.4, 2.01)],
    [curve(6.4, 3.59), curve(6.8, 2.42), curve(6.9, 1.99)],
    [curve(8.8, 3.64), curve(11.1, 2.63), curve(11.7, 2.33)],
    [curve(11.5, 3.59), curve(15.3, 2.78), curve(16.0, 2.52)],
    [curve(11.5, 3.66), curve(10.7, 2.46), curve(10.5, 1.99)],
    [curve(12.9, 3.71), curve(12.7, 2.45), curve(12.5, 1.95)],
    [curve(18.2, 3.66), curve(19.3, 2.47), curve(19.5, 2.13)],
    [curve(21.0, 3.70), curve(22.6, 3.32), curve(23.3, 3.04)],
    [curve(23.0, 3.72), curve(25.0, 3.34), curve(25.7, 3.09)],
];

impl Curve {
    /// Curve of a scheme; `gain` is the receiver's margin over the minimum, dB.
    pub fn of(scheme: Scheme, profile: Profile, gain: f64) -> Curve {
        let c = CURVES[scheme as usize][profile as usize];
        Curve { x50: c.x50 - gain, ..c }
    }
    /// Block error rate at a C/I in dB.
    pub fn bler(self, c_over_i: f64) -> f64 {
        1.0 / (1.0 + libm::exp((c_over_i - self.x50) / self.s))
    }
}

/// Step function of time.
#[derive(Clone, PartialEq, Debug)]
pub struct Steps(pub Vec<(Tick, f64)>);

impl Steps {
    /// Value at a tick; before the first step the value of the first step.
    pub(crate) fn at(&self, now: Tick) -> f64 {
        let i = self.0.partition_point(|(t, _)| *t <= now);
        self.0.get(i.saturating_sub(1)).map_or(0.0, |(_, v)| *v)
    }
}

/// Model of block errors in one direction.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// Constant error rates, for data blocks and for control blocks.
    Constant {
        /// Error rate of data blocks.
        data: f64,
        /// Error rate of control blocks.
        control: f64,
    },
    /// Two states with exponentially distributed durations.
    States {
        /// Error rate of all blocks in the good state, 0 to 1.
        good: f64,
        /// Error rate of all blocks in the bad state, 0 to 1.
        bad: f64,
        /// Mean duration of the good state, ticks.
        good_lasts: f64,
        /// Mean duration of the bad state, ticks.
        bad_lasts: f64,
    },
    /// Error rates of all blocks over time, from a file.
    Recorded(Steps),
    /// C/I, constant or from a file; the curves of the schemes give the error rates.
    Interference {
        /// C/I in dB over time.
        c_over_i: Steps,
        /// Channel profile of the curves.
        profile: Profile,
        /// Receiver gain over the minimum receiver, dB.
        gain: f64,
        /// Correlation of the fading from one block period to the next, 0 to below 1.
        correlation: f64,
    },
}

/// State of the block error process in one direction of a mobile.
#[derive(Clone, Debug)]
pub struct Quality {
    source: Source,
    stream: Stream,
    /// Two states: the present state is the bad state.
    bad: bool,
    /// Two states: first tick after the present state.
    until: Tick,
    /// Fading: present value of the Gaussian process.
    gauss: f64,
    /// Fading: tick for which the value was drawn.
    drawn: Option<Tick>,
    /// Fading: quantile of the value, 0 to 1.
    level: f64,
    /// Cache by scheme: C/I and error rate.
    known: [(f64, f64); 13],
}

impl Quality {
    /// An error process that draws from `stream`.
    pub fn new(source: Source, stream: Stream) -> Self {
        let known = [(f64::NAN, 0.0); 13];
        Quality { source, stream, bad: false, until: 0, gauss: 0.0, drawn: None, level: 0.0, known }
    }

    /// Draws whether a block is decoded at tick `now`. `control`: a control block, with a rate of its own in
    /// [`Source::Constant`].
    #[inline]
    pub fn decodes(&mut self, now: Tick, scheme: Scheme, control: bool) -> bool {
        match &self.source {
            Source::Constant { data, control: of_control } => {
                let p = if control { *of_control } else { *data };
                p <= 0.0 || self.stream.uniform() >= p
            }
            _ => self.decodes_varying(now, scheme),
        }
    }

    fn decodes_varying(&mut self, now: Tick, scheme: Scheme) -> bool {
        let p = match &self.source {
            Source::Constant { data, .. } => *data,
            Source::States { good, bad, .. } => {
                let (good, bad) = (*good, *bad);
                self.advance(now);
                if self.bad { bad } else { good }
            }
            Source::Recorded(steps) => steps.at(now),
            Source::Interference { c_over_i, profile, gain, correlation } => {
                let (x, profile, gain, rho) = (c_over_i.at(now), *profile, *gain, *correlation);
                let p = self.bler(scheme, x, profile, gain);
                if rho > 0.0 {
                    return self.fade(now, rho) >= p;
                }
                p
            }
        };
        p <= 0.0 || self.stream.uniform() >= p
    }

    /// C/I in dB at a tick; `None` for models without C/I.
    pub fn c_over_i(&self, now: Tick) -> Option<f64> {
        match &self.source {
            Source::Interference { c_over_i, .. } => Some(c_over_i.at(now)),
            _ => None,
        }
    }

    /// Error rate of data blocks at a tick without a draw: fading is ignored, and the two states are not advanced.
    pub fn rate(&mut self, now: Tick, scheme: Scheme) -> f64 {
        match &self.source {
            Source::Constant { data, .. } => *data,
            Source::States { good, bad, .. } => {
                if self.bad {
                    *bad
                } else {
                    *good
                }
            }
            Source::Recorded(steps) => steps.at(now),
            Source::Interference { c_over_i, profile, gain, .. } => {
                let (x, profile, gain) = (c_over_i.at(now), *profile, *gain);
                self.bler(scheme, x, profile, gain)
            }
        }
    }

    fn bler(&mut self, scheme: Scheme, x: f64, profile: Profile, gain: f64) -> f64 {
        let known = &mut self.known[scheme as usize];
        if known.0 != x {
            *known = (x, Curve::of(scheme, profile, gain).bler(x));
        }
        known.1
    }

    /// Two states: advances to tick `now`.
    fn advance(&mut self, now: Tick) {
        let Source::States { good_lasts, bad_lasts, .. } = self.source else { return };
        while self.until <= now {
            let begun = self.until > 0;
            self.bad = begun && !self.bad;
            let mean = if self.bad { bad_lasts } else { good_lasts };
            let lasts = -mean * libm::log(self.stream.uniform());
            self.until = self.until.saturating_add(lasts as Tick + 1);
        }
    }

    /// Quantile of a first-order autoregressive Gaussian process, one step per tick.
    fn fade(&mut self, now: Tick, rho: f64) -> f64 {
        if self.drawn == Some(now) {
            return self.level;
        }
        let steps = self.drawn.map_or(u32::MAX, |t| now.saturating_sub(t));
        let kept = if steps > 400 { 0.0 } else { libm::pow(rho, f64::from(steps)) };
        let fresh = self.gaussian();
        self.gauss = kept * self.gauss + libm::sqrt(1.0 - kept * kept) * fresh;
        self.drawn = Some(now);
        self.level = 0.5 * libm::erfc(-self.gauss * core::f64::consts::FRAC_1_SQRT_2);
        self.level
    }

    /// Standard Gaussian from two uniform draws (Box-Muller).
    fn gaussian(&mut self) -> f64 {
        let (u, v) = (self.stream.uniform(), self.stream.uniform());
        libm::sqrt(-2.0 * libm::log(u)) * libm::cos(2.0 * core::f64::consts::PI * v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Seed;

    fn lost(source: Source, blocks: u32, scheme: Scheme) -> (f64, f64) {
        let mut q = Quality::new(source, Seed { seed: 3, repetition: 0 }.stream("quality", "test"));
        let fates: Vec<bool> = (0..blocks).map(|t| !q.decodes(t, scheme, false)).collect();
        let share = fates.iter().filter(|f| **f).count() as f64 / f64::from(blocks);
        let pairs = fates.windows(2).filter(|w| w[0] && w[1]).count() as f64;
        (share, pairs / fates.iter().filter(|f| **f).count().max(1) as f64)
    }

    /// The curves pass through the 10 % and 30 % points of logistic functions.
    #[test]
    fn curves_have_their_points() {
        let cs2 = Curve::of(Scheme::Cs2, Profile::Hopping, 0.0);
        assert!((cs2.bler(12.2) - 0.1).abs() < 0.005 && (cs2.bler(9.4) - 0.3).abs() < 0.005);
        let mcs9 = Curve::of(Scheme::Mcs9, Profile::Tu50, 3.0);
        assert!((mcs9.bler(32.3 - 3.0) - 0.1).abs() < 0.005);
    }

    #[test]
    fn rates_come_out_and_fading_joins_errors() {
        let (share, pairs) = lost(Source::Constant { data: 0.1, control: 0.0 }, 100_000, Scheme::Cs2);
        assert!((share - 0.1).abs() < 0.005 && (pairs - 0.1).abs() < 0.02);
        let c = |correlation| Source::Interference {
            c_over_i: Steps(vec![(0, 15.0)]),
            profile: Profile::Tu3,
            gain: 0.0,
            correlation,
        };
        let (share, pairs) = lost(c(0.95), 400_000, Scheme::Cs2);
        assert!((share - 0.1).abs() < 0.01, "{share}");
        assert!(pairs > 0.6, "errors come together: {pairs}");
        let states = Source::States { good: 0.0, bad: 0.5, good_lasts: 90.0, bad_lasts: 10.0 };
        let (share, pairs) = lost(states, 400_000, Scheme::Cs2);
        assert!((share - 0.05).abs() < 0.008 && pairs > 0.35, "{share} {pairs}");
    }
}
