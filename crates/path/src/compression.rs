//! Header compression: sizes on the link (RFC 2507, ROHC-TCP of RFC 6846), and desynchronisation after a loss
//! with delta encoding (RFC 1144, RFC 2507).
//!
//! With RFC 1144 the decompressor adds each difference to the previous header. After a loss all its headers
//! are wrong, and the receiver discards the segments by their checksums until a packet with a full header
//! arrives. The compressor sends one with a retransmission (RFC 1144 section 4.1). Catalogue PR-09.
//!
//! Two elements enclose the lossy part: [`Numbering`] behind the link, [`Decompressor`] behind the losses.
//! ACKs, whose differences matter less, do not cause desynchronisation.
//!
//! Two elements enclose the link if sizes are modelled (catalogue PR-15, PR-16): [`Compressor`] before its
//! queue, [`Restorer`] behind it. A SYN is sent with its full header, and with differences so is a
//! retransmission. SACK blocks are not compressed. After a handover without context transfer (RFC 3374), the first
//! packet of each flow at the compressor has its full header.

use crate::element::{Cx, Element, Port, Signal};
use crate::states::StateMachine;
use base::Time;
use base::packet::{DropReason, Flags, Packet};

/// Header sizes of a compression scheme, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderSizes {
    /// Part of the header that the scheme compresses.
    pub whole: u32,
    /// Its compressed size in a packet with data.
    pub data: u32,
    /// Its compressed size in a packet without data.
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

/// State machine some of whose states are entered without context transfer: the new router has no contexts.
pub struct Handovers {
    number: u16,
    machine: StateMachine,
    loses: Vec<bool>,
}

impl Handovers {
    /// A copy of the state machine with this number in the network; `loses`: states entered without transfer.
    pub fn new(number: u16, machine: StateMachine, loses: Vec<bool>) -> Self {
        Handovers { number, machine, loses }
    }

    /// Whether contexts were lost in the changes until now.
    fn lost(&mut self, now: Time) -> bool {
        let mut lost = false;
        while let Some(change) = self.machine.step(now) {
            lost |= self.loses.get(change.state) == Some(&true);
        }
        lost
    }
}

/// Compresses headers before the link: packets of these ledgers become smaller and record the difference.
pub struct Compressor {
    sizes: Vec<Option<HeaderSizes>>,
    handovers: Vec<Handovers>,
    /// Ledgers without a context.
    unknown: Vec<bool>,
}

impl Compressor {
    /// Compressed sizes by ledger, and handovers without context transfer.
    pub fn new(sizes: Vec<Option<HeaderSizes>>, handovers: Vec<Handovers>) -> Self {
        let unknown = vec![false; sizes.len()];
        Compressor { sizes, handovers, unknown }
    }

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

/// Restores headers behind the link.
pub struct Restorer {
    compressed: Vec<bool>,
}

impl Restorer {
    /// Whether packets are compressed, by ledger.
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

/// Numbers the data packets of each flow as they leave the link.
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
