//! Rows of a sweep: runs, merges, statistics, files.

use crate::scene::{Scene, wrong};
use crate::work;
use lab::shard::ShardPart;
use lab::sweep::{Sweep, SweepControl, SweepError};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use results::folder::RunFolder;
use results::{Error, Header, Row, row};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// The rows of a sweep or of a part of it, in the order of the table.
#[pyclass(frozen, module = "williwaw._core")]
pub(crate) struct Rows {
    header: Arc<Header>,
    rows: Arc<Vec<Row>>,
}

pub(crate) fn failed(error: &Error) -> PyErr {
    match error {
        Error::Io { .. } | Error::Locked { .. } | Error::Occupied { .. } => {
            PyOSError::new_err(error.to_string())
        }
        _ => PyValueError::new_err(error.to_string()),
    }
}

fn refused(error: &SweepError) -> PyErr {
    match error {
        SweepError::Scenario(diagnostics) => wrong(diagnostics),
        SweepError::Results(error) => failed(error),
        SweepError::Real(name) => PyValueError::new_err(format!(
            "`{name}` takes part with a real kernel; `williwaw run` or `williwaw emulate` plays it"
        )),
        SweepError::Fault(text) => PyRuntimeError::new_err(format!("a fault in williwaw itself: {text}")),
        other => PyRuntimeError::new_err(format!("{other:?}")),
    }
}

impl Rows {
    fn new(header: Header, mut rows: Vec<Row>) -> PyResult<Rows> {
        rows.sort_by(|a, b| a.key().cmp(&b.key()));
        row::in_order(&header, &rows).map_err(|e| failed(&e))?;
        rows.dedup_by(|later, kept| later.key() == kept.key());
        Ok(Rows { header: Arc::new(header), rows: Arc::new(rows) })
    }
}

#[pymethods]
impl Rows {
    fn __len__(&self) -> usize {
        self.rows.len()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.header.seed
    }

    #[getter]
    fn version(&self) -> &str {
        &self.header.version
    }

    #[getter]
    fn scenario_hash(&self) -> &str {
        &self.header.scenario_hash
    }

    /// Grid values of every cell: path and text.
    #[getter]
    fn cells(&self) -> Vec<Vec<(String, String)>> {
        self.header.cells.iter().map(|cell| cell.params.clone()).collect()
    }

    /// Grid paths and their short names.
    #[getter]
    fn short_names(&self) -> Vec<(String, String)> {
        let params = self.header.param_columns();
        let paths: Vec<&str> = params.iter().map(|param| param.name.as_str()).collect();
        paths.iter().map(|path| (*path).to_owned()).zip(results::names::short(&paths)).collect()
    }

    /// The document of `run --json` as text.
    fn document(&self, py: Python<'_>, scenario: &str) -> PyResult<String> {
        let document = py.detach(|| results::json::run_document(scenario, &self.header, &self.rows));
        document.map(|document| document.to_string()).map_err(|e| failed(&e))
    }

    /// Values of a metric in a cell, by repetition; of one flow, or of all flows taken together.
    #[pyo3(signature = (metric, cell, flow))]
    fn values(&self, metric: &str, cell: u32, flow: Option<&str>) -> PyResult<Vec<Option<f64>>> {
        let Some(column) = self.header.column(metric) else {
            let names = self.header.columns.iter().map(|column| column.name.as_str());
            let near = scenario::nearest(metric, names);
            let help = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            return Err(PyValueError::new_err(format!("there is no metric `{metric}`{help}")));
        };
        if self.header.cell(cell).is_none() {
            let n = self.header.cells.len();
            return Err(PyValueError::new_err(format!("there is no cell {cell}: the grid has {n}")));
        }
        let from = self.rows.partition_point(|row| row.cell < cell);
        let until = self.rows.partition_point(|row| row.cell <= cell);
        let combine = self.header.columns[column].combine;
        let groups = self.rows[from..until].chunk_by(|a, b| a.repetition == b.repetition);
        let values: Vec<Option<f64>> = match flow {
            None => groups.map(|rows| combine.over(rows.iter().map(|row| row.values[column]))).collect(),
            Some(name) => {
                let of =
                    |rows: &[Row]| rows.iter().find(|row| row.flow == name).map(|row| row.values[column]);
                let found: Vec<Option<f64>> = groups.filter_map(of).collect();
                if found.is_empty() && from < until {
                    return Err(PyValueError::new_err(format!("there is no flow `{name}`")));
                }
                found
            }
        };
        Ok(values.into_iter().map(|value| value.filter(|value| value.is_finite())).collect())
    }

    /// Numbers of the repetitions of a cell, in the order of [`Rows::values`].
    fn repetitions(&self, cell: u32) -> Vec<u64> {
        let mut all: Vec<u64> =
            self.rows.iter().filter(|row| row.cell == cell).map(|row| row.repetition).collect();
        all.dedup();
        all
    }

