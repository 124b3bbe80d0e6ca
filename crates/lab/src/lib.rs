//! Runs of scenarios in virtual time: repetitions, sweeps of a grid, metrics, captures, pictures, and
//! reproduction of published experiments.

pub mod capture;
mod closures;
pub mod detail;
pub mod dictionary;
pub mod forecast;
pub mod measure;
pub mod node_addresses;
pub mod once;
pub mod packet_positions;
pub mod picture;
pub mod priorities;
pub mod probe;
mod radio;
pub mod reproduce;
pub mod run;
pub mod series;
pub mod serving;
pub mod shard;
pub mod sweep;
pub mod system;
pub mod timeline;
mod workload;

pub use once::{RunOutcome, run_once};
