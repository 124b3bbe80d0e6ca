//! Capture intake: observations of segments, duplicate frames, the capture point.

pub mod capture_point;
pub(crate) mod dedup;
pub(crate) mod limits;
pub(crate) mod observation;
