//! Experiments of the papers: published beside measured.

use crate::work;
use lab::reproduce::{Laboratory, ReproduceError, Reproduced, Settings, json, list, scenario_text};
use lab::sweep::SweepControl;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

fn failed(error: ReproduceError) -> PyErr {
    match error {
        ReproduceError::Unknown(id) => PyValueError::new_err(format!(
            "there is no experiment `{id}`; williwaw.experiments() names them all"
        )),
        other => PyRuntimeError::new_err(format!("{other:?}")),
    }
}

/// Ids and titles.
#[pyfunction]
pub(crate) fn experiments() -> PyResult<Vec<(String, String)>> {
    list().map_err(failed)
}

/// The scenario behind an experiment.
#[pyfunction]
pub(crate) fn experiment_scenario(id: &str) -> PyResult<&'static str> {
    scenario_text(id).ok_or_else(|| failed(ReproduceError::Unknown(id.to_owned())))
}

/// The document of `reproduce --json` as text.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    ids: Vec<String>,
    repetitions: Option<u32>,
    seed: u64,
    jobs: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let settings = Settings { seed, repetitions, pictures: false, ..Settings::default() };
    let outcome = work::run(py, progress, |watch| {
        let tell = |progress| watch.tell(progress);
        let control =
            SweepControl { progress: &tell, stop: &watch.stop, jobs, shuffle_ties: None, player: None };
        let mut laboratory = Laboratory::new(settings, &control, env!("CARGO_PKG_VERSION"));
        ids.iter().map(|id| laboratory.reproduce(id)).collect::<Result<Vec<Reproduced>, _>>()
    })?;
    let all = outcome.map_err(failed)?;
    Ok(json::document(&all, seed, env!("CARGO_PKG_VERSION")).to_string())
}
