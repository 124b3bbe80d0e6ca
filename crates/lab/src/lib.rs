//! The virtual clock: runs, grids, repetitions, reproduced experiments.

pub mod capture;
mod ends;
pub mod measure;
pub mod once;
pub mod picture;
pub mod probe;
mod radio;
mod real;
pub mod reproduce;
pub mod sweep;
mod workload;

pub use once::{Outcome, run_once};
