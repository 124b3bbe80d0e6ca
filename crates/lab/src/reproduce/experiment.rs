//! Data of published experiments, read from `experiments/`: scenario, published values, known differences,
//! claims and pictures.
//!
//! The files are compiled into the program.

use super::claim::ExpressionError;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One experiment, by its catalogue id.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// `gprs-eifel/table2`.
    pub id: String,
    /// Title.
    pub title: String,
    /// Publication.
    pub source: String,
    /// Paragraph for the reader: the points to look for.
    #[serde(default)]
    pub text: String,
    /// Scenario file in the same folder, without extension. Without a scenario nothing is run: the experiment
    /// is a description, or its values follow from the labels of their keys.
    pub scenario: Option<String>,
    /// Default number of repetitions.
    #[serde(default = "one")]
    pub repetitions: u32,
    /// Scenario settings of all cells, `path=value`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Variants of the scenario in addition to the axes of the grid; their labels are the first parts of keys.
    #[serde(default)]
    pub case: Vec<ExperimentCase>,
    /// Axes of the scenario's grid, in the order of labels in keys.
    #[serde(default)]
    pub axis: Vec<Axis>,
    /// Published values.
    pub table: Option<Published>,
    /// Published values of further metrics; the metrics' names come last in keys.
    #[serde(default)]
    pub column: Vec<Published>,
    /// Pictures of single repetitions.
    #[serde(default)]
    pub picture: Vec<PictureSpec>,
    /// Redrawn figures, with published statements below the curves.
    #[serde(default)]
    pub figure: Vec<FigureSpec>,
    /// Draw the table as bars.
    #[serde(default)]
    pub bars: bool,
    /// Interpretations of rules that the source leaves open.
    #[serde(default)]
    pub reading: Vec<Reading>,
    /// Settings for all readings, which select the part of the grid in which their results differ.
    #[serde(default)]
    pub reading_fixes: Vec<String>,
    /// Repetitions of each reading, if a run with the default number takes too long.
    pub reading_repetitions: Option<u32>,
    /// Upper bound of seeds for the share of values inside, if a run with the default number takes too long.
    pub seeds: Option<u32>,
}

impl Experiment {
    /// All published values.
    pub fn tables(&self) -> impl Iterator<Item = &Published> {
        self.table.iter().chain(&self.column)
    }

    /// Column heads of the parts of a value's key.
    pub fn heads(&self) -> Vec<String> {
        if let Some(table) = self.tables().find(|t| t.value.is_some()) {
            let parts = table.values.keys().next().map_or(1, |k| k.split('/').count());
            let named = usize::from(!table.name.is_empty());
            return (0..parts + named)
                .map(|i| if i == 0 { "case".to_owned() } else { String::new() })
                .collect();
        }
        let mut heads = self.cell_heads();
        if self.tables().any(|t| !t.name.is_empty()) {
            heads.push("value".to_owned());
        }
        heads
    }

    /// Column heads of a cell's labels.
    pub fn cell_heads(&self) -> Vec<String> {
        let parts = self.case.first().map_or(0, |case| case.label.split('/').count());
        let cases = (0..parts).map(|i| if i == 0 { "case".to_owned() } else { String::new() });
        cases.chain(self.axis.iter().map(|a| a.name.clone())).collect()
    }
}

/// A variant of an experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentCase {
    /// Name in keys; several labels are joined by slashes.
    pub label: String,
    /// Scenario settings, `path=value`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Scenario file, if it is not the experiment's.
    pub scenario: Option<String>,
}

fn one() -> u32 {
    1
}

/// An axis of the grid with short labels for its values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Name of the axis.
    pub name: String,
    /// Path of the grid's axis.
    pub path: String,
    /// Label by value, as the scenario spells the value.
    pub labels: BTreeMap<String, String>,
}

