//! Results of an experiment's scenarios by cell label, flow, metric and repetition; probes measured on
//! request.
//!
//! A cell has the labels of its case, then one label for each axis of the scenario's grid.

use super::ReproduceError;
use super::claim::Cells;
use super::experiment::{Axis, Experiment, ExperimentCase};
use crate::probe::{self, Readings};
use crate::sweep::{Counters, Prepared, Sweep, on_all_threads, real};
use results::CompactRows;
use scenario::{Model, Scenario};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Probe readings by repetition, for a cell and a flow.
type Traces = RefCell<BTreeMap<(usize, usize), Rc<Vec<Readings>>>>;

/// The results of one scenario with its grid.
pub(super) struct Measured {
    pub(super) sweep: Sweep,
    /// Settings that replace values of the scenario.
    overrides: Vec<(String, String)>,
    /// Rows of each cell; they may have more repetitions than the sweep.
    rows: Vec<Rc<CompactRows>>,
    metrics: Vec<String>,
    flows: Vec<String>,
    traces: Traces,
    /// Counters of the kernels, by cell, repetition and flow; empty without kernels.
    counted: Vec<Vec<Vec<Counters>>>,
    /// Threads that measure probes.
    jobs: usize,
}

impl Measured {
    /// The rows of each cell of a sweep.
    pub(super) fn new(sweep: Sweep, scenario: &Scenario, rows: Vec<Rc<CompactRows>>, jobs: usize) -> Self {
        let flows = scenario.first().subjects();
        Measured { jobs, ..Measured::of_flows(sweep, flows, scenario.overrides().to_vec(), rows) }
    }

    /// Results of another sweep of equal cells, with the counters of its kernels.
    pub(super) fn again(
        &self,
        sweep: Sweep,
        rows: Vec<Rc<CompactRows>>,
        counted: Vec<Vec<Vec<Counters>>>,
    ) -> Self {
        let again = Measured::of_flows(sweep, self.flows.clone(), self.overrides.clone(), rows);
        Measured { counted, jobs: self.jobs, ..again }
    }

    fn of_flows(
        sweep: Sweep,
        flows: Vec<String>,
        overrides: Vec<(String, String)>,
        rows: Vec<Rc<CompactRows>>,
    ) -> Self {
        let metrics: Vec<String> = sweep.header.columns.iter().map(|c| c.name.clone()).collect();
        let (traces, counted) = (RefCell::default(), Vec::new());
        Measured { sweep, overrides, rows, metrics, flows, traces, counted, jobs: 1 }
    }

    /// Values of a metric of a flow in a cell, by repetition.
    fn values(&self, cell: usize, flow: usize, metric: usize) -> Vec<Option<f64>> {
        let mut values = vec![None; self.sweep.repetitions as usize];
        let Some(rows) = self.rows.get(cell) else { return values };
        for row in 0..rows.len() {
            let (_, repetition, name) = rows.key(row);
            if name == self.flows[flow]
                && let Some(value) = values.get_mut(repetition as usize)
            {
                *value = rows.value(row, metric);
            }
        }
        values
    }

    /// Values of a metric or probe of a cell, of the first flow or of the flow named before a dot.
    fn of(&self, cell: usize, name: &str) -> Result<Vec<Option<f64>>, String> {
        let (flow, name) = name.split_once('.').map_or((None, name), |(flow, name)| (Some(flow), name));
        let flow = match flow {
            None => 0,
            Some(f) => self.flows.iter().position(|x| x == f).ok_or_else(|| format!("no flow {f}"))?,
        };
        if let Some(metric) = self.metrics.iter().position(|m| m == name) {
            return Ok(self.values(cell, flow, metric));
        }
        if !probe::is_probe(name) {
            return Err(format!("{name} is not measured"));
        }
        if real(&self.sweep.cells.held()[cell].model).is_some() {
            // A kernel records no trace of its internal state.
            return Ok(vec![None; self.sweep.repetitions as usize]);
        }
        Ok(self.trace(cell, flow).iter().map(|r| r.get(name).copied()).collect())
    }

    /// Probe readings of a flow in a cell, by repetition; measured at the first request.
    fn trace(&self, cell: usize, flow: usize) -> Rc<Vec<Readings>> {
        if let Some(found) = self.traces.borrow().get(&(cell, flow)) {
            return Rc::clone(found);
        }
        let model = &self.sweep.cells.held()[cell].model;
        let repetitions: Vec<u64> = (0..u64::from(self.sweep.repetitions)).collect();
        let all = Rc::new(on_all_threads(self.jobs, &repetitions, |r| probe::measure(model, *r, flow)));
        self.traces.borrow_mut().insert((cell, flow), Rc::clone(&all));
        all
    }

