//! Guest kernels at the packet ports of a network: flow ends, nodes with programs, PCUs.

use crate::guest::Guest;
use host::ExternalUdp;
use path::{ElementId, Network};

/// A guest kernel with its packet port into the network.
pub struct KernelNode {
    /// Guest kernel.
    pub guest: Guest,
    /// Element of the packet port.
    pub packet_port: ElementId,
    /// Role of the kernel.
    pub kind: KernelRole,
    /// Element of the workload that uses the kernel's connections, if any.
    pub remote: Option<ElementId>,
}

/// Whether the kernel sends datagrams for a workload.
pub(crate) fn speaks(network: &Network, kernel_node: &KernelNode) -> bool {
    let external_udp = kernel_node.remote.and_then(|id| network.element::<ExternalUdp>(id));
    external_udp.is_some_and(ExternalUdp::is_source)
}

/// Role of a kernel in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelRole {
    /// Flow end: a [`host::FlowPort`].
    Flow,
    /// Node with programs: a [`host::NodePort`].
    Machine,
    /// PCU: a `radio::pcu::Station`, which exchanges messages without packets.
    Pcu,
}
