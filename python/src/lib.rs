//! Native extension module of the Python package: scenario reader, sweeps in virtual time, Arrow tables.
//!
//! `williwaw/__init__.py` and its neighbours wrap it; nothing here is public for users. Long work runs in a thread of
//! its own with the interpreter's lock released, and signals are looked for ten times a second.

#![allow(missing_docs, reason = "the public interface is documented in Python")]

mod arrow;
mod papers;
mod rows;
mod scene;
mod work;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::arrow::Stream;
    #[pymodule_export]
    use super::papers::{experiment_scenario, experiments, reproduce};
    #[pymodule_export]
    use super::rows::{Rows, merge, read, run};
    #[pymodule_export]
    use super::scene::{Scene, WrongScenario, metrics, preset_names, starter, toml_of};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
