//! Sender-side congestion manager of a node (RFC 3124; catalogue CM-10): passes grants to the hosts whose turn it is.
//!
//! A host signals when its call has left grants for others; this element signals each host that has one. Hosts are
//! wired to the port with the number of their owner in the macroflow.

use base::Time;
use base::packet::Packet;
use path::{Cx, Element, Port, Signal};
use transport::macroflow::Macroflow;

/// Output port of a host to its congestion manager.
pub const GRANTS: Port = Port(1);

/// Place of a host in a macroflow.
#[derive(Clone, Debug)]
pub struct Membership {
    /// The streams that share a window.
    pub macroflow: Macroflow,
    /// Number of the host.
    pub owner: u16,
    /// Weight of its streams.
    pub weight: u32,
}

/// Congestion manager of one macroflow.
pub struct Granter(Macroflow);

impl Granter {
    /// Of a macroflow.
    pub fn new(macroflow: Macroflow) -> Self {
        Granter(macroflow)
    }

    /// Macroflow that it serves.
    pub fn macroflow(&self) -> &Macroflow {
        &self.0
    }
}

impl Element for Granter {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.discard(&packet);
    }
    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        if signal == Signal::Grant {
            for owner in self.0.granted() {
                cx.signal(Port(owner), Signal::Grant);
            }
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
