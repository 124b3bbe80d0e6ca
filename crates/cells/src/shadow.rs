//! Shadow fading: correlated log-normal fields on the torus (Gudmundson 1991; 3GPP TR 25.942 for the site correlation).
//!
//! One field common to all sites and one per site, sampled on a grid of 256 by 256 points over the rhombus.
//! The correlation is exp(-d / dc) in every direction. The fields are generated in the frequency domain, so
//! that they are periodic on the torus. Values between points are interpolated and rescaled to constant variance.
//! All mobiles at a position see equal values.

use crate::geometry::{Layout, Place};
use base::rng::Stream;

/// Grid points along one side.
const POINTS: usize = 256;

/// Shadow fading fields of one repetition.
#[derive(Clone, Debug)]
pub struct Shadow {
    /// Values of the common field and of the sites: [`Shadow::width`] numbers per point.
    fields: Vec<f32>,
    width: usize,
    /// Points per unit of lattice coordinates.
    scale: f32,
    /// Standard deviation of the common field and of a site's own field, dB.
    weight: [f32; 2],
    /// Correlation of neighbouring points along a1, a2, and both diagonals of a mesh.
    mesh: [f32; 4],
}

impl Shadow {
    /// Draws fields with standard deviation `sigma_db`, decorrelation distance `dc` in m and correlation
    /// `common` between sites.
    pub fn new(layout: &Layout, sigma_db: f64, dc: f64, common: f64, mut stream: Stream) -> Shadow {
        let width = layout.sites() + 1;
        let mut fields = vec![0.0; POINTS * POINTS * width];
        let step = f64::from(layout.distance) * f64::from(layout.side) / POINTS as f64;
        // Interpolation smooths, so that the grid has a shorter decorrelation distance than the interpolated
        // values.
        let dc = step * grid_distance(dc / step);
        if sigma_db > 0.0 {
            let spectrum = spectrum(step, dc);
            for pair in 0..width.div_ceil(2) {
                let (a, b) = (2 * pair, 2 * pair + 1);
                for (at, (re, im)) in field(&spectrum, &mut stream).into_iter().enumerate() {
                    fields[at * width + a] = re as f32;
                    if b < width {
                        fields[at * width + b] = im as f32;
                    }
                }
            }
        }
        let near = |d: f64| libm::exp(-d * step / dc) as f32;
        Shadow {
            fields,
            width,
            scale: POINTS as f32 / layout.side as f32,
            weight: [libm::sqrt(common) * sigma_db, libm::sqrt(1.0 - common) * sigma_db].map(|w| w as f32),
            mesh: [near(1.0), near(1.0), near(libm::sqrt(3.0)), near(1.0)],
        }
    }

    /// Reads the lines of the fields that [`Shadow::at`] uses; the value has no meaning.
    pub(crate) fn prefetch(&self, place: Place) -> f32 {
        let (i, j) = ((place.u * self.scale) as usize, (place.v * self.scale) as usize);
        let mut sum = 0.0;
        for row in [j, j + 1] {
            for column in [i, i + 1] {
                let from = ((row % POINTS) * POINTS + column % POINTS) * self.width;
                let fields = &self.fields[from..from + self.width];
                // A line holds 16 numbers.
                sum += fields.iter().step_by(16).sum::<f32>() + fields[self.width - 1];
            }
        }
        sum
    }

