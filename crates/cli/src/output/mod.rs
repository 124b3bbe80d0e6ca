//! Output of a verb: tables, HTML pages, captures, run records and the files of a run folder.

pub(crate) mod artefacts;
pub(crate) mod atomic_write;
pub(crate) mod captures;
pub(crate) mod detail;
pub(crate) mod explore;
pub(crate) mod folder;
pub(crate) mod kernel_state;
pub(crate) mod labels;
pub(crate) mod page;
pub(crate) mod record;
pub(crate) mod scratch;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod terminal;
