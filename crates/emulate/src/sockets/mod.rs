//! Workloads over kernel sockets of a flow end: bulk transfer, slow reader, requests, messages, programs; `TCP_INFO`
//! log; orders for remote hosts.

pub(crate) mod bulk;
pub(crate) mod endpoint;
pub(crate) mod messages;
pub(crate) mod multi;
pub(crate) mod program;
pub(crate) mod reader;
pub mod spec;
pub(crate) mod tcp_info_log;
