//! TCP, taken apart.
pub mod config;
pub use config::{Config, Kind, OptionSpec};