/// Published values of one metric.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Name in keys, used if there are several tables.
    #[serde(default)]
    pub name: String,
    /// Metric or probe, of the first flow or of the flow named before a dot.
    #[serde(default)]
    pub metric: String,
    /// In place of a metric: an expression as in claims, in which `a`, `b`, ... are the parts of the key. A
    /// part that is a number is a constant (`a * b / 8`).
    pub value: Option<String>,
    /// Unit in tables.
    #[serde(default)]
    pub unit: String,
    /// Fixed part of the tolerance.
    pub band: Band,
    /// Number of repetitions of which the published values are means or quantiles.
    pub repetitions: u32,
    /// The published values are this quantile of the repetitions, from 0 to 1; `None` for means.
    pub percentile: Option<f64>,
    /// Value by labels, joined by slashes.
    pub values: BTreeMap<String, f64>,
    /// Known differences, by key.
    #[serde(default)]
    pub differs: BTreeMap<String, Difference>,
}

/// A known difference of one published value. A measured value farther from `is` than the tolerance is
/// unexplained.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// Explained value, measured with seed 1 and the experiment's own repetitions.
    pub is: f64,
    /// Reason for the difference.
    pub why: String,
}

impl Published {
    /// Value of the expression for a key, by repetition.
    pub fn computed(
        &self,
        key: &str,
        cells: &dyn super::claim::Cells,
    ) -> Result<Vec<Option<f64>>, ExpressionError> {
        let names = ["a", "b", "c", "d", "e"];
        let bound: BTreeMap<&str, &str> = names.into_iter().zip(key.split('/')).collect();
        let text = self.value.as_deref().unwrap_or_default();
        super::claim::value(text, &bound, cells).map_err(ExpressionError)
    }
}

/// Fixed part of a tolerance, without the part that chance explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Band {
    /// 5 % of the published value.
    Time,
    /// 0.02.
    Ratio,
    /// 5 % of the published value; 0.1 where that is below 2.
    Count,
    /// 1 % of the published value.
    Segments,
    /// Half of the last printed digit.
    Printed,
}

impl Band {
    /// Tolerance by the rule before ADR 0036, with 0.5 for every count.
    pub fn former(self, published: f64) -> f64 {
        if self == Band::Count { 0.5 } else { self.of(published) }
    }

    /// Tolerance in the metric's unit.
    pub fn of(self, published: f64) -> f64 {
        match self {
            Band::Time => 0.05 * published.abs(),
            Band::Ratio => 0.02,
            Band::Count if published < 2.0 => 0.1,
            Band::Count => 0.05 * published,
            Band::Segments => 0.01 * published.abs(),
            Band::Printed => {
                let digits = format!("{published}").split_once('.').map_or(0, |(_, d)| d.len());
                (0..digits).fold(0.5, |x, _| x / 10.0) + 1e-9
            }
        }
    }
}

/// A picture of one repetition of one cell.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PictureSpec {
    /// Labels of the cell, joined by slashes; empty without a grid.
    #[serde(default)]
    pub cell: String,
    /// Repetition to draw.
    #[serde(default)]
    pub repetition: u64,
    /// In place of a repetition: the first repetition in which this claim holds.
    pub witness: Option<String>,
    /// Flow to draw; the first by default.
    pub flow: Option<String>,
    /// Heading.
    pub title: String,
}

/// A figure as an experiment's file describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Heading.
    pub title: String,
    /// Label of the abscissa, with its unit.
    pub x: String,
    /// Label of the ordinate, with its unit.
    pub y: String,
    /// Logarithmic abscissa.
    #[serde(default)]
    pub logarithmic: bool,
    /// Measured curves.
    pub curve: Vec<CurveSpec>,
    /// Published statements.
    #[serde(default)]
    pub published: Vec<StatementSpec>,
}

/// A measured curve.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurveSpec {
    /// Legend.
    pub name: String,
    /// Expressions for abscissa and ordinate of each point.
    pub points: Vec<[String; 2]>,
}

