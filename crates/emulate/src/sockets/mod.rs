//! Workloads over kernel sockets: bulk transfer, requests, messages, slow readers, programs, with `TCP_INFO` samples.

pub(crate) mod bulk;
pub(crate) mod endpoint;
pub(crate) mod messages;
pub(crate) mod multi;
pub(crate) mod program;
pub(crate) mod reader;
pub mod spec;
pub(crate) mod tcp_info_log;
