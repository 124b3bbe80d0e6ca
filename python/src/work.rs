//! Background thread of a long task, with progress callbacks and interrupts by signals.

use lab::sweep::Progress;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Interval of progress callbacks and of looks for signals.
const TICK: Duration = Duration::from_millis(100);

/// Messages of a task while it runs.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) stop: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

impl Watch {
    /// Takes note of progress; any thread may call it.
    pub(crate) fn tell(&self, progress: Progress) {
        self.done.fetch_max(progress.done, Ordering::Relaxed);
        self.total.store(progress.total, Ordering::Relaxed);
    }
}

/// Runs `task` in a thread of its own. `progress(done, total)` is called in the caller's thread. A signal whose
/// handler raises (Ctrl-C) stops the task and is raised here once it has ended; results are lost unless the task has
/// written them.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    task: impl FnOnce(&Watch) -> T + Send,
) -> PyResult<T> {
    let watch = Watch::default();
    let progress = progress.map(|f| f.clone().unbind());
    let (outcome, raised) = py.detach(|| {
        std::thread::scope(|scope| {
            let (finished, wait) = channel::<()>();
            let watch = &watch;
            let thread = scope.spawn(move || {
                let _finished = finished;
                task(watch)
            });
            let mut raised: Option<PyErr> = None;
            let mut told = None;
            let mut tell = |raised: &mut Option<PyErr>| {
                let now = (watch.done.load(Ordering::Relaxed), watch.total.load(Ordering::Relaxed));
                let news = told.replace(now) != Some(now) && now.1 > 0;
                let looked = Python::attach(|py| {
                    py.check_signals()?;
                    match &progress {
                        Some(f) if news => f.call1(py, now).map(drop),
                        _ => Ok(()),
                    }
                });
                if let Err(error) = looked {
                    watch.stop.store(true, Ordering::Relaxed);
                    raised.get_or_insert(error);
                }
            };
            while wait.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                tell(&mut raised);
            }
            if raised.is_none() {
                tell(&mut raised);
            }
            (thread.join(), raised)
        })
    });
    match (outcome, raised) {
        (_, Some(error)) => Err(error),
        (Ok(value), None) => Ok(value),
        (Err(_), None) => Err(pyo3::exceptions::PyRuntimeError::new_err(
            "a fault in williwaw itself; please report it with the scenario",
        )),
    }
}
