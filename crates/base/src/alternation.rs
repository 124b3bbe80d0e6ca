//! Detector of an alternating RTT series: online test for two levels in successive samples.
//!
//! Over GPRS, every second ping took 100 to 200 ms longer than the one before, because its temporary block
//! flow had to be set up anew (Gurtov et al., Multi-Layer Tracing of TCP over GPRS, section IV.A).
//!
//! Three successive values alternate if the middle one lies above or below both others and these differ by
//! less than half of that distance. Of independently drawn values of any distribution, less than 0.26 of the
//! triples alternate (uniform 0.22, normal 0.21, exponential 0.23, Pareto 0.26, by simulation). Of values at
//! two levels 100 apart with a deviation of 30 around each, 0.63 do. A step of the level or a missing value
//! affects only one or two triples.

/// Online detector for a series; keeps only the last two values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AlternationDetector {
    before: Option<f64>,
    last: Option<f64>,
    triples: u64,
    alternating: u64,
    /// Number of alternating triples in the sums, outliers excluded.
    usual: u64,
    steps: f64,
    low: f64,
    high: f64,
}

/// Two levels of an alternating series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alternation {
    /// Mean of the lower values.
    pub low: f64,
    /// Mean of the higher values.
    pub high: f64,
    /// Fraction of the triples that alternate, 0 to 1.
    pub share: f64,
    /// Number of triples.
    pub triples: u64,
}

/// Minimum number of triples.
const FEWEST: u64 = 16;
/// Minimum fraction of alternating triples. Fewer than one in 200 series of independent values reaches it by
/// chance.
const SHARE: f64 = 0.6;
/// Steps larger than this multiple of the mean step are outliers.
const OUTLIER: f64 = 4.0;

impl AlternationDetector {
    /// Adds the next value.
    pub fn push(&mut self, value: f64) {
        if let (Some(a), Some(b)) = (self.before, self.last) {
            let (up, down) = (b - a, b - value);
            let step = up.abs().min(down.abs());
            self.triples += 1;
            if up * down > 0.0 && (a - value).abs() < step / 2.0 {
                self.alternating += 1;
                let n = self.usual as f64;
                if self.usual < 4 || step < OUTLIER * self.steps / n {
                    let beside = f64::midpoint(a, value);
                    self.usual += 1;
                    self.steps += step;
                    self.low += b.min(beside);
                    self.high += b.max(beside);
                }
            }
        }
        (self.before, self.last) = (self.last, Some(value));
    }

    /// The two levels, if the series alternates.
    pub fn found(&self) -> Option<Alternation> {
        let (share, n) = (self.alternating as f64 / self.triples as f64, self.usual as f64);
        let found = self.triples >= FEWEST && share >= SHARE;
        found.then(|| Alternation { low: self.low / n, high: self.high / n, share, triples: self.triples })
    }
}

/// The two levels of a whole series, if it alternates.
pub fn alternation(values: &[f64]) -> Option<Alternation> {
    let mut zigzag = AlternationDetector::default();
    values.iter().for_each(|value| zigzag.push(*value));
    zigzag.found()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    fn noise(n: u64) -> Vec<f64> {
        let mut stream = Seed { seed: 1, repetition: 0 }.stream("noise", "test");
        (0..n).map(|_| stream.uniform()).collect()
    }

    /// TA-15: every second value is larger, with noise, an outlier and a missing value.
    #[test]
    fn two_levels_are_found_in_noise() {
        let mut pings: Vec<f64> =
            noise(60).iter().enumerate().map(|(i, x)| 0.65 + 0.1 * (i % 2) as f64 + 0.05 * x).collect();
        pings[20] = 9.0;
        pings.remove(40);
        let found = alternation(&pings).expect("two levels");
        assert!((found.low - 0.675).abs() < 0.01 && (found.high - 0.775).abs() < 0.01, "{found:?}");
        assert!(found.share > 0.7, "{found:?}");
        assert_eq!(alternation(&pings[..10]), None, "ten pings say nothing");
    }

    /// C121, second part: series without alternation are not reported.
    #[test]
    fn noise_ramps_and_steps_are_not_two_levels() {
        let found = noise(20_000).chunks(20).filter(|c| alternation(c).is_some()).count();
        assert!(found <= 5, "{found} of 1000 series of noise");
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        let steps: Vec<f64> = (0..100).map(|i| f64::from(i / 2 % 2)).collect();
        assert_eq!((alternation(&ramp), alternation(&steps), alternation(&[1.0; 50])), (None, None, None));
    }
}
