//! RST flush: the node before a wireless link drops the queued packets of an aborted connection (Gurtov,
//! overview, section 4.1; catalogue QM-09).
//!
//! On an RST from the mobile end, the node drops the queued packets of the opposite direction with equal
//! addresses and ports; the RST itself is forwarded. The node keeps no state. If the RST is lost later, the
//! sender's retransmissions pass, and the RST that answers them flushes again.

use crate::element::{Cx, Element, Port, Signal};
use base::Time;
use base::packet::{Flags, Packet};

/// Output port for flush signals.
pub const FLUSH: Port = Port(2);

/// Watches one direction for RSTs.
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
