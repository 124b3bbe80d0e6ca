//! Runner of published experiments: runs their cells, pictures, readings and seeds, and reuses runs of equal
//! models and repetitions.

use super::experiment::{Claims, Experiment, Group};
use super::grid::{Grid, Measured, cases};
use super::single_pictures::{pictures, scenes};
use super::value::{beside, values};
use super::{
    ClaimResult, ReadingResult, ReproduceError, Reproduced, Settings, Share, figure, find, kernel_comparison,
    verdict,
};
use crate::sweep::{Prepared, Sweep, SweepControl, SweepError};
use report::Picture;
use results::CompactRows;
use scenario::{Model, NoFiles, Scenario};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Runner of published experiments, which reuses runs of equal models.
pub struct Laboratory<'a> {
    pub(super) settings: Settings,
    pub(super) control: &'a SweepControl<'a>,
    measured: BTreeMap<String, Rc<Measured>>,
    runs: Vec<Run>,
    pub(super) played: Vec<kernel_comparison::RepetitionResults>,
    version: &'a str,
}

/// Results of one model.
struct Run {
    model: Model,
    repetitions: u32,
    rows: Rc<CompactRows>,
}

impl<'a> Laboratory<'a> {
    /// A laboratory without runs.
    pub fn new(settings: Settings, control: &'a SweepControl<'a>, version: &'a str) -> Self {
        Laboratory {
            settings,
            control,
            measured: BTreeMap::new(),
            runs: Vec::new(),
            played: Vec::new(),
            version,
        }
    }

    /// Runs one experiment.
    pub fn reproduce(&mut self, id: &str) -> Result<Reproduced, ReproduceError> {
        let (group, experiment) = find(id)?;
        let claims = group.claims()?;
        let repetitions = self.settings.of(&experiment);
        let grid = self.grid(group, &experiment, &[], self.settings.seed, repetitions)?;
        let mut values = values(&experiment, &claims, &grid)?;
        let grid_today = self.grid_today(&experiment, &grid)?;
        if let Some(kernels) = &grid_today {
            beside(&mut values, &experiment, &claims, kernels)?;
        }
        let kernels = grid_today.as_ref().map(|kernels| self.kernels(&grid, kernels)).transpose()?;
        let (claim_results, untested) = verdict::claims(&experiment, &claims, &grid)?;
        let readings = self.readings(group, &experiment, &claims)?;
        let share = self.share(group, &experiment, &claims)?;
        let figures = figure::figures(&experiment, &claims, &grid)?;
        let mut pictures = if self.settings.pictures {
            pictures(&experiment, &grid, &claim_results, self.control.jobs)?
        } else {
            Vec::new()
        };
        if let Some(kernels) = grid_today.as_ref().filter(|_| self.settings.pictures) {
            pictures.extend(self.pictures_today(&experiment, kernels, &claim_results)?);
        }
        let runs = grid.total();
        Ok(Reproduced {
            experiment,
            values,
            claims: claim_results,
            untested,
            readings,
            share,
            figures,
            pictures,
            runs,
            kernels,
        })
    }

    /// Pictures of a kernel in place of the study's senders; scenes with equal path and repetition are drawn
    /// once.
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
            let picture = kernel_comparison::picture(self.control, model, repetition, flow)?;
            all.extend(picture.map(|picture| ("Linux of today on the same path".to_owned(), picture)));
        }
        Ok(all)
    }

    /// Cells of an experiment; existing runs are reused. The runs of all cases share one thread pool, so that
    /// no thread idles at the end of each case.
    fn grid(
        &mut self,
        group: &Group,
        experiment: &Experiment,
        set: &[String],
        seed: u64,
        repetitions: u32,
    ) -> Result<Grid, ReproduceError> {
        let (mut keys, mut new) = (Vec::new(), Vec::<(String, Scenario, Sweep)>::new());
        for case in cases(experiment) {
            let Some(scenario) = case.scenario.as_ref().or(experiment.scenario.as_ref()) else { continue };
            let all: Vec<String> = experiment.set.iter().chain(&case.set).chain(set).cloned().collect();
            let key = key(group, scenario, &all, seed, repetitions);
            if !self.measured.contains_key(&key) && new.iter().all(|(other, ..)| *other != key) {
                let scenario = read(group, scenario, &all)?;
                let sweep = Sweep::whole(&scenario, Some(repetitions), Some(seed), self.version)?;
                new.push((key.clone(), scenario, sweep));
            }
            keys.push(key);
        }
        self.run(new.iter().map(|(_, _, sweep)| sweep))?;
        for (key, scenario, sweep) in new {
            let rows = self.rows(&sweep);
            let measured = Rc::new(Measured::new(sweep, &scenario, rows, self.control.jobs));
            self.measured.insert(key, measured);
        }
        Grid::new(experiment, keys.iter().filter_map(|key| self.measured.get(key)).map(Rc::clone).collect())
    }

    /// Index of a run of this model with at least this number of repetitions.
    fn known(&self, model: &Model, repetitions: u32) -> Option<usize> {
        self.runs.iter().position(|run| run.repetitions >= repetitions && run.model == *model)
    }

    /// Runs the cells of sweeps with equal repetitions. A cell whose model has a run with enough repetitions
    /// is not run again, even from another scenario file.
    fn run<'s>(&mut self, sweeps: impl Iterator<Item = &'s Sweep>) -> Result<(), ReproduceError> {
        let mut new: Vec<Prepared> = Vec::new();
        let mut like = None;
        for sweep in sweeps {
            for cell in sweep.cells.held() {
                if self.known(&cell.model, sweep.repetitions).is_none()
                    && !new.iter().any(|other| other.model == cell.model)
                {
                    new.push(Prepared { params: Vec::new(), model: cell.model.clone() });
                    like.get_or_insert(sweep);
                }
            }
        }
        let Some(like) = like else { return Ok(()) };
        let all = Sweep {
            cells: new.into(),
            repetitions: like.repetitions,
            part: like.part,
            header: like.header.clone(),
            tables: None,
            captures: None,
        };
        let by_cell = by_cell(&all, self.control)?;
        let repetitions = all.repetitions;
        let runs = all.cells.into_held().into_iter().zip(by_cell);
        self.runs.extend(runs.map(|(cell, rows)| Run { model: cell.model, repetitions, rows }));
        Ok(())
    }

    /// Rows of each cell of a sweep whose cells have runs, with at least the repetitions of the sweep.
    fn rows(&self, sweep: &Sweep) -> Vec<Rc<CompactRows>> {
        let rows = |cell: &Prepared| match self.known(&cell.model, sweep.repetitions) {
            Some(at) => Rc::clone(&self.runs[at].rows),
            None => Rc::default(),
        };
        sweep.cells.held().iter().map(rows).collect()
    }

    /// Runs the experiment with each reading of an open rule, if requested.
    fn readings(
        &mut self,
        group: &Group,
        experiment: &Experiment,
        claims: &Claims,
    ) -> Result<Vec<ReadingResult>, ReproduceError> {
        let repetitions =
            experiment.reading_repetitions.unwrap_or(u32::MAX).min(self.settings.reading_repetitions);
        let mut all = Vec::new();
        if repetitions == 0 {
            return Ok(all);
        }
        for reading in &experiment.reading {
            let set: Vec<String> = experiment.reading_fixes.iter().chain(&reading.set).cloned().collect();
            let grid = self.grid(group, experiment, &set, self.settings.seed, repetitions)?;
            let values = values(experiment, claims, &grid)?;
            let judged = verdict::claims(experiment, claims, &grid)?.0;
            all.push(ReadingResult {
                name: reading.name.clone(),
                chosen: reading.chosen,
                within: values.iter().filter(|v| v.within).count(),
                claims: judged.into_iter().map(|c| (c.id, c.holds, c.detail)).collect(),
                measured: values.into_iter().map(|v| (v.key, v.measured)).collect(),
            });
        }
        Ok(all)
    }

    /// Share of values inside over several seeds, if requested and the values have repetitions.
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

