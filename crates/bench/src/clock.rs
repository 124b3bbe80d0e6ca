//! CPU time of the measuring thread; wall time where the system has none.
//!
//! `CLOCK_THREAD_CPUTIME_ID` counts to the nanosecond, so other work on the machine counts little; `schedstat` moves with
//! the scheduler's tick alone. Wall time elsewhere than on Unix.

use std::time::{Duration, Instant};

/// A running measurement.
pub(crate) struct Clock {
    cpu: Option<u64>,
    wall: Instant,
}

/// CPU time of this thread, ns.
#[cfg(unix)]
fn cpu() -> Option<u64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(u64::try_from(time.tv_sec).ok()? * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?)
}

/// Not known here.
#[cfg(not(unix))]
fn cpu() -> Option<u64> {
    None
}

impl Clock {
    #[allow(clippy::disallowed_methods, reason = "a benchmark is a driver")]
    pub(crate) fn start() -> Self {
        Clock { cpu: cpu(), wall: Instant::now() }
    }
    pub(crate) fn wall(&self) -> Duration {
        self.wall.elapsed()
    }
    pub(crate) fn stop(&self) -> Duration {
        match (self.cpu, cpu()) {
            (Some(before), Some(after)) => Duration::from_nanos(after - before),
            _ => self.wall(),
        }
    }
}

/// Minimum of `turns` runs, and the result of the last one. Each run measures itself, so that set-up and clean-up do
/// not count.
pub(crate) fn least<T>(turns: u32, mut run: impl FnMut() -> (Duration, T)) -> (Duration, T) {
    let (mut least, mut value) = run();
    for _ in 1..turns {
        let (took, new) = run();
        least = least.min(took);
        value = new;
    }
    (least, value)
}

/// Nanoseconds for each of `n`.
pub(crate) fn each(took: Duration, n: u64) -> f64 {
    took.as_nanos() as f64 / n as f64
}
