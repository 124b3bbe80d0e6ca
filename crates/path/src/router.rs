//! Router: next hop by flow and direction.
//!
//! The table of a node, by flow and direction: a port to a local host or to a link.

use crate::element::{Cx, Element, Port};
use base::Time;
use base::packet::{DropReason, Packet};

/// A node with several ports.
pub struct Router {
    /// Port by [`Packet::ledger`]: two entries per flow, its own direction first.
    ports: Vec<Option<Port>>,
}

impl Router {
    /// A router with a port by flow and direction.
    pub fn new(ports: Vec<Option<Port>>) -> Self {
        Router { ports }
    }
}

impl Element for Router {
    #[inline]
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        match self.ports.get(packet.ledger()) {
            Some(&Some(port)) => cx.forward(port, packet),
            _ => cx.drop(packet, DropReason::NoRoute),
        }
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn table(&self) -> Option<&[Option<Port>]> {
        Some(&self.ports)
    }
    fn holds(&self) -> usize {
        0
    }
}
