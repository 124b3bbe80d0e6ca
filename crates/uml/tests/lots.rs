//! Test of BBR, whose choices are random: transfer times over many runs have equal distributions in virtual
//! and in real time.
#![cfg(target_os = "linux")]

mod common;

use common::{SPIKE, kernels, model, play};
use scenario::metric::Metric;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Download times, s, of 24 valid runs of `williwaw emulate` with Linux 6.18.44, HZ 250, twelve at a time.
const NATIVE: [f64; 24] = [
    82.7074, 82.7777, 83.1411, 83.3393, 83.8105, 83.8129, 83.9600, 83.9602, 84.8718, 84.9180, 84.9313,
    84.9457, 84.9484, 84.9573, 84.9666, 85.0073, 85.0358, 85.0702, 85.1359, 85.5784, 85.9873, 86.1014,
    86.1047, 86.2443,
];
const REPETITIONS: u64 = 60;

/// Largest difference of two empirical distribution functions (Kolmogorov and Smirnov).
fn difference(a: &[f64], b: &[f64]) -> f64 {
    let share = |of: &[f64], x: f64| of.iter().filter(|y| **y <= x).count() as f64 / of.len() as f64;
    a.iter().chain(b).map(|x| (share(a, *x) - share(b, *x)).abs()).fold(0.0, f64::max)
}

#[test]
fn transfers_with_bbr_take_as_long_as_natively() {
    let Some(kernels) = kernels() else { return };
    let model = model(SPIKE, &["flow.download.transport.linux.cc=bbr"]);
    let (next, times) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let repetition = next.fetch_add(1, Ordering::Relaxed);
                    if repetition >= REPETITIONS {
                        return;
                    }
                    let outcome = play(&kernels, &model, repetition);
                    let time = outcome.ran.flows[0].get(Metric::DownloadTime).expect("a download");
                    times.lock().expect("times").push(time);
                }
            });
        }
    });
    let mut times = times.into_inner().expect("times");
    times.sort_by(f64::total_cmp);
    let mut different = times.clone();
    different.dedup_by(|a, b| (*a - *b).abs() < 1e-4);
    assert!(different.len() >= 5, "it draws no lots: {different:?}");
    // A difference that two samples of one distribution exceed once in a thousand times (Smirnov 1948).
    let (n, m) = (NATIVE.len() as f64, times.len() as f64);
    let most = 1.949 * ((n + m) / (n * m)).sqrt();
    let is = difference(&NATIVE, &times);
    eprintln!("{is:.3} of {most:.3}; {} outcomes in {REPETITIONS} repetitions", different.len());
    assert!(is < most, "{is} is more than {most}: {times:?}");
    // The test has power: times shifted by two seconds fail it.
    for other in [-2.0, 2.0] {
        let moved: Vec<f64> = times.iter().map(|t| t + other).collect();
        assert!(difference(&NATIVE, &moved) > most, "two seconds more or less do not show");
    }
}
