//! Datagram source and sink elements.
//!
//! At two elements: one sends what its application says ([`transport::app::datagrams`]), the other hears it.

use base::body::{Body, Channel, Range};
use base::event::{Category, Event};
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::pool::BodyRef;
use base::truth::Cause;
use base::{Span, Time};
use path::{Cx, Element, Port};
use transport::app::datagrams::{Datagram, Hearing, Speaking};
use transport::app::lines::Letters;
use transport::app::seen::Seen;
use transport::app::tell::{Pace, Useful};

/// The ends and sizes of a flow of datagrams.
#[derive(Clone, Copy, Debug)]
pub struct DatagramConfig {
    /// Whose packets these are.
    pub flow: FlowId,
    /// Where it sends from.
    pub node: NodeId,
    /// Where to.
    pub peer: NodeId,
    /// Most bytes of a message in one datagram; larger messages take several.
    pub payload: u32,
    /// Headers of each, bytes.
    pub header: u32,
    /// For how long each is of use; none: for ever. Its message is then not retransmitted either.
    pub lifetime: Option<Span>,
}

/// What a capture shows of a datagram: a UDP header (RFC 768) and a payload of zeros. Ports and checksum are those of the
/// capture, which knows the addresses.
#[derive(Clone)]
struct OnWire {
    /// Bytes of the payload.
    payload: u32,
}

/// Bytes of a UDP header.
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

/// The end that sends.
pub struct Speaker {
    config: DatagramConfig,
    speaking: Speaking,
}

impl Speaker {
    /// Speaks at this pace from `start` on.
    pub fn new(config: DatagramConfig, start: Time, pace: Pace, letters: Letters) -> Self {
        Speaker { speaking: Speaking::new(config.payload, start, pace, letters), config }
    }

    /// When its last message was sent, if it was.
    pub fn finished(&self) -> Option<Time> {
        self.speaking.finished()
    }
    /// What it sent.
    pub fn seen(&self) -> &Seen {
        self.speaking.seen()
    }
    /// Datagrams sent.
    pub fn datagrams(&self) -> u32 {
        self.speaking.datagrams()
    }
    /// Bytes of messages sent.
    pub fn bytes(&self) -> u64 {
        self.speaking.bytes()
    }
}

impl DatagramConfig {
    /// Its lifetime in microseconds.
    fn lives(&self) -> u32 {
        let most = Packet::ALWAYS - 1;
        self.lifetime.map_or(Packet::ALWAYS, |s| u32::try_from(s.as_nanos() / 1000).unwrap_or(most).min(most))
    }

    pub(crate) fn send(&self, cx: &mut Cx<'_>, datagram: Datagram) {
        let size = datagram.bytes + self.header;
        let (id, now) = (cx.emit_virtual(size), cx.now());
        let (seq, len, cause) = (datagram.offset, datagram.bytes, Cause::New);
        cx.record(Category::Transport, now, || Event::DataSent { packet: id, seq, len, cause });
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

impl Element for Speaker {
    /// Nobody answers datagrams; what comes is taken out.
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.discard(&packet);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let Speaker { config, speaking } = self;
        speaking.speak(cx.now(), |datagram| config.send(cx, datagram));
    }

    fn next_wake(&self) -> Time {
        self.speaking.next_wake()
    }

    fn holds(&self) -> usize {
        0
    }
}

/// The end that listens.
pub struct Hearer {
    hearing: Hearing,
    /// Datagrams that came after their deadline, and when the first and the last of them did.
    late: u64,
    late_from: Option<Time>,
    late_until: Time,
}

impl Hearer {
    /// Hears what `letters` tell; see [`transport::app::tell::Telling::useful`].
    pub fn new(letters: Letters, useful: Useful) -> Self {
        Hearer { hearing: Hearing::new(letters, useful), late: 0, late_from: None, late_until: Time::ZERO }
    }

    /// Since when the other end has nothing more to say, if so.
    pub fn finished(&self) -> Option<Time> {
        self.hearing.finished()
    }
    /// What it heard.
    pub fn seen(&self) -> &Seen {
        self.hearing.seen()
    }
    /// Datagrams that came, each once.
    pub fn datagrams(&self) -> u64 {
        self.hearing.datagrams()
    }
    /// Datagrams that came after their deadline.
    pub fn late(&self) -> u64 {
        self.late
    }
    /// From the first of them to the last, seconds.
    pub fn late_span_s(&self) -> f64 {
        self.late_from.map_or(0.0, |from| self.late_until.since(from).as_secs_f64())
    }
    /// When the last one came.
    pub fn last(&self) -> Time {
        self.hearing.last()
    }
}

impl Element for Hearer {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.sight_in(&packet);
        cx.discard(&packet);
        // A router cut the payload off: the datagram did not arrive.
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
        self.hearing.hear(cx.now(), packet.ordinal, Some(packet.born));
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}
