//! Motion of mobiles: position on the torus, measured levels of all cells, reselection of the serving cell.
//!
//! A mobile moves in a straight line; every 20 m it turns with a given probability by a uniform angle (UMTS
//! 30.03 vehicular). At each measurement it averages the levels of all cells. If other cells are stronger by the
//! hysteresis without interruption for the given time, the strongest becomes the serving cell (3GPP TS 45.008 section
//! 6.6 by level, without offsets).

use crate::config::{Config, Placing};
use crate::geometry::{LANES, Layout, Place};
use crate::rows::{Gains, WIDTH};
use crate::shadow::Shadow;
use base::rng::{Seed, Stream};
use radio::tdma::{Tick, ticks};
use std::hint::black_box;

/// Distance between possible turns, m (UMTS 30.03).
const STRETCH: f32 = 20.0;
/// Distance after which levels are computed again, m. Over 1 m, shadowing (interpolated between points 29 m apart)
/// changes by about 0.2 dB; path loss changes by 0.5 dB at 35 m from the site and by 0.05 dB at 300 m.
const FRESH: f32 = 1.0;

/// Positions and levels of all mobiles, as parallel vectors.
pub(crate) struct Motion {
    pub(crate) places: Vec<Place>,
    /// Direction of motion, a unit vector.
    headings: Vec<(f32, f32)>,
    /// Speed, m/s.
    speeds: Vec<f32>,
    /// Distance to the next possible turn, m.
    left: Vec<f32>,
    /// Distance since the last computation of levels, m.
    moved: Vec<f32>,
    streams: Vec<Stream>,
    /// Levels of all cells at each mobile.
    pub(crate) gains: Gains,
    /// Running averages of the levels.
    averages: Vec<f32>,
    /// Serving cell of each mobile.
    pub(crate) serving: Vec<u32>,
    /// First of the cells stronger by the hysteresis, and tick since which some cell is; the serving cell if none is.
    candidate: Vec<(u32, Tick)>,
    /// Cell of each index in the levels of a mobile; `None` for padding.
    cells: Vec<Option<u32>>,
    /// Weight of a measurement in the running averages.
    weight: f32,
    /// Measurement period, s.
    period_s: f32,
    /// Hysteresis as a ratio of levels.
    hysteresis: f32,
    /// Time for which some other cell must be stronger before a cell change, ticks.
    lasts: u32,
    /// Probability of a turn, and its maximum angle in turns.
    turning: (f64, f32),
    /// Buffer: shadow fading of each site at one position, dB.
    shadows: Vec<f32>,
    /// Buffer: levels of all cells at one position.
    levels: Vec<f32>,
}

impl Motion {
    /// Mobiles at their initial positions, served by the strongest cell. `name` keys the random streams.
    pub(crate) fn new(config: &Config, layout: &Layout, shadow: &Shadow, name: &str, seed: Seed) -> Motion {
        let n = config.mobiles.len();
        let stride = layout.stride();
        let mut cells = vec![None; stride];
        (0..layout.cells()).for_each(|c| cells[layout.index(c)] = Some(c as u32));
        let period_s = config.reselection.period.as_secs_f64();
        let average = config.reselection.average.as_secs_f64();
        let mut motion = Motion {
            places: Vec::with_capacity(n),
            headings: Vec::with_capacity(n),
            speeds: config.mobiles.iter().map(|m| m.speed as f32).collect(),
            left: vec![STRETCH; n],
            moved: vec![0.0; n],
            streams: Vec::with_capacity(n),
            gains: Gains::new(n, stride),
            averages: vec![0.0; n * stride],
            serving: vec![0; n],
            candidate: vec![(0, 0); n],
            cells,
            weight: (1.0 - libm::exp(-period_s / average.max(1e-9))) as f32,
            period_s: period_s as f32,
            hysteresis: libm::pow(10.0, config.reselection.hysteresis_db / 10.0) as f32,
            lasts: ticks(config.reselection.lasts),
            turning: (config.turning.0, (config.turning.1 / 360.0) as f32),
            shadows: vec![0.0; layout.sites()],
            levels: vec![0.0; stride],
        };
        for (m, mobile) in config.mobiles.iter().enumerate() {
            let mut stream = seed.stream(name, &format!("mobile {}", mobile.identity));
            let (a, b) = (stream.uniform() as f32, stream.uniform() as f32);
            let place = match mobile.placing {
                Placing::Uniform => Place { u: a * layout.side as f32, v: b * layout.side as f32 },
                Placing::Near(site, radius) => {
                    let (s, c) = sin_cos(b);
                    let r = radius as f32 * libm::sqrtf(a);
                    layout.moved(layout.site(site as usize % layout.sites()), r * c, r * s)
                }
            };
            motion.places.push(place);
            let (s, c) = sin_cos(stream.uniform() as f32);
            motion.headings.push((c, s));
            motion.streams.push(stream);
            motion.level(layout, shadow, m);
            motion.averages[m * stride..(m + 1) * stride].copy_from_slice(&motion.levels);
            let level = motion.average(m, stride, 0.0);
            motion.serving[m] = motion.strongest(m, stride, level);
            motion.candidate[m] = (motion.serving[m], 0);
        }
        motion
    }

