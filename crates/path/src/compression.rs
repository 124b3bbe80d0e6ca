//! Header compression: sizes on the link (RFC 2507, ROHC-TCP of RFC 6846), and desynchronisation after a loss
//! with delta encoding (RFC 1144, RFC 2507).
//!
//! Desynchronisation (catalogue PR-09): the decompressor of RFC 1144 adds each difference to the previous header.
//! After a loss all headers that it restores are wrong. The receiver discards the segments by their checksums until
//! a packet with a full header arrives. Retransmissions have full headers (RFC 1144 section 4.1). [`Numbering`]
//! stands behind the link, [`Decompressor`] behind the loss elements. Only packets with data are modelled: a lost
//! ACK does not desynchronise.
//!
//! Sizes (catalogue PR-15, PR-16): [`Compressor`] stands before the queue of the link, [`Restorer`] behind the link.
//! A SYN has its full header, and with delta encoding a retransmission too. SACK blocks are not compressed. After a
//! handover without context transfer (RFC 3374), the next packet of each flow at the compressor has its full
//! header.

use crate::element::{Cx, Element, Port, Signal};
use crate::states::StateMachine;
use base::Time;
use base::packet::{DropReason, Flags, Packet};

/// Header sizes of a compression scheme, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderSizes {
    /// Part of the header that the scheme compresses.
    pub whole: u32,
    /// Compressed size of that part in a packet with data.
    pub data: u32,
    /// Compressed size of that part in a packet without data.
    pub ack: u32,
    /// Retransmissions carry the full header.
    pub repeats_whole: bool,
}

impl HeaderSizes {
    /// Bytes by which a packet is shorter on the link.
    fn saved(&self, packet: &Packet) -> u32 {
        let whole = packet.flags.has(Flags::SYN) || self.repeats_whole && packet.flags.has(Flags::AGAIN);
        let left = if packet.flags.has(Flags::DATA) { self.data } else { self.ack };
        if whole { 0 } else { self.whole.saturating_sub(left).min(packet.size.saturating_sub(left)) }
    }
}

/// State machine of handovers, and the states entered without context transfer to the new router.
pub struct Handovers {
    number: u16,
    machine: StateMachine,
    loses: Vec<bool>,
}

impl Handovers {
    /// `machine`: a copy of the network's state machine `number`; `loses`: by state, whether it is entered
    /// without context transfer.
    pub fn new(number: u16, machine: StateMachine, loses: Vec<bool>) -> Self {
        Handovers { number, machine, loses }
    }

    /// Performs the state changes up to `now`; true if one of them had no context transfer.
    fn lost(&mut self, now: Time) -> bool {
        let mut lost = false;
        while let Some(change) = self.machine.step(now) {
            lost |= self.loses.get(change.state) == Some(&true);
        }
        lost
    }
}

/// Header compressor before a link: reduces the size of packets, and records the saved bytes in each.
pub struct Compressor {
    sizes: Vec<Option<HeaderSizes>>,
    handovers: Vec<Handovers>,
    /// By ledger, whether the next packet needs its full header, since a handover has removed the context.
    unknown: Vec<bool>,
}

impl Compressor {
    /// `sizes`: header sizes by ledger, none without compression; `handovers`: state machines that may remove
    /// contexts.
    pub fn new(sizes: Vec<Option<HeaderSizes>>, handovers: Vec<Handovers>) -> Self {
        let unknown = vec![false; sizes.len()];
        Compressor { sizes, handovers, unknown }
    }

    /// Performs the state changes up to `now`; without context transfer all flows need full headers.
    fn follow(&mut self, now: Time) {
        for handovers in &mut self.handovers {
            if handovers.lost(now) {
                self.unknown.fill(true);
            }
        }
    }
}

impl Element for Compressor {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, mut packet: Packet) {
        self.follow(cx.now());
        if let Some(Some(sizes)) = self.sizes.get(packet.ledger())
            && !packet.flags.has(Flags::VIRTUAL)
        {
            let unknown = std::mem::take(&mut self.unknown[packet.ledger()]);
            let saved = if unknown { 0 } else { sizes.saved(&packet) };
            cx.compress(&mut packet, saved);
            packet.interface = saved as u16;
        }
        cx.forward(Port(0), packet);
    }
    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        let Signal::State { machine, state } = signal else { return };
        self.follow(cx.now());
        let state = usize::from(state);
        for handovers in self.handovers.iter_mut().filter(|h| h.number == machine) {
            handovers.machine.trigger(cx.now(), state);
            if handovers.loses.get(state) == Some(&true) {
                self.unknown.fill(true);
            }
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

/// Header decompressor behind the link, for sizes: restores the saved bytes of each packet.
pub struct Restorer {
    compressed: Vec<bool>,
}

impl Restorer {
    /// `compressed`: whether packets are compressed, by ledger.
    pub fn new(compressed: Vec<bool>) -> Self {
        Restorer { compressed }
    }
}

impl Element for Restorer {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, mut packet: Packet) {
        if self.compressed.get(packet.ledger()) == Some(&true) && !packet.flags.has(Flags::VIRTUAL) {
            let saved = u32::from(std::mem::take(&mut packet.interface));
            cx.restore(&mut packet, saved);
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

/// Element behind the link that numbers the data packets of each compressed flow.
pub struct Numbering {
    next: Vec<Option<u16>>,
}

impl Numbering {
    /// `compressed`: whether each ledger is compressed.
    pub fn new(compressed: &[bool]) -> Self {
        Numbering { next: compressed.iter().map(|compressed| compressed.then_some(0)).collect() }
    }
}

impl Element for Numbering {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, mut packet: Packet) {
        if packet.flags.has(Flags::DATA)
            && let Some(Some(next)) = self.next.get_mut(packet.ledger())
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

/// Decompressor state of one flow: number of the next packet, and whether its headers are wrong.
#[derive(Clone, Copy, Default)]
struct Flow {
    compressed: bool,
    /// Number of the next packet if none is lost.
    expected: u16,
    /// Whether a loss has made the restored headers wrong, until the next full header.
    wrong: bool,
}

/// Decompressor of RFC 1144 behind the loss elements: drops packets whose restored headers are wrong.
pub struct Decompressor {
    flows: Vec<Flow>,
}

impl Decompressor {
    /// `compressed`: whether packets are compressed, by ledger.
    pub fn new(compressed: &[bool]) -> Self {
        let flow = |&compressed: &bool| Flow { compressed, ..Flow::default() };
        Decompressor { flows: compressed.iter().map(flow).collect() }
    }
}

impl Element for Decompressor {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, mut packet: Packet) {
        if packet.flags.has(Flags::DATA)
            && let Some(flow) = self.flows.get_mut(packet.ledger())
            && flow.compressed
        {
            let number = std::mem::take(&mut packet.interface);
            flow.wrong |= number != flow.expected;
            //= RFC 1144 section 4.1: a retransmission is sent uncompressed, which sets both ends right
            flow.wrong &= !packet.flags.has(Flags::AGAIN);
            flow.expected = number.wrapping_add(1);
            if flow.wrong {
                return cx.drop(packet, DropReason::Desynchronised);
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
