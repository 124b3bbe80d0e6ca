//! Scenario files: grammar, model, network builder.
//!
//! Reads text into a checked [`Model`] for every cell of the grid, or reports all mistakes, each with place
//! and remedy. This crate opens no files, reads no clock and runs no network.
//!
//! | part | what it holds |
//! |---|---|
//! | `grammar` | the engine: tree with spans, shapes of tables, readers, overrides, JSON Schema |
//! | `tables` | the tables of the file, one file each: keys, types, checks, and what they become in the model |
//! | `topology` | nodes and links by name, routes |
//! | [`protocol`], `radio` | transports beside TCP, and bearers of mobile networks: one file each |
//! | [`model`] | a checked scenario as plain data |
//! | [`build`] | the network of a model |
//! | [`describe`] | a model in text, and an estimate of its cost |
//! | [`preset`], [`import`] | links with a name, links of other tools |
//!
//! Static tables beside the reading code declare the grammar once ([`shape`]). The reader, the JSON Schema,
//! the reference page and the override paths are derived from them.

pub mod build;
pub mod describe;
pub mod diagnostic;
mod grammar;
pub mod import;
pub mod model;
pub mod preset;
pub mod protocol;
mod radio;
mod scenario;
mod tables;
mod topology;
mod workload;

pub use describe::cost::{self, Cost};
pub use describe::workload as workload_words;
pub use diagnostic::render::{self, Style};
pub use diagnostic::source;
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use grammar::cx::{Files, NoFiles};
pub use grammar::spelling::nearest;
pub use grammar::{schema, shape};
pub use model::Model;
pub use model::metric;
pub use preset::starter;
pub use scenario::{CHECKED_CELLS, Cell, Scenario, ends, read, read_with};
