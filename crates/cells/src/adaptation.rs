//! Link adaptation and power control: averages of link quality, choice of the coding scheme by expected rate or C/I
//! bands, downlink power toward a target C/I, open-loop uplink power.
//!
//! Sources: 3GPP TS 45.008 sections 10.2 and 10.2.3; TS 44.060 sections 10.4.10a and 12.13. The receiver averages
//! the quality of its radio blocks (mean and standard deviation, dB); each report carries both to the sender. The
//! expected rate of a scheme includes the retransmissions that incremental redundancy combines.

use crate::config::Config;
use crate::curve::{Curves, SCHEMES, Tables};
use crate::link::Link;
use radio::coding::Scheme;

/// Parameters of link adaptation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptation {
    /// Rule that chooses the coding scheme.
    pub rule: Rule,
    /// Weight of the newest radio block in the averages of quality, 0 to 1.
    pub forget: f64,
    /// Standard deviation of the measurement error in a report, dB.
    pub error_db: f64,
    /// Coding scheme before the first report.
    pub initial: Scheme,
    /// Fastest scheme permitted.
    pub cap: Scheme,
}

base::named! {
    /// A rule of link adaptation.
    pub enum Rule {
        /// Highest expected rate, given mean and spread of the quality.
        Throughput = "throughput",
        /// Bands of C/I with hysteresis, as in the defaults of an open-source PCU (packet control unit).
        Thresholds = "thresholds",
        /// Constant: the initial scheme.
        Fixed = "fixed",
    }
}

impl Default for Adaptation {
    fn default() -> Self {
        Adaptation {
            rule: Rule::Throughput,
            forget: 0.2,
            error_db: 0.0,
            initial: Scheme::Mcs6,
            cap: Scheme::Mcs9,
        }
    }
}

/// Rule of power control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PowerControl {
    /// Constant: maximum power.
    None,
    /// Target C/I in dB, and range of the power in dB below the maximum. A report changes the power by at most 2 dB.
    Target(f64, f64),
    /// Open loop: P = Gamma0 - Gamma - alpha (C + 48) dBm with Gamma0 = 39; C is the received level in dBm.
    OpenLoop {
        /// Alpha, 0 to 1.
        alpha: f64,
        /// Gamma of the channel, dB.
        gamma: f64,
    },
}

impl PowerControl {
    /// Default downlink rule. The target is 3 dB above 24 dB, taken as the C/I at which the block error rate of MCS-9
    /// is 10 % with hopping.
    pub const DOWN: PowerControl = PowerControl::Target(27.0, 10.0);
    /// Default uplink rule.
    pub const UP: PowerControl = PowerControl::OpenLoop { alpha: 0.6, gamma: 26.0 };

    /// Next power relative to the maximum, dB (0 or negative), after a report of `ci_db`. Only
    /// [`PowerControl::Target`] changes `level_db`.
    #[inline]
    pub fn after_report(self, level_db: f32, ci_db: f32) -> f32 {
        match self {
            PowerControl::Target(target, range) => {
                (level_db + (target as f32 - ci_db).clamp(-2.0, 2.0)).clamp(-range as f32, 0.0)
            }
            _ => level_db,
        }
    }

    /// Power relative to the maximum, dB (0 or negative), at a received level in dBm; `largest_dbm` is the maximum
    /// power.
    pub fn open_loop(self, level_dbm: f32, largest_dbm: f32) -> f32 {
        match self {
            PowerControl::OpenLoop { alpha, gamma } => {
                let wanted = 39.0 - gamma as f32 - alpha as f32 * (level_dbm + 48.0);
                // GSM 900 mobiles have control levels down to 5 dBm (TS 45.005 section 4.1.1).
                (wanted.max(5.0).min(largest_dbm) - largest_dbm).min(0.0)
            }
            _ => 0.0,
        }
    }
}

/// Weight of the newest block in the averages of quality.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forget {
    weight: f32,
    /// Number of earlier blocks from which `weight` applies; the first blocks have equal weights.
    from: u32,
}

