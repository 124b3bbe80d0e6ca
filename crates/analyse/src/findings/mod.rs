//! Findings about a connection: report (`flow`), timeouts, idle periods, faults, RFC 3481, lower-layer events, join of
//! two captures, protocol choice, diagnosis.

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
