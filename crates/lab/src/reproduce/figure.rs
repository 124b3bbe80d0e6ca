//! Figures of an experiment: evaluation of their expressions to measured curves with confidence intervals and
//! published bounds.

use super::ReproduceError;
use super::claim::{self, Cells};
use super::experiment::{Claims, Experiment, FigureSpec};
use super::grid::{Grid, View};
use report::{Curve, Figure, Statement};
use results::stats::Summary;
use std::collections::BTreeMap;

/// Figures of an experiment.
pub(super) fn figures(
    experiment: &Experiment,
    claims: &Claims,
    grid: &Grid,
) -> Result<Vec<Figure>, ReproduceError> {
    let view = View { grid, quantity: &claims.quantity };
    let named = |spec: &FigureSpec| {
        draw(spec, &view)
            .map_err(|e| ReproduceError::Data(format!("{}: figure `{}`: {e}", experiment.id, spec.title)))
    };
    experiment.figure.iter().map(named).collect()
}

/// Evaluates the expressions of a figure.
fn draw(spec: &FigureSpec, cells: &dyn Cells) -> Result<Figure, String> {
    let each = |expression: &str| claim::value(expression, &BTreeMap::new(), cells);
    let mean = |expression: &str| {
        let summary = Summary::of(&each(expression)?);
        summary.map(|s| s.mean).ok_or_else(|| format!("`{expression}` has no value"))
    };
    let mut figure = Figure {
        title: spec.title.clone(),
        x: spec.x.clone(),
        y: spec.y.clone(),
        logarithmic: spec.logarithmic,
        ..Figure::default()
    };
    for curve in &spec.curve {
        let mut points = Vec::new();
        for [x, y] in &curve.points {
            let summary = Summary::of(&each(y)?).ok_or_else(|| format!("`{y}` has no value"))?;
            let [low, high] = summary.ci95.unwrap_or([f64::NAN; 2]);
            points.push([mean(x)?, summary.mean, low, high]);
        }
        figure.curves.push(Curve { name: curve.name.clone(), points });
    }
    for statement in &spec.published {
        let bounds = statement.points.iter().map(|[x, low, high]| Ok([mean(x)?, mean(low)?, mean(high)?]));
        let points = bounds.collect::<Result<Vec<_>, String>>()?;
        figure.statements.push(Statement { name: statement.name.clone(), points });
    }
    Ok(figure)
}

#[cfg(test)]
mod tests {
    use super::super::experiment::GROUPS;
    use super::*;

    /// Two repetitions, whose values are the labels of a cell.
    struct Plain;
    impl Cells for Plain {
        fn values(&self, quantity: &str, labels: &[&str]) -> Result<Vec<Option<f64>>, String> {
            match (quantity, labels) {
                ("thr", ["a"]) => Ok(vec![Some(9.0), Some(11.0)]),
                ("thr", ["b"]) => Ok(vec![Some(20.0), Some(20.0)]),
                _ => Err(format!("no {quantity}")),
            }
        }
    }

    fn spec(points: &str) -> FigureSpec {
        let text = format!(
            "title = \"t\"\nx = \"s\"\ny = \"kbit/s\"\n[[curve]]\nname = \"c\"\npoints = {points}\n\
             [[published]]\nname = \"half\"\npoints = [[\"1\", \"0.5 * thr(a)\", \"0.6 * thr(a)\"]]\n"
        );
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn points_have_intervals_where_there_are_repetitions() {
        let figure = draw(&spec("[[\"1\", \"thr(a)\"], [\"2\", \"thr(b) / thr(a)\"]]"), &Plain).unwrap();
        let [first, second] = &figure.curves[0].points[..] else { panic!("two points") };
        // Two values at 9 and 11: a deviation of sqrt(2), t = 12.706 at one degree of freedom.
        assert!((first[1] - 10.0).abs() < 1e-12 && (first[3] - 22.706).abs() < 1e-3, "{first:?}");
        assert!((second[1] - 2.0).abs() < 1e-12 && second[2].is_nan(), "a ratio of means has none");
        assert_eq!(figure.statements[0].points, [[1.0, 5.0, 6.0]]);
        assert!(draw(&spec("[[\"1\", \"thr(c)\"]]"), &Plain).unwrap_err().contains("no thr"));
    }

    /// Constant values for every cell of the experiment.
    struct Known<'a>(&'a Experiment);
    impl Cells for Known<'_> {
        fn values(&self, _: &str, labels: &[&str]) -> Result<Vec<Option<f64>>, String> {
            let label = labels.join("/");
            let known = self.0.case.iter().any(|case| case.label == label);
            if known { Ok(vec![Some(1.0), Some(1.0)]) } else { Err(format!("no case {label}")) }
        }
    }

    /// EG-24: every figure of the EGPRS study names cells that are run, and can be drawn.
    #[test]
    fn eg_24_figures_of_the_egprs_study_name_cells_that_are_run() {
        let group = GROUPS.iter().find(|group| group.name == "egprs").unwrap();
        let mut drawn = 0;
        for experiment in group.experiments().unwrap() {
            for spec in &experiment.figure {
                let figure =
                    draw(spec, &Known(&experiment)).unwrap_or_else(|e| panic!("{}: {e}", experiment.id));
                assert!(figure.curves.iter().all(|c| c.points.len() > 1), "{}", figure.title);
                drawn += 1;
            }
        }
        assert!(drawn >= 8, "{drawn}");
    }
}
