//! Does our system say what the papers say? Their experiments are run, each published value is set
//! beside the measured one and judged, each claim is tested.
//!
//! A value is inside if it is off by at most max(a fixed part, 1.96 s sqrt(1/n + 1/m)): s the measured
//! standard deviation, n the repetitions behind the published mean, m ours. The fixed part is 5 % for
//! times, 0.02 for ratios, 0.5 for counts.

pub mod claim;
pub mod experiment;
pub mod json;
pub mod page;

use crate::picture::picture;
use crate::sweep::{Control, Progress, Sweep, SweepError};
use claim::Cells;
use experiment::{Claims, Experiment, PAPERS, Paper};
use report::Picture;
use results::stats::Summary;
use scenario::{NoFiles, Scenario};
use std::collections::BTreeMap;
use std::rc::Rc;

/// One published value beside what was measured.
#[derive(Clone, Debug)]
pub struct Value {
    /// Labels joined with slashes.
    pub key: String,
    /// As printed in the paper.
    pub published: f64,
    /// Mean of our repetitions.
    pub measured: f64,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// Unit, empty for counts and ratios.
    pub unit: String,
    /// How far off it may be.
    pub tolerance: f64,
    /// It is no farther off.
    pub within: bool,
    /// A known difference, explained.
    pub why: Option<String>,
}

/// A claim and what came of it.
#[derive(Clone, Debug)]
pub struct ClaimResult {
    /// `C001`.
    pub id: String,
    /// In words.
    pub text: String,
    /// It holds.
    pub holds: bool,
    /// What was compared.
    pub detail: String,
    /// For a claim that something exists: the repetition in which it does.
    pub witness: Option<u64>,
}

/// How many values one reading of an open rule puts inside.
#[derive(Clone, Debug)]
pub struct ReadingResult {
    /// In a few words.
    pub name: String,
    /// It is the one the scenario uses.
    pub chosen: bool,
    /// Values by key, measured.
    pub measured: Vec<(String, f64)>,
    /// How many are inside.
    pub within: usize,
}

/// How robust the verdicts are: the share inside over several seeds at the paper's own repetitions.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Seeds tried.
    pub seeds: u32,
    /// Repetitions each.
    pub repetitions: u32,
    /// Values inside, over all seeds.
    pub within: usize,
    /// Values in all.
    pub of: usize,
}

/// An experiment that was run.
pub struct Reproduced {
    /// What it is.
    pub experiment: Experiment,
    /// Published beside measured.
    pub values: Vec<Value>,
    /// Claims.
    pub claims: Vec<ClaimResult>,
    /// Readings of open rules.
    pub readings: Vec<ReadingResult>,
    /// Over several seeds.
    pub share: Option<Share>,
    /// Pictures with their headings.
    pub pictures: Vec<(String, Picture)>,
    /// Runs that were made for it alone or shared with others.
    pub runs: u64,
}

/// Why an experiment could not be run.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReproduceError {
    /// There is no such experiment.
    Unknown(String),
    /// Its data are not right: a fault of ours.
    Data(String),
    /// It could not be run.
    Sweep(SweepError),
    /// It was interrupted.
    Stopped,
}

impl From<SweepError> for ReproduceError {
    fn from(error: SweepError) -> Self {
        ReproduceError::Sweep(error)
    }
}

/// Which seeds and how many repetitions.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The seed of the judged runs; the rules say 1.
    pub seed: u64,
    /// Repetitions instead of each experiment's own.
    pub repetitions: Option<u32>,
    /// Seeds for the share inside; 0: none.
    pub seeds: u32,
    /// Repetitions for each reading of an open rule; 0: none.
    pub reading_repetitions: u32,
    /// Draw pictures.
    pub pictures: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { seed: 1, repetitions: None, seeds: 20, reading_repetitions: 1000, pictures: true }
    }
}

