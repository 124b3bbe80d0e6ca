//! Published experiment: a scenario, the published values of its cells, claims and pictures. Data in `experiments/`,
//! compiled into the program.

use super::claim::ExpressionError;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One experiment, by its catalogue id.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// `gprs-eifel/table2`.
    pub id: String,
    /// What it shows, in a few words.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// What to look for, in a paragraph.
    #[serde(default)]
    pub text: String,
    /// Name of the scenario file in the same folder, without its ending. Without one nothing is run: a description,
    /// or values that follow from the labels of their keys.
    pub scenario: Option<String>,
    /// Repetitions it is judged with.
    #[serde(default = "one")]
    pub repetitions: u32,
    /// What it sets in the scenario, for all of its cells.
    #[serde(default)]
    pub set: Vec<String>,
    /// Variants that the grid does not make; their labels come first in keys.
    #[serde(default)]
    pub case: Vec<Case>,
    /// The axes of the scenario's grid, in the order of labels in keys.
    #[serde(default)]
    pub axis: Vec<Axis>,
    /// Published values.
    pub table: Option<Published>,
    /// Published values of further metrics; their names come last in keys.
    #[serde(default)]
    pub column: Vec<Published>,
    /// Pictures of single repetitions.
    #[serde(default)]
    pub picture: Vec<PictureSpec>,
    /// Figures drawn anew, with published statements under the curves.
    #[serde(default)]
    pub figure: Vec<FigureSpec>,
    /// Draw the table as bars.
    #[serde(default)]
    pub bars: bool,
    /// Rules that the source leaves open.
    #[serde(default)]
    pub reading: Vec<Reading>,
    /// What holds for all readings: the part of the grid in which they differ.
    #[serde(default)]
    pub reading_fixes: Vec<String>,
    /// Repetitions of each reading, where the usual number takes too long.
    pub reading_repetitions: Option<u32>,
    /// Most seeds over which the share of values inside is counted, likewise.
    pub seeds: Option<u32>,
}

impl Experiment {
    /// All published values.
    pub fn tables(&self) -> impl Iterator<Item = &Published> {
        self.table.iter().chain(&self.column)
    }

    /// What the parts of a value's key are.
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

    /// What the labels of a cell are.
    pub fn cell_heads(&self) -> Vec<String> {
        let parts = self.case.first().map_or(0, |case| case.label.split('/').count());
        let cases = (0..parts).map(|i| if i == 0 { "case".to_owned() } else { String::new() });
        cases.chain(self.axis.iter().map(|a| a.name.clone())).collect()
    }
}

/// A variant of an experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it is called in keys; several labels are joined with slashes.
    pub label: String,
    /// What it sets: `path=value`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Another scenario file than the experiment's.
    pub scenario: Option<String>,
}

fn one() -> u32 {
    1
}

/// An axis of the grid with short labels for its values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// What it is called.
    pub name: String,
    /// The grid's path.
    pub path: String,
    /// Label by value, as the value stands in the scenario.
    pub labels: BTreeMap<String, String>,
}

/// Published values of one metric.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// What it is called in keys, if there are several.
    #[serde(default)]
    pub name: String,
    /// Which metric or probe, of the first flow or of the one named before a dot.
    #[serde(default)]
    pub metric: String,
    /// Instead: an expression as in claims, in which `a`, `b`, ... are the parts of the key; a part that is a number
    /// can stand for itself (`a * b / 8`).
    pub value: Option<String>,
    /// Its unit, for tables.
    #[serde(default)]
    pub unit: String,
    /// How far a measured value may be off.
    pub band: Band,
    /// Repetitions that the published values are means of.
    pub repetitions: u32,
    /// Instead of means: they are this percentile of the repetitions, from 0 to 1.
    pub percentile: Option<f64>,
    /// Value by labels joined with slashes.
    pub values: BTreeMap<String, f64>,
    /// Known differences, by key.
    #[serde(default)]
    pub differs: BTreeMap<String, Difference>,
}

/// A known difference of one cell. It explains the value that it names and no other: a value that leaves its
/// neighbourhood is unexplained again.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// The value that is explained: measured with seed 1 and the experiment's own repetitions.
    pub is: f64,
    /// Why it is not the published one.
    pub why: String,
}

