//! Rayleigh fading: a precomputed periodic table of power gains for the typical urban channel (3GPP TS 45.005 annex
//! C.3).
//!
//! A lane of the table is one radio link; from row to row the mobile moves by 1/16 wavelength. The received power
//! is the sum of three independent Rayleigh terms with weights 0.934, 0.057, 0.009: the eigenvalues of the six-tap
//! profile after a GSM receive filter. Each term is a sum of waves from all directions (Clarke 1968). Each wave has
//! a whole number of periods over the length of the table, so that the table is periodic. The mean power of each
//! lane is 1.

use crate::rows::{Row, WIDTH};
use base::rng::Seed;
use std::sync::{Arc, OnceLock};

/// Rows of the table.
pub(crate) const ROWS: usize = 2048;
/// Rows per wavelength.
pub(crate) const ROWS_PER_WAVELENGTH: f64 = 16.0;
/// Weights of the Rayleigh terms.
const WEIGHTS: [f64; 3] = [0.934, 0.057, 0.009];
/// Waves per term.
const WAVES: usize = 24;

/// Power gains by row and lane, and the rank of each gain within its lane.
#[derive(Debug)]
pub struct FadingTable {
    gains: Box<[Row<f32>; ROWS]>,
    ranks: Vec<f32>,
}

impl FadingTable {
    /// The table of the process, equal in all runs; runs differ in the initial row of each link.
    pub fn shared() -> Arc<FadingTable> {
        static TAPE: OnceLock<Arc<FadingTable>> = OnceLock::new();
        TAPE.get_or_init(|| Arc::new(FadingTable::new())).clone()
    }

    fn new() -> FadingTable {
        let mut stream = Seed { seed: 45_005, repetition: 0 }.stream("fading", "tape");
        let mut gains = vec![Row([0.0_f32; WIDTH]); ROWS];
        let mut ranks = vec![0.0_f32; ROWS * WIDTH];
        for lane in 0..WIDTH {
            let mut power = vec![0.0_f64; ROWS];
            for weight in WEIGHTS {
                let amplitude = libm::sqrt(weight / WAVES as f64);
                let mut waves: Vec<[(f64, f64); 2]> = (0..WAVES)
                    .map(|_| {
                        let direction = std::f64::consts::TAU * stream.uniform();
                        let periods = libm::round(ROWS as f64 / ROWS_PER_WAVELENGTH * libm::cos(direction));
                        let turn = std::f64::consts::TAU * periods / ROWS as f64;
                        let phase = std::f64::consts::TAU * stream.uniform();
                        [
                            (amplitude * libm::cos(phase), amplitude * libm::sin(phase)),
                            (libm::cos(turn), libm::sin(turn)),
                        ]
                    })
                    .collect();
                for p in &mut power {
                    let mut sum = (0.0, 0.0);
                    for [z, turn] in &mut waves {
                        sum = (sum.0 + z.0, sum.1 + z.1);
                        *z = (z.0 * turn.0 - z.1 * turn.1, z.0 * turn.1 + z.1 * turn.0);
                    }
                    *p += sum.0 * sum.0 + sum.1 * sum.1;
                }
            }
            let mean = power.iter().sum::<f64>() / ROWS as f64;
            let mut order: Vec<usize> = (0..ROWS).collect();
            order.sort_unstable_by(|a, b| power[*a].total_cmp(&power[*b]));
            for (rank, row) in order.into_iter().enumerate() {
                ranks[row * WIDTH + lane] = ((rank as f64 + 0.5) / ROWS as f64) as f32;
            }
            for (row, p) in power.iter().enumerate() {
                gains[row].0[lane] = (p / mean) as f32;
            }
        }
        // The vector has `ROWS` rows, so that the conversion cannot fail.
        let gains = gains.try_into().unwrap_or_else(|_| Box::new([Row([1.0; WIDTH]); ROWS]));
        FadingTable { gains, ranks }
    }

    /// Power gains of all lanes at a row, modulo [`ROWS`].
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> &Row<f32> {
        &self.gains[row & (ROWS - 1)]
    }

    /// Rank of a lane's gain at a row, modulo the number of rows: the share of the lane's smaller gains, 0 to 1.
    /// Ranks are uniformly distributed and correlated from row to row as the gains are.
    #[inline]
    pub fn rank(&self, row: usize, lane: usize) -> f32 {
        self.ranks[(row & (ROWS - 1)) * WIDTH + (lane & (WIDTH - 1))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EG-03: mean power 1, variance of the three Rayleigh terms, autocorrelation of the power J0 squared over the
    /// distance.
    #[test]
    fn eg_03_the_tape_fades_like_a_typical_urban_channel() {
        let tape = FadingTable::shared();
        let all: Vec<f64> = tape.gains.iter().flat_map(|row| row.0).map(f64::from).collect();
        let n = all.len() as f64;
        let mean = all.iter().sum::<f64>() / n;
        let variance = all.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / n;
        assert!((mean - 1.0).abs() < 1e-4);
        // Expected variance: the sum of the squared weights.
        assert!((variance - 0.876).abs() < 0.06, "{variance}");
        let correlation = |rows: usize| {
            let pairs =
                (0..ROWS * WIDTH).map(|i| (all[i] - mean) * (all[(i + rows * WIDTH) % all.len()] - mean));
            pairs.sum::<f64>() / n / variance
        };
        for (rows, wavelengths) in [(1, 0.0625), (4, 0.25), (8, 0.5)] {
            let j0 = libm::j0(std::f64::consts::TAU * wavelengths);
            assert!((correlation(rows) - j0 * j0).abs() < 0.08, "{rows}: {} {}", correlation(rows), j0 * j0);
        }
        let lanes = (0..ROWS).map(|r| (all[r * WIDTH] - 1.0) * (all[r * WIDTH + 7] - 1.0)).sum::<f64>();
        assert!((lanes / ROWS as f64).abs() < 0.15, "lanes are independent");
    }
}
