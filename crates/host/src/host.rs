//! How does a segment become a packet? The host stamps a head on it, stores its body, tells the flow's
//! ledger what was really sent and received, and sends it out by its only port.

use base::event::Source;
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::pool::Body;
use base::truth::Cause;
use base::{Span, Time};
use path::{Cx, Element, Port};
use std::sync::Arc;
use transport::app::App;
use transport::tcp::{Config, Connection, Role};
use transport::{Io, Outgoing};

/// One end of a flow.
pub struct HostConfig {
    /// Whose packets these are.
    pub flow: FlowId,
    /// Where this end is.
    pub node: NodeId,
    /// Where the other end is.
    pub peer: NodeId,
    /// Opens or waits; the waiting end's packets carry [`Flags::REPLY`].
    pub role: Role,
    /// When the application starts.
    pub start: Time,
    /// The transport; flows that make the same choices share them.
    pub tcp: Arc<Config>,
}

/// Always-on counters of one end.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct HostCounters {
    /// Data segments sent, retransmissions included; SYN and FIN alone are not data.
    pub data_sent: u64,
    /// Of those, retransmissions.
    pub data_resent: u64,
    /// Packets without data sent.
    pub acks_sent: u64,
    /// Data segments received.
    pub data_received: u64,
    /// Bytes on the wire sent.
    pub bytes_sent: u64,
    /// Expirations of the retransmission timer, those of a SYN included.
    pub expirations: u64,
}

/// The element that holds one end of a flow.
pub struct Host {
    flow: FlowId,
    node: NodeId,
    peer: NodeId,
    role: Role,
    /// When to start; [`Time::NEVER`] once started.
    start: Time,
    connection: Connection,
    app: Box<dyn App>,
    out: Vec<Outgoing>,
    ordinals: [u32; 2],
    counters: HostCounters,
    progress: (u64, u64),
    /// Bytes outstanding when the timer first expired.
    first_timeout_flight: Option<u64>,
    last_data: Option<Time>,
    /// Stretches without sending data, longer than [`LONG`].
    silences: Vec<(Time, Time)>,
}

/// Shorter silences are what acknowledgement clocks do.
const LONG: Span = Span::from_secs(1);

impl Host {
    /// A host whose application has not started.
    pub fn new(config: HostConfig, app: Box<dyn App>) -> Self {
        Host {
            flow: config.flow,
            node: config.node,
            peer: config.peer,
            role: config.role,
            start: config.start,
            connection: Connection::new(config.tcp, config.role),
            app,
            out: Vec::new(),
            ordinals: [0; 2],
            counters: HostCounters::default(),
            progress: (0, 0),
            first_timeout_flight: None,
            last_data: None,
            silences: Vec::new(),
        }
    }

    /// Its counters.
    pub fn counters(&self) -> HostCounters {
        self.counters
    }
    /// Its connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }
    /// When its application was done, if it is.
    pub fn finished(&self) -> Option<Time> {
        self.app.finished()
    }

    /// Bytes that were outstanding when the timer first expired, if it did.
    pub fn first_timeout_flight(&self) -> Option<u64> {
        self.first_timeout_flight
    }
    /// When no data were sent for more than a second: from one data segment to the next.
    pub fn silences(&self) -> &[(Time, Time)] {
        &self.silences
    }

    fn ledger(&self) -> usize {
        self.flow.0 as usize * 2 + usize::from(self.role == Role::Passive)
    }

