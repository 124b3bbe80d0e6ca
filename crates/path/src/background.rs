//! Background load: CBR or Poisson cross traffic, absorbed behind the link or a later one.
//!
//! Background load: packets at a constant rate, or at random instants, that compete for a queue and are taken out
//! again right behind the link or behind a later one; nobody answers them (catalogue SW-49, NS-01).
//!
//! They carry [`Flags::VIRTUAL`], have no body and no ledger, and are counted as sent and absorbed like all
//! others. A source never ends by itself: whoever drives the network closes it (`Signal::Close`) when the
//! workloads are done.

use crate::element::{Cx, Element, Port, Signal};
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::pool::BodyRef;
use base::rng::Stream;
use base::{Rate, Span, Time};

/// No flow of the scenario has this number.
const NOBODY: FlowId = FlowId(u32::MAX / 4);

/// Sends packets of one size.
pub struct Background {
    size: u32,
    gap: Span,
    next: Time,
    sent: u32,
    flow: FlowId,
    /// Draws the gaps, exponential ones.
    random: Option<Stream>,
}

impl Background {
    /// `size` bytes on the wire every time `rate` needs for them, the first at `start`.
    pub fn new(rate: Rate, size: u32, start: Time) -> Self {
        let gap = rate.span_of(u64::from(size));
        Background { size, gap, next: start, sent: 0, flow: NOBODY, random: None }
    }

    /// The same rate on average, the gaps drawn: arrivals of many that know nothing of each other (Poisson).
    #[must_use]
    pub fn random(mut self, stream: Stream) -> Self {
        self.random = Some(stream);
        self
    }

    /// The packets bear this number, by which routers lead them on.
    #[must_use]
    pub fn travelling(mut self, flow: FlowId) -> Self {
        self.flow = flow;
        self
    }

    fn gap(&mut self) -> Span {
        match &mut self.random {
            None => self.gap,
            Some(stream) => {
                Span::from_nanos((self.gap.as_nanos() as f64 * -libm::log(stream.uniform())) as u64)
            }
        }
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
                lives: Packet::ALWAYS,
                body: BodyRef::NONE,
                flow: self.flow,
                size: self.size,
                ordinal: self.sent,
                source: NodeId::default(),
                destination: NodeId::default(),
                interface: 0,
                flags: Flags::VIRTUAL,
                class: 0,
                ecn: 0,
                unit: 0,
            };
            cx.forward(Port(0), packet);
            self.next = if self.gap.is_zero() { Time::NEVER } else { self.next + self.gap() };
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
#[derive(Default)]
pub struct Absorber {
    through: Vec<FlowId>,
}

impl Absorber {
    /// Lets load with these numbers through: it ends behind a later link.
    pub fn but(through: Vec<FlowId>) -> Self {
        Absorber { through }
    }
}

impl Element for Absorber {
    #[inline]
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        if packet.flags.has(Flags::VIRTUAL) && !self.through.contains(&packet.flow) {
            cx.discard(&packet);
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
