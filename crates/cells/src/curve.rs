//! Link-level curves from a CSV file: mutual information over SINR, AWGN thresholds, average block error rates; their
//! lookup tables; decision whether a block is decoded.
//!
//! A scenario can replace the built-in file (`data/curves.csv`). Mutual information of GMSK follows the closed form
//! J(s) = (1 - 2^(-0.3073 s^1.787))^1.1064 with s = sqrt(8 SINR) (Brännström, Rasmussen, Grant 2005); 8-PSK is
//! tabulated. Lookup tables are indexed by the bits of the SINR in floating-point form, eight steps per octave.

use crate::numeric;
use radio::coding::{Modulation, Scheme};
use std::fmt;

/// Text of the built-in curve file.
pub const BUILT_IN: &str = include_str!("../data/curves.csv");

/// Number of EGPRS schemes.
pub const SCHEMES: usize = 9;

base::named! {
    /// A fading profile of the average curves.
    pub enum Profile {
        /// Typical urban, 3 km/h, no hopping.
        Tu3 = "tu3",
        /// Typical urban, 50 km/h, no hopping.
        Tu50 = "tu50",
        /// Ideal hopping.
        Hopping = "hopping",
    }
}

/// Error in a curve file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurveError {
    /// Line number from 1; 0 if a row is missing.
    pub line: usize,
    /// Cause.
    pub message: String,
}

impl fmt::Display for CurveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

/// Contents of a curve file.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// By scheme, dB of SINR without fading: thresholds (block error rate 50 %) after 1, 2 and 3 combined
    /// transmissions, and slope.
    pub awgn: [[f64; 4]; SCHEMES],
    /// By profile and scheme, dB of mean C/I: threshold (block error rate 50 %) and slope.
    pub average: [[[f64; 2]; SCHEMES]; 3],
    /// Coding gain after 2 and 3 combined transmissions, dB, by scheme; for average curves.
    pub gain: [[f64; 2]; SCHEMES],
    /// 8-PSK: SINR in dB, ascending, and mutual information per coded bit.
    pub psk8: Vec<(f64, f64)>,
}

