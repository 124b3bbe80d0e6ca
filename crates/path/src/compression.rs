//! Header compression with delta encoding (RFC 1144) and desynchronisation after a loss.
//!
//! RFC 1144: the decompressor adds each difference to the header before; after a loss all of its headers are wrong,
//! the receiver discards the segments for their checksums, until a packet comes with its whole header. The compressor
//! sends one when data are sent again (RFC 1144 section 4.1). Catalogue PR-09.
//!
//! Two elements stand around what loses packets: [`Numbering`] behind the link, [`Decompressor`] behind the
//! losses. Only this desynchronisation is modelled: sizes stay as they are, and acknowledgements, whose
//! differences matter less, are not compressed. A flow with timestamps is not either: the scheme cannot
//! compress options that change.

use crate::element::{Cx, Element, Port};
use base::Time;
use base::packet::{DropReason, Flags, Packet};

/// Numbers the data packets of each flow as they leave the link.
pub struct Numbering {
    next: Vec<u16>,
}

impl Numbering {
    /// For so many ledgers.
    pub fn new(ledgers: usize) -> Self {
        Numbering { next: vec![0; ledgers] }
    }
}

impl Element for Numbering {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, mut packet: Packet) {
        if packet.flags.has(Flags::DATA)
            && let Some(next) = self.next.get_mut(packet.ledger())
        {
            packet.interface = *next;
            *next = next.wrapping_add(1);
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

/// What the far end knows of one flow.
#[derive(Clone, Copy, Default)]
struct Flow {
    compressed: bool,
    expected: u16,
    wrong: bool,
}

/// Discards what it can only restore wrongly.
pub struct Decompressor {
    flows: Vec<Flow>,
}

impl Decompressor {
    /// For these ledgers: which of them are compressed.
    pub fn new(compressed: &[bool]) -> Self {
        let flow = |&compressed: &bool| Flow { compressed, ..Flow::default() };
        Decompressor { flows: compressed.iter().map(flow).collect() }
    }
}

impl Element for Decompressor {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, mut packet: Packet) {
        if packet.flags.has(Flags::DATA)
            && let Some(flow) = self.flows.get_mut(packet.ledger())
        {
            let number = std::mem::take(&mut packet.interface);
            if flow.compressed {
                flow.wrong |= number != flow.expected;
                //= RFC 1144 section 4.1: a retransmission is sent uncompressed, which sets both ends right
                flow.wrong &= !packet.flags.has(Flags::AGAIN);
                flow.expected = number.wrapping_add(1);
                if flow.wrong {
                    return cx.drop(packet, DropReason::Desynchronised);
                }
            }
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
