//! Checksum verification: discards packets with bit errors before the host (catalogue SW-37).
//!
//! Its checksum tells, and it discards the packet: for the sender a loss like any other, though nothing on the path
//! has dropped it (catalogue SW-37). Stands before hosts that keep no bytes; a door gives the wrong bits to the stack
//! behind it, whose own checksum tells.

use crate::element::{Cx, Element, Port};
use base::Time;
use base::packet::{DropReason, Flags, Packet};

/// Discards what is corrupt.
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