    /// Labels of each cell by the experiment's axes.
    fn labels(&self, experiment: &Experiment) -> Result<Vec<Vec<String>>, ReproduceError> {
        let label = |cell: &Prepared, axis: &Axis| {
            let all = cell.params.iter().chain(&self.overrides);
            let value =
                all.clone().find(|(path, _)| *path == axis.path).map(|(_, value)| value.trim_matches('"'));
            value.and_then(|v| axis.labels.get(v)).cloned().ok_or_else(|| {
                ReproduceError::Data(format!("{}: no label for {} = {value:?}", experiment.id, axis.path))
            })
        };
        let cells = self.sweep.cells.held().iter();
        cells.map(|cell| experiment.axis.iter().map(|axis| label(cell, axis)).collect()).collect()
    }
}

/// All cells of an experiment, over its cases.
pub(super) struct Grid {
    parts: Vec<Rc<Measured>>,
    /// Labels, index of the case's results, and cell within that scenario's grid.
    cells: Vec<(Vec<String>, usize, usize)>,
}

impl Grid {
    /// Joins the cases of an experiment; without cases there is one part.
    pub(super) fn new(experiment: &Experiment, parts: Vec<Rc<Measured>>) -> Result<Self, ReproduceError> {
        let mut cells = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            for (cell, mut labels) in part.labels(experiment)?.into_iter().enumerate() {
                if let Some(case) = experiment.case.get(i) {
                    labels.splice(0..0, case.label.split('/').map(str::to_owned));
                }
                cells.push((labels, i, cell));
            }
        }
        Ok(Grid { parts, cells })
    }

    /// Labels of every cell.
    pub(super) fn labels(&self) -> impl Iterator<Item = &Vec<String>> {
        self.cells.iter().map(|c| &c.0)
    }

    /// Results of each case.
    pub(super) fn parts(&self) -> &[Rc<Measured>] {
        &self.parts
    }

    /// Counters of the kernels in the cell with these labels, by repetition and flow.
    pub(super) fn counted(&self, labels: &[&str]) -> &[Vec<Counters>] {
        let found = self.find(labels).and_then(|(part, cell)| self.parts[part].counted.get(cell));
        found.map_or(&[], Vec::as_slice)
    }

    /// Repetitions per cell.
    pub(super) fn repetitions(&self) -> usize {
        self.parts.first().map_or(0, |p| p.sweep.repetitions as usize)
    }

    /// The experiment's own number of repetitions, if this run has another number or a seed other than 1; otherwise
    /// `None`. Reasons for differences refer to the experiment's own number and seed 1.
    pub(super) fn others(&self, experiment: &Experiment) -> Option<u32> {
        let cells = self.parts.iter().flat_map(|part| part.sweep.cells.held());
        let same = self.repetitions() == experiment.repetitions as usize
            && cells.into_iter().all(|cell| cell.model.run.seed == 1);
        (!same).then_some(experiment.repetitions)
    }

    /// Total number of repetitions.
    pub(super) fn total(&self) -> u64 {
        self.parts.iter().map(|p| p.sweep.total()).sum()
    }

    /// Model of the cell with these labels.
    pub(super) fn model(&self, labels: &[&str]) -> Option<&Model> {
        let (part, cell) = self.find(labels)?;
        Some(&self.parts[part].sweep.cells.held()[cell].model)
    }

    /// Values of a metric or probe in the cell with these labels, by repetition.
    pub(super) fn values(&self, name: &str, labels: &[&str]) -> Result<Vec<Option<f64>>, String> {
        let (part, cell) =
            self.find(labels).ok_or_else(|| format!("there is no cell {}", labels.join("/")))?;
        self.parts[part].of(cell, name)
    }

    fn find(&self, labels: &[&str]) -> Option<(usize, usize)> {
        let same = |l: &Vec<String>| l.iter().map(String::as_str).eq(labels.iter().copied());
        self.cells.iter().find(|c| same(&c.0)).map(|c| (c.1, c.2))
    }
}

/// Grid whose quantities have the short names of a paper.
pub(super) struct View<'a> {
    pub(super) grid: &'a Grid,
    pub(super) quantity: &'a BTreeMap<String, String>,
}

impl Cells for View<'_> {
    fn values(&self, quantity: &str, labels: &[&str]) -> Result<Vec<Option<f64>>, String> {
        self.grid.values(self.quantity.get(quantity).map_or(quantity, String::as_str), labels)
    }
}

/// Cases of an experiment; a single case without settings if it has none.
pub(super) fn cases(experiment: &Experiment) -> Vec<ExperimentCase> {
    if experiment.case.is_empty() {
        vec![ExperimentCase { label: String::new(), set: Vec::new(), scenario: None }]
    } else {
        experiment.case.clone()
    }
}