impl Curves {
    /// Parses the text of a curve file.
    ///
    /// # Errors
    /// The first malformed line, or a missing row.
    pub fn read(text: &str) -> Result<Curves, CurveError> {
        let mut awgn = [[f64::NAN; 4]; SCHEMES];
        let mut average = [[[f64::NAN; 2]; SCHEMES]; 3];
        let mut gain = [[f64::NAN; 2]; SCHEMES];
        let mut psk8: Vec<(f64, f64)> = Vec::new();
        for (i, line) in text.lines().enumerate().map(|(i, l)| (i + 1, l.trim())) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |message: String| CurveError { line: i, message };
            let parts: Vec<&str> = line.split(',').map(str::trim).collect();
            let number = |at: usize| {
                let text = parts.get(at).copied().unwrap_or_default();
                let value = text.parse::<f64>().ok().filter(|x| x.is_finite() && x.abs() < 200.0);
                value.ok_or_else(|| wrong(format!("field {} must be a number in dB, not \"{text}\"", at + 1)))
            };
            let scheme = || {
                let name = parts.get(1).copied().unwrap_or_default();
                let found = Scheme::EGPRS.iter().position(|s| s.name() == name);
                found.ok_or_else(|| wrong(format!("no scheme \"{name}\"; mcs-1 to mcs-9 are known")))
            };
            let slope = |x: f64| if x > 0.0 { Ok(x) } else { Err(wrong("a slope must be above 0".into())) };
            match parts[0] {
                "awgn" => awgn[scheme()?] = [number(2)?, number(3)?, number(4)?, slope(number(5)?)?],
                "gain" => gain[scheme()?] = [number(2)?, number(3)?],
                "average" => {
                    let name = parts.get(2).copied().unwrap_or_default();
                    let profile = Profile::ALL.iter().position(|p| p.name() == name);
                    let known = Profile::NAMES.join(", ");
                    let profile = profile.ok_or_else(|| wrong(format!("no profile \"{name}\" ({known})")))?;
                    average[profile][scheme()?] = [number(3)?, slope(number(4)?)?];
                }
                "mi" if parts.get(1) == Some(&"8-psk") => {
                    let (x, m) = (number(2)?, number(3)?);
                    let rises = psk8.last().is_none_or(|(a, b)| *a < x && *b <= m);
                    if !(rises && (0.0..=1.0).contains(&m)) {
                        return Err(wrong("SINR and mutual information (0 to 1) must rise".into()));
                    }
                    psk8.push((x, m));
                }
                other => {
                    return Err(wrong(format!(
                        "no kind of row \"{other}\"; known are awgn, average, gain and mi,8-psk"
                    )));
                }
            }
        }
        let missing = |what: &str| Err(CurveError { line: 0, message: format!("{what} is missing") });
        for (k, scheme) in Scheme::EGPRS.iter().enumerate() {
            if awgn[k][0].is_nan() {
                return missing(&format!("awgn,{scheme}"));
            }
            if gain[k][0].is_nan() {
                return missing(&format!("gain,{scheme}"));
            }
            for (p, profile) in Profile::ALL.iter().enumerate() {
                if average[p][k][0].is_nan() {
                    return missing(&format!("average,{scheme},{profile}"));
                }
            }
        }
        if psk8.len() < 2 {
            return missing("mi,8-psk with at least two points");
        }
        Ok(Curves { awgn, average, gain, psk8 })
    }

    /// Curves of the built-in file.
    pub fn built_in() -> Curves {
        // A test parses the built-in text, so that it cannot fail here.
        Curves::read(BUILT_IN).unwrap_or_else(|e| unreachable!("{e}"))
    }

    /// Mutual information per coded bit at a SINR in dB.
    pub fn information(&self, modulation: Modulation, db: f64) -> f64 {
        if modulation == Modulation::Gmsk {
            let s = libm::sqrt(8.0 * libm::pow(10.0, db / 10.0));
            return libm::pow(1.0 - libm::exp2(-0.3073 * libm::pow(s, 2.0 * 0.8935)), 1.1064);
        }
        let points = &self.psk8;
        let (first, last) = (points[0], points[points.len() - 1]);
        if db <= first.0 {
            return first.1 * libm::pow(10.0, (db - first.0) / 10.0);
        }
        if db >= last.0 {
            return last.1;
        }
        let at = points.partition_point(|p| p.0 <= db);
        let (a, b) = (points[at - 1], points[at]);
        a.1 + (b.1 - a.1) * (db - a.0) / (b.0 - a.0)
    }

    /// Threshold of a scheme (by index) after `n` combined transmissions, dB of SINR without fading.
    pub fn threshold(&self, scheme: usize, n: u32) -> f64 {
        match n {
            0..=3 => self.awgn[scheme][(n.max(1) - 1) as usize],
            // Beyond the third transmission, combining adds energy only.
            _ => self.awgn[scheme][2] - 10.0 * libm::log10(f64::from(n) / 3.0),
        }
    }
}

/// Range of SINR in a lookup table, as a power of two: from 2^-14 (-42 dB) to 2^14 (42 dB).
const ORDERS: i32 = 14;
/// Logarithm to base 2 of the steps per octave.
const STEPS_LOG2: u32 = 3;
/// Exponent and upper mantissa bits of the lowest SINR, which has index 0.
const BASE: u32 = ((127 - ORDERS) as u32) << STEPS_LOG2;
/// Number of steps of a lookup table.
const ENTRIES: usize = (2 * ORDERS as usize) << STEPS_LOG2;

/// Lookup table of a function of the SINR (a ratio), with linear interpolation.
#[derive(Clone, Debug)]
pub(crate) struct OverSinr {
    /// Value at the left end of a step, and the increment over the step.
    steps: Box<[[f32; 2]; ENTRIES]>,
}

impl OverSinr {
    /// Tabulates `f`, a function of the SINR in dB.
    pub(crate) fn new(f: impl Fn(f64) -> f64) -> OverSinr {
        let at = |i: usize| {
            let bits = (BASE + i as u32) << (23 - STEPS_LOG2);
            f(10.0 * libm::log10(f64::from(f32::from_bits(bits)))) as f32
        };
        OverSinr { steps: Box::new(std::array::from_fn(|i| [at(i), at(i + 1) - at(i)])) }
    }

    /// Value at a SINR, a ratio.
    #[inline(always)]
    pub(crate) fn at(&self, sinr: f32) -> f32 {
        let bits = sinr.max(f32::MIN_POSITIVE).to_bits();
        let step = (bits >> (23 - STEPS_LOG2)).clamp(BASE, BASE + ENTRIES as u32 - 1);
        let inside = (bits.wrapping_sub(step << (23 - STEPS_LOG2))).min((1 << (23 - STEPS_LOG2)) - 1);
        let [value, rise] = self.steps[(step - BASE) as usize];
        value + rise * (inside as f32 * (1.0 / (1u32 << (23 - STEPS_LOG2)) as f32))
    }

