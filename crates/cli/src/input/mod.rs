//! Input of a verb: scenario files, links of `shell` and `wire`, lists of agents.

pub(crate) mod agents_file;
pub(crate) mod files;
pub(crate) mod nesting;
pub(crate) mod shell_link;
