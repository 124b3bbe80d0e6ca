//! Elementary functions in single precision by polynomials (log2, exp2, decibels, angle of a vector), and keyed
//! hashes for random draws.
//!
//! Only `+ - * /`, comparisons and bit operations, so that results are equal on all platforms and loops vectorise.
//! Maximum errors over the range of the test, which has wider limits: log2 2e-6, exp2 2e-7 relative, angle 2e-5 rad.
//! The error of a level is less than 0.001 dB.

use base::rng::mix;

/// Octaves (factors of 2 in power) per decibel: log2(10) / 10.
pub(crate) const OCTAVES_PER_DB: f32 = 0.332_192_8;

/// Logarithm to base 2 of a positive, normal number.
#[inline(always)]
pub(crate) fn log2(x: f32) -> f32 {
    let bits = x.to_bits();
    let exponent = (bits >> 23) as i32 - 127;
    let m = f32::from_bits(bits & 0x007f_ffff | 0x3f80_0000);
    // ln(m) by atanh of t = (m - c)/(m + c) around c = sqrt(2), in base 2.
    let t = (m - std::f32::consts::SQRT_2) / (m + std::f32::consts::SQRT_2);
    let t2 = t * t;
    let series = 1.0 + t2 * (1.0 / 3.0 + t2 * (1.0 / 5.0 + t2 * (1.0 / 7.0)));
    exponent as f32 + 0.5 + 2.0 * std::f32::consts::LOG2_E * t * series
}

/// 2 to the power of `x`; `x` is clamped to -125 to 125.
#[inline(always)]
pub(crate) fn exp2(x: f32) -> f32 {
    let x = x.clamp(-125.0, 125.0);
    // Rounds to the nearest integer without a branch.
    let whole = (x + 12_582_912.0) - 12_582_912.0;
    let f = x - whole;
    let p = 1.0
        + f * (std::f32::consts::LN_2
            + f * (0.240_226_5
                + f * (0.055_504_11 + f * (0.009_618_129 + f * (0.001_333_356 + f * 0.000_154_0)))));
    f32::from_bits((p.to_bits() as i32 + ((whole as i32) << 23)) as u32)
}

/// Decibels to a ratio of powers.
#[inline(always)]
pub(crate) fn from_db(db: f32) -> f32 {
    exp2(db * OCTAVES_PER_DB)
}

/// A ratio of powers to decibels; zero counts as the least positive normal number.
#[inline(always)]
pub(crate) fn to_db(ratio: f32) -> f32 {
    log2(ratio.max(f32::MIN_POSITIVE)) / OCTAVES_PER_DB
}

/// Angle of the vector (x, y) from the x axis in turns, -0.5 to 0.5.
#[inline(always)]
pub(crate) fn turns(y: f32, x: f32) -> f32 {
    let (ax, ay) = (x.abs(), y.abs());
    let (small, large) = if ax < ay { (ax, ay) } else { (ay, ax) };
    let t = small / large.max(1e-30);
    let t2 = t * t;
    let first = t
        * (0.999_866 + t2 * (-0.330_299_5 + t2 * (0.180_141 + t2 * (-0.085_133 + t2 * 0.020_835_1))))
        * (0.5 / std::f32::consts::PI);
    let first = if ax < ay { 0.25 - first } else { first };
    let first = if x < 0.0 { 0.5 - first } else { first };
    if y < 0.0 { -first } else { first }
}

/// Hash of the number `n` with the key `seed`.
#[inline(always)]
pub(crate) fn key(seed: u64, n: u64) -> u64 {
    mix(seed ^ n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Uniform number in [0, 1) from the upper 24 bits of a hash.
#[inline(always)]
pub(crate) fn unit(hash: u64) -> f32 {
    (hash >> 40) as f32 * (1.0 / 16_777_216.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_agree_with_libm() {
        for i in 1..40_000 {
            let x = 1e-9 * libm::pow(1.002, f64::from(i) * 0.5) as f32;
            assert!((f64::from(log2(x)) - libm::log2(f64::from(x))).abs() < 2e-5, "log2 {x}");
            let y = (i as f32 - 20_000.0) * 0.005;
            let e = f64::from(exp2(y)) / libm::exp2(f64::from(y));
            assert!((e - 1.0).abs() < 2e-5, "exp2 {y}: {e}");
            let a = f64::from(i) * 0.000_157;
            let (s, c) = (libm::sin(a) as f32, libm::cos(a) as f32);
            let expected = libm::atan2(f64::from(s), f64::from(c)) / std::f64::consts::TAU;
            assert!((f64::from(turns(s, c)) - expected).abs() < 1e-4, "angle {a}");
        }
    }
}
