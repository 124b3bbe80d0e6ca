//! Datagram source and sink of a UDP flow: elements that send the datagrams of a workload
//! ([`transport::app::datagrams`]) and receive them.

use base::body::{Body, Channel, Range};
use base::event::Event;
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::pool::BodyRef;
use base::truth::Cause;
use base::{Span, Time};
use path::{Cx, Element, Port};
use transport::app::connections::MessageLog;
use transport::app::datagrams::{Datagram, DatagramSink, DatagramSource};
use transport::app::message_stream::{MessageSchedule, UsefulLife};
use transport::app::stats::AppStats;

/// Flow, nodes, sizes and lifetime of a datagram flow.
#[derive(Clone, Copy, Debug)]
pub struct DatagramConfig {
    /// Flow of the packets.
    pub flow: FlowId,
    /// Node of the source.
    pub node: NodeId,
    /// Node of the sink.
    pub peer: NodeId,
    /// Maximum message bytes per datagram; a larger message takes several datagrams.
    pub payload: u32,
    /// Header bytes per datagram.
    pub header: u32,
    /// Lifetime of each datagram; none: unlimited.
    pub lifetime: Option<Span>,
}

/// Content of a datagram in a capture: a UDP header (RFC 768) and a payload of zeros. The capture writes
/// ports and checksum, since only the capture has the addresses.
#[derive(Clone)]
struct OnWire {
    /// Payload, bytes.
    payload: u32,
}

/// Length of a UDP header, bytes.
const UDP_HEADER: usize = 8;

impl Body for OnWire {
    fn flags(&self) -> Flags {
        Flags::DATA
    }
    fn ranges(&self, _cause: Cause, _each: impl FnMut(Range)) {}
    fn acks(&self, _each: impl FnMut(Channel, u64)) {}
    fn encode(&self, out: &mut Vec<u8>) -> Option<u8> {
        out.resize(UDP_HEADER + self.payload as usize, 0);
        Some(base::wire::UDP)
    }
}

/// Flow end that sends datagrams.
pub struct UdpSource {
    config: DatagramConfig,
    source: DatagramSource,
}

impl UdpSource {
    /// A source with this schedule, from `start` on.
    pub fn new(config: DatagramConfig, start: Time, schedule: MessageSchedule, log: MessageLog) -> Self {
        UdpSource { source: DatagramSource::new(config.payload, start, schedule, log), config }
    }

    /// Time at which the last message was sent; `None` before.
    pub fn finished(&self) -> Option<Time> {
        self.source.finished()
    }
    /// Statistics of the source.
    pub fn stats(&self) -> &AppStats {
        self.source.stats()
    }
    /// Datagrams sent.
    pub fn datagrams(&self) -> u32 {
        self.source.datagrams()
    }
    /// Bytes of messages sent.
    pub fn bytes(&self) -> u64 {
        self.source.bytes()
    }
}

impl DatagramConfig {
    /// Lifetime in microseconds.
    fn lives(&self) -> u32 {
        let most = Packet::ALWAYS - 1;
        self.lifetime.map_or(Packet::ALWAYS, |s| u32::try_from(s.as_nanos() / 1000).unwrap_or(most).min(most))
    }

    pub(crate) fn send(&self, cx: &mut Cx<'_>, datagram: Datagram) {
        let size = datagram.bytes + self.header;
        let id = cx.emit_virtual(size);
        let (seq, len, cause) = (datagram.offset, datagram.bytes, Cause::New);
        cx.record_data(|| Event::DataSent { packet: id, seq, len, cause });
        let packet = Packet {
            id,
            born: cx.now(),
            lives: self.lives(),
            body: BodyRef::NONE,
            flow: self.flow,
            size,
            ordinal: datagram.ordinal,
            source: self.node,
            destination: self.peer,
            interface: 0,
            flags: Flags::DATA.with(Flags::WHOLE).with(if datagram.last {
                Flags::LAST
            } else {
                Flags::default()
            }),
            class: 0,
            ecn: 0,
            unit: (datagram.message % 65_535) as u16 + 1,
        };
        cx.sight(&packet, Some(&OnWire { payload: len }));
        cx.forward(Port(0), packet);
    }
}

impl Element for UdpSource {
    /// Datagrams have no replies; packets received here are discarded.
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.discard(&packet);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let UdpSource { config, source } = self;
        source.send_due(cx.now(), |datagram| config.send(cx, datagram));
    }

    fn next_wake(&self) -> Time {
        self.source.next_wake()
    }

    fn holds(&self) -> usize {
        0
    }
}

/// Flow end that receives datagrams.
pub struct UdpSink {
    sink: DatagramSink,
    /// Number of datagrams received after their deadline.
    late: u64,
    late_from: Option<Time>,
    late_until: Time,
}

impl UdpSink {
    /// Sink for the messages announced in `log`; for `useful` see
    /// [`transport::app::message_stream::MessagePlan::useful`].
    pub fn new(log: MessageLog, useful: UsefulLife) -> Self {
        UdpSink { sink: DatagramSink::new(log, useful), late: 0, late_from: None, late_until: Time::ZERO }
    }

    /// Time at which the source ended; `None` before.
    pub fn finished(&self) -> Option<Time> {
        self.sink.finished()
    }
    /// Statistics of the sink.
    pub fn stats(&self) -> &AppStats {
        self.sink.stats()
    }
    /// Number of datagrams that arrived, duplicates excluded.
    pub fn datagrams(&self) -> u64 {
        self.sink.datagrams()
    }
    /// Number of datagrams received after their deadline.
    pub fn late(&self) -> u64 {
        self.late
    }
    /// Time between the first and the last late datagram, seconds.
    pub fn late_span_s(&self) -> f64 {
        self.late_from.map_or(0.0, |from| self.late_until.since(from).as_secs_f64())
    }
    /// Time of the last arrival.
    pub fn last(&self) -> Time {
        self.sink.last()
    }
}

impl Element for UdpSink {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.sight_in(&packet);
        cx.discard(&packet);
        // A router removed the payload, so the datagram did not arrive.
        if packet.flags.has(Flags::STUB) {
            return;
        }
        if packet.deadline() < cx.now() {
            self.late += 1;
            self.late_from.get_or_insert(cx.now());
            self.late_until = cx.now();
        }
        if let Some(ledger) = cx.ledger(&packet) {
            ledger.received(packet.ordinal);
        }
        self.sink.receive(cx.now(), packet.ordinal, Some(packet.born));
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}
