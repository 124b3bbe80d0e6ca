//! Progress of long work on the terminal: a bar after one second, or a line every 30 s without a terminal; by
//! repetitions, bytes or named parts.

use super::streams::Console;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Delay before the bar is shown.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// Runs `work`, which reports its progress (done, total) by a callback.
pub(crate) fn shown<R>(console: &Console, work: impl FnOnce(&(dyn Fn(u64, u64) + Sync)) -> R) -> R {
    bar(console, "{bar:30} {pos} of {len} repetitions, {eta} left", work)
}

/// Progress of reading a file, in bytes.
pub(crate) fn of_bytes<R>(console: &Console, work: impl FnOnce(&(dyn Fn(u64, u64) + Sync)) -> R) -> R {
    bar(console, "{bar:30} {bytes} of {total_bytes}, {eta} left", work)
}

/// Number of progress steps of the whole work.
const STEPS: f64 = 10_000.0;

/// Interval of progress lines without a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(30);

/// Progress through parts of unequal length, each with a name.
pub(crate) struct ProgressParts<'a> {
    tell: &'a (dyn Fn(u64, u64) + Sync),
    name: &'a Mutex<String>,
    bar: &'a Mutex<Option<ProgressBar>>,
    /// Share of the finished parts, and share of the current part, 0 to 1.
    at: Mutex<(f64, f64)>,
}

impl ProgressParts<'_> {
    /// Begins the part `name`, whose share of the whole is `share`, 0 to 1.
    pub(crate) fn begin(&self, name: &str, share: f64) {
        if let (Ok(mut at), Ok(mut shown)) = (self.at.lock(), self.name.lock()) {
            *at = (at.0 + at.1, share);
            name.clone_into(&mut shown);
        }
        self.within(0, 1);
    }

    /// Progress of the current part.
    pub(crate) fn within(&self, done: u64, total: u64) {
        let Ok(at) = self.at.lock() else { return };
        let share = at.0 + at.1 * (done as f64 / total.max(1) as f64).min(1.0);
        (self.tell)((STEPS * share) as u64, STEPS as u64);
    }

    /// Writes a part's output above the progress line.
    pub(crate) fn above<R>(&self, write: impl FnOnce() -> R) -> R {
        let bar = self.bar.lock().ok().and_then(|bar| bar.clone());
        match bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

/// Runs long `work` in named parts; without a terminal, a line every 30 s reports the progress.
pub(crate) fn of_parts<R>(console: &Console, work: impl FnOnce(&ProgressParts<'_>) -> R) -> R {
    let (name, bar) = (Mutex::new(String::new()), Mutex::new(None));
    let line =
        ProgressLine { template: "{bar:30} {msg}, {eta} left", name: &name, bar: &bar, prints_lines: true };
    line.shown(console, |tell| {
        work(&ProgressParts { tell, name: &name, bar: &bar, at: Mutex::new((0.0, 0.0)) })
    })
}

fn bar<R>(console: &Console, template: &str, work: impl FnOnce(&(dyn Fn(u64, u64) + Sync)) -> R) -> R {
    let (name, bar) = (Mutex::new(String::new()), Mutex::new(None));
    ProgressLine { template, name: &name, bar: &bar, prints_lines: false }.shown(console, work)
}

/// A line of progress.
struct ProgressLine<'a> {
    template: &'a str,
    name: &'a Mutex<String>,
    /// The bar, while it is shown.
    bar: &'a Mutex<Option<ProgressBar>>,
    /// Whether lines every 30 s replace the bar without a terminal.
    prints_lines: bool,
}

impl ProgressLine<'_> {
    /// Runs `work`, which reports its progress (done, total) by a callback.
    fn shown<R>(&self, console: &Console, work: impl FnOnce(&(dyn Fn(u64, u64) + Sync)) -> R) -> R {
        let (done, total) = (AtomicU64::new(0), AtomicU64::new(0));
        let tell = |d: u64, t: u64| {
            done.fetch_max(d, Ordering::Relaxed);
            total.store(t, Ordering::Relaxed);
        };
        let drawn = console.shows_progress();
        let prints = self.prints_lines && console.takes_notes();
        if !drawn && !prints {
            return work(&tell);
        }
        std::thread::scope(|scope| {
            let (finished, wait) = channel::<()>();
            // A separate thread updates the line, because repetitions may take long.
            let spawned = std::thread::Builder::new().spawn_scoped(scope, || {
                let wait = wait;
                if drawn {
                    self.draw(&wait, &done, &total);
                } else {
                    self.print_lines(console, &wait, &done, &total);
                }
            });
            let result = work(&tell);
            drop(finished);
            if let Ok(thread) = spawned {
                let _ = thread.join();
            }
            result
        })
    }

    /// Draws the bar until `wait` disconnects.
    fn draw(&self, wait: &Receiver<()>, done: &AtomicU64, total: &AtomicU64) {
        if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let before = done.load(Ordering::Relaxed);
        let bar = ProgressBar::new(total.load(Ordering::Relaxed)).with_position(before);
        bar.reset_eta();
        let style = ProgressStyle::with_template(self.template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        if let Ok(mut shown) = self.bar.lock() {
            *shown = Some(bar.clone());
        }
        while wait.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            bar.set_position(done.load(Ordering::Relaxed));
            if let Ok(name) = self.name.lock() {
                bar.set_message(name.clone());
            }
        }
        bar.finish_and_clear();
    }

    /// Prints a line every 30 s until `wait` disconnects.
    fn print_lines(&self, console: &Console, wait: &Receiver<()>, done: &AtomicU64, total: &AtomicU64) {
        while wait.recv_timeout(LINE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let share = done.load(Ordering::Relaxed) as f64 / total.load(Ordering::Relaxed).max(1) as f64;
            let name = self.name.lock().map(|name| name.clone()).unwrap_or_default();
            console.note(&format!("{:.0} % done: {name}", 100.0 * share));
        }
    }
}