/// Every experiment's id and title, in the order of the papers.
pub fn list() -> Result<Vec<(String, String)>, ReproduceError> {
    let mut all = Vec::new();
    for paper in PAPERS {
        for e in paper.experiments().map_err(ReproduceError::Data)? {
            all.push((e.id, e.title));
        }
    }
    Ok(all)
}

/// The scenario file behind an experiment.
pub fn scenario_text(id: &str) -> Option<&'static str> {
    let (paper, experiment) = find(id).ok()?;
    paper.file(&format!("{}.scenario.toml", experiment.scenario))
}

fn find(id: &str) -> Result<(&'static Paper, Experiment), ReproduceError> {
    for paper in PAPERS {
        let experiments = paper.experiments().map_err(ReproduceError::Data)?;
        if let Some(e) = experiments.into_iter().find(|e| e.id == id) {
            return Ok((paper, e));
        }
    }
    Err(ReproduceError::Unknown(id.to_owned()))
}

/// The results of a grid: per cell its labels and, per metric, the values by repetition.
struct Grid {
    labels: Vec<Vec<String>>,
    /// Value of each axis by cell, for pictures.
    sweep: Sweep,
    values: Vec<Vec<Vec<Option<f64>>>>,
    metrics: Vec<String>,
}

impl Grid {
    fn cell(&self, labels: &[&str]) -> Option<usize> {
        self.labels.iter().position(|l| l.iter().map(String::as_str).eq(labels.iter().copied()))
    }
    fn metric(&self, name: &str) -> Option<usize> {
        self.metrics.iter().position(|m| m == name)
    }
}

struct View<'a> {
    grid: &'a Grid,
    quantity: &'a BTreeMap<String, String>,
}

impl Cells for View<'_> {
    fn values(&self, quantity: &str, labels: &[&str]) -> Result<Vec<Option<f64>>, String> {
        let name = self.quantity.get(quantity).map_or(quantity, String::as_str);
        let metric = self.grid.metric(name).ok_or_else(|| format!("{name} is not measured"))?;
        let cell = self.grid.cell(labels).ok_or_else(|| format!("there is no cell {}", labels.join("/")))?;
        Ok(self.grid.values[cell][metric].clone())
    }
}

/// Runs experiments, sharing runs between those that have the same scenario.
pub struct Laboratory<'a> {
    settings: Settings,
    control: &'a Control<'a>,
    grids: BTreeMap<String, Rc<Grid>>,
    version: &'a str,
}

impl<'a> Laboratory<'a> {
    /// A laboratory in which nothing has been run yet.
    pub fn new(settings: Settings, control: &'a Control<'a>, version: &'a str) -> Self {
        Laboratory { settings, control, grids: BTreeMap::new(), version }
    }

    /// Runs one experiment.
    pub fn reproduce(&mut self, id: &str) -> Result<Reproduced, ReproduceError> {
        let (paper, experiment) = find(id)?;
        let claims = paper.claims().map_err(ReproduceError::Data)?;
        let repetitions = self.settings.repetitions.unwrap_or(experiment.repetitions);
        let grid = self.grid(paper, &experiment, &[], self.settings.seed, repetitions)?;
        let values = values(&experiment, &grid)?;
        let claim_results = judge_claims(&experiment, &claims, &grid)?;
        let readings = self.readings(paper, &experiment)?;
        let share = self.share(paper, &experiment)?;
        let pictures =
            if self.settings.pictures { pictures(&experiment, &grid, &claim_results)? } else { Vec::new() };
        let runs = grid.sweep.total();
        Ok(Reproduced { experiment, values, claims: claim_results, readings, share, pictures, runs })
    }

