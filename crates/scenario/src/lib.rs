//! The scenario file: read, checked, explained. Text goes in, a checked [`Model`] for every cell of
//! the grid comes out, or everything that is wrong with it at once, each mistake with its place and
//! its mend.
//!
//! The grammar is declared once, in static tables beside the code that reads them ([`shape`]); the
//! reader, the JSON Schema, the reference page and the paths of overrides all follow them.
//! Nothing here opens a file, asks the time or builds a network.

mod background;
pub mod build;
pub mod cost;
mod cx;
mod delay_trace;
pub mod describe;
pub mod diagnostic;
mod expect;
mod fault;
mod flow;
mod graph;
mod grid;
mod hop;
mod json;
mod leaf;
mod link;
mod linux;
pub mod metric;
pub mod model;
mod reader;
mod red;
pub mod render;
mod route;
mod run;
mod scenario;
pub mod schema;
mod set;
pub mod shape;
pub mod source;
pub mod starter;
mod syntax;
mod tcp_options;
mod tree;
mod validate;
mod words;

pub use cost::Cost;
pub use cx::{Files, NoFiles};
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use model::Model;
pub use render::Style;
pub use scenario::{CHECKED_CELLS, Cell, Scenario, read, read_with};
