//! Processor time of a benchmark's thread; wall time if the system has none.
//!
//! `CLOCK_THREAD_CPUTIME_ID` has a resolution of a nanosecond and excludes other work on the machine;
//! `schedstat` advances only with the scheduler's tick. Systems other than Unix use wall time.

use std::time::{Duration, Instant};

/// A running measurement.
pub(crate) struct Clock {
    cpu: Option<u64>,
    wall: Instant,
}

/// Processor time of this thread, ns.
#[cfg(unix)]
fn cpu() -> Option<u64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(u64::try_from(time.tv_sec).ok()? * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?)
}

/// Unknown on this system.
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

/// Minimum duration of `turns` runs, and the result of the last run. Each run measures itself, so that set-up
/// and clean-up do not count.
pub(crate) fn least<T>(turns: u32, mut run: impl FnMut() -> (Duration, T)) -> (Duration, T) {
    let (mut least, mut value) = run();
    for _ in 1..turns {
        let (took, new) = run();
        least = least.min(took);
        value = new;
    }
    (least, value)
}

/// Nanoseconds per item of `n` items.
pub(crate) fn each(took: Duration, n: u64) -> f64 {
    took.as_nanos() as f64 / n as f64
}
