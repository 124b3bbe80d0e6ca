//! Datagram workload over a UDP socket outside of the network: orders to the process that owns the socket,
//! and reported arrivals.
//!
//! One end is an element of the network without packets of its own. The datagrams of the sending end become
//! orders for the process that owns the socket; for the receiving end that process reports arrivals.
//! [`crate::ExternalSockets`] is the counterpart for connections.

use base::Time;
use base::packet::Packet;
use path::{Cx, Element, Port};
use std::collections::VecDeque;
use transport::app::datagrams::{Datagram, DatagramSink, DatagramSource};
use transport::app::stats::AppStats;

/// One end of a datagram flow whose socket is outside of the network.
pub struct ExternalUdp {
    end: DatagramEnd,
    orders: VecDeque<Datagram>,
}

/// Sending or receiving end.
#[allow(clippy::large_enum_variant, reason = "there are two in a flow")]
enum DatagramEnd {
    Source(DatagramSource),
    Sink(DatagramSink),
}

impl ExternalUdp {
    /// The sending end.
    pub fn source(source: DatagramSource) -> ExternalUdp {
        ExternalUdp { end: DatagramEnd::Source(source), orders: VecDeque::new() }
    }
    /// The receiving end.
    pub fn sink(sink: DatagramSink) -> ExternalUdp {
        ExternalUdp { end: DatagramEnd::Sink(sink), orders: VecDeque::new() }
    }

    /// Whether it is the sending end.
    pub fn is_source(&self) -> bool {
        matches!(self.end, DatagramEnd::Source(_))
    }
    /// Takes the next datagram that the socket must send.
    pub fn next_order(&mut self) -> Option<Datagram> {
        self.orders.pop_front()
    }
    /// Processes the arrival of the datagram with this ordinal.
    pub fn receive(&mut self, now: Time, ordinal: u32) {
        if let DatagramEnd::Sink(sink) = &mut self.end {
            sink.receive(now, ordinal, None);
        }
    }

    /// Sending end: time of the last message. Receiving end: end of the source, but not before the last
    /// arrival.
    pub fn finished(&self) -> Option<Time> {
        match &self.end {
            DatagramEnd::Source(source) => source.finished(),
            DatagramEnd::Sink(sink) => sink.finished().map(|at| at.max(sink.last())),
        }
    }
    /// Statistics of the source or sink.
    pub fn stats(&self) -> &AppStats {
        match &self.end {
            DatagramEnd::Source(source) => source.stats(),
            DatagramEnd::Sink(sink) => sink.stats(),
        }
    }
}

impl Element for ExternalUdp {
    /// Packets pass through the packet port of this flow end.
    fn on_packet(&mut self, _cx: &mut Cx<'_>, _port: Port, _packet: Packet) {}
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let ExternalUdp { end, orders } = self;
        if let DatagramEnd::Source(source) = end {
            source.send_due(cx.now(), |datagram| orders.push_back(datagram));
        }
    }
    fn next_wake(&self) -> Time {
        match &self.end {
            DatagramEnd::Source(source) => source.next_wake(),
            DatagramEnd::Sink(_) => Time::NEVER,
        }
    }
    fn holds(&self) -> usize {
        0
    }
}
