//! Commands: programs at nodes, and where they report metrics of their own.

use base::dist::Dist;

/// A program at a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// Its name.
    pub name: String,
    /// Index of the node at which it runs.
    pub node: usize,
    /// What a shell is given to run.
    pub run: String,
    /// When it is started, nanoseconds from the start of the run.
    pub start: Dist,
    /// It waits for others and is ended when they are done.
    pub serves: bool,
    /// Where it reports numbers of its own, if it does.
    pub metrics: Option<Reports>,
}

/// Where a command reports numbers of its own, as one JSON object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reports {
    /// The last line of its standard output that begins with `{`.
    Output,
    /// A file, relative to the folder in which williwaw was started.
    File(String),
}
