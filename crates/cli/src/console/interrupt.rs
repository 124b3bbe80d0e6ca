//! Signal handling of the command line: the first SIGINT or SIGTERM sets a stop flag, the second ends the
//! process at once.
//!
//! The stop flag ends repetitions in progress within 200 ms; finished repetitions are kept.

use super::exit::ExitStatus;
use super::streams::Console;
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Handles SIGINT and SIGTERM; returns the flag that they set.
pub(crate) fn watch(console: &Console) -> &'static AtomicBool {
    watch_saying(console, "stopping; finished repetitions are kept; press Ctrl-C again to stop at once")
}

/// [`watch`] of a run that keeps its repetitions in a folder, or nothing.
pub(crate) fn watch_run(console: &Console, kept: bool) -> &'static AtomicBool {
    match kept {
        true => watch(console),
        false => watch_saying(console, "stopping; press Ctrl-C again to stop at once"),
    }
}

/// [`watch`] with the message `words` at the first signal.
pub(crate) fn watch_saying(console: &Console, words: &'static str) -> &'static AtomicBool {
    let console = console.clone();
    // Without a handler, Ctrl-C kills the process, and the journal has all finished repetitions.
    let _ = ctrlc::set_handler(move || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(ExitStatus::Interrupted.code()));
        }
        console.note(words);
    });
    &STOP
}
