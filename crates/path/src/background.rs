//! Background load: CBR or Poisson source of cross traffic, and the element that removes its packets behind a
//! link.
//!
//! The packets compete for the queue of a link and are removed behind that link or behind a later one. No host
//! answers them (catalogue SW-49, NS-01).
//!
//! They carry [`Flags::VIRTUAL`], have no body and no ledger, and are counted as sent and absorbed like packets
//! of hosts. A source sends until the driver of the network stops it (`Signal::Cease`) when the workloads are
//! done.
//!
//! Load that crosses one link only is simulated in [`crate::loaded`] without wake-ups.

use crate::element::{Cx, Element, Port, Signal};
use base::packet::{Flags, FlowId, Packet};
use base::rng::Stream;
use base::{Rate, Span, Time};

/// Flow number of load that ends behind its own link; no flow of a scenario has it.
const NOBODY: FlowId = FlowId(u32::MAX / 4);

/// Source of background load: packet size, interval, time of the next packet.
pub struct Source {
    /// Size of a packet on the wire, bytes.
    size: u32,
    /// Mean interval of packets; 0: a single packet.
    gap: Span,
    /// Time of the next packet.
    next: Time,
    sent: u32,
    flow: FlowId,
    /// Random stream for exponential gaps.
    random: Option<Stream>,
}

impl Source {
    /// CBR: `size` bytes on the wire at `rate`, the first packet at `start`.
    pub fn new(rate: Rate, size: u32, start: Time) -> Self {
        let gap = rate.span_of(u64::from(size));
        Source { size, gap, next: start, sent: 0, flow: NOBODY, random: None }
    }

    /// Poisson arrivals at the same mean rate.
    #[must_use]
    pub fn random(mut self, stream: Stream) -> Self {
        self.random = Some(stream);
        self
    }

    /// Sets a flow number, by which routers forward the packets beyond their first link.
    #[must_use]
    pub fn travelling(mut self, flow: FlowId) -> Self {
        self.flow = flow;
        self
    }

    /// Time of the next packet.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Creates the next packet, counted as sent.
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

    /// Size and interval of the packets, if the interval is constant and not zero.
    #[inline]
    pub(crate) fn steady(&self) -> Option<(u32, Span)> {
        (self.random.is_none() && !self.gap.is_zero()).then_some((self.size, self.gap))
    }

    /// Skips `packets` packets of a source with a constant interval; [`Cx::pass_virtual`] counts them.
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

/// Element that sends the packets of a source, each at its own wake-up.
pub struct Background(Source);

impl Background {
    /// Element for a source.
    pub fn new(source: Source) -> Self {
        Background(source)
    }
}

impl Element for Background {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.forward(Port(0), packet);
    }

    fn arrive(&mut self, cx: &mut Cx<'_>, _port: Port, packet: &Packet) -> Time {
        cx.forward_from(Port(0), packet);
        Time::NEVER
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

/// Element behind a link that removes background load; other packets pass.
#[derive(Default)]
pub struct Absorber {
    /// Flow numbers of load that passes.
    through: Vec<FlowId>,
}

impl Absorber {
    /// Absorber that passes load with these flow numbers, since a later absorber removes it.
    pub fn but(through: Vec<FlowId>) -> Self {
        Absorber { through }
    }

    /// Whether a packet passes; load that ends here is removed.
    #[inline]
    pub(crate) fn passes(&self, cx: &mut Cx<'_>, packet: &Packet) -> bool {
        let ends = packet.flags.has(Flags::VIRTUAL) && !self.through.contains(&packet.flow);
        if ends {
            cx.discard(packet);
        }
        !ends
    }
}

impl Element for Absorber {
    fn on_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet) {
        self.arrive(cx, port, &packet);
    }

    fn arrive(&mut self, cx: &mut Cx<'_>, _port: Port, packet: &Packet) -> Time {
        if self.passes(cx, packet) {
            cx.forward_from(Port(0), packet);
        }
        Time::NEVER
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn wakes(&self) -> bool {
        false
    }
    fn holds(&self) -> usize {
        0
    }
}
