//! Reproduction of published experiments: measured beside published, verdicts on values and claims.
//!
//! Their experiments are run, each published value is set beside the measured one and judged, each claim is tested.
//!
//! A value is inside if it is off by at most max(a fixed part, 1.96 s sqrt(1/n + 1/m)): s the measured
//! standard deviation, n the repetitions behind the published mean, m ours. The fixed part is 5 % for
//! times, 1 % for numbers of segments, 0.02 for ratios, 0.5 for counts. A published percentile p is inside if it is
//! off by no more than the fixed part, or lies between our percentiles p -+ 1.96 sqrt(p (1 - p) (1/n + 1/m)): where
//! nineteen of twenty samples of n have theirs.

pub mod claim;
pub mod experiment;
mod grid;
mod groups;
pub mod json;
pub mod page;
pub mod today;

use crate::picture::picture;
use crate::sweep::{Control, Progress, Sweep, SweepError};
use experiment::{Claims, Experiment, GROUPS, Group, Published};
use grid::{Grid, Measured, View, cases};
use report::Picture;
use results::stats::Summary;
use scenario::{Model, NoFiles};
use std::collections::BTreeMap;
use std::rc::Rc;

/// One published value beside what was measured.
#[derive(Clone, Debug)]
pub struct Value {
    /// Labels joined with slashes.
    pub key: String,
    /// As printed in the group.
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
    /// What kernels of today make of the same path, if they were asked: mean and its 95 % interval.
    pub linux: Option<(f64, Option<[f64; 2]>)>,
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
    /// If it does not hold: the known cause.
    pub why: Option<String>,
    /// For a claim that something exists: the repetition in which it does.
    pub witness: Option<u64>,
}

/// A claim that cannot be tested here.
#[derive(Clone, Debug)]
pub struct Untested {
    /// `C091`.
    pub id: String,
    /// In words.
    pub text: String,
    /// Why not.
    pub why: String,
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
    /// Claims that cannot be tested here, with the reason.
    pub untested: Vec<Untested>,
    /// Readings of open rules.
    pub readings: Vec<ReadingResult>,
    /// Over several seeds.
    pub share: Option<Share>,
    /// Pictures with their headings.
    pub pictures: Vec<(String, Picture)>,
    /// Runs that were made for it alone or shared with others.
    pub runs: u64,
    /// Beside kernels of today, if they were asked and can.
    pub today: Option<today::Today>,
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
    /// Most repetitions that kernels of today play beside the study's senders; 0: none.
    pub today: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            seed: 1,
            repetitions: None,
            seeds: 20,
            reading_repetitions: 1000,
            pictures: true,
            today: 0,
        }
    }
}

/// Every experiment's id and title, by group.
pub fn list() -> Result<Vec<(String, String)>, ReproduceError> {
    let mut all = Vec::new();
    for group in GROUPS {
        for e in group.experiments().map_err(ReproduceError::Data)? {
            all.push((e.id, e.title));
        }
    }
    Ok(all)
}

/// The scenario file behind an experiment.
pub fn scenario_text(id: &str) -> Option<&'static str> {
    let (group, experiment) = find(id).ok()?;
    group.file(&format!("{}.scenario.toml", experiment.scenario?))
}

fn find(id: &str) -> Result<(&'static Group, Experiment), ReproduceError> {
    for group in GROUPS {
        let experiments = group.experiments().map_err(ReproduceError::Data)?;
        if let Some(e) = experiments.into_iter().find(|e| e.id == id) {
            return Ok((group, e));
        }
    }
    Err(ReproduceError::Unknown(id.to_owned()))
}

/// Runs experiments, sharing runs between those that have the same scenario.
pub struct Laboratory<'a> {
    settings: Settings,
    control: &'a Control<'a>,
    measured: BTreeMap<String, Rc<Measured>>,
    played: Vec<today::Played>,
    version: &'a str,
}

impl<'a> Laboratory<'a> {
    /// A laboratory in which nothing has been run yet.
    pub fn new(settings: Settings, control: &'a Control<'a>, version: &'a str) -> Self {
        Laboratory { settings, control, measured: BTreeMap::new(), played: Vec::new(), version }
    }

