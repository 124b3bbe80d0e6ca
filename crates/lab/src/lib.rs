//! The virtual clock: runs, grids, repetitions, reproduced experiments.

pub mod measure;
pub mod once;

pub use once::{Outcome, run_once};
