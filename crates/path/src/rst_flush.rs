//! RST flush: the node before a wireless link deletes what an aborted connection still has in its queue (Gurtov, overview,
//! section 4.1; catalogue QM-09).
//!
//! A reset that comes from the mobile end makes the node drop the queued packets of the opposite direction with the same
//! addresses and ports; the reset itself goes on. The node keeps no state: where the reset is lost later, what the sender
//! sends again passes, and the reset that answers it flushes once more.

use crate::element::{Cx, Element, Port, Signal};
use base::Time;
use base::packet::{Flags, Packet};

/// Output port of requests to flush.
pub const FLUSH: Port = Port(2);

/// Watches one direction for resets.
#[derive(Clone, Copy, Debug, Default)]
pub struct RstWatch;

impl Element for RstWatch {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        if packet.flags.has(Flags::RST) {
            let connection = cx.connection(&packet);
            // The two directions of a flow have neighbouring ledgers.
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
