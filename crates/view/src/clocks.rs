//! Clock offset and drift between two captures of one connection (`Clocks`), from packets that both contain.
//!
//! The fastest packets of an interval bound the offset in each direction. If the bounds of several intervals follow a
//! line that is steeper than their width, the clocks drift.

use crate::View;
use analyse::join::Sighting;
use base::Time;
use std::collections::BTreeMap;

/// Offset and drift between the clocks of two captures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clocks {
    /// Offset at the first matched packet: clock of the other capture less clock of the first capture, s.
    pub ahead_s: f64,
    /// Error bound of the offset, s: the shares of both directions in the minimum round trip are unknown.
    pub within_s: f64,
    /// Drift of the other clock, us/s, if significant.
    pub drift_ppm: Option<f64>,
    /// Time of the first matched packet, on the clock of the first capture.
    from: Time,
}

impl Clocks {
    /// Converts a time of the other capture to the clock of the first capture.
    pub fn here(&self, there: Time) -> Time {
        let t = there.as_nanos() as f64 - self.ahead_s * 1e9;
        let since = t - self.from.as_nanos() as f64;
        let drift = self.drift_ppm.unwrap_or(0.0) * 1e-6;
        // Nanoseconds since 1970 exceed the precision of a double, so only differences are rounded.
        let correction = -self.ahead_s * 1e9 - since * drift;
        Time::from_nanos(there.as_nanos().saturating_add_signed(correction.round() as i64))
    }
}

/// Number of intervals into which a capture is divided.
const PARTS: usize = 8;
/// Least number of packets in each direction for an interval to count.
const FEWEST: usize = 4;

type Mark = (u64, u64, u32, Option<u16>, Option<u32>);

/// Packets that occur exactly once in both captures: time in each, ascending.
fn pairs(here: &[Sighting], there: &[Sighting], shift: i64, back: i64) -> Vec<(Time, Time)> {
    let mark = |s: &Sighting, shift: i64, back: i64| -> Mark {
        let moved = |n: u64| n.saturating_add_signed(shift);
        (moved(s.seq), moved(s.end), s.ack.wrapping_add(back as u32), s.id, s.stamp)
    };
    let mut seen: BTreeMap<Mark, (usize, Time)> = BTreeMap::new();
    for s in there {
        let entry = seen.entry(mark(s, shift, back)).or_insert((0, s.t));
        entry.0 += 1;
    }
    let mut own: BTreeMap<Mark, (usize, Time)> = BTreeMap::new();
    for s in here {
        let entry = own.entry(mark(s, 0, 0)).or_insert((0, s.t));
        entry.0 += 1;
    }
    let single = own.iter().filter(|(_, (n, _))| *n == 1);
    let mut out: Vec<(Time, Time)> = single
        .filter_map(|(mark, (_, t))| seen.get(mark).filter(|(n, _)| *n == 1).map(|(_, u)| (*t, *u)))
        .collect();
    out.sort();
    out
}

/// Difference of the two times of a packet, ns.
fn ahead(&(here, there): &(Time, Time)) -> f64 {
    (there.as_nanos() as i64).wrapping_sub(here.as_nanos() as i64) as f64
}

/// Clock offset and drift; None if the two captures share too few packets.
pub fn clocks(view: &View<'_>) -> Option<Clocks> {
    let (there, back_there) = view.there()?;
    let (here, back_here) = (view.data(), &view.flow.directions[1 - view.direction]);
    let shift = |a: u32, b: u32| i64::from(a.wrapping_sub(b) as i32);
    let forth = pairs(&here.sightings, &there.sightings, shift(there.origin, here.origin), 0);
    let back =
        pairs(&back_here.sightings, &back_there.sightings, shift(back_there.origin, back_here.origin), 0);
    let (first, last) = (forth.first()?.0.min(back.first()?.0), forth.last()?.0.max(back.last()?.0));
    let whole = bounds(&forth, &back, first, last)?;
    let mut clocks = Clocks {
        ahead_s: f64::midpoint(whole.0, whole.1) / 1e9,
        within_s: (whole.1 - whole.0).max(0.0) / 2e9,
        drift_ppm: None,
        from: first,
    };
    let step = last.since(first).as_nanos() / PARTS as u64;
    let parts: Vec<(f64, f64, f64)> = (0..PARTS as u64)
        .filter_map(|i| {
            let from = Time::from_nanos(first.as_nanos() + i * step);
            let to = Time::from_nanos(from.as_nanos() + step);
            let (low, high) = bounds(&forth, &back, from, to)?;
            Some((i as f64 * step as f64 + step as f64 / 2.0, low, high))
        })
        .collect();
    if let Some((at_first, slope)) = drift(&parts) {
        clocks.ahead_s = at_first / 1e9;
        clocks.drift_ppm = Some(slope * 1e6);
    }
    Some(clocks)
}

