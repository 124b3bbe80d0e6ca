//! Tables of the path: hops, links, queues, faults, the channel of a mobile link.

pub(crate) mod background;
pub(crate) mod channel;
pub(crate) mod class;
pub(crate) mod credit;
pub(crate) mod delay_trace;
pub(crate) mod error;
pub(crate) mod fault;
pub(crate) mod firewall;
pub(crate) mod hop;
pub(crate) mod link;
pub(crate) mod machine;
pub(crate) mod process;
pub(crate) mod queue;
pub(crate) mod wire;
