//! Capture intake of the analyser: observations of TCP segments, time order, duplicate frames, position of the capture
//! point, memory limits.

pub mod capture_point;
pub(crate) mod dedup;
mod doubling;
pub(crate) mod limits;
mod majority;
pub(crate) mod observation;
pub(crate) mod ordering;