/// Bounds of the offset, ns, from the packets between two times: the smallest difference of forward packets is the
/// upper bound, the largest difference of reverse packets the lower bound.
fn bounds(forth: &[(Time, Time)], back: &[(Time, Time)], from: Time, to: Time) -> Option<(f64, f64)> {
    let within = |p: &&(Time, Time)| p.0 >= from && p.0 <= to;
    let forth: Vec<f64> = forth.iter().filter(within).map(ahead).collect();
    let back: Vec<f64> = back.iter().filter(within).map(ahead).collect();
    if forth.len() < FEWEST || back.len() < FEWEST {
        return None;
    }
    let high = forth.into_iter().fold(f64::INFINITY, f64::min);
    let low = back.into_iter().fold(f64::NEG_INFINITY, f64::max);
    Some((low, high))
}

/// Least-squares line through the midpoints of the bounds: value at 0, and slope. None unless the line rises or falls
/// by more than four times its scatter and a tenth of the bounds' width.
fn drift(parts: &[(f64, f64, f64)]) -> Option<(f64, f64)> {
    if parts.len() < PARTS / 2 {
        return None;
    }
    let n = parts.len() as f64;
    let middle = |p: &(f64, f64, f64)| f64::midpoint(p.1, p.2);
    let (mx, my) = (parts.iter().map(|p| p.0).sum::<f64>() / n, parts.iter().map(middle).sum::<f64>() / n);
    let sxx: f64 = parts.iter().map(|p| (p.0 - mx) * (p.0 - mx)).sum();
    if sxx <= 0.0 {
        return None;
    }
    let slope = parts.iter().map(|p| (p.0 - mx) * (middle(p) - my)).sum::<f64>() / sxx;
    let at_first = my - slope * mx;
    let scatter = parts.iter().map(|p| (middle(p) - at_first - slope * p.0).abs()).fold(0.0, f64::max);
    let width = parts.iter().map(|p| p.2 - p.1).fold(f64::INFINITY, f64::min).max(0.0);
    let rise = slope.abs() * (parts[parts.len() - 1].0 - parts[0].0);
    (rise > 4.0 * scatter && rise > width / 10.0).then_some((at_first, slope))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Span;

    /// Packets in both directions over 100 s with varying delays, for clocks with an offset and a drift.
    fn seen(ahead_ns: i64, ppm: f64) -> [Vec<(Time, Time)>; 2] {
        let base = 1_700_000_000_000_000_000u64;
        let there = |t: u64| {
            let gained = (t - base) as f64 * ppm * 1e-6;
            Time::from_nanos(t.saturating_add_signed(ahead_ns + gained as i64))
        };
        let delay = |i: u64| 20_000_000 + base::rng::mix(i) % 30_000_000;
        let at = |i: u64| base + i * 100_000_000;
        let forth = (0..1000).map(|i| (Time::from_nanos(at(i)), there(at(i) + delay(i))));
        let back = (0..1000).map(|i| (Time::from_nanos(at(i) + delay(i + 5000)), there(at(i))));
        [forth.collect(), back.collect()]
    }

    fn fit(ahead_ns: i64, ppm: f64) -> Option<(f64, f64)> {
        let [forth, back] = seen(ahead_ns, ppm);
        let first = forth[0].0;
        let step = Span::from_millis(12_500).as_nanos();
        let parts: Vec<(f64, f64, f64)> = (0..8)
            .filter_map(|i| {
                let from = Time::from_nanos(first.as_nanos() + i * step);
                let to = Time::from_nanos(from.as_nanos() + step);
                let (low, high) = bounds(&forth, &back, from, to)?;
                Some((i as f64 * step as f64 + step as f64 / 2.0, low, high))
            })
            .collect();
        drift(&parts)
    }

    #[test]
    fn drift_is_told_where_it_is_clear_and_only_there() {
        let (at_first, slope) = fit(5_000_000_000, 300.0).expect("30 ms in 100 s");
        assert!((slope * 1e6 - 300.0).abs() < 30.0, "{slope}");
        assert!((at_first - 5e9).abs() < 3e6, "{at_first}");
        assert!(fit(-7_000_000, -500.0).is_some_and(|(_, slope)| (slope * 1e6 + 500.0).abs() < 50.0));
        assert_eq!(fit(5_000_000_000, 0.0), None);
        assert_eq!(fit(0, 2.0), None);
    }

    #[test]
    fn times_of_the_other_clock_come_back() {
        let from = Time::from_nanos(1_700_000_000_000_000_000);
        let clocks = Clocks { ahead_s: 2.5, within_s: 0.0, drift_ppm: Some(100.0), from };
        assert_eq!(clocks.here(from + Span::from_millis(2500)), from);
        // After 1000 s the other clock is ahead by another 100 ms.
        let later = from + Span::from_millis(1_000_000);
        let shown = later + Span::from_millis(2600);
        let back = clocks.here(shown).as_nanos() as i64 - later.as_nanos() as i64;
        assert!(back.abs() < 20_000, "{back} ns");
    }
}
