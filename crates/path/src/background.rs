//! Who else uses the link? Background load: packets at a constant rate that compete for a queue and are
//! taken out again right behind the link; nobody answers them (catalogue SW-49, NS-01).
//!
//! They carry [`Flags::VIRTUAL`], have no body and no ledger, and are counted as sent and absorbed like all
//! others. A source never ends by itself: whoever drives the network closes it (`Signal::Close`) when the
//! workloads are done.

use crate::element::{Cx, Element, Port, Signal};
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::pool::BodyRef;
use base::{Rate, Span, Time};

/// No flow of the scenario has this number.
const NOBODY: FlowId = FlowId(u32::MAX / 4);

/// Sends packets of one size at a constant rate.
pub struct Background {
    size: u32,
    gap: Span,
    next: Time,
    sent: u32,
}

impl Background {
    /// `size` bytes on the wire every time `rate` needs for them, the first at `start`.
    pub fn new(rate: Rate, size: u32, start: Time) -> Self {
        Background { size, gap: rate.span_of(u64::from(size)), next: start, sent: 0 }
    }
}

impl Element for Background {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.forward(Port(0), packet);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        while self.next <= now {
            self.sent = self.sent.wrapping_add(1);
            let packet = Packet {
                id: cx.emit_virtual(self.size),
                born: self.next,
                deadline: Time::NEVER,
                body: BodyRef::NONE,
                flow: NOBODY,
                size: self.size,
                ordinal: self.sent,
                source: NodeId::default(),
                destination: NodeId::default(),
                interface: 0,
                flags: Flags::VIRTUAL,
                class: 0,
                ecn: 0,
            };
            cx.forward(Port(0), packet);
            self.next = if self.gap.is_zero() { Time::NEVER } else { self.next + self.gap };
        }
    }

    fn next_wake(&self) -> Time {
        self.next
    }

    fn on_signal(&mut self, _cx: &mut Cx<'_>, signal: Signal) {
        if signal == Signal::Close {
            self.next = Time::NEVER;
        }
    }

    fn holds(&self) -> usize {
        0
    }
}

/// Takes background load out; everything else goes on.
pub struct Absorber;

impl Element for Absorber {
    #[inline]
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        if packet.flags.has(Flags::VIRTUAL) {
            cx.absorb(&packet);
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