impl Forget {
    pub(crate) fn new(weight: f32) -> Forget {
        // With `from` or more earlier blocks, 1 / (blocks + 1) is less than the weight.
        Forget { weight, from: ((1.0 / weight) as u32).saturating_add(1) }
    }

    /// Weight of a block after `blocks` earlier blocks.
    #[inline(always)]
    fn weight(self, blocks: u32) -> f32 {
        if blocks >= self.from { self.weight } else { self.weight.max(1.0 / (blocks + 1) as f32) }
    }
}

/// Running averages of a link's quality at the receiver, and the sender's values from the last report.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Quality {
    /// Averages of what [`measured`] gives.
    average: [f32; 4],
    blocks: u32,
    /// Values of the last report: mean and standard deviation of the quality, mean C/I, all in dB.
    pub(crate) reported: Option<[f32; 3]>,
}

/// Quality of a radio block, its square, C/I in dB and C/I as a ratio: four numbers, which fill a vector.
#[inline(always)]
pub(crate) fn measured(quality: f32, ci_db: f32, ci: f32) -> [f32; 4] {
    [quality, quality * quality, ci_db, ci]
}

impl Quality {
    pub(crate) const NEW: Quality = Quality { average: [0.0; 4], blocks: 0, reported: None };

    /// Adds a radio block. The first one has the weight 1 and replaces the zeros.
    #[inline(always)]
    pub(crate) fn block(&mut self, measured: &[f32; 4], forget: Forget) {
        let weight = forget.weight(self.blocks);
        for (average, x) in self.average.iter_mut().zip(measured) {
            *average += weight * (x - *average);
        }
        self.blocks = self.blocks.saturating_add(1);
    }

    /// Radio blocks averaged.
    #[inline]
    pub(crate) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Averaged C/I, dB; `None` before the first block.
    pub(crate) fn ci(&self) -> Option<f32> {
        (self.blocks > 0).then_some(self.average[2])
    }

    /// Values of a report: mean and standard deviation of the quality, mean C/I, dB. The measurement error `error` dB
    /// is added to both means. `None` before the first block.
    pub(crate) fn report(&self, error: f32) -> Option<[f32; 3]> {
        let [mean, square, ci, _] = self.average;
        let spread = libm::sqrtf((square - mean * mean).max(0.0));
        (self.blocks > 0).then_some([mean + error, spread, ci + error])
    }
}

/// Mean quality in the table of best schemes: lowest value and step in dB, number of steps.
const MEAN: (f32, f32, usize) = (-12.0, 0.5, 70);
/// Standard deviation of the quality in the table of best schemes: step in dB, number of steps from 0.
const SPREAD: (f32, usize) = (1.0, 10);

/// Choice of the coding scheme from reported quality, by a precomputed table.
#[derive(Clone, Debug)]
pub struct Chooser {
    adaptation: Adaptation,
    /// Index of the scheme with the highest expected rate, by steps of mean and standard deviation. Empty unless the
    /// rule is [`Rule::Throughput`].
    best: Vec<u8>,
}

/// Band of C/I of each scheme, dB: with a C/I less than the first number the next lower scheme is chosen, with one
/// greater than the second number the next higher scheme.
const BANDS: [(f32, f32); SCHEMES] = [
    (-99.0, 6.0),
    (5.0, 8.0),
    (7.0, 13.0),
    (12.0, 15.0),
    (14.0, 17.0),
    (16.0, 18.0),
    (17.0, 20.0),
    (19.0, 24.0),
    (23.0, 99.0),
];