    /// Shadow fading of each site at a position, dB of loss.
    pub fn at(&self, place: Place, into: &mut [f32]) {
        let (x, y) = (place.u * self.scale, place.v * self.scale);
        let (i, j) = (x as usize, y as usize);
        let (fx, fy) = (x - i as f32, y - j as f32);
        let point = |i: usize, j: usize| ((j % POINTS) * POINTS + i % POINTS) * self.width;
        let corners = [point(i, j), point(i + 1, j), point(i, j + 1), point(i + 1, j + 1)];
        let w = [(1.0 - fx) * (1.0 - fy), fx * (1.0 - fy), (1.0 - fx) * fy, fx * fy];
        let [along, across, long, short] = self.mesh;
        let variance = w.iter().map(|w| w * w).sum::<f32>()
            + 2.0 * (along * (w[0] * w[1] + w[2] * w[3]) + across * (w[0] * w[2] + w[1] * w[3]))
            + 2.0 * (long * w[0] * w[3] + short * w[1] * w[2]);
        let scale = 1.0 / libm::sqrtf(variance);
        let [a, b, c, d] = corners.map(|c| &self.fields[c..c + self.width]);
        let value = |k: usize| scale * (w[0] * a[k] + w[1] * b[k] + w[2] * c[k] + w[3] * d[k]);
        let common = self.weight[0] * value(0);
        for (k, loss) in into.iter_mut().enumerate().take(self.width - 1) {
            *loss = common + self.weight[1] * value(k + 1);
        }
    }
}

/// Decorrelation distance of the grid for which interpolated values have correlation 1/e at `dc` on average;
/// both in grid steps.
fn grid_distance(dc: f64) -> f64 {
    let read_at_dc = |grid: f64| {
        let rho = |u: f64, v: f64| libm::exp(-libm::sqrt(u * u + u * v + v * v) / grid);
        let weights = |u: f64, v: f64| {
            let (i, j) = (libm::floor(u), libm::floor(v));
            let (fx, fy) = (u - i, v - j);
            [
                (i, j, (1.0 - fx) * (1.0 - fy)),
                (i + 1.0, j, fx * (1.0 - fy)),
                (i, j + 1.0, (1.0 - fx) * fy),
                (i + 1.0, j + 1.0, fx * fy),
            ]
        };
        let covariance = |a: [(f64, f64, f64); 4], b: [(f64, f64, f64); 4]| {
            let terms = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
            terms.map(|(x, y)| x.2 * y.2 * rho(x.0 - y.0, x.1 - y.1)).sum::<f64>()
        };
        let mut sum = 0.0;
        for k in 0..128 {
            let (fx, fy) = (f64::from(k % 4) * 0.25 + 0.125, f64::from(k / 4 % 4) * 0.25 + 0.125);
            let angle = f64::from(k / 16) * (std::f64::consts::TAU / 8.0) + 0.2;
            let v = dc * libm::sin(angle) / 0.866_025_403_784_438_6;
            let u = dc * libm::cos(angle) - 0.5 * v;
            let (a, b) = (weights(fx, fy), weights(fx + u, fy + v));
            sum += covariance(a, b) / libm::sqrt(covariance(a, a) * covariance(b, b));
        }
        sum / 128.0
    };
    let (mut low, mut high) = (0.05 * dc, dc);
    for _ in 0..24 {
        let middle = 0.5 * (low + high);
        if read_at_dc(middle) < libm::exp(-1.0) { low = middle } else { high = middle }
    }
    high
}

/// Square root of the power spectrum of exp(-d / dc) on the torus: transform of the correlation.
fn spectrum(step: f64, dc: f64) -> Vec<f64> {
    let n = POINTS as f64;
    let mut plane: Vec<(f64, f64)> = (0..POINTS * POINTS)
        .map(|at| {
            let wrap = |k: usize| if k > POINTS / 2 { k as f64 - n } else { k as f64 };
            let (u, v) = (wrap(at % POINTS), wrap(at / POINTS));
            let norm = |a: f64, b: f64| a * a + a * b + b * b;
            let square = [(u, v), (u - n, v), (u + n, v), (u, v - n), (u, v + n)]
                .into_iter()
                .map(|(a, b)| norm(a, b))
                .fold(f64::MAX, f64::min);
            (libm::exp(-libm::sqrt(square) * step / dc), 0.0)
        })
        .collect();
    transform_plane(&mut plane);
    plane.into_iter().map(|(re, _)| libm::sqrt(re.max(0.0)) / n).collect()
}