    /// Runs one experiment.
    pub fn reproduce(&mut self, id: &str) -> Result<Reproduced, ReproduceError> {
        let (group, experiment) = find(id)?;
        let claims = group.claims().map_err(ReproduceError::Data)?;
        let repetitions = match (self.settings.repetitions, experiment.repetitions) {
            // Single runs stay single, and what was made small because it takes long stays small.
            (Some(n), own) if own >= 100 || n < own => n,
            (_, own) => own,
        };
        let grid = self.grid(group, &experiment, &[], self.settings.seed, repetitions)?;
        let mut values = values(&experiment, &claims, &grid)?;
        let grid_today = self.grid_today(&experiment, &grid)?;
        if let Some(today) = &grid_today {
            beside(&mut values, &experiment, &claims, today)?;
        }
        let today = grid_today.as_ref().map(|today| self.today(&grid, today)).transpose()?;
        let (claim_results, untested) = judge_claims(&experiment, &claims, &grid)?;
        let readings = self.readings(group, &experiment, &claims)?;
        let share = self.share(group, &experiment, &claims)?;
        let mut pictures =
            if self.settings.pictures { pictures(&experiment, &grid, &claim_results)? } else { Vec::new() };
        if let Some(today) = grid_today.as_ref().filter(|_| self.settings.pictures) {
            pictures.extend(self.pictures_today(&experiment, today, &claim_results)?);
        }
        let runs = grid.total();
        Ok(Reproduced {
            experiment,
            values,
            claims: claim_results,
            untested,
            readings,
            share,
            pictures,
            runs,
            today,
        })
    }

    /// What is drawn of the study's senders, of kernels; what is the same path and repetition, once.
    fn pictures_today(
        &self,
        experiment: &Experiment,
        grid: &Grid,
        claims: &[ClaimResult],
    ) -> Result<Vec<(String, Picture)>, ReproduceError> {
        let mut all = Vec::new();
        let mut drawn: Vec<(&Model, u64, usize)> = Vec::new();
        for (_, model, repetition, flow) in scenes(experiment, grid, claims)? {
            if drawn.contains(&(model, repetition, flow)) {
                continue;
            }
            drawn.push((model, repetition, flow));
            let picture = today::picture(self.control, model, repetition, flow)?;
            all.extend(picture.map(|picture| ("Linux of today on the same path".to_owned(), picture)));
        }
        Ok(all)
    }

    /// The cells of an experiment; runs that were made already are not made again.
    fn grid(
        &mut self,
        group: &Group,
        experiment: &Experiment,
        set: &[String],
        seed: u64,
        repetitions: u32,
    ) -> Result<Grid, ReproduceError> {
        let mut parts = Vec::new();
        for case in cases(experiment) {
            let Some(scenario) = case.scenario.as_ref().or(experiment.scenario.as_ref()) else { continue };
            let all: Vec<String> = experiment.set.iter().chain(&case.set).chain(set).cloned().collect();
            parts.push(self.measured(group, scenario, &all, seed, repetitions)?);
        }
        Grid::new(experiment, parts)
    }

    fn measured(
        &mut self,
        group: &Group,
        scenario: &str,
        set: &[String],
        seed: u64,
        repetitions: u32,
    ) -> Result<Rc<Measured>, ReproduceError> {
        let key = format!("{}/{scenario} {seed} {repetitions} {}", group.name, set.join(" "));
        if let Some(measured) = self.measured.get(&key) {
            return Ok(Rc::clone(measured));
        }
        let file = format!("{scenario}.scenario.toml");
        let text = group.file(&file).ok_or_else(|| ReproduceError::Data(format!("no file {file}")))?;
        let name = format!("experiments/{}/{file}", group.name);
        let scenario = scenario::read_with(&name, text.as_bytes(), &NoFiles, set)
            .map_err(|d| ReproduceError::Sweep(SweepError::Scenario(d)))?;
        let sweep = Sweep::new(&scenario, Some(repetitions), Some(seed), self.version)?;
        let (rows, complete) = sweep.run(None, self.control)?;
        if !complete {
            return Err(ReproduceError::Stopped);
        }
        let measured = Rc::new(Measured::new(sweep, &scenario, &rows));
        self.measured.insert(key, Rc::clone(&measured));
        Ok(measured)
    }

