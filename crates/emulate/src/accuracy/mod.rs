//! Timing accuracy of an emulation: lateness histograms, live counters, timer calibration, overhead between hosts.

#[cfg(target_os = "linux")]
pub mod calibrate;
pub mod lateness;
pub mod live;
pub mod overhead;
#[cfg(target_os = "linux")]
pub(crate) mod wake_up;
