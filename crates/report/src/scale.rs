//! Linear scale of a picture's axis, from values to pixels, with round ticks.

/// A linear map from values to pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Value at `start`.
    pub(crate) low: f64,
    /// Value at `end`.
    pub(crate) high: f64,
    /// Pixel of `low`.
    pub(crate) start: f64,
    /// Pixel of `high`.
    pub(crate) end: f64,
}

impl Scale {
    /// A scale whose range of values is never empty and never infinite.
    pub(crate) fn new(low: f64, high: f64, start: f64, end: f64) -> Self {
        let low = if low.is_finite() { low } else { 0.0 };
        let high = if high.is_finite() && high > low { high } else { low + 1.0 };
        Self { low, high, start, end }
    }

    /// Pixel of a value; a non-finite value is at the start.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        if share.is_finite() { self.start + share * (self.end - self.start) } else { self.start }
    }

    /// Round values inside the range, about `wanted` of them, with the decimals they need.
    pub(crate) fn ticks(&self, wanted: usize) -> (Vec<f64>, usize) {
        let step = round_step((self.high - self.low) / wanted.max(1) as f64);
        let first = (self.low / step - 1e-9).ceil();
        let mut ticks = Vec::new();
        for i in 0..1000 {
            let value = (first + f64::from(i)) * step;
            if value > self.high + step * 1e-6 {
                break;
            }
            ticks.push(value);
        }
        let mut decimals = 0;
        let mut rest = step;
        while decimals < 9 && (rest - rest.round()).abs() > 1e-6 * rest.max(1e-12) {
            rest *= 10.0;
            decimals += 1;
        }
        (ticks, decimals)
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `raw`.
fn round_step(raw: f64) -> f64 {
    let raw = if raw.is_finite() && raw > 0.0 { raw } else { 1.0 };
    let mut power = 1.0;
    while power * 10.0 <= raw {
        power *= 10.0;
    }
    while power > raw {
        power /= 10.0;
    }
    for factor in [1.0, 2.0, 5.0] {
        if power * factor >= raw * (1.0 - 1e-9) {
            return power * factor;
        }
    }
    power * 10.0
}

/// Unit with a prefix, and the factor to convert to it, such that the highest value has few digits.
pub(crate) fn scaled(unit: &str, high: f64) -> (String, f64) {
    match unit {
        "bit/s" if high >= 2e6 => ("Mbit/s".to_owned(), 1e-6),
        "bit/s" if high >= 2e3 => ("kbit/s".to_owned(), 1e-3),
        "bytes" if high >= 2e6 => ("MB".to_owned(), 1e-6),
        "bytes" if high >= 2e4 => ("kB".to_owned(), 1e-3),
        "seconds" if high > 0.0 && high < 0.5 => ("milliseconds".to_owned(), 1e3),
        unit => (unit.to_owned(), 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(Scale::new(0.0, 20.0, 0.0, 100.0).ticks(5).0, vec![0.0, 5.0, 10.0, 15.0, 20.0]);
        let (ticks, decimals) = Scale::new(0.0, 0.3, 0.0, 1.0).ticks(3);
        assert_eq!((ticks.len(), decimals), (4, 1));
        assert!((round_step(0.003) - 0.005).abs() < 1e-12);
    }

    #[test]
    fn an_empty_range_is_still_a_scale() {
        let scale = Scale::new(f64::NAN, f64::INFINITY, 0.0, 10.0);
        assert_eq!((scale.low, scale.high), (0.0, 1.0));
        assert_eq!(scale.at(f64::NAN), 0.0);
        assert!(Scale::new(3.0, 3.0, 0.0, 1.0).at(3.0).is_finite());
    }
}
