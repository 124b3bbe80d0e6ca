//! Output of a verb: tables, labels, run records and the files of a run folder.

pub(crate) mod atomic_write;
pub(crate) mod folder;
pub(crate) mod kernel_state;
pub(crate) mod labels;
pub(crate) mod record;
pub(crate) mod scratch;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod terminal;

/// Version of williwaw recorded with results.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
