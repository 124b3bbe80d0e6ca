//! Input of a verb: scenario files, the run plan, links of `shell` and `wire`, lists of agents.

pub(crate) mod agents_file;
pub(crate) mod files;
pub(crate) mod nesting;
pub(crate) mod plan;
pub(crate) mod shell_link;
