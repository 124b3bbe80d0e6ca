//! Progress line of a long run.
//!
//! A line on the terminal, once a run has lasted a second.

use crate::talk::Talk;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// What is quicker than this shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// Runs `work`, which tells its progress (done, total) by the function it is given.
pub(crate) fn shown<R>(talk: &Talk, work: impl FnOnce(&(dyn Fn(u64, u64) + Sync)) -> R) -> R {
    bar(talk, "{bar:30} {pos} of {len} repetitions, {eta} left", work)
}

/// The same for a file, of which so many bytes are read.
pub(crate) fn of_bytes<R>(talk: &Talk, work: impl FnOnce(&(dyn Fn(u64, u64) + Sync)) -> R) -> R {
    bar(talk, "{bar:30} {bytes} of {total_bytes}, {eta} left", work)
}

fn bar<R>(talk: &Talk, template: &str, work: impl FnOnce(&(dyn Fn(u64, u64) + Sync)) -> R) -> R {
    let (done, total) = (AtomicU64::new(0), AtomicU64::new(0));
    let tell = |d: u64, t: u64| {
        done.fetch_max(d, Ordering::Relaxed);
        total.store(t, Ordering::Relaxed);
    };
    if !talk.shows_progress() {
        return work(&tell);
    }
    std::thread::scope(|scope| {
        let (finished, wait) = channel::<()>();
        // The line is drawn by a thread of its own: repetitions may take longer than a moment.
        let spawned = std::thread::Builder::new().spawn_scoped(scope, || {
            let wait = wait;
            if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let before = done.load(Ordering::Relaxed);
            let bar = ProgressBar::new(total.load(Ordering::Relaxed)).with_position(before);
            bar.reset_eta();
            let style = ProgressStyle::with_template(template);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            while wait.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                bar.set_position(done.load(Ordering::Relaxed));
            }
            bar.finish_and_clear();
        });
        let result = work(&tell);
        drop(finished);
        if let Ok(thread) = spawned {
            let _ = thread.join();
        }
        result
    })
}