    /// Computes the levels at a mobile's position.
    fn level(&mut self, layout: &Layout, shadow: &Shadow, m: usize) {
        shadow.at(self.places[m], &mut self.shadows);
        layout.gains(self.places[m], &self.shadows, &mut self.levels);
        self.gains.set(m, &self.levels);
    }

    /// Updates the averaged levels, with this weight of the present ones; returns the greatest average.
    fn average(&mut self, m: usize, stride: usize, weight: f32) -> f32 {
        // The maximum of each column of eight first, which is vector code; places without a cell hold 0.
        let row = self.averages[m * stride..(m + 1) * stride].as_chunks_mut::<WIDTH>().0;
        let mut most = [0.0_f32; LANES];
        for (averages, gains) in row.iter_mut().zip(self.gains.of(m)) {
            let eights = averages.as_chunks_mut::<LANES>().0.iter_mut().zip(gains.0.as_chunks::<LANES>().0);
            for (averages, gains) in eights {
                for k in 0..LANES {
                    averages[k] += weight * (gains[k] - averages[k]);
                    most[k] = if averages[k] > most[k] { averages[k] } else { most[k] };
                }
            }
        }
        most.into_iter().fold(0.0_f32, |a, b| if b > a { b } else { a })
    }

    /// The first cell with an averaged level of `level` or more.
    fn strongest(&self, m: usize, stride: usize, level: f32) -> u32 {
        let row = &self.averages[m * stride..(m + 1) * stride];
        let is_best = |(x, cell): (&f32, &Option<u32>)| if *x >= level { *cell } else { None };
        row.iter().zip(&self.cells).find_map(is_best).unwrap_or(0)
    }

    /// Reads the shadowing that the next measurement of a mobile needs, so that it is in the cache.
    pub(crate) fn prefetch(&self, shadow: &Shadow, m: usize) {
        let Some(moved) = self.moved.get(m) else { return };
        if *moved + self.speeds[m] * self.period_s >= FRESH {
            black_box(shadow.prefetch(self.places[m]));
        }
    }

    /// Moves a mobile by the distance of one measurement period, with turns.
    fn advance(&mut self, layout: &Layout, m: usize) {
        let mut way = self.speeds[m] * self.period_s;
        while way > 0.0 {
            let step = way.min(self.left[m]);
            let (c, s) = self.headings[m];
            self.places[m] = layout.moved(self.places[m], step * c, step * s);
            way -= step;
            self.left[m] -= step;
            if self.left[m] <= 0.0 {
                self.left[m] = STRETCH;
                let stream = &mut self.streams[m];
                // Both numbers are drawn even without a turn, so that scenarios with other turning probabilities use
                // equal draws.
                let (turns, angle) = (stream.uniform() < self.turning.0, 2.0 * stream.uniform() as f32 - 1.0);
                if turns {
                    let (ds, dc) = sin_cos(angle * self.turning.1);
                    self.headings[m] = (c * dc - s * ds, c * ds + s * dc);
                }
            }
        }
    }

    /// One measurement of a mobile: moves it, averages the levels, and returns the new serving cell after a cell
    /// change.
    pub(crate) fn measure(&mut self, layout: &Layout, shadow: &Shadow, m: usize, now: Tick) -> Option<u32> {
        if self.speeds[m] > 0.0 {
            self.advance(layout, m);
            self.moved[m] += self.speeds[m] * self.period_s;
            if self.moved[m] >= FRESH {
                self.moved[m] = 0.0;
                self.level(layout, shadow, m);
            }
        }
        let stride = layout.stride();
        let level = self.average(m, stride, self.weight);
        let serving = self.serving[m];
        let own = self.averages[m * stride + layout.index(serving as usize)];
        if own >= level && self.hysteresis > 1.0 {
            // Nearly always: no other cell is stronger, whichever holds the level.
            self.candidate[m] = (serving, now);
            return None;
        }
        let best = self.strongest(m, stride, level);
        if best == serving || level < own * self.hysteresis {
            self.candidate[m] = (serving, now);
            return None;
        }
        if self.candidate[m].0 == serving {
            self.candidate[m] = (best, now);
        }
        // During this time any other cell may be the stronger one; at its end the strongest cell is chosen.
        if now - self.candidate[m].1 < self.lasts {
            return None;
        }
        self.serving[m] = best;
        self.candidate[m] = (best, now);
        Some(best)
    }