impl Published {
    /// What the expression gives for one key, by repetition.
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

/// The part of the band that does not come from chance.
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
    /// The band until ADR 0036, which gave every count 0.5.
    pub fn former(self, published: f64) -> f64 {
        if self == Band::Count { 0.5 } else { self.of(published) }
    }

    /// In the metric's unit.
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
    /// Labels of the cell joined with slashes; empty where there is no grid.
    #[serde(default)]
    pub cell: String,
    /// Which repetition.
    #[serde(default)]
    pub repetition: u64,
    /// Instead: the repetition in which this claim was found to hold.
    pub witness: Option<String>,
    /// Of which flow; without it, of the first.
    pub flow: Option<String>,
    /// Its heading.
    pub title: String,
}

/// A figure, in the words of an experiment's file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Its heading.
    pub title: String,
    /// What the abscissa counts, with its unit.
    pub x: String,
    /// What the ordinate counts, with its unit.
    pub y: String,
    /// The abscissa is logarithmic.
    #[serde(default)]
    pub logarithmic: bool,
    /// What is measured.
    pub curve: Vec<CurveSpec>,
    /// What was published.
    #[serde(default)]
    pub published: Vec<StatementSpec>,
}

/// A measured curve.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurveSpec {
    /// What it is.
    pub name: String,
    /// Expressions for abscissa and ordinate of each point.
    pub points: Vec<[String; 2]>,
}

/// A published statement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementSpec {
    /// What it says.
    pub name: String,
    /// Expressions for the abscissa and the two bounds at each point.
    pub points: Vec<[String; 3]>,
}

/// One way to read an open rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// In a few words.
    pub name: String,
    /// What it sets.
    pub set: Vec<String>,
    /// It is the one the scenario uses.
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
    /// Of which experiment.
    pub experiment: String,
    /// In words.
    pub text: String,
    /// Labels to go through, by variable.
    #[serde(default, rename = "for")]
    pub over: BTreeMap<String, Vec<String>>,
    /// The inequality; several are separated by semicolons.
    #[serde(default)]
    pub test: String,
    /// Instead: why it cannot be tested here.
    pub untestable: Option<String>,
    /// Comparisons that do not hold, each with the values of its sides and the reason.
    #[serde(default)]
    pub differs: Vec<Failure>,
    /// How the test departs from that of the catalogue; `equal` if it does not.
    pub letter: Option<String>,
    /// It is enough that one repetition satisfies it.
    #[serde(default)]
    pub exists: bool,
    /// It is enough that this share of the repetitions satisfies it.
    pub share: Option<f64>,
    /// It is enough that this many combinations of the labels satisfy it.
    pub combinations: Option<usize>,
}

/// A comparison of a claim that is known not to hold.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Values of the claim's variables joined with slashes.
    #[serde(default)]
    pub labels: String,
    /// Which comparison of the test, counted from 1.
    #[serde(default = "first")]
    pub comparison: usize,
    /// Left of the sign, measured with seed 1 and the experiment's own repetitions.
    pub left: f64,
    /// Right of the sign.
    pub right: f64,
    /// Why it does not hold.
    pub why: String,
}

fn first() -> usize {
    1
}

/// A file with several experiments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Panels {
    experiment: Vec<Experiment>,
}

/// A group: the files of its folder.
pub struct Group {
    /// The folder's name.
    pub name: &'static str,
    /// File name and text.
    pub files: &'static [(&'static str, &'static str)],
}

pub use super::groups::GROUPS;

/// A file of published experiments or claims that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {error}")]
pub struct DataError {
    /// Group and name of the file.
    pub file: String,
    /// The error in its TOML.
    pub error: toml::de::Error,
}

impl Group {
    /// A file's text.
    pub fn file(&self, name: &str) -> Option<&'static str> {
        self.files.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
    }

    /// Its experiments: tables, figures, the rest.
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

    /// Its claims.
    pub fn claims(&self) -> Result<Claims, DataError> {
        let text = self.file("claims.toml").unwrap_or_default();
        toml::from_str(text).map_err(|error| DataError { file: format!("{}/claims.toml", self.name), error })
    }
}
