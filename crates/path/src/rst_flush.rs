//! RST flush: the node before a wireless link deletes what an aborted connection still has in its queue (Gurtov, overview,
//! section 4.1; catalogue QM-09).
//!
//! A reset that comes from the mobile end makes the node drop the queued packets of the opposite direction with the same
//! addresses and ports; the reset itself goes on. The node keeps no state: where the reset is lost later, what the sender
//! sends again passes, and the reset that answers it flushes once more.

use crate::element::{Cx, Element, Port};
use base::Time;
use base::packet::{Flags, NodeId, Packet};
use base::pool::BodyRef;

/// Where a request to flush leaves the watch, and where it enters a channel.
pub const FLUSH: Port = Port(2);

/// Watches one direction for resets.
#[derive(Clone, Copy, Debug, Default)]
pub struct RstWatch;

/// A request to drop what waits of `connection` in the direction opposite to `of`: a head without a body, counted nowhere.
fn request(of: &Packet, connection: u64) -> Packet {
    Packet {
        id: connection,
        body: BodyRef::NONE,
        size: 0,
        flags: Flags(Flags::VIRTUAL.0 | Flags::RST.0 | (of.flags.0 ^ Flags::REPLY.0) & Flags::REPLY.0),
        source: NodeId::default(),
        destination: NodeId::default(),
        ..*of
    }
}

impl Element for RstWatch {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        if packet.flags.has(Flags::RST) {
            let connection = cx.connection(&packet);
            cx.forward(FLUSH, request(&packet, connection));
        }
        cx.forward(Port(0), packet);
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}
