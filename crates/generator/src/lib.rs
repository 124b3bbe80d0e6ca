//! Random valid scenarios from the scenario schema: generation, checks of their runs, forecasts, and
//! shrinking of failures.
//!
//! [`generate`] draws a scenario by its number, [`check`](mod@check) runs it and checks invariants,
//! [`shrink`] reduces a scenario that fails, [`estimate`] compares the forecast of `williwaw check` with the
//! run. The binary `fuzz-scenarios` combines them (`fuzz/README.md`). Commands, wires and kernels are left
//! out: they need real machines.

pub mod check;
pub mod document;
pub mod estimate;
pub mod files;
pub mod generate;
pub mod shapes;
pub mod shrink;
mod values;
