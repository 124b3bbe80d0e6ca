//! The virtual clock: runs, grids, repetitions, reproduced experiments.

pub mod measure;
pub mod once;
pub mod picture;
pub mod probe;
mod real;
pub mod reproduce;
pub mod sweep;

pub use once::{Outcome, run_once};
