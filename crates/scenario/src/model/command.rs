//! Commands of a scenario model: programs at nodes, and the source of the metrics that they report.

use base::dist::Dist;

/// A program at a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// Its name.
    pub name: String,
    /// Index of the node at which it runs.
    pub node: usize,
    /// Command line for `/bin/sh`.
    pub run: String,
    /// Start time, nanoseconds from the start of the run.
    pub start: Dist,
    /// True for a server, which is terminated when all other commands have ended.
    pub serves: bool,
    /// Source of the command's own metrics, if it reports any.
    pub metrics: Option<Reports>,
}

/// Source of a command's own metrics, one JSON object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reports {
    /// The last line of its standard output that begins with `{`.
    Output,
    /// A file, relative to the working directory of williwaw.
    File(String),
}
