//! Comparison of a published experiment with real Linux kernels in place of its modelled senders, on equal
//! paths, weather and data, repetition by repetition.
//!
//! Kernels keep their own defaults: a study's TCP options do not apply to them, so that cells which differ
//! only in those options share one run. The segment size is the only option that applies.

use super::experiment::Experiment;
use super::grid::{Grid, Measured};
use super::laboratory::by_cell;
use super::{Laboratory, ReproduceError};
use crate::shard::ShardPart;
use crate::sweep::{Counters, Prepared, Sweep, SweepControl};
use report::Picture;
use results::CompactRows;
use results::stats::Summary;
use scenario::Model;
use scenario::metric::Metric;
use scenario::model::{Linux, Transport};
use std::rc::Rc;

/// Metrics of the comparison, for each sender.
pub const METRICS: [Metric; 4] = [
    Metric::CompletionTime,
    Metric::SegmentsSent,
    Metric::SegmentsRetransmitted,
    Metric::UnneededRetransmissions,
];
/// Counters of the sending kernel that the comparison reports.
pub const COUNTERS: [&str; 4] = ["TCPTimeouts", "TCPSpuriousRTOs", "TCPLossUndo", "TCPDSACKUndo"];
/// IP and TCP headers with timestamps, which all segments of a kernel carry, bytes.
const HEADERS: u32 = 52;
/// MTU of a kernel in virtual time, bytes.
const MTU: u32 = 1500;

/// Comparison of an experiment with kernels.
#[derive(Clone, Debug)]
pub struct KernelComparison {
    /// Kernel release.
    pub release: String,
    /// Repetitions of each cell, the first ones of the experiment.
    pub repetitions: u32,
    /// One row per cell and flow.
    pub rows: Vec<FlowComparison>,
}

/// Comparison of one flow of one cell between the study's sender and a kernel, over equal repetitions.
#[derive(Clone, Debug)]
pub struct FlowComparison {
    /// Labels of the cell.
    pub labels: Vec<String>,
    /// Name of the flow, if there are several.
    pub flow: Option<String>,
    /// Summaries with the study's sender, by [`METRICS`].
    pub study: Vec<Option<Summary>>,
    /// Summaries with the kernel, by [`METRICS`].
    pub linux: Vec<Option<Summary>>,
    /// Means of the sending kernel's counters, by [`COUNTERS`].
    pub counted: Vec<f64>,
}

/// Results of one model that was run with kernels.
pub(super) struct RepetitionResults {
    model: Model,
    repetitions: u32,
    rows: Rc<CompactRows>,
    /// Counters by repetition and flow.
    counted: Vec<Vec<Counters>>,
}

/// The model with kernels at the ends of every flow; `None` if kernels cannot run one of its workloads.
pub fn with_kernels(model: &Model) -> Option<Model> {
    let mut model = model.clone();
    for flow in &mut model.flows {
        flow.app.bulk()?;
        if flow.reads.is_some() {
            return None;
        }
        let mss = flow.transport.tcp()?.mss;
        let linux = Linux {
            // The kernel's own default; distributions choose different ones.
            cc: Some("cubic".to_owned()),
            mtu: (mss + HEADERS).min(MTU),
            ..Linux::default()
        };
        flow.transport = Transport::Linux(linux);
    }
    Some(model)
}

