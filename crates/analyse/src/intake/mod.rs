//! Capture intake: observations of segments, duplicate frames, the connection table.

pub(crate) mod connection;
pub(crate) mod dedup;
pub(crate) mod limits;
pub(crate) mod observation;
pub mod place;
pub(crate) mod table;
