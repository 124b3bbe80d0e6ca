//! Companion thread of a measurement: it watches an interface or a modem while the measurement runs, and ends with it.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets its flag when dropped, so however the measurement ends, also by a panic.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `watch` in a thread of its own while `act` runs; the flag that `watch` gets is set at the end of `act`. Returns both
/// results; a panic of either goes on here.
pub(crate) fn beside<R, T: Send>(
    watch: impl FnOnce(&AtomicBool) -> T + Send,
    act: impl FnOnce() -> R,
) -> (R, T) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch(&over));
        let result = {
            let _over = Over(&over);
            act()
        };
        (result, watching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
