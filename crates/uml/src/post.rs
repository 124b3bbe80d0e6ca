//! Kernels at the doors of a network: an end of a flow, a machine with programs, or a PCU.

use crate::guest::Guest;
use host::Said;
use path::{ElementId, Network};

/// A kernel and its door into the network.
pub struct Post {
    /// The kernel.
    pub guest: Guest,
    /// Its door.
    pub door: ElementId,
    /// What kind of door it is.
    pub kind: Kind,
    /// The workload whose connections it holds, if it does.
    pub remote: Option<ElementId>,
}

/// Whether it sends datagrams for somebody who speaks.
pub(crate) fn speaks(network: &Network, post: &Post) -> bool {
    let said = post.remote.and_then(|id| network.element::<Said>(id));
    said.is_some_and(Said::speaks)
}

/// What a kernel is to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The end of a flow: a [`host::Door`].
    Flow,
    /// A machine with programs: a [`host::Machine`].
    Machine,
    /// A PCU: a [`radio::pcu::Station`], which it hears and answers without a packet.
    Pcu,
}
