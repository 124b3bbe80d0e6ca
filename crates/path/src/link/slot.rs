//! Slot: a packet inside a link.

use base::Time;
use base::packet::{Flags, Packet};

/// State of a packet in the link: one cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Slot {
    /// Arrival at the far end: one propagation delay after the end of transmission.
    pub(crate) arrival: Time,
    /// Start of transmission.
    pub(super) start: Time,
    /// With the flag [`DOOMED`], if the packet will be dropped at a gate.
    pub(super) packet: Packet,
}

const _: () = assert!(size_of::<Slot>() == 64);

impl Default for Slot {
    fn default() -> Self {
        Slot { arrival: Time::NEVER, start: Time::NEVER, packet: Packet::NONE }
    }
}

/// Flag used in slots only: the packet meets a closed gate that does not store, and is dropped there. It is
/// a spare bit of the byte that holds the two-bit ECN codepoint.
const DOOMED: u8 = 1 << 7;

impl Slot {
    pub(super) fn is_doomed(&self) -> bool {
        self.packet.ecn & DOOMED != 0
    }

    pub(super) fn doom(&mut self, doomed: bool) {
        let codepoint = self.packet.ecn & !DOOMED;
        self.packet.ecn = if doomed { codepoint | DOOMED } else { codepoint };
    }

    /// Whether it is background load.
    pub(crate) fn is_load(&self) -> bool {
        self.packet.flags.has(Flags::VIRTUAL)
    }

    /// The packet without the flag.
    pub(super) fn packet(&self) -> Packet {
        Packet { ecn: self.packet.ecn & !DOOMED, ..self.packet }
    }
}