    /// [`OverSinr::at`] of each SINR. Arithmetic and table accesses have separate loops, so that the compiler turns
    /// the arithmetic into vector instructions.
    #[inline(always)]
    fn at_each<const N: usize>(&self, sinr: &[f32; N]) -> [f32; N] {
        let (mut step, mut inside, mut steps) = ([0_i32; N], [0.0; N], [[0.0; 2]; N]);
        for k in 0..N {
            // The bits of a positive number are less than 2^31.
            let bits = sinr[k].max(f32::MIN_POSITIVE).to_bits() as i32;
            step[k] = (bits >> (23 - STEPS_LOG2)).clamp(BASE as i32, BASE as i32 + ENTRIES as i32 - 1);
            let rest = bits.wrapping_sub(step[k] << (23 - STEPS_LOG2)) as u32;
            inside[k] = rest.min((1 << (23 - STEPS_LOG2)) - 1) as i32 as f32
                * (1.0 / (1u32 << (23 - STEPS_LOG2)) as f32);
        }
        for (of, step) in steps.iter_mut().zip(step) {
            *of = self.steps[(step - BASE as i32) as usize % ENTRIES];
        }
        for k in 0..N {
            let [value, rise] = steps[k];
            inside[k] = value + rise * inside[k];
        }
        inside
    }
}

/// A uniform draw from 0 to 1 in steps of 2^-24.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw(u32);

impl Draw {
    /// Draw from the upper 24 bits of a hash.
    #[inline(always)]
    pub(crate) fn new(hash: u64) -> Draw {
        Draw((hash >> 40) as u32)
    }

    /// Draw with the value `u`, from 0 to 1.
    #[inline]
    pub(crate) fn of(u: f32) -> Draw {
        Draw((u * 16_777_216.0) as u32)
    }

    /// Value of the draw, from 0 to 1.
    #[inline(always)]
    pub(crate) fn uniform(self) -> f32 {
        self.0 as f32 * (1.0 / 16_777_216.0)
    }

    /// Index among [`DRAWS`] equal parts of the range from 0 to 1.
    #[inline(always)]
    fn part(self) -> usize {
        (self.0 >> 16) as usize % DRAWS
    }
}

/// Number of steps of the table of effective SINR over mutual information.
const INVERSE: usize = 1024;
/// Maximum effective SINR, dB: mutual information 1.
pub(crate) const CEILING_DB: f32 = 40.0;

/// Lookup tables of the curves.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Mutual information per coded bit over SINR, for GMSK and 8-PSK.
    information: [OverSinr; 2],
    /// Effective SINR in dB over mutual information, for GMSK and 8-PSK.
    effective: [Box<[f32; INVERSE + 1]>; 2],
    /// Threshold by scheme and number of combined transmissions (1 to 8), dB.
    pub(crate) threshold: [[f32; 8]; SCHEMES],
    /// Slope by scheme, dB.
    pub(crate) slope: [f32; SCHEMES],
    /// Quantiles of the logistic distribution.
    logit: Box<[f32; QUANTILES]>,
    /// Least and greatest of each 16 consecutive quantiles. These 2 KB stay in the first-level cache and decide
    /// nearly all draws.
    rough: Box<[[f32; 2]; QUANTILES / 16]>,
    /// For each of [`DRAWS`] parts of a uniform draw: distance from the threshold, in slopes, above which a block is
    /// decoded for every draw of the part, and below which it is lost for every draw.
    sure: Box<[[f32; 2]; DRAWS]>,
}

/// Number of quantiles of the logistic distribution.
const QUANTILES: usize = 4096;

/// Quantile of the logistic distribution in the middle of part `i` of [`QUANTILES`] equal parts; it rises with `i`.
fn logit(i: usize) -> f32 {
    let u = (i as f64 + 0.5) / QUANTILES as f64;
    libm::log(u / (1.0 - u)) as f32
}

/// Number of parts of the uniform draw in the table of certain decisions.
const DRAWS: usize = 256;
/// Safety margin of a decision without the logistic function, in slopes. The error of [`logistic`] in single
/// precision is less than 0.001, except in the first and last part of the draw.
const MARGIN: f64 = 0.004;

/// Index of a modulation in the tables: 0 GMSK, 1 8-PSK.
pub(crate) fn kind(modulation: Modulation) -> usize {
    usize::from(modulation == Modulation::Psk8)
}

