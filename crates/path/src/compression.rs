//! Header compression with delta encoding (RFC 1144) and desynchronisation after a loss.
//!
//! With RFC 1144 the decompressor adds each difference to the previous header. After a loss all its headers
//! are wrong, and the receiver discards the segments by their checksums until a packet with a full header
//! arrives. The compressor sends one with a retransmission (RFC 1144 section 4.1). Catalogue PR-09.
//!
//! Two elements enclose the lossy part: [`Numbering`] behind the link, [`Decompressor`] behind the losses.
//! Only the desynchronisation is modelled: sizes stay unchanged, and ACKs, whose differences matter less, are
//! not compressed. Flows with timestamps are not compressed either: the scheme cannot compress changing
//! options.

use crate::element::{Cx, Element, Port};
use base::Time;
use base::packet::{DropReason, Flags, Packet};

/// Numbers the data packets of each flow as they leave the link.
pub struct Numbering {
    next: Vec<u16>,
}

impl Numbering {
    /// Numbering for `ledgers` ledgers.
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

/// Decompressor state of one flow.
#[derive(Clone, Copy, Default)]
struct Flow {
    compressed: bool,
    expected: u16,
    wrong: bool,
}

/// Discards packets with wrongly restored headers.
pub struct Decompressor {
    flows: Vec<Flow>,
}

impl Decompressor {
    /// `compressed`: whether the flow is compressed, by ledger.
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
