//! Granter of a shared congestion window: the element that passes grants of a macroflow (RFC 3124; catalogue
//! CM-10) or of ATP's shared window to hosts; membership of a host in a macroflow, with its weight.
//!
//! A host signals when its call has left grants for other hosts; the granter then signals each host that has
//! one. A host is wired to the granter's port with its owner number.

use base::Time;
use base::packet::Packet;
use path::{Cx, Element, Port, Signal};
use transport::macroflow::{Granting, Macroflow};

/// Output port of a host to its congestion manager.
pub const GRANTS: Port = Port(1);

/// Membership of a host in a macroflow.
#[derive(Clone, Debug)]
pub struct Membership {
    /// The macroflow, whose streams share one congestion window.
    pub macroflow: Macroflow,
    /// Owner number of the host.
    pub owner: u16,
    /// Weight of its streams.
    pub weight: u32,
}

/// Element that passes the grants of one window to hosts.
pub struct Granter<G: Granting = Macroflow>(G);

impl<G: Granting> Granter<G> {
    /// Granter of a macroflow or a shared window.
    pub fn new(window: G) -> Self {
        Granter(window)
    }
}

impl Granter {
    /// The macroflow.
    pub fn macroflow(&self) -> &Macroflow {
        &self.0
    }
}

impl<G: Granting + 'static> Element for Granter<G> {
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