impl Tables {
    /// Computes the lookup tables of `curves`.
    pub fn new(curves: &Curves) -> Tables {
        let modulations = [Modulation::Gmsk, Modulation::Psk8];
        let information = modulations.map(|m| OverSinr::new(|db| curves.information(m, db)));
        let effective = modulations.map(|m| {
            let mut table = Box::new([CEILING_DB; INVERSE + 1]);
            let mut low = -40.0_f64;
            for (i, slot) in table.iter_mut().enumerate() {
                let wanted = i as f64 / INVERSE as f64;
                while low < f64::from(CEILING_DB) && curves.information(m, low) < wanted {
                    low += 0.01;
                }
                *slot = low as f32;
            }
            table
        });
        Tables {
            information,
            effective,
            threshold: std::array::from_fn(|s| {
                std::array::from_fn(|n| curves.threshold(s, n as u32 + 1) as f32)
            }),
            slope: std::array::from_fn(|s| curves.awgn[s][3] as f32),
            rough: Box::new(std::array::from_fn(|i| [logit(16 * i), logit(16 * i + 15)])),
            logit: Box::new(std::array::from_fn(logit)),
            sure: Box::new(std::array::from_fn(|i| {
                let above = |u: f64| libm::log((1.0 - u) / u);
                let (from, to) = (i as f64 / DRAWS as f64, (i + 1) as f64 / DRAWS as f64);
                [(above(from) + MARGIN) as f32, (above(to) - MARGIN) as f32]
            })),
        }
    }

    /// Whether a block is decoded at `x` dB of mean C/I, for a uniform draw; `None` if the decision needs the value
    /// of [`logistic`].
    #[inline(always)]
    pub(crate) fn certain(&self, x: f32, threshold: f32, slope: f32, draw: Draw) -> Option<bool> {
        let [arrives, lost] = self.sure[draw.part()];
        let above = x - threshold;
        if above > slope * arrives {
            Some(true)
        } else if above < slope * lost {
            Some(false)
        } else {
            None
        }
    }

    /// Mutual information per coded bit of one burst, with modulation `kind`, at a SINR (a ratio).
    #[inline(always)]
    pub(crate) fn information(&self, kind: usize, sinr: f32) -> f32 {
        self.information[kind].at(sinr)
    }

    /// [`Tables::information`] of each SINR.
    #[inline]
    pub(crate) fn information_of_each<const N: usize>(&self, kind: usize, sinr: &[f32; N]) -> [f32; N] {
        self.information[kind].at_each(sinr)
    }

    /// [`Tables::effective`] of each value of mutual information.
    #[inline]
    pub(crate) fn effective_of_each<const N: usize>(&self, kind: usize, information: &[f32; N]) -> [f32; N] {
        let (mut at, mut steps) = ([0_u16; N], [[0.0; 2]; N]);
        let mut x = *information;
        for k in 0..N {
            x[k] = x[k].clamp(0.0, 1.0) * INVERSE as f32;
            at[k] = (x[k] as i32).min(INVERSE as i32 - 1) as u16;
            x[k] -= f32::from(at[k]);
        }
        let table = &self.effective[kind];
        for (step, at) in steps.iter_mut().zip(at) {
            let i = usize::from(at) % INVERSE;
            *step = [table[i], table[i + 1]];
        }
        for k in 0..N {
            let [from, to] = steps[k];
            x[k] = from + (to - from) * x[k];
        }
        x
    }

    /// Effective SINR: SINR, in dB, of a channel without fading with this mutual information.
    #[inline(always)]
    pub(crate) fn effective(&self, kind: usize, information: f32) -> f32 {
        let x = information.clamp(0.0, 1.0) * INVERSE as f32;
        let i = (x as i32 as usize).min(INVERSE - 1);
        let table = &self.effective[kind];
        table[i] + (table[i + 1] - table[i]) * (x - i as f32)
    }

    /// Whether a block is decoded at an effective SINR; all values in dB. The probability is the logistic function
    /// with `threshold` and `slope`; `hash` is the random draw.
    #[inline(always)]
    pub(crate) fn decodes(&self, effective: f32, threshold: f32, slope: f32, hash: u64) -> bool {
        // The limit rises with the quantile: above the limit of the greatest, or not above that of the least, the
        // decision is equal for all 16 quantiles.
        let draw = hash as usize % QUANTILES;
        let [least, most] = self.rough[draw / 16];
        if effective > threshold + slope * most {
            return true;
        }
        effective > threshold + slope * least && effective > threshold + slope * self.logit[draw]
    }