    fn readings(
        &mut self,
        group: &Group,
        experiment: &Experiment,
        claims: &Claims,
    ) -> Result<Vec<ReadingResult>, ReproduceError> {
        let repetitions =
            experiment.reading_repetitions.unwrap_or(u32::MAX).min(self.settings.reading_repetitions);
        let mut all = Vec::new();
        if repetitions == 0 || experiment.tables().next().is_none() {
            return Ok(all);
        }
        for reading in &experiment.reading {
            let set: Vec<String> = experiment.reading_fixes.iter().chain(&reading.set).cloned().collect();
            let grid = self.grid(group, experiment, &set, self.settings.seed, repetitions)?;
            let values = values(experiment, claims, &grid)?;
            all.push(ReadingResult {
                name: reading.name.clone(),
                chosen: reading.chosen,
                within: values.iter().filter(|v| v.within).count(),
                measured: values.into_iter().map(|v| (v.key, v.measured)).collect(),
            });
        }
        Ok(all)
    }

    fn share(
        &mut self,
        group: &Group,
        experiment: &Experiment,
        claims: &Claims,
    ) -> Result<Option<Share>, ReproduceError> {
        let Some(table) = experiment.tables().find(|t| t.repetitions > 1) else { return Ok(None) };
        let seeds = experiment.seeds.unwrap_or(u32::MAX).min(self.settings.seeds);
        if seeds == 0 {
            return Ok(None);
        }
        let mut share = Share { seeds, repetitions: table.repetitions, within: 0, of: 0 };
        for seed in 1..=u64::from(seeds) {
            let grid = self.grid(group, experiment, &[], seed, table.repetitions)?;
            let values = values(experiment, claims, &grid)?;
            share.within += values.iter().filter(|v| v.within).count();
            share.of += values.len();
        }
        Ok(Some(share))
    }
}

/// Puts beside values what kernels make of the same cells. What is computed from several cells has no such thing: they
/// differ in the study's senders, and a kernel is no such sender.
fn beside(
    values: &mut [Value],
    experiment: &Experiment,
    claims: &Claims,
    today: &Grid,
) -> Result<(), ReproduceError> {
    let mut plain = experiment.clone();
    plain.table = plain.table.filter(|table| table.value.is_none());
    plain.column.retain(|table| table.value.is_none());
    for linux in self::values(&plain, claims, today)? {
        if let Some(value) = values.iter_mut().find(|value| value.key == linux.key) {
            value.linux = Some((linux.measured, linux.ci95));
        }
    }
    Ok(())
}

fn values(experiment: &Experiment, claims: &Claims, grid: &Grid) -> Result<Vec<Value>, ReproduceError> {
    let view = View { grid, quantity: &claims.quantity };
    let mut all = Vec::new();
    for table in experiment.tables() {
        let wrong = |e: String| ReproduceError::Data(format!("{}: {e}", experiment.id));
        if table.value.is_some() {
            for (key, published) in &table.values {
                let each = table.computed(key, &view).map_err(wrong)?;
                all.extend(value(table, key, *published, &each));
            }
            continue;
        }
        for labels in grid.labels() {
            let key = labels.join("/");
            let Some(&published) = table.values.get(&key) else { continue };
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            let each = claim::Cells::values(&view, &table.metric, &labels).map_err(wrong)?;
            all.extend(value(table, &key, published, &each));
        }
    }
    Ok(all)
}

/// A published percentile beside ours.
fn percentile(table: &Published, published: f64, p: f64, each: &[Option<f64>]) -> Option<(f64, f64)> {
    let mut sorted: Vec<f64> = each.iter().flatten().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let at = |p: f64| {
        let h = p.clamp(0.0, 1.0) * last as f64;
        let (below, part) = (h as usize, h - (h as usize) as f64);
        sorted[below] + part * (sorted[(below + 1).min(last)] - sorted[below])
    };
    let reach =
        1.96 * (p * (1.0 - p) * (1.0 / f64::from(table.repetitions) + 1.0 / sorted.len() as f64)).sqrt();
    let measured = at(p);
    let chance = if published > measured { at(p + reach) - measured } else { measured - at(p - reach) };
    Some((measured, table.band.of(published).max(chance)))
}

