//! Comparison of published values with measured values: tolerances, verdicts, known differences, quantiles, values
//! measured with kernels.
//!
//! The tolerance is the larger of a fixed part and the difference that chance explains with the numbers of
//! repetitions of the published and the measured mean.

use super::experiment::{Claims, Experiment, Published};
use super::grid::{Grid, View};
use super::{ReproduceError, Value, claim};
use results::stats::Summary;

/// Adds the values measured with kernels to the published values of the same cells. Values computed from key labels
/// get none, because their cells differ in options that do not apply to a kernel.
pub(super) fn beside(
    values: &mut [Value],
    experiment: &Experiment,
    claims: &Claims,
    kernels: &Grid,
) -> Result<(), ReproduceError> {
    let mut plain = experiment.clone();
    plain.table = plain.table.filter(|table| table.value.is_none());
    plain.column.retain(|table| table.value.is_none());
    for linux in self::values(&plain, claims, kernels)? {
        if let Some(value) = values.iter_mut().find(|value| value.key == linux.key) {
            value.linux = Some((linux.measured, linux.ci95));
        }
    }
    Ok(())
}

/// Compares published values with measured ones.
pub(super) fn values(
    experiment: &Experiment,
    claims: &Claims,
    grid: &Grid,
) -> Result<Vec<Value>, ReproduceError> {
    let view = View { grid, quantity: &claims.quantity };
    let mut all = Vec::new();
    for table in experiment.tables() {
        let wrong = |e: String| ReproduceError::Data(format!("{}: {e}", experiment.id));
        if table.value.is_some() {
            for (key, published) in &table.values {
                let each = table.computed(key, &view).map_err(|e| wrong(e.to_string()))?;
                all.extend(value(table, key, *published, &each, grid.others(experiment)));
            }
            continue;
        }
        for labels in grid.labels() {
            let key = labels.join("/");
            let Some(&published) = table.values.get(&key) else { continue };
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            let each = claim::Cells::values(&view, &table.metric, &labels).map_err(wrong)?;
            all.extend(value(table, &key, published, &each, grid.others(experiment)));
        }
    }
    Ok(all)
}

/// Quantile of the repetitions, from 0 to 1, interpolated linearly; `None` without a value.
pub(super) fn percentile(each: &[Option<f64>], p: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = each.iter().flatten().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let h = p.clamp(0.0, 1.0) * last as f64;
    let (below, part) = (h as usize, h - (h as usize) as f64);
    Some(sorted[below] + part * (sorted[(below + 1).min(last)] - sorted[below]))
}

/// Quantile of the repetitions, and the largest difference from the published one that chance explains.
fn with_chance(table: &Published, published: f64, p: f64, each: &[Option<f64>]) -> Option<(f64, f64)> {
    let m = each.iter().flatten().filter(|x| x.is_finite()).count() as f64;
    let reach = 1.96 * (p * (1.0 - p) * (1.0 / f64::from(table.repetitions) + 1.0 / m)).sqrt();
    let measured = percentile(each, p)?;
    let chance = if published > measured {
        percentile(each, p + reach)? - measured
    } else {
        measured - percentile(each, p - reach)?
    };
    Some((measured, chance))
}

/// Compares a published value with the repetitions of its cell; `others` is the result of [`Grid::others`].
fn value(
    table: &Published,
    key: &str,
    published: f64,
    each: &[Option<f64>],
    others: Option<u32>,
) -> Option<Value> {
    let summary = Summary::of(each)?;
    let n = f64::from(table.repetitions);
    let spread = summary.stddev.map(|s| (s, summary.n));
    let chance = 1.96 * summary.stddev.unwrap_or(0.0) * (1.0 / n + 1.0 / summary.n as f64).sqrt();
    let fixed = table.band.of(published);
    let (measured, chance) = match table.percentile {
        Some(p) => with_chance(table, published, p, each)?,
        None => (summary.mean, chance),
    };
    let off = (measured - published).abs();
    let within = off <= fixed.max(chance);
    let known = table.differs.get(key).filter(|_| !within);
    let explained = known.filter(|known| near(known.is, measured, fixed / 4.0, spread, others));
    let full = if table.name.is_empty() { key.to_owned() } else { format!("{key}/{}", table.name) };
    Some(Value {
        why: explained.map(|known| known.why.clone()),
        moved: known.filter(|_| explained.is_none()).map(|known| known.is),
        needless: within && table.differs.contains_key(key),
        key: full,
        published,
        measured,
        ci95: summary.ci95.filter(|_| table.percentile.is_none()),
        unit: table.unit.clone(),
        tolerance: fixed.max(chance),
        within,
        former: off <= table.band.former(published).max(chance),
        linux: None,
    })
}

/// True if a measured value is still near the value `explained` for which a reason was written: within `fixed`, or,
/// if the reason was written for `others` repetitions, within the difference that chance explains.
pub(super) fn near(
    explained: f64,
    measured: f64,
    fixed: f64,
    spread: Option<(f64, u64)>,
    others: Option<u32>,
) -> bool {
    let chance = others
        .zip(spread)
        .map_or(0.0, |(others, (s, n))| 1.96 * s * (1.0 / f64::from(others.max(1)) + 1.0 / n as f64).sqrt());
    (measured - explained).abs() <= fixed.max(chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(band: &str, differs: &str) -> Published {
        toml::from_str(&format!(
            "band = \"{band}\"\nrepetitions = 100\nvalues = {{ a = 4.0, b = 1.5 }}\n{differs}"
        ))
        .unwrap()
    }

    /// Verdict from ten equal repetitions, which leave only the fixed part of the tolerance.
    fn judged(table: &Published, key: &str, published: f64, measured: f64) -> Value {
        value(table, key, published, &[Some(measured); 10], None).unwrap()
    }

    #[test]
    fn counts_are_off_by_five_percent_or_a_tenth_below_two() {
        let counts = table("count", "");
        assert!(judged(&counts, "a", 4.0, 4.19).within);
        let far = judged(&counts, "a", 4.0, 4.3);
        assert!(!far.within && far.former, "the former band let it pass: {far:?}");
        assert!(judged(&counts, "b", 1.5, 1.59).within && !judged(&counts, "b", 1.5, 1.61).within);
    }

    #[test]
    fn a_reason_explains_one_value_of_one_cell() {
        let known = table("time", "[differs]\na = { is = 5.0, why = \"x\" }\n");
        assert_eq!(judged(&known, "a", 4.0, 5.04).why.as_deref(), Some("x"));
        let moved = judged(&known, "a", 4.0, 5.2);
        assert!(moved.why.is_none() && moved.moved == Some(5.0), "{moved:?}");
        assert!(judged(&known, "b", 1.5, 5.0).why.is_none(), "another cell");
        assert!(judged(&known, "a", 4.0, 4.0).needless);
    }

    #[test]
    fn only_other_repetitions_may_miss_the_explained_value_by_chance() {
        let spread = |n| Some((1.0, n));
        assert!(near(10.0, 10.27, 0.1, spread(100), Some(100)), "0.277 by chance, and no less");
        assert!(!near(10.0, 10.27, 0.1, spread(1000), Some(1000)));
        assert!(!near(10.0, 10.27, 0.1, spread(100), None), "the repetitions of the reason give its value");
    }
}