    fn grid(
        &mut self,
        paper: &Paper,
        experiment: &Experiment,
        set: &[String],
        seed: u64,
        repetitions: u32,
    ) -> Result<Rc<Grid>, ReproduceError> {
        let axes: Vec<&str> = experiment.axis.iter().map(|a| a.path.as_str()).collect();
        let key = format!(
            "{}/{} {seed} {repetitions} {} {}",
            paper.name,
            experiment.scenario,
            axes.join(" "),
            set.join(" ")
        );
        if let Some(grid) = self.grids.get(&key) {
            return Ok(Rc::clone(grid));
        }
        let file = format!("{}.scenario.toml", experiment.scenario);
        let text = paper.file(&file).ok_or_else(|| ReproduceError::Data(format!("no file {file}")))?;
        let name = format!("experiments/{}/{file}", paper.name);
        let scenario = scenario::read_with(&name, text.as_bytes(), &NoFiles, set)
            .map_err(|d| ReproduceError::Sweep(SweepError::Scenario(d)))?;
        let sweep = Sweep::new(&scenario, Some(repetitions), Some(seed), self.version)?;
        let (rows, complete) = sweep.run(None, self.control)?;
        if !complete {
            return Err(ReproduceError::Stopped);
        }
        let metrics: Vec<String> = sweep.header.columns.iter().map(|c| c.name.clone()).collect();
        let empty = vec![vec![None; repetitions as usize]; metrics.len()];
        let mut values = vec![empty; sweep.cells.len()];
        for row in &rows {
            for (metric, value) in row.values.iter().enumerate() {
                values[row.cell as usize][metric][row.repetition as usize] = *value;
            }
        }
        let labels = labels(experiment, &scenario, &sweep)?;
        let grid = Rc::new(Grid { labels, sweep, values, metrics });
        self.grids.insert(key, Rc::clone(&grid));
        Ok(grid)
    }

    fn readings(
        &mut self,
        paper: &Paper,
        experiment: &Experiment,
    ) -> Result<Vec<ReadingResult>, ReproduceError> {
        let repetitions = self.settings.reading_repetitions;
        let mut all = Vec::new();
        if repetitions == 0 || experiment.table.is_none() {
            return Ok(all);
        }
        for reading in &experiment.reading {
            let set: Vec<String> = experiment.reading_fixes.iter().chain(&reading.set).cloned().collect();
            let grid = self.grid(paper, experiment, &set, self.settings.seed, repetitions)?;
            let values = values(experiment, &grid)?;
            all.push(ReadingResult {
                name: reading.name.clone(),
                chosen: reading.chosen,
                within: values.iter().filter(|v| v.within).count(),
                measured: values.into_iter().map(|v| (v.key, v.measured)).collect(),
            });
        }
        Ok(all)
    }

    fn share(&mut self, paper: &Paper, experiment: &Experiment) -> Result<Option<Share>, ReproduceError> {
        let Some(table) = experiment.table.as_ref().filter(|t| t.repetitions > 1) else { return Ok(None) };
        if self.settings.seeds == 0 {
            return Ok(None);
        }
        let mut share =
            Share { seeds: self.settings.seeds, repetitions: table.repetitions, within: 0, of: 0 };
        for seed in 1..=u64::from(self.settings.seeds) {
            let grid = self.grid(paper, experiment, &[], seed, table.repetitions)?;
            let values = values(experiment, &grid)?;
            share.within += values.iter().filter(|v| v.within).count();
            share.of += values.len();
        }
        Ok(Some(share))
    }
}

/// The labels of each cell: an axis that was set from outside has one value.
fn labels(
    experiment: &Experiment,
    scenario: &Scenario,
    sweep: &Sweep,
) -> Result<Vec<Vec<String>>, ReproduceError> {
    let label = |cell: &crate::sweep::Prepared, axis: &experiment::Axis| {
        let value = cell
            .params
            .iter()
            .chain(scenario.overrides())
            .find(|(path, _)| *path == axis.path)
            .map(|(_, value)| value.trim_matches('"'));
        value.and_then(|v| axis.labels.get(v)).cloned().ok_or_else(|| {
            ReproduceError::Data(format!("{}: no label for {} = {value:?}", experiment.id, axis.path))
        })
    };
    sweep.cells.iter().map(|cell| experiment.axis.iter().map(|axis| label(cell, axis)).collect()).collect()
}

