//! Tests of distribution samplers: pinned first draws (one seed, equal bits), Kolmogorov-Smirnov distance
//! from the distribution function, mean.

use super::*;
use crate::rng::Seed;

fn sampler(dist: Dist) -> Sampler {
    Sampler::new(dist, Seed { seed: 7, repetition: 0 }.stream("test", "dist"))
}

type Cdf = fn(f64) -> f64;

fn every() -> Vec<(Dist, Cdf)> {
    fn normal_cdf(x: f64, m: f64, s: f64) -> f64 {
        0.5 * libm::erfc(-(x - m) / s / core::f64::consts::SQRT_2)
    }
    vec![
        (Dist::Uniform(3.0, 15.0), |x| ((x - 3.0) / 12.0).clamp(0.0, 1.0)),
        (Dist::Exponential(2.0), |x| 1.0 - libm::exp(-x / 2.0)),
        (Dist::Normal(100.0, 10.0), |x| normal_cdf(x, 100.0, 10.0)),
        (Dist::Lognormal(10710.0, 25032.0), |x| {
            let (mu, sigma) = lognormal_parameters(10710.0, 25032.0);
            normal_cdf(libm::log(x), mu, sigma)
        }),
        (Dist::Cauchy(1000.0, 1.0), |x| 0.5 + libm::atan(x - 1000.0) / core::f64::consts::PI),
        (Dist::Pareto(2.0, 1.1, None), |x| 1.0 - libm::pow(2.0 / x, 1.1)),
        (Dist::Pareto(2.0, 1.1, Some(55.0)), |x| {
            (1.0 - libm::pow(2.0 / x, 1.1)) / (1.0 - libm::pow(2.0 / 55.0, 1.1))
        }),
        (Dist::Weibull(3.0, 1.5), |x| 1.0 - libm::exp(-libm::pow(x / 3.0, 1.5))),
        // Shape 2: the sum of two exponentials, whose distribution function is elementary.
        (Dist::Gamma(2.0, 3.0), |x| 1.0 - libm::exp(-x / 3.0) * (1.0 + x / 3.0)),
        (Dist::Gamma(0.5, 2.0), |x| libm::erf((x / 2.0).sqrt())),
    ]
}

#[test]
fn each_sampler_follows_its_distribution_function() {
    const N: usize = 20_000;
    for (dist, cdf) in every() {
        let mut s = sampler(dist.clone());
        let mut draws: Vec<f64> = (0..N).map(|_| s.draw()).collect();
        draws.sort_by(f64::total_cmp);
        let distance = draws
            .iter()
            .enumerate()
            .map(|(i, &x)| (cdf(x) - (i as f64 + 0.5) / N as f64).abs())
            .fold(0.0, f64::max);
        // The 0.1 % point of the Kolmogorov distribution is 1.95 / sqrt(n).
        assert!(distance < 1.95 / (N as f64).sqrt(), "{dist:?}: distance {distance}");
    }
}

#[test]
fn normal_quantiles_are_those_of_the_tables() {
    for (p, z) in [(0.5, 0.0), (0.975, 1.959_963_984_540_054), (0.001, -3.090_232_306_167_813_5)] {
        assert!((normal_quantile(p) - z).abs() < 1e-12, "{p}");
    }
    assert!((normal_quantile(1e-12) + 7.034_483_825_301_132).abs() < 1e-6);
}

#[test]
fn stationary_first_event_has_the_mean_of_the_forward_recurrence_time() {
    // E[X^2] / (2 E[X]) whatever the distribution: uniform 20..40 s gives 15.56 s.
    for (dist, second_moment) in [
        (Dist::Uniform(20.0, 40.0), 900.0 + 400.0 / 12.0),
        (Dist::Constant(10.0), 100.0),
        (Dist::Exponential(5.0), 50.0),
        (Dist::Gamma(2.0, 3.0), 54.0),
    ] {
        let expected = second_moment / (2.0 * dist.mean());
        let n = 4000;
        let mut total = 0.0;
        for rep in 0..n {
            let stream = Seed { seed: 3, repetition: rep }.stream("test", "first");
            total += Sampler::new(dist.clone(), stream).draw_stationary();
        }
        let mean = total / n as f64;
        // Standard error: the recurrence time's deviation is below its mean times 1.1 for all of these.
        assert!(
            (mean - expected).abs() < 3.5 * 1.1 * expected / (n as f64).sqrt(),
            "{dist:?}: {mean} {expected}"
        );
    }
}

#[test]
fn markov_chain_stays_in_each_state_as_long_as_it_should() {
    let mut s = sampler(Dist::TwoState { first: 0.0, second: 1.0, leave_first: 0.1, leave_second: 0.3 });
    let n = 40_000;
    let share = (0..n).map(|_| s.draw()).sum::<f64>() / n as f64;
    assert!((share - 0.25).abs() < 0.02, "{share}");
}

#[test]
fn means_are_right() {
    for (dist, _) in every() {
        if matches!(dist, Dist::Cauchy(..) | Dist::Pareto(_, _, None) | Dist::Lognormal(..)) {
            continue; // no mean, or one that samples find too slowly
        }
        let mut s = sampler(dist.clone());
        let n = 50_000;
        let mean = (0..n).map(|_| s.draw()).sum::<f64>() / n as f64;
        assert!((mean / dist.mean() - 1.0).abs() < 0.03, "{dist:?}: {mean} against {}", dist.mean());
    }
}

#[test]
fn written_forms_are_read() {
    let seconds = |s: &str| crate::units::parse_span(s).map(|s| s.as_secs_f64()).map_err(String::from);
    let none = |_: &str| Err("no file".to_string());
    assert_eq!(Dist::parse("uniform(3 s, 15 s)", &seconds, &none), Ok(Dist::Uniform(3.0, 15.0)));
    assert_eq!(Dist::parse("5 s", &seconds, &none), Ok(Dist::Constant(5.0)));
    assert_eq!(
        Dist::parse("pareto(1 s, 1.5, 10 s)", &seconds, &none),
        Ok(Dist::Pareto(1.0, 1.5, Some(10.0)))
    );
    for (wrong, mend) in [
        ("uniform(3 s)", "uniform(min, max)"),
        ("uniform(15 s, 3 s)", "larger"),
        ("unifrom(1 s, 2 s)", "not a distribution"),
        ("exponential(0 s)", "more than 0"),
        ("uniform(3 s, 15 s", "parenthesis"),
        ("two-state(1 s, 2 s, 1.5, 0)", "probability"),
        ("empirical(a.csv)", "no file"),
    ] {
        let message = Dist::parse(wrong, &seconds, &none).unwrap_err();
        assert!(message.contains(mend), "{wrong}: {message}");
    }
}

/// `ticker.every = "cauchy(0 s, 0 s)"` had an infinite mean, so the reader took it, and messages never ended.
#[test]
fn a_cauchy_distribution_without_width_is_a_constant() {
    assert_eq!(Dist::Cauchy(0.0, 0.0).mean(), 0.0);
    assert_eq!(Dist::Cauchy(3.0, 0.0).mean(), 3.0);
    assert!(Dist::Cauchy(0.0, 1.0).mean().is_infinite());
}
