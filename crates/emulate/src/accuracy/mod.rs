//! Timing accuracy of a run: lateness histograms, live counters, timer calibration.

#[cfg(target_os = "linux")]
pub mod calibrate;
pub mod lateness;
pub mod live;
pub mod overhead;
