//! Probability distributions of scenario parameters: parser, sampler, mean, and first event of a stationary
//! process.
//!
//! All distributions are sampled by own code on `libm`, so that a seed gives identical bits on every machine
//! and in every build.
//!
//! One uniform draw per sample (inverse distribution function) where possible, so that two scenarios that
//! differ in a parameter stay paired draw by draw; gamma is the exception. Values are plain numbers in the
//! quantity's base unit: nanoseconds, bit/s, bytes, or none.

use crate::rng::Stream;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A distribution (Seawind's list and further ones; catalogue SW-45).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", remote = "Self")]
pub enum Dist {
    /// Constant.
    Constant(f64),
    /// Uniform between minimum and maximum.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Normal with mean and standard deviation, cut off at 0.
    Normal(f64, f64),
    /// Lognormal given by the mean and standard deviation of the quantity itself.
    Lognormal(f64, f64),
    /// Cauchy with median and half-width at half height, cut off at 0.
    Cauchy(f64, f64),
    /// Pareto with minimum, shape and an optional maximum at which it is truncated.
    Pareto(f64, f64, Option<f64>),
    /// Weibull with scale and shape.
    Weibull(f64, f64),
    /// Gamma with shape and scale.
    Gamma(f64, f64),
    /// Two-state Markov chain: its value in each state, and its probability of a state change per draw.
    TwoState {
        /// Value in the first state, where the chain starts.
        first: f64,
        /// Value in the second state.
        second: f64,
        /// Probability of leaving the first state before a draw.
        leave_first: f64,
        /// Probability of leaving the second state before a draw.
        leave_second: f64,
    },
    /// Empirical: one of the measured values, with equal probability.
    Empirical(#[serde(with = "crate::serial::shared")] Arc<[f64]>),
}

/// A distribution with its random stream and, for the Markov chain, its state.
#[derive(Clone, Debug)]
pub struct Sampler {
    dist: Dist,
    stream: Stream,
    second_state: bool,
}

impl Sampler {
    /// Draws from `dist` with `stream`.
    pub fn new(dist: Dist, stream: Stream) -> Self {
        Sampler { dist, stream, second_state: false }
    }

    /// The value of a constant distribution.
    pub fn constant(&self) -> Option<f64> {
        match self.dist {
            Dist::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Next sample; never negative, never NaN.
    pub fn draw(&mut self) -> f64 {
        let u = match self.dist {
            Dist::Constant(_) => 0.5, // no draw: a constant must not advance the stream
            _ => self.stream.uniform(),
        };
        let x = match &self.dist {
            Dist::Constant(c) => *c,
            Dist::Uniform(a, b) => a + (b - a) * u,
            Dist::Exponential(mean) => -mean * libm::log(u),
            Dist::Normal(mean, sd) => mean + sd * normal_quantile(u),
            Dist::Lognormal(mean, sd) => {
                let (mu, sigma) = lognormal_parameters(*mean, *sd);
                libm::exp(mu + sigma * normal_quantile(u))
            }
            Dist::Cauchy(median, width) => median + width * libm::tan(core::f64::consts::PI * (u - 0.5)),
            Dist::Pareto(min, shape, max) => {
                // Truncation: only the part of the distribution function below the maximum is used.
                let below = max.map_or(1.0, |max| 1.0 - libm::pow(min / max, *shape));
                min / libm::pow(1.0 - u * below, 1.0 / shape)
            }
            Dist::Weibull(scale, shape) => scale * libm::pow(-libm::log(u), 1.0 / shape),
            Dist::Gamma(shape, scale) => scale * gamma(*shape, u, &mut self.stream),
            Dist::TwoState { first, second, leave_first, leave_second } => {
                let leave = if self.second_state { leave_second } else { leave_first };
                self.second_state ^= u < *leave;
                if self.second_state { *second } else { *first }
            }
            Dist::Empirical(values) => {
                values.get((u * values.len() as f64) as usize).or(values.last()).copied().unwrap_or(0.0)
            }
        };
        if x > 0.0 { x } else { 0.0 }
    }

    /// Time to the next event of a stationary renewal process with these intervals, from an arbitrary time.
    /// One draw where the equilibrium distribution can be inverted; otherwise the process is started in the
    /// past and run up to the present.
    pub fn draw_stationary(&mut self) -> f64 {
        match self.dist {
            Dist::Constant(c) => c * self.stream.uniform(),
            // Density 1/mean up to a, then falling linearly to 0 at b.
            Dist::Uniform(a, b) => {
                let mean = (a + b) / 2.0;
                let v = self.stream.uniform() * mean;
                if v <= a { v } else { b - ((b - a) * (b - a) - 2.0 * (b - a) * (v - a)).sqrt() }
            }
            // Memoryless.
            Dist::Exponential(_) => self.draw(),
            _ => {
                // A hundred intervals approximate the stationary state; heavy tails converge slowly (see the
                // docs).
                let mut t = 0.0;
                let mut horizon = 0.0;
                for _ in 0..100 {
                    horizon += self.draw();
                }
                let horizon = horizon * self.stream.uniform();
                while t <= horizon {
                    let step = self.draw();
                    if step <= 0.0 {
                        return 0.0;
                    }
                    t += step;
                }
                t - horizon
            }
        }
    }

    /// Distribution being sampled.
    pub fn dist(&self) -> &Dist {
        &self.dist
    }
}

/// Converts mean and standard deviation of a lognormal quantity to those of its logarithm.
fn lognormal_parameters(mean: f64, sd: f64) -> (f64, f64) {
    let sigma2 = libm::log(1.0 + (sd / mean) * (sd / mean));
    (libm::log(mean) - sigma2 / 2.0, sigma2.sqrt())
}

/// The quantile of the standard normal distribution, by inverting libm's complementary error
/// function: a rational start (Abramowitz and Stegun 26.2.23, error below 4.5e-4), then three
/// Newton steps, which square the error each time.
fn normal_quantile(p: f64) -> f64 {
    let (tail, sign) = if p < 0.5 { (p, -1.0) } else { (1.0 - p, 1.0) };
    let t = (-2.0 * libm::log(tail)).sqrt();
    let mut x = t
        - (2.515_517 + 0.802_853 * t + 0.010_328 * t * t)
            / (1.0 + 1.432_788 * t + 0.189_269 * t * t + 0.001_308 * t * t * t);
    for _ in 0..3 {
        let upper = 0.5 * libm::erfc(x / core::f64::consts::SQRT_2);
        let density = libm::exp(-x * x / 2.0) / (2.0 * core::f64::consts::PI).sqrt();
        x += (upper - tail) / density;
    }
    sign * x
}

/// Gamma with scale 1 (Marsaglia and Tsang 2000). `u` is the first uniform; rejection takes more.
fn gamma(shape: f64, u: f64, stream: &mut Stream) -> f64 {
    if shape < 1.0 {
        let v = stream.uniform();
        return gamma(shape + 1.0, v, stream) * libm::pow(u, 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    let mut u = u;
    loop {
        let x = normal_quantile(u);
        let v = 1.0 + c * x;
        let v = v * v * v;
        if v > 0.0 && libm::log(stream.uniform()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
        u = stream.uniform();
    }
}

/// Names and arguments as they are written in a scenario, for messages and documentation.
pub const FORMS: &[&str] = &[
    "uniform(min, max)",
    "exponential(mean)",
    "normal(mean, deviation)",
    "lognormal(mean, deviation)",
    "cauchy(median, width)",
    "pareto(min, shape)",
    "pareto(min, shape, max)",
    "weibull(scale, shape)",
    "gamma(shape, scale)",
    "two-state(first, second, leave-first, leave-second)",
    "empirical(file)",
];

impl Dist {
    /// Reads `"uniform(3 s, 15 s)"` or a bare constant `"5 s"`.
    ///
    /// `value` reads one number in the quantity's unit; `file` loads the values of an empirical
    /// distribution. The error is a sentence for the user.
    pub fn parse(
        text: &str,
        value: &dyn Fn(&str) -> Result<f64, String>,
        file: &dyn Fn(&str) -> Result<Vec<f64>, String>,
    ) -> Result<Dist, String> {
        let text = text.trim();
        let Some(open) = text.find('(') else { return value(text).map(Dist::Constant) };
        let name = text[..open].trim();
        let Some(inner) = text[open + 1..].trim_end().strip_suffix(')') else {
            return Err(format!("`{text}` lacks its closing parenthesis"));
        };
        let args: Vec<&str> = inner.split(',').map(str::trim).collect();
        let number = |s: &str| -> Result<f64, String> {
            s.parse::<f64>()
                .ok()
                .filter(|x| x.is_finite())
                .ok_or_else(|| format!("`{s}` in `{text}` must be a plain number"))
        };
        let positive = |s: &str| {
            number(s).and_then(|x| {
                if x > 0.0 { Ok(x) } else { Err(format!("`{s}` in `{text}` must be more than 0")) }
            })
        };
        let chance = |s: &str| {
            number(s).and_then(|x| {
                if (0.0..=1.0).contains(&x) {
                    Ok(x)
                } else {
                    Err(format!("`{s}` in `{text}` is not a probability"))
                }
            })
        };
        let above_zero = |s: &str| {
            value(s).and_then(|x| {
                if x > 0.0 { Ok(x) } else { Err(format!("`{s}` in `{text}` must be more than 0")) }
            })
        };
        let dist = match (name, args.as_slice()) {
            ("constant", [c]) => Dist::Constant(value(c)?),
            ("uniform", [a, b]) => {
                let (a, b) = (value(a)?, value(b)?);
                if a > b {
                    return Err(format!("in `{text}` the minimum is larger than the maximum"));
                }
                Dist::Uniform(a, b)
            }
            ("exponential", [mean]) => Dist::Exponential(above_zero(mean)?),
            ("normal", [mean, sd]) => Dist::Normal(value(mean)?, value(sd)?),
            ("lognormal", [mean, sd]) => Dist::Lognormal(above_zero(mean)?, value(sd)?),
            ("cauchy", [median, width]) => Dist::Cauchy(value(median)?, value(width)?),
            ("pareto", [min, shape]) => Dist::Pareto(above_zero(min)?, positive(shape)?, None),
            ("pareto", [min, shape, max]) => {
                let (min, shape, max) = (above_zero(min)?, positive(shape)?, value(max)?);
                if max <= min {
                    return Err(format!("in `{text}` the maximum must be larger than the minimum"));
                }
                Dist::Pareto(min, shape, Some(max))
            }
            ("weibull", [scale, shape]) => Dist::Weibull(above_zero(scale)?, positive(shape)?),
            ("gamma", [shape, scale]) => Dist::Gamma(positive(shape)?, above_zero(scale)?),
            ("two-state", [first, second, a, b]) => Dist::TwoState {
                first: value(first)?,
                second: value(second)?,
                leave_first: chance(a)?,
                leave_second: chance(b)?,
            },
            ("empirical", [name]) => {
                let values = file(name.trim_matches('"'))?;
                if values.is_empty() {
                    return Err(format!("the file of `{text}` holds no value"));
                }
                Dist::Empirical(values.into())
            }
            _ => {
                return Err(match FORMS.iter().find(|form| form.starts_with(&format!("{name}("))) {
                    Some(form) => format!("`{text}` has the wrong number of arguments; write {form}"),
                    None => format!("`{name}` is not a distribution; there are {}", FORMS.join(", ")),
                });
            }
        };
        Ok(dist)
    }

    /// Mean; infinite for Cauchy with a width above 0 and for Pareto with shape at most 1.
    pub fn mean(&self) -> f64 {
        match self {
            Dist::Constant(c) => *c,
            Dist::Uniform(a, b) => (a + b) / 2.0,
            Dist::Exponential(m) | Dist::Normal(m, _) | Dist::Lognormal(m, _) => *m,
            Dist::Cauchy(median, width) if *width == 0.0 => *median,
            Dist::Cauchy(..) => f64::INFINITY,
            Dist::Pareto(_, shape, None) if *shape <= 1.0 => f64::INFINITY,
            Dist::Pareto(min, shape, None) => min * shape / (shape - 1.0),
            Dist::Pareto(min, shape, Some(max)) => {
                let cut = libm::pow(min / max, *shape);
                if *shape == 1.0 {
                    min * libm::log(max / min) / (1.0 - cut)
                } else {
                    shape / (shape - 1.0) * (min - max * cut) / (1.0 - cut)
                }
            }
            Dist::Weibull(scale, shape) => scale * libm::tgamma(1.0 + 1.0 / shape),
            Dist::Gamma(shape, scale) => shape * scale,
            Dist::TwoState { first, second, leave_first, leave_second } => {
                let sum = leave_first + leave_second;
                if sum == 0.0 { *first } else { (first * leave_second + second * leave_first) / sum }
            }
            Dist::Empirical(values) => values.iter().sum::<f64>() / values.len().max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests;
