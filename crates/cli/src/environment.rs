//! What is around us? Terminals, their width, the machine. The only place of the command line that
//! reads the environment.

use std::io::IsTerminal as _;

/// The width that COLUMNS asks for: how a user or a test fixes it where there is no terminal.
#[allow(clippy::disallowed_methods, reason = "the command line reads the environment and hands it down")]
fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.trim().parse().ok().filter(|columns| (20..=1000).contains(columns))
}

/// Columns for what goes to stdout; none where nothing limits it, as in a pipe.
pub(crate) fn width_of_stdout() -> Option<usize> {
    columns().or_else(|| terminal_size::terminal_size_of(std::io::stdout()).map(|(w, _)| usize::from(w.0)))
}

/// Columns for what goes to stderr.
pub(crate) fn width_of_stderr() -> usize {
    let terminal = || terminal_size::terminal_size_of(std::io::stderr()).map(|(w, _)| usize::from(w.0));
    columns().or_else(terminal).unwrap_or(100)
}

/// Whether somebody can be asked: both sides of the conversation are a terminal.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whether progress would be seen.
pub(crate) fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Processors that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