impl Chooser {
    /// Chooser for a configuration.
    pub fn new(config: &Config, link: &Link) -> Chooser {
        let adaptation = config.adaptation;
        let loss_db = link.measured_loss_db(); // Reported quality includes the loss of MCS-9.
        let mut best = Vec::new();
        if adaptation.rule == Rule::Throughput {
            for m in 0..MEAN.2 {
                for s in 0..SPREAD.1 {
                    let (mean, spread) = (MEAN.0 + MEAN.1 * m as f32, SPREAD.0 * s as f32);
                    let rate = |k: usize| {
                        expected_rate(config, &link.tables, k, f64::from(mean + loss_db), f64::from(spread))
                    };
                    let cap = crate::link::index(adaptation.cap);
                    let chosen = (0..=cap).max_by(|a, b| rate(*a).total_cmp(&rate(*b)));
                    best.push(chosen.unwrap_or(0) as u8);
                }
            }
        }
        Chooser { adaptation, best }
    }

    /// Coding scheme after a report; `before` is the present scheme. Without a report, the initial scheme.
    #[inline]
    pub(crate) fn choose(&self, reported: Option<[f32; 3]>, before: Scheme) -> Scheme {
        let Some([mean, spread, ci]) = reported else { return self.adaptation.initial };
        match self.adaptation.rule {
            Rule::Fixed => self.adaptation.initial,
            Rule::Throughput => {
                let m = ((mean - MEAN.0) / MEAN.1 + 0.5).clamp(0.0, MEAN.2 as f32 - 1.0) as usize;
                let s = (spread / SPREAD.0 + 0.5).clamp(0.0, SPREAD.1 as f32 - 1.0) as usize;
                Scheme::EGPRS[usize::from(self.best[m * SPREAD.1 + s])]
            }
            Rule::Thresholds => {
                let (down, up) = BANDS[crate::link::index(before)];
                let next = if ci < down {
                    before.lower()
                } else if ci > up {
                    before.higher()
                } else {
                    None
                };
                next.unwrap_or(before).min(self.adaptation.cap)
            }
        }
    }

    /// Coding scheme before the first report.
    pub(crate) fn initial(&self) -> Scheme {
        self.adaptation.initial.min(self.adaptation.cap)
    }
}

/// Expected octets per radio block of MCS `k + 1`. `mean` and `spread` are mean and standard deviation, dB, of the
/// effective SINR before implementation loss. With incremental redundancy the octets are divided by the mean number
/// of transmissions, 1 + P1 + P2 + ..., where Pn is the error rate after n transmissions of independent quality.
fn expected_rate(config: &Config, tables: &Tables, k: usize, mean: f64, spread: f64) -> f64 {
    let scheme = Scheme::EGPRS[k];
    let loss = config.receiver.loss_db(k as u8 + 1);
    let octets = f64::from(scheme.payload()) * f64::from(scheme.properties().rlc_blocks);
    // The mean over two bursts has a larger standard deviation than the mean over four.
    let spread = if scheme.properties().bursts == 2 { 1.2 * spread } else { spread };
    let back_off = if k < 4 { config.radio.backoff_db } else { 0.0 };
    let over_spread = |n: u32, failing: &dyn Fn(f64) -> f64| {
        let (mut sum, mut weights) = (0.0, 0.0);
        for step in -4..=4 {
            let z = f64::from(step) * 0.7;
            let weight = libm::exp(-0.5 * z * z);
            sum += weight * failing(mean + z * spread / libm::sqrt(f64::from(n)) + back_off * 0.5);
            weights += weight;
        }
        sum / weights
    };
    let fail = |n: u32| over_spread(n, &|x| tables.error_rate(k, n, x - loss));
    // The header threshold is 1 dB below MCS-1 or MCS-5; a transmission without header is lost.
    let strong = if k < 4 { 0 } else { 4 };
    let header_loss = config.receiver.loss_db(strong as u8 + 1);
    let lost = over_spread(1, &|x| tables.error_rate(strong, 1, x - header_loss + 1.0));
    let heard = if config.header_errors { 1.0 - lost } else { 1.0 };
    if !config.incremental_redundancy {
        return octets * heard * (1.0 - fail(1));
    }
    // At lower quality, an RLC block of MCS-7 to MCS-9 is retransmitted by a scheme with one RLC block per radio
    // block, which takes up to twice the radio blocks: a factor of 1.3 on average.
    let cost = if scheme.is_dual() { 1.3 } else { 1.0 };
    let last = fail(8);
    let again: f64 = (1..8).map(fail).sum::<f64>() + last / (1.0 - last).max(1e-3);
    octets * heard / (1.0 + cost * again)
}

