//! Workloads over kernel sockets: bulk transfer, requests, messages, slow readers, with `TCP_INFO` samples.

pub(crate) mod bulk;
pub(crate) mod endpoint;
pub(crate) mod ends;
pub(crate) mod messages;
pub(crate) mod multi;
pub(crate) mod reader;
pub(crate) mod watch;
