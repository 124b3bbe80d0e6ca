//! Random valid scenarios from the schema of the scenario file, checks of their runs, and shrinking of what fails.
//!
//! [`generate`] draws a scenario by its number, [`check`](mod@check) runs it and looks for violated invariants,
//! [`shrink`] reduces one that fails, [`estimate`] compares the forecast of `williwaw check` with the truth, and [`ledger`] keeps what was compared. The binary
//! `fuzz-scenarios` puts them together (`fuzz/README.md`). Commands, wires and kernels are left out: they take real
//! machines.

pub mod check;
pub mod document;
pub mod estimate;
pub mod files;
pub mod generate;
pub mod ledger;
pub mod shapes;
pub mod shrink;
mod values;
