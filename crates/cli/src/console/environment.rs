//! Process environment of the command line: terminals and their width, directories, cores, memory, calling
//! user. No other module of the command line reads the environment.

use std::io::IsTerminal as _;
use std::path::PathBuf;

/// Width in `COLUMNS`, by which a user or a test sets it without a terminal.
#[allow(clippy::disallowed_methods, reason = "the command line reads the environment and hands it down")]
fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.trim().parse().ok().filter(|columns| (20..=1000).contains(columns))
}

/// Columns of a terminal; `None` elsewhere, and where they are unknown. A terminal may know its columns and no rows.
fn columns_of(stream: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Columns of stdout: `COLUMNS`, or the width of its terminal; `None` without either.
pub(crate) fn width_of_stdout() -> Option<usize> {
    columns().or_else(|| columns_of(std::io::stdout()))
}

/// Columns of stderr: `COLUMNS`, or the width of its terminal; 100 without either.
pub(crate) fn width_of_stderr() -> usize {
    columns().or_else(|| columns_of(std::io::stderr())).unwrap_or(100)
}

/// Path in an environment variable; `None` if it is unset or empty.
#[allow(clippy::disallowed_methods, reason = "the command line reads the environment and hands it down")]
fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Cache directory of williwaw; `None` without XDG_CACHE_HOME and HOME.
pub(crate) fn cache() -> Option<PathBuf> {
    let cache = path("XDG_CACHE_HOME").or_else(|| Some(path("HOME")?.join(".cache")));
    Some(cache?.join("williwaw"))
}

/// Path of the kernel for virtual time in `WILLIWAW_LINUX`.
pub(crate) fn linux() -> Option<PathBuf> {
    path("WILLIWAW_LINUX")
}

/// Working directory.
pub(crate) fn folder() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
}

/// Directory for temporary files.
pub(crate) fn scratch() -> PathBuf {
    std::env::temp_dir()
}

/// Whether the user can be asked: stdin and stderr are terminals.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whether stderr is a terminal.
pub(crate) fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Number of processors that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Resident memory of this process, bytes; 0 where unknown.
pub(crate) fn resident_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next());
    line.and_then(|kilobytes| kilobytes.parse::<f64>().ok()).map_or(0.0, |kilobytes| kilobytes * 1024.0)
}

/// Value of an environment variable; `None` if it is unset or not UTF-8.
#[allow(clippy::disallowed_methods, reason = "the command line reads the environment and hands it down")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// User and group ids of the user who called this program through sudo or pkexec; pkexec sets no group, so that the
/// user id stands for both.
pub(crate) fn caller() -> Option<(u32, u32)> {
    let number = |name: &str| variable(name)?.parse::<u32>().ok();
    number("SUDO_UID").zip(number("SUDO_GID")).or_else(|| number("PKEXEC_UID").map(|uid| (uid, uid)))
}

/// Path of the user's shell.
pub(crate) fn shell() -> String {
    variable("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into())
}