    #[pyo3(signature = (requested_schema = None, *, short = false))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
        short: bool,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        crate::arrow::of_rows(py, &self.header, &self.rows, short)
    }

    /// The bytes that `write_parquet` would write.
    fn parquet<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| results::parquet::flows_bytes(&self.header, &self.rows));
        Ok(PyBytes::new(py, &bytes.map_err(|e| failed(&e))?))
    }

    /// Writes the Parquet table; the same rows give the same bytes.
    fn write_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| results::parquet::write_flows(&path, &self.header, &self.rows)).map_err(|e| failed(&e))
    }
}

/// Runs a scenario, or the repetitions numbered `part`, in virtual time.
#[pyfunction]
#[pyo3(signature = (scene, repetitions, seed, jobs, part, folder, progress))]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn run(
    py: Python<'_>,
    scene: &Scene,
    repetitions: Option<u32>,
    seed: Option<u64>,
    jobs: usize,
    part: Option<(u64, u64)>,
    folder: Option<(PathBuf, String)>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Rows> {
    let sweep =
        Sweep::new(&scene.inner, repetitions, seed, env!("CARGO_PKG_VERSION")).map_err(|e| refused(&e))?;
    let sweep = sweep.only(part.map_or(ShardPart::WHOLE, |(from, until)| ShardPart::range(from..until)));
    let outcome = work::run(py, progress, |watch| -> Result<_, SweepError> {
        let mut record = json!(null);
        let mut folder = match folder {
            Some((path, started)) => {
                let folder = match path.join(results::folder::RUN).exists() {
                    true => RunFolder::open(path)?,
                    false => RunFolder::create(path)?,
                };
                record = begin(&folder, scene, &sweep, jobs, &started)?;
                Some(folder)
            }
            None => None,
        };
        let tell = |progress| watch.tell(progress);
        let control =
            SweepControl { progress: &tell, stop: &watch.stop, jobs, shuffle_ties: None, player: None };
        let (rows, complete) = sweep.run(folder.as_mut(), &control)?;
        match &mut folder {
            Some(folder) if complete => {
                let rows = folder.finish()?;
                record["complete"] = json!(true);
                folder.write_run(&record)?;
                Ok(rows)
            }
            Some(folder) => folder.sync().map(|()| rows).map_err(Into::into),
            None => Ok(rows),
        }
    })?;
    Rows::new(sweep.header, outcome.map_err(|e| refused(&e))?)
}

/// Writes `run.json` in the shape of the command line, and the files that the scenario names.
fn begin(
    folder: &RunFolder,
    scene: &Scene,
    sweep: &Sweep,
    jobs: usize,
    started: &str,
) -> Result<serde_json::Value, Error> {
    let written =
        |path: &std::path::Path, source| Error::Io { action: "write", path: path.to_owned(), source };
    let mut inputs = Vec::new();
    for (i, (name, bytes)) in scene.files.iter().enumerate() {
        let last = std::path::Path::new(name).file_name().unwrap_or_default().to_string_lossy();
        let file = format!("inputs/{i}-{last}");
        let path = folder.file(&file);
        let place = folder.file("inputs");
        std::fs::create_dir_all(&place).map_err(|error| written(&place, error))?;
        std::fs::write(&path, bytes).map_err(|error| written(&path, error))?;
        inputs.push(json!({ "name": name, "file": file }));
    }
    let overrides: Vec<String> =
        scene.inner.overrides().iter().map(|(key, value)| format!("{key}={value}")).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let record = json!({
        "schema": "williwaw-folder/1",
        "scenario": scene.inner.name(),
        "title": scene.inner.title(),
        "text": scene.inner.text(),
        "overrides": overrides,
        "hash": scene.inner.hash(),
        "seed": sweep.header.seed,
        "repetitions": sweep.repetitions,
        "shuffle_ties": null,
        "version": sweep.header.version,
        "host": { "os": std::env::consts::OS, "arch": std::env::consts::ARCH, "cores": cores },
        "started": started,
        "seconds": 0.0,
        "jobs": jobs,
        "complete": false,
        "inputs": inputs,
    });
    folder.write_run(&record)?;
    Ok(record)
}

/// Reads run folders and Parquet tables.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, path: PathBuf) -> PyResult<Rows> {
    let found = py.detach(|| {
        if path.is_dir() { results::folder::read(&path) } else { results::parquet::read_flows(&path) }
    });
    let (header, rows) = found.map_err(|e| failed(&e))?;
    Rows::new(header, rows)
}

/// Puts parts of one sweep together.
#[pyfunction]
pub(crate) fn merge(parts: Vec<PyRef<'_, Rows>>) -> PyResult<Rows> {
    let Some(first) = parts.first() else { return Err(PyValueError::new_err("there is nothing to merge")) };
    let mut rows = Vec::new();
    for part in &parts {
        if let Some((what, there, here)) = part.header.difference(&first.header) {
            return Err(PyValueError::new_err(format!(
                "the parts are of different sweeps: {what} is {here} and {there}"
            )));
        }
        rows.extend(part.rows.iter().cloned());
    }
    Rows::new((*first.header).clone(), rows)
}
