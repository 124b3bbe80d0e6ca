//! What is a paper's experiment? A scenario, the published values of its cells, claims, and pictures:
//! data in `experiments/`, part of the program, readable by anyone.

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
    /// Name of the scenario file in the same folder, without its ending.
    pub scenario: String,
    /// Repetitions it is judged with.
    #[serde(default = "one")]
    pub repetitions: u32,
    /// The axes of the scenario's grid, in the order of labels in keys.
    #[serde(default)]
    pub axis: Vec<Axis>,
    /// Published values.
    pub table: Option<Published>,
    /// Pictures of single repetitions.
    #[serde(default)]
    pub picture: Vec<PictureSpec>,
    /// Draw the table as bars.
    #[serde(default)]
    pub bars: bool,
    /// Rules that the source leaves open.
    #[serde(default)]
    pub reading: Vec<Reading>,
    /// What holds for all readings: the part of the grid in which they differ.
    #[serde(default)]
    pub reading_fixes: Vec<String>,
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
    /// Which metric.
    pub metric: String,
    /// Its unit, for tables.
    #[serde(default)]
    pub unit: String,
    /// How far a measured value may be off.
    pub band: Band,
    /// Repetitions that the published values are means of.
    pub repetitions: u32,
    /// Value by labels joined with slashes.
    pub values: BTreeMap<String, f64>,
    /// Known differences: why, by key.
    #[serde(default)]
    pub differs: BTreeMap<String, String>,
}

/// The part of the band that does not come from chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Band {
    /// 5 % of the published value.
    Time,
    /// 0.02.
    Ratio,
    /// 0.5.
    Count,
}

impl Band {
    /// In the metric's unit.
    pub fn of(self, published: f64) -> f64 {
        match self {
            Band::Time => 0.05 * published.abs(),
            Band::Ratio => 0.02,
            Band::Count => 0.5,
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
    /// Its heading.
    pub title: String,
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

/// The claims of one paper.
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
    pub test: String,
    /// It is enough that one repetition satisfies it.
    #[serde(default)]
    pub exists: bool,
}

/// A paper: its folder's files.
pub struct Paper {
    /// The folder's name.
    pub name: &'static str,
    /// File name and text.
    pub files: &'static [(&'static str, &'static str)],
}

macro_rules! paper {
    ($name:literal: $($file:literal),+ $(,)?) => {
        Paper {
            name: $name,
            files: &[$(($file, include_str!(concat!("../../../../experiments/", $name, "/", $file)))),+],
        }
    };
}

/// Every paper whose experiments can be reproduced.
pub const PAPERS: &[Paper] = &[paper!(
    "gprs-eifel": "claims.toml",
    "reselections.scenario.toml",
    "intervals.scenario.toml",
    "live.scenario.toml",
    "topology.scenario.toml",
    "spike.scenario.toml",
    "scripted-losses.scenario.toml",
    "table1.toml",
    "table2.toml",
    "table3.toml",
    "fig1.toml",
    "fig2.toml",
    "fig3.toml",
    "fig4.toml",
    "fig5.toml",
    "fig6.toml",
    "fig7.toml",
    "repair.toml",
)];

impl Paper {
    /// A file's text.
    pub fn file(&self, name: &str) -> Option<&'static str> {
        self.files.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
    }

    /// Its experiments, in the order of the files.
    pub fn experiments(&self) -> Result<Vec<Experiment>, String> {
        let files = self.files.iter();
        files
            .filter(|(name, _)| !name.ends_with(".scenario.toml") && *name != "claims.toml")
            .map(|(name, text)| toml::from_str(text).map_err(|e| format!("{}/{name}: {e}", self.name)))
            .collect()
    }

    /// Its claims.
    pub fn claims(&self) -> Result<Claims, String> {
        let text = self.file("claims.toml").unwrap_or_default();
        toml::from_str(text).map_err(|e| format!("{}/claims.toml: {e}", self.name))
    }
}
