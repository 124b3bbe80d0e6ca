//! Scenarios, path elements and fuzzing corpora that the tests of several crates share.
//!
//! A dev-dependency only. [`corpus`] replays the inputs of `fuzz/corpus`, [`chain`] has the ends of a chain of
//! elements driven packet by packet, [`Download`] writes the scenario that most tests start from, and `model`
//! (feature `model`) reads scenario text.

pub mod chain;
pub mod corpus;
mod download;
#[cfg(feature = "model")]
mod model;

pub use download::Download;
#[cfg(feature = "model")]
pub use model::model;
