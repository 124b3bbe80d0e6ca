//! Time-sequence pictures of single repetitions that an experiment's file requests, by number or by the first
//! repetition that satisfies a claim.

use super::experiment::Experiment;
use super::grid::Grid;
use super::{ClaimResult, ReproduceError};
use crate::picture::picture;
use crate::sweep::on_all_threads;
use report::Picture;
use scenario::Model;

/// Picture of an experiment: heading, model, repetition, flow.
pub(super) type PictureRequest<'a> = (&'a str, &'a Model, u64, usize);

/// All pictures of an experiment.
pub(super) fn scenes<'a>(
    experiment: &'a Experiment,
    grid: &'a Grid,
    claims: &[ClaimResult],
) -> Result<Vec<PictureRequest<'a>>, ReproduceError> {
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

/// Draws all pictures of an experiment on `jobs` threads.
pub(super) fn pictures(
    experiment: &Experiment,
    grid: &Grid,
    claims: &[ClaimResult],
    jobs: usize,
) -> Result<Vec<(String, Picture)>, ReproduceError> {
    let draw = |(title, model, repetition, flow): &PictureRequest<'_>| {
        ((*title).to_owned(), picture(model, *repetition, *flow))
    };
    Ok(on_all_threads(jobs, &scenes(experiment, grid, claims)?, draw))
}