    /// Whether any mobile moves.
    pub(crate) fn moves(&self) -> bool {
        self.speeds.iter().any(|s| *s > 0.0)
    }
}

/// Sine and cosine of an angle in turns.
fn sin_cos(turns: f32) -> (f32, f32) {
    let angle = f64::from(turns) * std::f64::consts::TAU;
    (libm::sin(angle) as f32, libm::cos(angle) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Mobile;
    use crate::geometry::Reuse;
    use base::Span;

    fn motion(config: &Config) -> (Layout, Shadow, Motion) {
        let seed = Seed { seed: 1, repetition: 0 };
        let layout = Layout::new(config.side, &config.radio, Reuse::R1x3);
        let r = &config.radio;
        let shadow = Shadow::new(
            &layout,
            r.shadow_db,
            r.shadow_distance,
            r.shadow_sites,
            seed.stream("net", "shadowing"),
        );
        let motion = Motion::new(config, &layout, &shadow, "net", seed);
        (layout, shadow, motion)
    }

    /// EG-04: without shadowing, hysteresis and delay, mobiles on straight lines cross cell borders at the rate v L
    /// / (pi A) per second, with perimeter L and area A of a cell. L / (pi A) is measured on the static layout: the
    /// share of pairs of points 3 m apart with different strongest cells, per metre (Steinhaus 1930).
    #[test]
    fn eg_04_crossings_agree_with_geometry() {
        let mut config = Config::default();
        config.radio.shadow_db = 0.0;
        config.turning = (0.0, 0.0);
        config.reselection.hysteresis_db = 0.0;
        config.reselection.lasts = Span::ZERO;
        config.reselection.average = Span::from_millis(1);
        let speed = 50.0 / 3.6;
        config.mobiles =
            (0..400).map(|identity| Mobile { placing: Placing::Uniform, speed, identity }).collect();
        let (layout, shadow, mut motion) = motion(&config);
        let step = 3.0;
        let mut stream = Seed { seed: 9, repetition: 0 }.stream("net", "borders");
        let (mut different, pairs) = (0.0, 60_000);
        let none = vec![0.0; layout.sites()];
        let best = |place| {
            let mut row = vec![0.0; layout.stride()];
            layout.gains(place, &none, &mut row);
            (0..layout.cells()).max_by(|a, b| row[layout.index(*a)].total_cmp(&row[layout.index(*b)]))
        };
        for _ in 0..pairs {
            let a = Place { u: 5.0 * stream.uniform() as f32, v: 5.0 * stream.uniform() as f32 };
            let (s, c) = sin_cos(stream.uniform() as f32);
            different += f64::from(u8::from(best(a) != best(layout.moved(a, step * c, step * s))));
        }
        let expected = different / f64::from(pairs) / f64::from(step) * speed;
        let (mut changes, rounds) = (0, 250);
        for round in 0..rounds {
            for m in 0..400 {
                changes += u32::from(motion.measure(&layout, &shadow, m, 24 * round).is_some());
            }
        }
        let rate = f64::from(changes) / (400.0 * f64::from(rounds) * 0.48);
        assert!((rate / expected - 1.0).abs() < 0.07, "{rate} a second, geometry {expected}");
        // Hexagons of 0.65 km2 with a border of 3 km give one change per 49 s (radio-facts 7.6).
        assert!((40.0..60.0).contains(&(1.0 / rate)), "one in {} s", 1.0 / rate);
    }

    /// EG-05: hysteresis and delay make reselections rarer.
    #[test]
    fn eg_05_hysteresis_and_delay_make_changes_rarer() {
        let changes = |hysteresis_db: f64, lasts: u64| {
            let mut config = Config::default();
            config.reselection.hysteresis_db = hysteresis_db;
            config.reselection.lasts = Span::from_millis(lasts);
            config.mobiles = (0..60)
                .map(|identity| Mobile { placing: Placing::Uniform, speed: 50.0 / 3.6, identity })
                .collect();
            let (layout, shadow, mut motion) = motion(&config);
            let all = (0..250).flat_map(|t| (0..60).map(move |m| (t, m)));
            all.filter(|(t, m)| motion.measure(&layout, &shadow, *m, 24 * t).is_some()).count()
        };
        let all = [changes(0.0, 500), changes(4.0, 500), changes(4.0, 5000)];
        assert!(all[0] > all[1] && all[1] > all[2] && all[2] > 20, "{all:?}");
    }
}
