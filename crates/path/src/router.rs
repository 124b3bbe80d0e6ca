//! Router of a node: static forwarding table from flow and direction to the port of a local host or link.
//!
//! The network resolves the table ahead ([`Element::table`]), so packets bypass the element.

use crate::element::{Cx, Element, Port};
use base::Time;
use base::packet::{DropReason, Packet};

/// Element of a node with several output ports.
pub struct Router {
    /// Output port by [`Packet::ledger`]: two entries per flow, first the flow's direction, then its reverse.
    ports: Vec<Option<Port>>,
}

impl Router {
    /// `ports`: output port by [`Packet::ledger`]; packets without one are dropped.
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
    fn wakes(&self) -> bool {
        false
    }
    fn table(&self) -> Option<&[Option<Port>]> {
        Some(&self.ports)
    }
    fn holds(&self) -> usize {
        0
    }
}
