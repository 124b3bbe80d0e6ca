//! Capture intake: observations of segments, duplicate frames, order of time, the capture point.

pub mod capture_point;
pub(crate) mod dedup;
mod doubling;
pub(crate) mod limits;
pub(crate) mod observation;
pub(crate) mod ordering;
