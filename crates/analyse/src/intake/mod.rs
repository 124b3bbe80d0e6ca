//! Capture intake: observations of segments, duplicate frames, the capture point.

pub(crate) mod dedup;
pub(crate) mod limits;
pub(crate) mod observation;
pub mod place;
