//! Volume meter: packets and bytes that pass a point, by flow and direction (catalogue CH-01, CH-02, CH-06).
//!
//! Volume-based charging counts packets at the gateway, before the queue of the radio link, or in the radio network
//! behind the link. Meters at both points of a link show the difference: packets dropped between them.

use crate::element::{Cx, Element, Port};
use base::Time;
use base::packet::{Flags, Packet};

/// Volume of one flow in one direction, without background load.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Number of packets.
    pub packets: u64,
    /// Bytes on the wire, headers included.
    pub bytes: u64,
    /// Bytes on the wire of packets with retransmitted data.
    pub resent_bytes: u64,
}

/// Element that counts the volume of passing packets.
#[derive(Clone, Default, Debug)]
pub struct Meter {
    /// Volumes by ledger, two per flow.
    volumes: Vec<Volume>,
}

impl Meter {
    /// Volume of this ledger.
    pub fn volume(&self, ledger: usize) -> Volume {
        self.volumes.get(ledger).copied().unwrap_or_default()
    }
}

impl Element for Meter {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        if !packet.flags.has(Flags::VIRTUAL) {
            let at = packet.ledger();
            if self.volumes.len() <= at {
                self.volumes.resize(at + 1, Volume::default());
            }
            let volume = &mut self.volumes[at];
            let bytes = u64::from(packet.size);
            volume.packets += 1;
            volume.bytes += bytes;
            volume.resent_bytes += if packet.flags.has(Flags::AGAIN) { bytes } else { 0 };
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
