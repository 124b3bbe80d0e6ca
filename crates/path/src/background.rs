//! Background load: CBR or Poisson cross traffic, absorbed behind the link or a later one.
//!
//! Background load: packets at a constant rate, or at random instants, that compete for a queue and are taken out
//! again right behind the link or behind a later one; nobody answers them (catalogue SW-49, NS-01).
//!
//! They carry [`Flags::VIRTUAL`], have no body and no ledger, and are counted as sent and absorbed like all
//! others. A source never ends by itself: whoever drives the network ends it (`Signal::Cease`) when the
//! workloads are done.
//!
//! Load that nothing but its link meets costs no wake-ups: [`crate::loaded`].

use crate::element::{Cx, Element, Port, Signal};
use base::packet::{Flags, FlowId, Packet};
use base::rng::Stream;
use base::{Rate, Span, Time};

/// No flow of the scenario has this number.
const NOBODY: FlowId = FlowId(u32::MAX / 4);

/// Instants and packets of one load.
pub struct Source {
    size: u32,
    gap: Span,
    next: Time,
    sent: u32,
    flow: FlowId,
    /// Draws the gaps, exponential ones.
    random: Option<Stream>,
}

impl Source {
    /// `size` bytes on the wire every time `rate` needs for them, the first at `start`.
    pub fn new(rate: Rate, size: u32, start: Time) -> Self {
        let gap = rate.span_of(u64::from(size));
        Source { size, gap, next: start, sent: 0, flow: NOBODY, random: None }
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

    /// When the next packet is sent.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// The next packet, counted as sent.
    #[inline]
    pub(crate) fn send(&mut self, cx: &mut Cx<'_>) -> Packet {
        self.sent = self.sent.wrapping_add(1);
        let packet = Packet {
            id: cx.emit_virtual(self.size),
            born: self.next,
            flow: self.flow,
            size: self.size,
            ordinal: self.sent,
            flags: Flags::VIRTUAL,
            ..Packet::NONE
        };
        self.next = if self.gap.is_zero() { Time::NEVER } else { self.next + self.gap() };
        packet
    }

    /// Size and distance of its packets, if the distance is always the same and not zero.
    #[inline]
    pub(crate) fn steady(&self) -> Option<(u32, Span)> {
        (self.random.is_none() && !self.gap.is_zero()).then_some((self.size, self.gap))
    }

    /// So many packets of a steady source are sent without a look at them.
    pub(crate) fn skip(&mut self, packets: u64) {
        self.sent = self.sent.wrapping_add(packets as u32);
        self.next += Span::from_nanos(self.gap.as_nanos() * packets);
    }

    #[inline]
    fn gap(&mut self) -> Span {
        match &mut self.random {
            None => self.gap,
            Some(stream) => {
                Span::from_nanos((self.gap.as_nanos() as f64 * -libm::log(stream.uniform())) as u64)
            }
        }
    }
}

/// Sends what a source says, each packet at its own wake-up.
pub struct Background(Source);

impl Background {
    /// The load of a source.
    pub fn new(source: Source) -> Self {
        Background(source)
    }
}

impl Element for Background {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.forward(Port(0), packet);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        while self.0.next() <= cx.now() {
            let packet = self.0.send(cx);
            cx.forward(Port(0), packet);
        }
    }

    fn next_wake(&self) -> Time {
        self.0.next()
    }

    fn on_signal(&mut self, _cx: &mut Cx<'_>, signal: Signal) {
        if signal == Signal::Cease {
            self.0.next = Time::NEVER;
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