impl Laboratory<'_> {
    /// Cells of an experiment, run with kernels; `None` if not requested or not possible.
    pub(super) fn grid_today(
        &mut self,
        experiment: &Experiment,
        grid: &Grid,
    ) -> Result<Option<Grid>, ReproduceError> {
        if self.settings.kernels == 0 || self.control.player.is_none() {
            return Ok(None);
        }
        let mut parts = Vec::new();
        for part in grid.parts() {
            match self.part_today(part)? {
                Some(part) => parts.push(part),
                None => return Ok(None),
            }
        }
        Grid::new(experiment, parts).map(Some)
    }

    fn part_today(&mut self, part: &Measured) -> Result<Option<Rc<Measured>>, ReproduceError> {
        let repetitions = part.sweep.repetitions.min(self.settings.kernels);
        let mut cells = Vec::new();
        for cell in part.sweep.cells.held() {
            let Some(model) = with_kernels(&cell.model) else { return Ok(None) };
            cells.push(Prepared { params: cell.params.clone(), model });
        }
        let mut new: Vec<Prepared> = Vec::new();
        for cell in &cells {
            if self.find_played(&cell.model, repetitions).is_none()
                && !new.iter().any(|n| n.model == cell.model)
            {
                new.push(Prepared { params: Vec::new(), model: cell.model.clone() });
            }
        }
        let header = part.sweep.header.clone();
        if !new.is_empty() {
            self.play(Sweep {
                cells: new.into(),
                repetitions,
                part: ShardPart::WHOLE,
                header: header.clone(),
                tables: None,
                captures: None,
            })?;
        }
        let (mut rows, mut counted) = (Vec::new(), Vec::new());
        for cell in &cells {
            let Some(played) = self.find_played(&cell.model, repetitions) else { continue };
            rows.push(Rc::clone(&played.rows));
            counted.push(played.counted.iter().take(repetitions as usize).cloned().collect());
        }
        Ok(Some(Rc::new(part.again(
            Sweep {
                cells: cells.into(),
                repetitions,
                part: ShardPart::WHOLE,
                header,
                tables: None,
                captures: None,
            },
            rows,
            counted,
        ))))
    }

    fn find_played(&self, model: &Model, repetitions: u32) -> Option<&RepetitionResults> {
        self.played.iter().find(|p| p.repetitions >= repetitions && p.model == *model)
    }

    /// Runs these cells and keeps their results.
    fn play(&mut self, sweep: Sweep) -> Result<(), ReproduceError> {
        let by_cell = by_cell(&sweep, self.control)?;
        let mut counted = self.control.player.map(|player| player.counted()).unwrap_or_default();
        for ((i, cell), rows) in (0..).zip(sweep.cells.into_held()).zip(by_cell) {
            let of = |r: u32| counted.remove(&(i, u64::from(r))).unwrap_or_default();
            self.played.push(RepetitionResults {
                model: cell.model,
                repetitions: sweep.repetitions,
                rows,
                counted: (0..sweep.repetitions).map(of).collect(),
            });
        }
        Ok(())
    }

    /// Table of all cells with the study's sender and with kernels.
    pub(super) fn kernels(&self, grid: &Grid, kernels: &Grid) -> Result<KernelComparison, ReproduceError> {
        let release = self.control.player.map(|player| player.release()).unwrap_or_default();
        let repetitions = kernels.repetitions();
        let mut rows = Vec::new();
        for labels in grid.labels() {
            let names: Vec<&str> = labels.iter().map(String::as_str).collect();
            let Some(model) = grid.model(&names) else { continue };
            for (i, flow) in model.flows.iter().enumerate() {
                let of = |grid: &Grid| -> Result<Vec<Option<Summary>>, ReproduceError> {
                    let one = |metric: &Metric| {
                        let each = grid.values(&format!("{}.{}", flow.name, metric.name()), &names)?;
                        Ok(Summary::of(&each[..repetitions.min(each.len())]))
                    };
                    METRICS.iter().map(one).collect::<Result<_, String>>().map_err(ReproduceError::Data)
                };
                let counted = kernels.counted(&names);
                let mean = |name: &&str| {
                    let each = counted.iter().filter_map(|flows| flows.get(i));
                    let sum: u64 = each.map(|counters| counters.get(*name).copied().unwrap_or(0)).sum();
                    sum as f64 / counted.len().max(1) as f64
                };
                rows.push(FlowComparison {
                    labels: labels.clone(),
                    flow: (model.flows.len() > 1).then(|| flow.name.clone()),
                    study: of(grid)?,
                    linux: of(kernels)?,
                    counted: COUNTERS.iter().map(mean).collect(),
                });
            }
        }
        Ok(KernelComparison { release, repetitions: repetitions as u32, rows })
    }
}

/// Picture of a kernel on this path and repetition; `None` if the player cannot draw.
pub(super) fn picture(
    control: &SweepControl<'_>,
    model: &Model,
    repetition: u64,
    flow: usize,
) -> Result<Option<Picture>, ReproduceError> {
    let Some(player) = control.player else { return Ok(None) };
    player.draw(model, repetition, flow).map_err(|why| ReproduceError::Sweep(why.into()))
}