    /// Block error rate of a scheme (by index) after `n` combined transmissions, at an effective SINR in dB.
    pub fn error_rate(&self, scheme: usize, n: u32, effective: f64) -> f64 {
        let x50 = f64::from(self.threshold[scheme][(n.clamp(1, 8) - 1) as usize]);
        1.0 / (1.0 + libm::exp((effective - x50) / f64::from(self.slope[scheme])))
    }
}

/// Block error rate of an average curve at `x` dB of mean C/I; `threshold` and `slope` in dB.
#[inline]
pub(crate) fn logistic(x: f32, threshold: f32, slope: f32) -> f32 {
    1.0 / (1.0 + numeric::exp2((x - threshold) / slope * std::f32::consts::LOG2_E))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_file_reads() {
        let c = Curves::built_in();
        assert_eq!(c.awgn[8], [13.4, 6.5, 4.6, 0.46]);
        assert!((c.threshold(8, 6) - (4.6 - 3.0103)).abs() < 1e-3);
        assert!((c.information(Modulation::Psk8, 0.5) - 0.334).abs() < 1e-9);
        assert!((c.information(Modulation::Psk8, -20.0) - 0.0037).abs() < 1e-9);
        assert!((c.information(Modulation::Gmsk, 0.0) - 0.71).abs() < 0.02);
    }

    #[test]
    fn a_wrong_file_names_line_and_remedy() {
        let fails = |text: &str| Curves::read(text).unwrap_err().to_string();
        assert_eq!(fails("awgn,mcs-10,1,2,3,4"), "line 1: no scheme \"mcs-10\"; mcs-1 to mcs-9 are known");
        assert!(fails("# x\nawgn,mcs-1,a,2,3,4").starts_with("line 2: field 3 must be a number"));
        assert!(fails("mi,8-psk,0,0.3\nmi,8-psk,1,0.2").contains("must rise"));
        assert!(fails("curve,1").contains("no kind of row"));
        assert!(fails(&BUILT_IN.replace("gain,mcs-7", "#")).contains("gain,mcs-7 is missing"));
        assert!(fails(&BUILT_IN.replace(",0.46", ",0")).contains("slope"));
    }

    #[test]
    fn tables_read_together_give_the_same_bits() {
        let tables = Tables::new(&Curves::built_in());
        for i in 0..4_000 {
            let sinr: [f32; 7] = std::array::from_fn(|k| numeric::from_db((7 * i + k) as f32 * 0.007 - 90.0));
            let sinr = if i % 50 == 0 { [0.0, 1e-30, f32::NAN, 1e9, -1.0, 1.0, f32::INFINITY] } else { sinr };
            for kind in 0..2 {
                let together = tables.information_of_each(kind, &sinr);
                let alone = sinr.map(|s| tables.information(kind, s));
                assert_eq!(together.map(f32::to_bits), alone.map(f32::to_bits), "{sinr:?}");
                let beyond = alone.map(|m| 1.2 * m - 0.1);
                let together = tables.effective_of_each(kind, &beyond);
                let alone = beyond.map(|m| tables.effective(kind, m));
                assert_eq!(together.map(f32::to_bits), alone.map(f32::to_bits), "{beyond:?}");
            }
        }
    }

    #[test]
    fn compiled_tables_follow_the_curves() {
        let curves = Curves::built_in();
        let t = Tables::new(&curves);
        for i in -200..250 {
            let db = f64::from(i) * 0.1;
            let sinr = libm::pow(10.0, db / 10.0) as f32;
            for (k, m) in [(0, Modulation::Gmsk), (1, Modulation::Psk8)] {
                let expected = curves.information(m, db);
                assert!((f64::from(t.information(k, sinr)) - expected).abs() < 4e-3, "{m} {db}");
                if (0.02..0.98).contains(&expected) {
                    let back = f64::from(t.effective(k, expected as f32));
                    assert!((back - db).abs() < 0.12, "{m} {db}: {back}");
                }
            }
        }
        for (hash, effective) in (0..40_000).map(|i| (i, 13.4 + 0.46 * ((i % 97) as f32 - 48.0) * 0.2)) {
            let exactly = effective > 13.4 + 0.46 * t.logit[(hash & 4095) as usize];
            assert_eq!(t.decodes(effective, 13.4, 0.46, hash), exactly, "{hash} {effective}");
        }
        assert!(t.logit.is_sorted());
        let errors = (0..4096).filter(|h| !t.decodes(13.4 + 0.46, 13.4, 0.46, *h)).count();
        assert!((errors as f64 / 4096.0 - t.error_rate(8, 1, 13.86)).abs() < 2e-3);
    }
}