/// Two independent fields of variance 1, as real and imaginary part.
fn field(spectrum: &[f64], stream: &mut Stream) -> Vec<(f64, f64)> {
    let mut plane: Vec<(f64, f64)> = spectrum
        .iter()
        .map(|amplitude| {
            let (a, b) = normal_pair(stream);
            (amplitude * a, amplitude * b)
        })
        .collect();
    transform_plane(&mut plane);
    plane
}

/// Two independent standard normal numbers (Box and Muller 1958).
pub(crate) fn normal_pair(stream: &mut Stream) -> (f64, f64) {
    let radius = libm::sqrt(-2.0 * libm::log(stream.uniform()));
    let angle = std::f64::consts::TAU * stream.uniform();
    (radius * libm::cos(angle), radius * libm::sin(angle))
}

/// Two-dimensional discrete Fourier transform.
fn transform_plane(plane: &mut [(f64, f64)]) {
    let roots: Vec<(f64, f64)> = (0..POINTS)
        .map(|k| {
            let angle = -std::f64::consts::TAU * k as f64 / POINTS as f64;
            (libm::cos(angle), libm::sin(angle))
        })
        .collect();
    plane.chunks_mut(POINTS).for_each(|row| transform(row, &roots));
    let mut column = vec![(0.0, 0.0); POINTS];
    for c in 0..POINTS {
        for (r, x) in column.iter_mut().enumerate() {
            *x = plane[r * POINTS + c];
        }
        transform(&mut column, &roots);
        for (r, x) in column.iter().enumerate() {
            plane[r * POINTS + c] = *x;
        }
    }
}

/// Cooley-Tukey with radix 2, in place.
fn transform(x: &mut [(f64, f64)], roots: &[(f64, f64)]) {
    let n = x.len();
    let shift = usize::BITS - n.trailing_zeros();
    for i in 0..n {
        let j = i.reverse_bits() >> shift;
        if i < j {
            x.swap(i, j);
        }
    }
    let mut half = 1;
    while half < n {
        let stride = roots.len() / (2 * half);
        for start in (0..n).step_by(2 * half) {
            for k in 0..half {
                let (wr, wi) = roots[k * stride];
                let (a, b) = (x[start + k], x[start + k + half]);
                let t = (wr * b.0 - wi * b.1, wr * b.1 + wi * b.0);
                x[start + k] = (a.0 + t.0, a.1 + t.1);
                x[start + k + half] = (a.0 - t.0, a.1 - t.1);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Radio;
    use crate::geometry::Reuse;
    use base::rng::Seed;

    /// EG-03: deviation 6 dB, correlation 1/e at 50 m, 0.5 between sites.
    #[test]
    fn eg_03_shadowing_has_its_deviation_and_correlations() {
        let layout = Layout::new(5, &Radio::default(), Reuse::R1x3);
        let stream = Seed { seed: 3, repetition: 0 }.stream("net", "shadowing");
        let shadow = Shadow::new(&layout, 6.0, 50.0, 0.5, stream);
        let mut draw = Seed { seed: 3, repetition: 0 }.stream("net", "test");
        let mut here = vec![0.0; 25];
        let mut there = vec![0.0; 25];
        let (mut square, mut near, mut between, mut n) = (0.0, 0.0, 0.0, 0.0);
        for _ in 0..40_000 {
            let place = Place { u: 5.0 * draw.uniform() as f32, v: 5.0 * draw.uniform() as f32 };
            let angle = draw.uniform() * std::f64::consts::TAU;
            let (dx, dy) = (50.0 * libm::cos(angle), 50.0 * libm::sin(angle));
            shadow.at(place, &mut here);
            shadow.at(layout.moved(place, dx as f32, dy as f32), &mut there);
            square += f64::from(here[3] * here[3]);
            near += f64::from(here[3] * there[3]);
            between += f64::from(here[3] * here[17]);
            n += 1.0;
        }
        assert!((libm::sqrt(square / n) - 6.0).abs() < 0.3, "{}", libm::sqrt(square / n));
        assert!((near / square - 0.368).abs() < 0.03, "{}", near / square);
        assert!((between / square - 0.5).abs() < 0.07, "{}", between / square);
    }
}
