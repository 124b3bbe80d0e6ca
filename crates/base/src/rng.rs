//! Random streams: one reproducible generator per seed, repetition, element and purpose; stable hash of
//! names.
//!
//! An additional element or another sender does not change the draws of other elements.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;

/// Random number stream (PCG-64 MCG, a named, portable algorithm).
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

/// Probability of an event as a bound on the upper 53 bits of a draw: [`Stream::occurs`] then needs no conversion of
/// the draw to a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance(u64);

impl Chance {
    /// The bound for which [`Stream::occurs`] agrees with `uniform() < probability` for every draw.
    pub fn of(probability: f64) -> Chance {
        let mut bound = ((probability * (1u64 << 53) as f64) as u64).min(1 << 53);
        // Off by one at most, for rounding.
        while bound > 0 && fraction(bound - 1) >= probability {
            bound -= 1;
        }
        while bound < 1 << 53 && fraction(bound) < probability {
            bound += 1;
        }
        Chance(bound)
    }
}

/// The fraction of [`Stream::uniform`] for the upper 53 bits of a draw.
#[inline]
fn fraction(upper: u64) -> f64 {
    (upper as f64 + 0.5) * (1.0 / (1u64 << 53) as f64)
}

/// Root of all streams of one repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed {
    /// Seed given by the user.
    pub seed: u64,
    /// Number of the repetition, from 0.
    pub repetition: u64,
}

impl Seed {
    /// The stream of `element` ("radio.reselection") for one `purpose` ("lasts").
    pub fn stream(self, element: &str, purpose: &str) -> Stream {
        let mut h = mix(self.seed ^ 0x7769_6c6c_6977_6177); // so that seed 0 is not the zero state
        h = mix(h ^ self.repetition);
        h = mix(h ^ fnv1a(element));
        let lo = mix(h ^ fnv1a(purpose));
        let hi = mix(lo ^ 0x9e37_79b9_7f4a_7c15);
        Stream(Pcg64Mcg::new((u128::from(hi) << 64) | u128::from(lo)))
    }
}

impl Stream {
    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// Uniform on the open interval (0, 1): neither end is ever drawn, so inverse distribution functions need
    /// no special cases.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        fraction(self.bits() >> 11)
    }
    /// Draws whether an event of this chance occurs: `uniform() < probability`, with the same draw.
    #[inline]
    pub fn occurs(&mut self, chance: Chance) -> bool {
        self.bits() >> 11 < chance.0
    }
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection that spreads every bit.
pub fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// FNV-1a, 64 bits: the stable hash of a name.
pub fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_pinned() {
        // A change here is a change of every published result: see CHANGELOG, "Results change".
        let mut s = Seed { seed: 1, repetition: 0 }.stream("radio.reselection", "lasts");
        let drawn: Vec<u64> = (0..4).map(|_| s.bits()).collect();
        assert_eq!(drawn, PINNED);
    }
    const PINNED: [u64; 4] =
        [7030347335795720055, 8212359971099545988, 1791776500285271467, 8830353037988754345];

    #[test]
    fn a_chance_is_the_comparison_of_the_fraction() {
        let mut s = Seed { seed: 1, repetition: 0 }.stream("radio", "chance");
        let mut probabilities =
            vec![0.0, -0.5, 1.0, 2.0, f64::NAN, f64::MIN_POSITIVE, 0.5, 1.0 - f64::EPSILON / 2.0];
        probabilities.extend((1..60).map(|n| 0.5f64.powi(n)));
        for _ in 0..20_000 {
            let (p, near) = (s.uniform(), s.bits() % 5);
            probabilities.extend([p, p * p * p, fraction((p * (1u64 << 53) as f64) as u64 + near)]);
        }
        for p in probabilities {
            let Chance(bound) = Chance::of(p);
            assert!(bound == 0 || fraction(bound - 1) < p, "{p}");
            assert!(bound == 1 << 53 || fraction(bound).partial_cmp(&p).is_none_or(|o| o.is_ge()), "{p}");
        }
    }

    #[test]
    fn streams_differ_by_each_part_of_their_key() {
        let base = Seed { seed: 1, repetition: 0 };
        let first = |s: Seed, e: &str, p: &str| s.stream(e, p).bits();
        let reference = first(base, "radio", "loss");
        assert_eq!(reference, first(base, "radio", "loss"));
        assert_ne!(reference, first(Seed { seed: 2, ..base }, "radio", "loss"));
        assert_ne!(reference, first(Seed { repetition: 1, ..base }, "radio", "loss"));
        assert_ne!(reference, first(base, "radio2", "loss"));
        assert_ne!(reference, first(base, "radio", "delay"));
    }
}