fn values(experiment: &Experiment, grid: &Grid) -> Result<Vec<Value>, ReproduceError> {
    let Some(table) = &experiment.table else { return Ok(Vec::new()) };
    let metric = grid
        .metric(&table.metric)
        .ok_or_else(|| ReproduceError::Data(format!("{}: no metric {}", experiment.id, table.metric)))?;
    let mut all = Vec::new();
    for (cell, labels) in grid.labels.iter().enumerate() {
        let key = labels.join("/");
        let Some(&published) = table.values.get(&key) else { continue };
        let Some(summary) = Summary::of(&grid.values[cell][metric]) else { continue };
        let n = f64::from(table.repetitions);
        let chance = 1.96 * summary.stddev.unwrap_or(0.0) * (1.0 / n + 1.0 / summary.n as f64).sqrt();
        let tolerance = table.band.of(published).max(chance);
        let within = (summary.mean - published).abs() <= tolerance;
        all.push(Value {
            why: if within { None } else { table.differs.get(&key).cloned() },
            key,
            published,
            measured: summary.mean,
            ci95: summary.ci95,
            unit: table.unit.clone(),
            tolerance,
            within,
        });
    }
    Ok(all)
}

fn judge_claims(
    experiment: &Experiment,
    claims: &Claims,
    grid: &Grid,
) -> Result<Vec<ClaimResult>, ReproduceError> {
    let view = View { grid, quantity: &claims.quantity };
    let mut all = Vec::new();
    for c in claims.claim.iter().filter(|c| c.experiment == experiment.id) {
        let data = |e: String| ReproduceError::Data(format!("{}: {e}", c.id));
        let repetitions = grid.sweep.repetitions as usize;
        let (holds, detail, found) = if c.exists {
            let found = claim::witness(&c.test, repetitions, &view).map_err(data)?;
            let detail = match found {
                Some(i) => format!("repetition {i}, the first of {repetitions} that show it"),
                None => format!("in none of {repetitions} repetitions"),
            };
            (found.is_some(), detail, found.map(|i| i as u64))
        } else {
            let over: Vec<(String, Vec<String>)> =
                c.over.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
            let outcome = claim::judge(&c.test, &over, &view).map_err(data)?;
            (outcome.holds, outcome.detail, None)
        };
        all.push(ClaimResult { id: c.id.clone(), text: c.text.clone(), holds, detail, witness: found });
    }
    Ok(all)
}

fn pictures(
    experiment: &Experiment,
    grid: &Grid,
    claims: &[ClaimResult],
) -> Result<Vec<(String, Picture)>, ReproduceError> {
    let mut all = Vec::new();
    for spec in &experiment.picture {
        let labels: Vec<&str> = spec.cell.split('/').filter(|l| !l.is_empty()).collect();
        let cell = grid.cell(&labels).ok_or_else(|| {
            ReproduceError::Data(format!("{}: no cell {} to draw", experiment.id, spec.cell))
        })?;
        let repetition = match &spec.witness {
            None => spec.repetition,
            Some(id) => match claims.iter().find(|c| c.id == *id).and_then(|c| c.witness) {
                Some(repetition) => repetition,
                None => continue,
            },
        };
        all.push((spec.title.clone(), picture(&grid.sweep.cells[cell].model, repetition, 0)));
    }
    Ok(all)
}

/// Adds up several experiments.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Published values.
    pub values: usize,
    /// Those inside.
    pub within: usize,
    /// Claims.
    pub claims: usize,
    /// Those that hold.
    pub hold: usize,
}

impl Totals {
    /// Over experiments that were run.
    pub fn of(all: &[Reproduced]) -> Totals {
        let mut t = Totals::default();
        for r in all {
            t.values += r.values.len();
            t.within += r.values.iter().filter(|v| v.within).count();
            t.claims += r.claims.len();
            t.hold += r.claims.iter().filter(|c| c.holds).count();
        }
        t
    }
    /// Everything is as published.
    pub fn good(&self) -> bool {
        self.within == self.values && self.hold == self.claims
    }
}

/// A progress report that says nothing.
pub fn quiet(_: Progress) {}
