//! Interactive report of a grid (`explore.html`): numbers of every cell, and pictures of the repetitions with
//! the median and the largest value.

use super::plan::Plan;
use crate::console::exit::Failure;
use crate::output::VERSION;
use crate::output::labels;
use lab::sweep::Sweep;
use report::{Axis, Explore, Metric, Variant};
use results::cells::CellSummary;
use results::source::Source;
use std::collections::BTreeMap;

/// Metrics that order the repetitions, the first measured one first.
const MAIN: [&str; 3] = ["completion_time_s", "download_time_s", "throughput_bps"];

/// Page of a grid whose repetitions can be played again in virtual time; `None` for a single cell, a grid too large for
/// memory, or real kernels and programs.
pub(crate) fn explore(
    plan: &Plan,
    sweep: &Sweep,
    source: &Source<'_>,
    cells: &[CellSummary],
) -> Result<Option<Explore>, Failure> {
    let header = &sweep.header;
    let large = sweep.cells.len() > sweep.cells.held().len();
    if cells.len() < 2
        || large
        || sweep.cells.held().iter().any(|cell| lab::sweep::real(&cell.model).is_some())
    {
        return Ok(None);
    }
    let measured = |at: usize| cells.iter().any(|cell| cell.metrics[at].is_some());
    let Some(main) = MAIN.iter().filter_map(|name| header.column(name)).find(|at| measured(*at)) else {
        return Ok(None);
    };
    let mut values: BTreeMap<u32, BTreeMap<u64, Vec<Option<f64>>>> = BTreeMap::new();
    source.each_row(&mut |row| {
        let repetitions = values.entry(row.cell).or_default();
        repetitions.entry(row.repetition).or_default().push(row.values[main]);
        Ok(())
    })?;
    let rest = (0..header.columns.len()).filter(|at| *at != main && measured(*at));
    let columns: Vec<usize> = std::iter::once(main).chain(rest).collect();
    let scenario = &plan.input.scenario;
    let title = if scenario.title().is_empty() { scenario.name() } else { scenario.title() };
    let mut values = |cell: &CellSummary| values.remove(&cell.cell.index).unwrap_or_default();
    Ok(Some(Explore {
        title: title.to_owned(),
        provenance: [
            ("version", VERSION.to_owned()),
            ("scenario", scenario.name().to_owned()),
            ("hash", scenario.hash()),
            ("seed", plan.seed.to_string()),
            ("repetitions", plan.repetitions.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec(),
        axes: axes(sweep),
        metrics: columns
            .iter()
            .map(|&at| Metric {
                name: header.columns[at].name.clone(),
                unit: header.columns[at].unit.clone(),
            })
            .collect(),
        cells: cells.iter().map(|cell| variant(sweep, values(cell), cell, &columns)).collect(),
    }))
}

/// Axes with their values in the order of the grid.
fn axes(sweep: &Sweep) -> Vec<Axis> {
    let keys: Vec<&str> = sweep.cells.held()[0].params.iter().map(|(key, _)| key.as_str()).collect();
    // An axis of several paths has the name of the first path.
    let first: Vec<&str> = keys.iter().map(|key| key.split(',').next().unwrap_or(key).trim()).collect();
    let names = labels::short(&first);
    let mut axes: Vec<Axis> = names.into_iter().map(|name| Axis { name, values: Vec::new() }).collect();
    for cell in sweep.cells.held() {
        for (axis, (_, value)) in axes.iter_mut().zip(&cell.params) {
            if !axis.values.contains(value) {
                axis.values.push(value.clone());
            }
        }
    }
    axes
}

fn variant(
    sweep: &Sweep,
    by_repetition: BTreeMap<u64, Vec<Option<f64>>>,
    cell: &CellSummary,
    columns: &[usize],
) -> Variant {
    let summary = |at: &usize| cell.metrics[*at].map(|m| [m.mean, m.p10, m.median, m.p90]);
    let main = columns[0];
    let combine = sweep.header.columns[main].combine;
    let values: Vec<(u64, Option<f64>)> =
        by_repetition.into_iter().map(|(number, flows)| (number, combine.over(flows))).collect();
    Variant {
        repetitions: cell.repetitions,
        summaries: columns.iter().map(summary).collect(),
        values: values.iter().map(|(_, value)| *value).collect(),
        pictures: pictures(sweep, cell, &values, main),
    }
}

/// Pictures of the repetition nearest to the median and of the repetition with the largest value.
fn pictures(
    sweep: &Sweep,
    cell: &CellSummary,
    values: &[(u64, Option<f64>)],
    main: usize,
) -> Vec<(String, u64, report::Picture)> {
    let Some(prepared) = sweep.cells.good(cell.cell.index as usize) else { return Vec::new() };
    let model = &prepared.model;
    let (Some(summary), false) = (cell.metrics[main], model.flows.is_empty()) else { return Vec::new() };
    let known = || values.iter().filter_map(|(number, value)| Some((*number, (*value)?)));
    let far = |value: f64| (value - summary.median).abs();
    let typical = known().min_by(|a, b| far(a.1).total_cmp(&far(b.1)).then(a.0.cmp(&b.0)));
    let worst = known().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    let named = [("typical", typical), ("worst", worst)];
    let mut all: Vec<(String, u64, report::Picture)> = Vec::new();
    for (name, chosen) in named {
        let Some((repetition, _)) = chosen else { continue };
        if all.iter().any(|(_, drawn, _)| *drawn == repetition) {
            continue;
        }
        all.push((name.to_owned(), repetition, lab::picture::picture(model, repetition, 0)));
    }
    all
}
