//! The scenario file: read, checked, explained. Text goes in, a checked [`Model`] for every cell of
//! the grid comes out, or everything that is wrong with it at once, each mistake with its place and
//! its mend.
//!
//! The grammar is declared once, in static tables beside the code that reads them ([`shape`]); the
//! reader, the JSON Schema, the reference page and the paths of overrides all follow them.
//! Nothing here opens a file, asks the time or builds a network.

mod background;
pub mod build;
mod channel;
mod class;
mod command;
pub mod cost;
mod credit;
mod cx;
mod delay_trace;
pub mod describe;
pub mod diagnostic;
mod ends;
mod error;
mod expect;
mod fault;
mod flow;
mod graph;
mod grid;
mod hop;
pub mod import;
mod json;
mod leaf;
mod link;
mod linux;
mod machine;
pub mod metric;
pub mod model;
pub mod preset;
pub mod protocol;
mod queue;
mod radio;
mod reader;
mod red;
pub mod render;
mod route;
mod run;
mod scenario;
pub mod schema;
mod set;
pub mod shape;
mod shortest;
pub mod source;
pub mod starter;
mod syntax;
mod system;
mod tcp_options;
mod tree;
mod trigger;
mod validate;
mod wire;
mod words;
mod workload;
pub mod workload_words;

pub use cost::Cost;
pub use cx::{Files, NoFiles};
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use model::Model;
pub use render::Style;
pub use scenario::{CHECKED_CELLS, Cell, Scenario, ends, read, read_with};
pub use words::nearest;