/// A published statement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementSpec {
    /// Legend.
    pub name: String,
    /// Expressions for the abscissa and the two bounds at each point.
    pub points: Vec<[String; 3]>,
}

/// One interpretation of a rule that the source leaves open.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Short name.
    pub name: String,
    /// Scenario settings, `path=value`.
    pub set: Vec<String>,
    /// True for the reading that the scenario uses.
    #[serde(default)]
    pub chosen: bool,
}

/// The claims of one group.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// Metric by short name.
    #[serde(default)]
    pub quantity: BTreeMap<String, String>,
    /// The claims.
    #[serde(default)]
    pub claim: Vec<Claim>,
}

/// One claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// `C001`.
    pub id: String,
    /// Experiment that tests it.
    pub experiment: String,
    /// Statement in words.
    pub text: String,
    /// Labels of each variable.
    #[serde(default, rename = "for")]
    pub over: BTreeMap<String, Vec<String>>,
    /// Inequality; several are separated by semicolons.
    #[serde(default)]
    pub test: String,
    /// In place of a test: the reason why the claim cannot be tested.
    pub untestable: Option<String>,
    /// Comparisons that do not hold, with the values of both sides and the reason.
    #[serde(default)]
    pub differs: Vec<Failure>,
    /// Difference between the test and the catalogue's test, in words; `equal` if there is none, `None` if they
    /// were not compared.
    pub letter: Option<String>,
    /// The claim holds if a single repetition satisfies the test.
    #[serde(default)]
    pub exists: bool,
    /// The claim holds if this share of the repetitions satisfies the test.
    pub share: Option<f64>,
    /// The claim holds if this number of label combinations satisfies the test.
    pub combinations: Option<usize>,
}

/// A comparison of a claim that is known not to hold.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Values of the claim's variables, joined by slashes.
    #[serde(default)]
    pub labels: String,
    /// Number of the comparison within the test, from 1.
    #[serde(default = "first")]
    pub comparison: usize,
    /// Left side, measured with seed 1 and the experiment's own repetitions.
    pub left: f64,
    /// Right side.
    pub right: f64,
    /// Reason why the comparison does not hold.
    pub why: String,
}

fn first() -> usize {
    1
}

/// File with several experiments (panels of one figure).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Panels {
    experiment: Vec<Experiment>,
}

/// A folder of experiments and its files.
pub struct Group {
    /// Name of the folder.
    pub name: &'static str,
    /// Name and text of each file.
    pub files: &'static [(&'static str, &'static str)],
}

pub use super::groups::GROUPS;

/// Error in a file of published experiments or claims.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {error}")]
pub struct DataError {
    /// Group and name of the file.
    pub file: String,
    /// TOML error.
    pub error: toml::de::Error,
}

impl Group {
    /// Text of a file.
    pub fn file(&self, name: &str) -> Option<&'static str> {
        self.files.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
    }

    /// Experiments in the order tables, figures, others.
    pub fn experiments(&self) -> Result<Vec<Experiment>, DataError> {
        let files = self.files.iter();
        files
            .filter(|(name, _)| !name.ends_with(".scenario.toml") && *name != "claims.toml")
            .map(|(name, text)| {
                let wrong = |error| DataError { file: format!("{}/{name}", self.name), error };
                let table: toml::Table = toml::from_str(text).map_err(wrong)?;
                // A figure with several panels is a file with several experiments.
                if table.contains_key("experiment") {
                    let panels: Panels = toml::from_str(text).map_err(wrong)?;
                    return Ok(panels.experiment);
                }
                Ok(vec![toml::from_str(text).map_err(wrong)?])
            })
            .collect::<Result<Vec<Vec<Experiment>>, DataError>>()
            .map(|all| all.into_iter().flatten().collect())
    }

    /// Claims of the group.
    pub fn claims(&self) -> Result<Claims, DataError> {
        let text = self.file("claims.toml").unwrap_or_default();
        toml::from_str(text).map_err(|error| DataError { file: format!("{}/claims.toml", self.name), error })
    }
}