    /// Calls the connection and sends what it hands over.
    #[inline]
    fn run(&mut self, cx: &mut Cx<'_>, call: impl FnOnce(&mut Connection, &mut Io<'_>)) {
        let (now, source) = (cx.now(), Source(cx.me().0));
        let mut io = Io { now, out: &mut self.out, tracer: cx.tracer(), source };
        call(&mut self.connection, &mut io);
        self.tell_app(cx);
        self.flush(cx);
    }

    #[inline]
    fn tell_app(&mut self, cx: &mut Cx<'_>) {
        use transport::app::Socket as _;
        let progress = (self.connection.received(), self.connection.acknowledged());
        if progress == self.progress {
            return;
        }
        self.progress = progress;
        let (end, closed) = (self.connection.sender.end(), self.connection.sender.done());
        self.app.progressed(cx.now(), &mut self.connection);
        let wrote = self.connection.sender.end() != end || self.connection.sender.done() != closed;
        if wrote {
            let (now, source) = (cx.now(), Source(cx.me().0));
            let mut io = Io { now, out: &mut self.out, tracer: cx.tracer(), source };
            self.connection.transmit(&mut io);
        }
    }

    #[inline]
    fn flush(&mut self, cx: &mut Cx<'_>) {
        let mut out = std::mem::take(&mut self.out);
        for outgoing in &out {
            self.send(cx, outgoing);
        }
        out.clear();
        self.out = out;
    }

    #[inline]
    fn send(&mut self, cx: &mut Cx<'_>, outgoing: &Outgoing) {
        let segment = &outgoing.segment;
        let data = segment.len > 0;
        let ordinal = &mut self.ordinals[usize::from(data)];
        *ordinal += 1;
        let ordinal = *ordinal;
        let (body, id) = cx.emit(Body::Tcp(*segment), outgoing.size);
        self.counters.bytes_sent += u64::from(outgoing.size);
        if data {
            self.counters.data_sent += 1;
            let last = self.last_data.replace(cx.now());
            if let Some(last) = last
                && cx.now().since(last) > LONG
            {
                self.silences.push((last, cx.now()));
            }
            if !matches!(outgoing.cause, Cause::New | Cause::WindowProbe) {
                self.counters.data_resent += 1;
            }
            let (now, seq, end) = (cx.now(), segment.seq, segment.seq + u64::from(segment.len));
            if let Some(ledger) = cx.ledger_at(self.ledger()) {
                ledger.sent(now, seq, end, ordinal, outgoing.cause);
            }
            cx.record(base::event::Category::Transport, now, || base::event::Event::DataSent {
                packet: id,
                seq,
                len: segment.len,
                cause: outgoing.cause,
            });
        } else {
            self.counters.acks_sent += 1;
        }
        let packet = Packet {
            id,
            born: cx.now(),
            deadline: Time::NEVER,
            body,
            flow: self.flow,
            size: outgoing.size,
            ordinal,
            source: self.node,
            destination: self.peer,
            interface: 0,
            flags: flags(outgoing, self.role),
            class: 0,
            ecn: outgoing.ecn,
        };
        cx.forward(Port(0), packet);
    }
}

#[inline]
fn flags(outgoing: &Outgoing, role: Role) -> Flags {
    let segment = &outgoing.segment;
    let when = |flag: Flags, on: bool| if on { flag.0 } else { 0 };
    Flags(
        when(Flags::DATA, segment.len > 0)
            | when(Flags::ACK, segment.has_ack)
            | when(Flags::SYN, segment.syn)
            | when(Flags::FIN, segment.fin)
            | when(Flags::RST, segment.rst)
            | when(Flags::REPLY, role == Role::Passive)
            | when(Flags::AGAIN, outgoing.cause != Cause::New),
    )
}

impl Element for Host {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        let Some(Body::Tcp(segment)) = cx.absorb(&packet) else { return };
        if packet.flags.has(Flags::DATA) {
            self.counters.data_received += 1;
            if let Some(ledger) = cx.ledger(&packet) {
                ledger.received(packet.ordinal);
            }
        }
        if segment.has_ack
            && let Some(ledger) = cx.ledger_at(self.ledger())
        {
            ledger.acked(segment.ack, packet.born);
        }
        self.run(cx, |connection, io| connection.on_packet(io, &segment, packet.id, packet.ecn));
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        if self.start <= now {
            self.start = Time::NEVER;
            self.app.started(now, &mut self.connection);
            self.run(cx, |connection, io| connection.open(io));
        }
        if self.app.next_timeout() <= now {
            self.app.timeout(now, &mut self.connection);
            self.run(cx, |connection, io| connection.transmit(io));
        }
        if self.connection.next_timeout() <= now {
            let sender = &self.connection.sender;
            if sender.rto.deadline() <= now && sender.flight() > 0 {
                self.counters.expirations += 1;
                if self.connection.sender.established() {
                    self.first_timeout_flight.get_or_insert(self.connection.sender.flight());
                }
            }
            self.run(cx, |connection, io| connection.on_timeout(io));
        }
    }

    #[inline]
    fn next_wake(&self) -> Time {
        self.start.min(self.connection.next_timeout()).min(self.app.next_timeout())
    }

    fn holds(&self) -> usize {
        0
    }
}
