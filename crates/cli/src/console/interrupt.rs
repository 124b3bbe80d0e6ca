//! Ctrl-C handling: the first one ends the run in order, the second one ends the process.
//!
//! The first one ends the repetitions in progress within 200 ms; those that were finished are kept. The second one ends the
//! process at once.

use super::exit::ExitStatus;
use super::streams::Console;
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Handles SIGINT and SIGTERM; returns the flag that they set.
pub(crate) fn watch(console: &Console) -> &'static AtomicBool {
    watch_saying(console, "stopping; finished repetitions are kept; once more to stop at once")
}

/// The same, with other words at the first one.
pub(crate) fn watch_saying(console: &Console, words: &'static str) -> &'static AtomicBool {
    let console = console.clone();
    // Without a handler Ctrl-C just kills, and the journal still holds finished work.
    let _ = ctrlc::set_handler(move || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(ExitStatus::Interrupted.code()));
        }
        console.note(words);
    });
    &STOP
}
