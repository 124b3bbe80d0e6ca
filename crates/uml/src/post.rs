//! Kernels at the packet ports of a network: flow ends, machines with programs, PCUs.

use crate::guest::Guest;
use host::ExternalUdp;
use path::{ElementId, Network};

/// A kernel and its packet port into the network.
pub struct Post {
    /// Guest kernel.
    pub guest: Guest,
    /// Element of the packet port.
    pub packet_port: ElementId,
    /// Kind of packet port.
    pub kind: KernelRole,
    /// Workload that uses the kernel's connections, if any.
    pub remote: Option<ElementId>,
}

/// Whether the kernel sends datagrams for a workload.
pub(crate) fn speaks(network: &Network, post: &Post) -> bool {
    let said = post.remote.and_then(|id| network.element::<ExternalUdp>(id));
    said.is_some_and(ExternalUdp::is_source)
}

/// Role of a kernel in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelRole {
    /// Flow end: a [`host::FlowPort`].
    Flow,
    /// Node with programs: a [`host::NodePort`].
    Machine,
    /// PCU: a [`radio::pcu::Station`], which exchanges messages without packets.
    Pcu,
}