/// One published value beside the repetitions of its cell.
fn value(table: &Published, key: &str, published: f64, each: &[Option<f64>]) -> Option<Value> {
    let summary = Summary::of(each)?;
    let n = f64::from(table.repetitions);
    let chance = 1.96 * summary.stddev.unwrap_or(0.0) * (1.0 / n + 1.0 / summary.n as f64).sqrt();
    let (measured, tolerance) = match table.percentile {
        Some(p) => percentile(table, published, p, each)?,
        None => (summary.mean, table.band.of(published).max(chance)),
    };
    let within = (measured - published).abs() <= tolerance;
    let own = if table.name.is_empty() { key.to_owned() } else { format!("{key}/{}", table.name) };
    Some(Value {
        why: if within { None } else { table.why(key) },
        key: own,
        published,
        measured,
        ci95: summary.ci95.filter(|_| table.percentile.is_none()),
        unit: table.unit.clone(),
        tolerance,
        within,
        linux: None,
    })
}

fn judge_claims(
    experiment: &Experiment,
    claims: &Claims,
    grid: &Grid,
) -> Result<(Vec<ClaimResult>, Vec<Untested>), ReproduceError> {
    let view = View { grid, quantity: &claims.quantity };
    let (mut all, mut untested) = (Vec::new(), Vec::new());
    for c in claims.claim.iter().filter(|c| c.experiment == experiment.id) {
        if let Some(why) = &c.untestable {
            untested.push(Untested { id: c.id.clone(), text: c.text.clone(), why: why.clone() });
            continue;
        }
        let data = |e: String| ReproduceError::Data(format!("{}: {e}", c.id));
        let repetitions = grid.repetitions();
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
        let why = c.differs.clone().filter(|_| !holds);
        all.push(ClaimResult { id: c.id.clone(), text: c.text.clone(), holds, detail, why, witness: found });
    }
    Ok((all, untested))
}

/// What an experiment draws: heading, model, repetition, flow.
type Scene<'a> = (&'a str, &'a Model, u64, usize);

fn scenes<'a>(
    experiment: &'a Experiment,
    grid: &'a Grid,
    claims: &[ClaimResult],
) -> Result<Vec<Scene<'a>>, ReproduceError> {
    let mut all = Vec::new();
    for spec in &experiment.picture {
        let labels: Vec<&str> = spec.cell.split('/').filter(|l| !l.is_empty()).collect();
        let model = grid.model(&labels).ok_or_else(|| {
            ReproduceError::Data(format!("{}: no cell {} to draw", experiment.id, spec.cell))
        })?;
        let repetition = match &spec.witness {
            None => spec.repetition,
            Some(id) => match claims.iter().find(|c| c.id == *id).and_then(|c| c.witness) {
                Some(repetition) => repetition,
                None => continue,
            },
        };
        let flow =
            spec.flow.as_ref().and_then(|f| model.flows.iter().position(|x| x.name == *f)).unwrap_or(0);
        all.push((spec.title.as_str(), model, repetition, flow));
    }
    Ok(all)
}

fn pictures(
    experiment: &Experiment,
    grid: &Grid,
    claims: &[ClaimResult],
) -> Result<Vec<(String, Picture)>, ReproduceError> {
    let draw =
        |(title, model, repetition, flow): Scene<'_>| (title.to_owned(), picture(model, repetition, flow));
    Ok(scenes(experiment, grid, claims)?.into_iter().map(draw).collect())
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
    /// Claims that cannot be tested here, not counted above.
    pub untested: usize,
}

impl Totals {
    /// Over experiments that were run.
    pub fn of(all: &[Reproduced]) -> Totals {
        let mut t = Totals::default();
        for r in all {
            t.values += r.values.len();
            t.within += r.values.iter().filter(|v| v.within).count();
            t.claims += r.claims.len();
            t.untested += r.untested.len();
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
