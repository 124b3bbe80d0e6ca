//! Where does a packet go next? A node's table: to a host here, or out by a link.

use crate::element::{Cx, Element, Port};
use base::Time;
use base::packet::{DropReason, NodeId, Packet};

/// A node where more than one thing meets.
pub struct Router {
    here: NodeId,
    /// Port by destination node.
    routes: Vec<Option<Port>>,
    /// Port by flow, for packets that end here.
    hosts: Vec<Option<Port>>,
}

impl Router {
    /// A router at `here` with ports by destination node and, for packets that end here, by flow.
    pub fn new(here: NodeId, routes: Vec<Option<Port>>, hosts: Vec<Option<Port>>) -> Self {
        Router { here, routes, hosts }
    }
}

impl Element for Router {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        let table = if packet.destination == self.here {
            self.hosts.get(packet.flow.0 as usize)
        } else {
            self.routes.get(packet.destination.0 as usize)
        };
        match table {
            Some(&Some(port)) => cx.forward(port, packet),
            _ => cx.drop(packet, DropReason::NoRoute),
        }
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}
