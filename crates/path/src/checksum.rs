//! Checksum verification at a receiving host: element that drops packets with bit errors (catalogue SW-37).
//!
//! The sender cannot distinguish such a drop from a loss on the path. The element stands before modelled hosts,
//! whose packets have no bytes to verify. A packet port instead passes a packet with a wrong bit to the real
//! stack, which verifies the checksum itself.

use crate::element::{Cx, Element, Port};
use base::Time;
use base::packet::{DropReason, Flags, Packet};

/// Element that drops packets with [`Flags::CORRUPT`].
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