/// Highest expected rate among all schemes, kbit/s per timeslot. `mean_db` and `spread_db` are mean and standard
/// deviation of the effective SINR before implementation loss.
pub fn best_rate(config: &Config, curves: &Curves, mean_db: f64, spread_db: f64) -> f64 {
    let link = Link::new(config, curves);
    let rate = |k| expected_rate(config, &link.tables, k, mean_db, spread_db);
    (0..SCHEMES).map(rate).fold(0.0, f64::max) * 0.4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_blocks_have_equal_weights() {
        for weight in [0.0, 0.002, 0.2, 0.3, 1.0 / 3.0, 1.0] {
            let forget = Forget::new(weight);
            for blocks in 1..2_000 {
                assert_eq!(forget.weight(blocks), weight.max(1.0 / (blocks + 1) as f32), "{weight} {blocks}");
            }
        }
    }

    /// A maximum below the lowest control level is the mobile's only power (`fuzz-scenarios`, seed 3001, number 46412).
    #[test]
    fn a_mobile_below_the_lowest_control_level_sends_at_its_maximum() {
        for level in [-110.0, -80.0, -40.0] {
            assert_eq!(PowerControl::UP.open_loop(level, 4.5), 0.0);
        }
    }

    /// EG-07: the scheme rises with quality and covers MCS-1 to MCS-9.
    #[test]
    fn eg_07_schemes_rise_with_quality() {
        let config = Config::default();
        let link = Link::new(&config, &Curves::built_in());
        let chooser = Chooser::new(&config, &link);
        let chosen: Vec<Scheme> =
            (-12..22).map(|x| chooser.choose(Some([x as f32, 1.0, x as f32]), Scheme::Mcs1)).collect();
        // With redundancy, two transmissions of the uncoded MCS-4 are better than MCS-1 at the lowest
        // quality; above, schemes rise.
        assert!(chosen[10..].is_sorted(), "{chosen:?}");
        assert_eq!(chosen.last(), Some(&Scheme::Mcs9));
        assert!(chosen[..10].iter().all(|s| *s <= Scheme::Mcs4), "{chosen:?}");
    }

    #[test]
    fn eg_07_bands_have_hysteresis() {
        let mut config = Config::default();
        config.adaptation.rule = Rule::Thresholds;
        let chooser = Chooser::new(&config, &Link::new(&config, &Curves::built_in()));
        let at = |ci: f32, before| chooser.choose(Some([0.0, 0.0, ci]), before);
        assert_eq!((at(14.5, Scheme::Mcs4), at(14.5, Scheme::Mcs5)), (Scheme::Mcs4, Scheme::Mcs5));
        assert_eq!((at(25.0, Scheme::Mcs8), at(22.0, Scheme::Mcs9)), (Scheme::Mcs9, Scheme::Mcs8));
    }

    /// EG-09: downlink by steps of at most 2 dB within 10 dB; uplink by the open loop.
    #[test]
    fn eg_09_power_follows_its_rule() {
        let down = PowerControl::DOWN;
        assert_eq!(down.after_report(0.0, 40.0), -2.0);
        assert_eq!(down.after_report(-9.0, 40.0), -10.0);
        assert_eq!(down.after_report(-1.0, 10.0), 0.0);
        assert_eq!(down.after_report(-3.0, 27.5), -3.5);
        let up = PowerControl::UP;
        assert_eq!(up.open_loop(-100.0, 33.0), 0.0);
        assert!((up.open_loop(-60.0, 33.0) - (39.0 - 26.0 + 7.2 - 33.0)).abs() < 1e-4);
    }
}
