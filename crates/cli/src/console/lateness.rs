//! Status line of an emulation on the terminal: lateness of the repetitions in progress.

use super::streams::Console;
use base::Span;
use emulate::accuracy::live::Live;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Delay before the line is shown.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(250);

/// Values of the status line.
pub(crate) struct Screen<'a> {
    /// Lateness of each parallel repetition.
    pub(crate) lives: &'a [Arc<Live>],
    pub(crate) done: &'a AtomicUsize,
    /// Total number of repetitions; 0 for a verb without repetitions.
    pub(crate) total: usize,
}

/// Runs `work` while the status line is shown.
pub(crate) fn shown<R>(console: &Console, screen: &Screen<'_>, work: impl FnOnce() -> R) -> R {
    if !console.shows_progress() {
        return work();
    }
    std::thread::scope(|scope| {
        let (finished, wait) = channel::<()>();
        let spawned = std::thread::Builder::new().spawn_scoped(scope, move || {
            if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new_spinner();
            bar.set_style(
                ProgressStyle::with_template("{spinner} {msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            );
            while wait.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                bar.set_message(screen.line());
                bar.tick();
            }
            bar.finish_and_clear();
        });
        let result = work();
        drop(finished);
        if let Ok(thread) = spawned {
            let _ = thread.join();
        }
        result
    })
}

impl Screen<'_> {
    fn line(&self) -> String {
        let looks: Vec<_> = self.lives.iter().map(|live| live.look()).collect();
        let worst = |of: &dyn Fn(&emulate::accuracy::live::Snapshot) -> Span| {
            looks.iter().map(of).max().unwrap_or(Span::ZERO).as_secs_f64() * 1e6
        };
        let (packets, at) = (
            looks.iter().map(|l| l.packets).sum::<u64>(),
            looks.iter().map(|l| l.at.as_secs_f64()).fold(0.0, f64::max),
        );
        let repetitions = match self.total {
            0 => String::new(),
            total => format!("{} of {total} repetitions; ", self.done.load(Ordering::Relaxed)),
        };
        format!(
            "{repetitions}at {at:.1} s {packets} packets, late by {:.0} us (half), {:.0} us (99 %), {:.0} us (at most)",
            worst(&|l| l.half),
            worst(&|l| l.p99),
            worst(&|l| l.max),
        )
    }
}
