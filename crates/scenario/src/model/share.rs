//! Random probabilities of losses and frame errors, drawn once per repetition.

use super::LossKind;
use super::channel::{ErrorKind, ErrorRate};
use base::dist::{Dist, Sampler};
use base::rng::Seed;

base::named! {
    /// A probability of a loss or error process.
    pub enum Part {
        /// Loss or error probability of each packet or frame.
        Probability = "probability",
        /// Transition probability to the bad state.
        ToBad = "to-bad",
        /// Transition probability to the good state.
        ToGood = "to-good",
        /// Probability in the good state.
        Good = "good",
        /// Probability in the bad state.
        Bad = "bad",
    }
}

/// A loss or error process with settable probabilities.
pub(crate) trait Shares: Clone {
    /// Sets a probability; ignored if the process has no such part.
    fn put(&mut self, part: Part, value: f64);
}

impl Shares for LossKind {
    fn put(&mut self, part: Part, value: f64) {
        match (self, part) {
            (LossKind::Probability(p), Part::Probability)
            | (LossKind::PerPacketStates { to_bad: p, .. }, Part::ToBad)
            | (LossKind::PerPacketStates { to_good: p, .. }, Part::ToGood)
            | (
                LossKind::PerPacketStates { loss_good: p, .. }
                | LossKind::OverTimeStates { loss_good: p, .. },
                Part::Good,
            )
            | (
                LossKind::PerPacketStates { loss_bad: p, .. } | LossKind::OverTimeStates { loss_bad: p, .. },
                Part::Bad,
            ) => *p = value,
            _ => {}
        }
    }
}

impl Shares for ErrorKind {
    fn put(&mut self, part: Part, value: f64) {
        match (self, part) {
            (ErrorKind::PerFrame { to_bad: p, .. }, Part::ToBad)
            | (ErrorKind::PerFrame { to_good: p, .. }, Part::ToGood) => *p = value,
            (ErrorKind::Steady(chance), Part::Probability)
            | (
                ErrorKind::PerFrame { good: chance, .. } | ErrorKind::OverTime { good: chance, .. },
                Part::Good,
            )
            | (
                ErrorKind::PerFrame { bad: chance, .. } | ErrorKind::OverTime { bad: chance, .. },
                Part::Bad,
            ) => {
                *chance = match chance {
                    ErrorRate::Frame(_) => ErrorRate::Frame(value),
                    ErrorRate::Bit(_) => ErrorRate::Bit(value),
                };
            }
            _ => {}
        }
    }
}

/// Copy of `mean` with drawn probabilities for `parts`, from the random stream of `name` in this repetition. Draws are
/// clamped to 0 to 1.
pub(crate) fn drawn<K: Shares>(mean: &K, parts: &[(Part, Dist)], name: &str, seed: Seed) -> K {
    let mut kind = mean.clone();
    for (part, dist) in parts {
        let stream = seed.stream(name, &format!("share {}", part.name()));
        kind.put(*part, Sampler::new(dist.clone(), stream).draw().clamp(0.0, 1.0));
    }
    kind
}

/// Mean of a drawn probability, clamped to 0 to 1; 0.5 for a distribution without mean.
pub(crate) fn expected(dist: &Dist) -> f64 {
    let mean = dist.mean();
    if mean.is_finite() { mean.clamp(0.0, 1.0) } else { 0.5 }
}
