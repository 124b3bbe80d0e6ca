//! Scenario reader for Python: TOML text, changes by path, diagnostics with places.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use scenario::metric::{Metric, Statistic, Unit};
use scenario::{Diagnostics, Scenario, Style};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

pyo3::create_exception!(_core, WrongScenario, PyValueError, "rendered text and JSON of diagnostics");

/// A scenario that has been read, with the files it names.
#[pyclass(frozen, module = "williwaw._core")]
pub(crate) struct Scene {
    pub(crate) inner: Scenario,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

pub(crate) fn wrong(diagnostics: &Diagnostics) -> PyErr {
    WrongScenario::new_err((diagnostics.render(Style::default()), diagnostics.to_json().to_string()))
}

#[pymethods]
impl Scene {
    /// Files that the scenario names are looked for in `files`, then in `folder`.
    #[new]
    fn new(
        text: String,
        name: String,
        folder: Option<PathBuf>,
        set: Vec<String>,
        files: BTreeMap<String, Vec<u8>>,
    ) -> PyResult<Scene> {
        let used = RefCell::new(BTreeMap::new());
        let load = |path: &str| {
            let bytes = match (files.get(path), &folder) {
                (Some(bytes), _) => bytes.clone(),
                (None, Some(folder)) => {
                    std::fs::read(folder.join(path)).map_err(|error| format!("`{path}`: {error}"))?
                }
                (None, None) => return Err(format!("there is no file `{path}`: the scenario has no folder")),
            };
            used.borrow_mut().insert(path.to_owned(), bytes.clone());
            Ok(bytes)
        };
        let inner = scenario::read_with(&name, text.as_bytes(), &load, &set).map_err(|d| wrong(&d))?;
        Ok(Scene { inner, files: used.into_inner() })
    }

    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    #[getter]
    fn title(&self) -> &str {
        self.inner.title()
    }

    #[getter]
    fn text(&self) -> &str {
        self.inner.text()
    }

    #[getter]
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.files.clone()
    }

    #[getter]
    fn hash(&self) -> String {
        self.inner.hash()
    }

    #[getter]
    fn overrides(&self) -> Vec<String> {
        self.inner.overrides().iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    #[getter]
    fn repetitions(&self) -> u32 {
        self.inner.first().run.repetitions
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.first().run.seed
    }

    #[getter]
    fn flows(&self) -> Vec<String> {
        self.inner.first().flows.iter().map(|flow| flow.name.clone()).collect()
    }

    /// Size of the grid.
    #[getter]
    fn cells(&self) -> u64 {
        self.inner.cost().cells
    }

    /// Axes of the grid as JSON: path to list of values.
    #[getter]
    fn grid(&self) -> String {
        let axes = self.inner.axes().map(|(key, values)| (key.to_owned(), values.into()));
        serde_json::Value::from(axes.collect::<serde_json::Map<_, _>>()).to_string()
    }

    /// Rendered warnings; empty without any.
    #[getter]
    fn warnings(&self) -> String {
        let warnings = self.inner.warnings();
        if warnings.is_empty() { String::new() } else { warnings.render(Style::default()) }
    }

    /// Estimated cost of a run, as JSON.
    fn cost(&self, py: Python<'_>) -> String {
        py.detach(|| {
            let cost = self.inner.cost();
            let real = lab::sweep::real(self.inner.first());
            let forecast = real.is_none().then(|| lab::forecast::forecast(&self.inner, &cost));
            serde_json::json!({
                "cells": cost.cells,
                "repetitions": cost.repetitions,
                "runs": cost.runs,
                "simulated_s": forecast.as_ref().map(|f| f.simulated_s),
                "packets": forecast.as_ref().map(|f| f.packets),
                "memory_bytes": forecast.as_ref().map(|f| f.memory),
                "cpu_s": forecast.as_ref().map(|f| f.seconds),
            })
            .to_string()
        })
    }

    /// Time series of one repetition.
    #[pyo3(signature = (cell, repetition, seed))]
    fn series(
        &self,
        py: Python<'_>,
        cell: u64,
        repetition: u64,
        seed: Option<u64>,
    ) -> PyResult<crate::arrow::Stream> {
        let model = self.model(cell, seed)?;
        let samples = crate::work::run(py, None, |_| lab::series::series(&model, repetition))?;
        crate::arrow::of_samples(&samples)
    }

    /// Time-sequence picture of one flow in one repetition, as JSON and as SVG.
    fn picture(
        &self,
        py: Python<'_>,
        cell: u64,
        repetition: u64,
        flow: usize,
        seed: Option<u64>,
        size: (u32, u32),
    ) -> PyResult<(String, String)> {
        let model = self.model(cell, seed)?;
        if flow >= model.flows.len() {
            return Err(PyValueError::new_err(format!("there is no flow {flow}")));
        }
        crate::work::run(py, None, |_| {
            let picture = lab::picture::picture(&model, repetition, flow);
            let json = serde_json::to_string(&picture).unwrap_or_default();
            (json, picture.svg(size.0, size.1))
        })
    }
}

impl Scene {
    fn model(&self, cell: u64, seed: Option<u64>) -> PyResult<scenario::Model> {
        if cell >= self.cells() {
            return Err(PyValueError::new_err(format!(
                "there is no cell {cell}: the grid has {}",
                self.cells()
            )));
        }
        let mut model = self.inner.cell(cell).map_err(|d| wrong(&d))?.model;
        if let Some(name) = lab::sweep::real(&model) {
            return Err(PyValueError::new_err(format!(
                "`{name}` takes part with a real kernel; `williwaw run` plays it"
            )));
        }
        model.run.seed = seed.unwrap_or(model.run.seed);
        Ok(model)
    }
}

/// The TOML text of a scenario given as JSON.
#[pyfunction]
pub(crate) fn toml_of(json: &str) -> PyResult<String> {
    let value: serde_json::Value =
        serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    toml::to_string(&value).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The commented scenario to start from.
#[pyfunction]
pub(crate) fn starter() -> &'static str {
    scenario::starter::STARTER
}

/// Names of links with published or measured parameters.
#[pyfunction]
pub(crate) fn preset_names() -> Vec<&'static str> {
    scenario::preset::NAMES.to_vec()
}

/// Name and unit of every metric, and the names of the statistics.
#[pyfunction]
pub(crate) fn metrics() -> (Vec<(&'static str, &'static str)>, Vec<&'static str>) {
    let unit = |metric: Metric| match metric.unit() {
        Unit::Seconds => "s",
        Unit::BitsPerSecond => "bit/s",
        Unit::Ratio | Unit::Count => "",
    };
    let all = Metric::ALL.iter().map(|m| (m.name(), unit(*m))).collect();
    (all, Statistic::NAMES.to_vec())
}
