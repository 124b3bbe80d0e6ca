//! RST flush: element that signals a link to drop the queued packets of a connection aborted by RST (Gurtov,
//! overview, section 4.1; catalogue QM-09).
//!
//! On an RST from the mobile end, the node before the wireless link drops the queued packets of the opposite direction
//! that belong to the same connection, and forwards the RST. The node keeps no state. If the RST is lost later, the
//! sender's retransmissions pass, and the mobile end answers with another RST, which flushes the queue again.

use crate::element::{Cx, Element, Port, Signal};
use base::Time;
use base::packet::{Flags, Packet};

/// Output port for flush signals.
pub const FLUSH: Port = Port(2);

/// Element that detects RSTs in one direction of a link.
#[derive(Clone, Copy, Debug, Default)]
pub struct RstFlush;

impl Element for RstFlush {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        if packet.flags.has(Flags::RST) {
            let connection = cx.connection(&packet);
            // The two directions of a flow have adjacent ledger numbers.
            cx.signal(FLUSH, Signal::Flush { ledger: packet.ledger() ^ 1, connection });
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
