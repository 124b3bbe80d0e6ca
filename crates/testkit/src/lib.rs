//! Test helpers of several crates: scenario text of a download, path elements, replay of fuzzing corpora.
//!
//! A dev-dependency only. [`corpus`] replays the inputs of `fuzz/corpus`, [`chain`] contains the ends of a
//! chain of elements driven packet by packet, [`Download`] writes the scenario of most tests, [`radio_hop`] that of
//! several flows, and `model` (feature `model`) reads scenario text.

pub mod chain;
pub mod corpus;
mod download;
#[cfg(feature = "model")]
mod model;
pub mod radio_hop;

pub use download::Download;
#[cfg(feature = "model")]
pub use model::model;