/// Runs a sweep and returns the rows of each cell.
pub(super) fn by_cell(
    sweep: &Sweep,
    control: &SweepControl<'_>,
) -> Result<Vec<Rc<CompactRows>>, ReproduceError> {
    let mut rows = vec![CompactRows::default(); sweep.cells.len()];
    if !sweep.run_each(None, control, &mut |row| rows[row.cell as usize].push(&row))? {
        return Err(ReproduceError::Stopped);
    }
    Ok(rows.into_iter().map(Rc::new).collect())
}

/// Key of a sweep: group, scenario, settings, seed and repetitions.
fn key(group: &Group, scenario: &str, set: &[String], seed: u64, repetitions: u32) -> String {
    format!("{}/{scenario} {seed} {repetitions} {}", group.name, set.join(" "))
}

fn read(group: &Group, scenario: &str, set: &[String]) -> Result<Scenario, ReproduceError> {
    let file = format!("{scenario}.scenario.toml");
    let text = group.file(&file).ok_or_else(|| ReproduceError::Data(format!("no file {file}")))?;
    let name = format!("experiments/{}/{file}", group.name);
    scenario::read_with(&name, text.as_bytes(), &NoFiles, set)
        .map_err(|d| ReproduceError::Sweep(SweepError::Scenario(d)))
}

/// Expected running time of each experiment as a share of the total, from the estimated packet hops. Runs that
/// several experiments share count for the first of these experiments.
pub fn weights(ids: &[String], settings: &Settings) -> Result<Vec<f64>, ReproduceError> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for id in ids {
        let (group, experiment) = find(id)?;
        let repetitions = settings.of(&experiment);
        let mut packet_hops = 0.0;
        for case in cases(&experiment) {
            let Some(scenario) = case.scenario.as_ref().or(experiment.scenario.as_ref()) else { continue };
            let set: Vec<String> = experiment.set.iter().chain(&case.set).cloned().collect();
            if seen.insert(key(group, scenario, &set, settings.seed, repetitions)) {
                let cost = read(group, scenario, &set)?.cost();
                packet_hops += cost.packet_hops / f64::from(cost.repetitions.max(1)) * f64::from(repetitions);
            }
        }
        let again = readings(&experiment, settings) + seeds(&experiment, settings);
        all.push(packet_hops * (1.0 + again / f64::from(repetitions.max(1))));
    }
    let sum: f64 = all.iter().sum();
    Ok(all.into_iter().map(|weight| weight / sum.max(f64::MIN_POSITIVE)).collect())
}

/// Total repetitions of all readings.
fn readings(experiment: &Experiment, settings: &Settings) -> f64 {
    let each = experiment.reading_repetitions.unwrap_or(u32::MAX).min(settings.reading_repetitions);
    f64::from(each) * experiment.reading.len() as f64
}

/// Total repetitions of all seeds.
fn seeds(experiment: &Experiment, settings: &Settings) -> f64 {
    let table = experiment.tables().find(|table| table.repetitions > 1);
    let seeds = experiment.seeds.unwrap_or(u32::MAX).min(settings.seeds);
    table.map_or(0.0, |table| f64::from(seeds) * f64::from(table.repetitions))
}
