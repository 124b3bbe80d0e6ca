//! Checksum verification: discards packets with bit errors before the host (catalogue SW-37).
//!
//! The receiving host detects the error by its checksum and discards the packet: for the sender a loss like
//! any other (catalogue SW-37). The element stands before hosts that keep no bytes; a packet port passes the wrong
//! bits to the real stack, which verifies its own checksum.

use crate::element::{Cx, Element, Port};
use base::Time;
use base::packet::{DropReason, Flags, Packet};

/// Discards corrupt packets.
pub struct Checksum;

impl Element for Checksum {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        if packet.flags.has(Flags::CORRUPT) {
            cx.drop(packet, DropReason::Corrupt);
        } else {
            cx.forward(Port(0), packet);
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
