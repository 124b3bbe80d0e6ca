//! Findings about a connection: timeouts, idle causes, faults, conformance, diagnosis.

pub mod choice;
mod discarded;
pub mod episode;
pub mod fairness;
pub mod fault;
pub mod flow;
pub mod idle;
pub mod join;
pub mod lower_layers;
pub(crate) mod outcome;
pub mod profile;
pub mod story;
