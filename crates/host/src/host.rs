//! Host: the element of the path that holds one transport endpoint and its application. It takes packets in, wakes both
//! when they want to run, and hands what they send to its dispatch.

use crate::codec::{Codec, CodecConfig, WireCodec};
use crate::dispatch::Dispatch;
use base::Time;
use base::body::Body;
use base::event::Source;
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::tcp::Segment;
use base::truth::{CONNECTION, Cause};
use path::fragment::{HOST_ERRORS, TooBig};
use path::{Cx, Element, Port};
use std::sync::Arc;
use transport::app::App;
use transport::app::seen::Seen;
use transport::endpoint::{Endpoint, Expiring, Role};
use transport::recovery::tcb_cache::TcbCache;
use transport::tcp::receiver::WindowManager;
use transport::tcp::{Config, Connection};
use transport::{Io, Outgoing};

/// Where one end of a flow is, and when it starts.
#[derive(Clone, Copy, Debug)]
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
    /// Data packets received after their deadline.
    pub data_late: u64,
    /// Expirations of the retransmission timer, those of a SYN included.
    pub expirations: u64,
}

/// The element that holds one end of a flow, with an endpoint of any protocol.
pub struct Host<E: Endpoint = Connection> {
    /// When to start; [`Time::NEVER`] once started.
    start: Time,
    connection: E,
    app: Box<dyn App>,
    /// When the application wants to run, asked after every call.
    app_next: Time,
    /// Before so many bytes are received, or so many acknowledged, it has nothing to do.
    app_waits_for: (u64, u64),
    out: Vec<Outgoing<E::Body>>,
    dispatch: Dispatch<E>,
    progress: (u64, u64),
    expirations: u64,
    /// Bytes outstanding when the timer first expired.
    first_timeout_flight: Option<u64>,
}

impl Host {
    /// A TCP host whose application has not started. Flows that make the same choices share `tcp`.
    pub fn new(config: HostConfig, tcp: Arc<Config>, app: Box<dyn App>) -> Self {
        let connection = Connection::new(tcp, config.role);
        Host::holding(&config, connection, app)
    }

    /// The same with another end that is no model: it sends and takes packets of bytes. For the flow's `number`-th
    /// connection.
    #[must_use]
    pub fn coded(mut self, config: &CodecConfig, number: usize) -> Self {
        let mut codec = Codec::new(config, number, self.connection.role() == Role::Active);
        codec.offer(&mut self.connection);
        self.over(Box::new(codec))
    }
    /// The same with what other connections to this destination have learned of the path.
    #[must_use]
    pub fn sharing(mut self, cache: TcbCache) -> Self {
        self.connection.share(cache);
        self
    }
    /// The same under the congestion manager of its host.
    #[must_use]
    pub fn managed(mut self, manager: &WindowManager, priority: u32) -> Self {
        self.connection.manage(manager, priority);
        self
    }
    /// Sends a reset: whatever the peer has for this connection, nobody will take it.
    pub(crate) fn reset(&mut self, cx: &mut Cx<'_>) {
        self.reset_at(cx, self.connection.sender.max_sent());
    }
    /// The same where the peer expects it.
    pub(crate) fn reset_at(&mut self, cx: &mut Cx<'_>, seq: u64) {
        let ack = self.connection.receiver.next();
        let segment = Segment { seq, ack, has_ack: true, rst: true, ..Segment::default() };
        let size = self.connection.sender.config().wire.header;
        self.dispatch.send(cx, &Outgoing::new(segment, size, Cause::New));
    }
}

impl<E: Endpoint> Host<E> {
    /// A host around an endpoint, whose application has not started.
    pub fn holding(config: &HostConfig, endpoint: E, app: Box<dyn App>) -> Self {
        Host {
            dispatch: Dispatch::new(config),
            start: config.start,
            connection: endpoint,
            app_next: app.next_timeout(),
            app_waits_for: app.waits_for(),
            app,
            out: Vec::new(),
            progress: (0, 0),
            expirations: 0,
            first_timeout_flight: None,
        }
    }

    /// The same with several network paths: what leaves by port 1 bears the number `first`, by port 2 the next.
    #[must_use]
    pub fn with_paths(mut self, first: FlowId) -> Self {
        self.dispatch.other_paths = first;
        self
    }

    /// The same with another end that is no model: packets of bytes, written and read by `codec`.
    #[must_use]
    pub fn over(mut self, codec: Box<dyn WireCodec<E>>) -> Self {
        self.dispatch.codec = Some(codec);
        self
    }
    /// The same as the flow's `number`-th connection, from 0.
    pub(crate) fn numbered(mut self, number: usize) -> Self {
        self.dispatch.base = CONNECTION * number as u64;
        self
    }
    /// Keeps the packets that pass, where they are of bytes.
    pub fn keep_packets(&mut self) {
        if let Some(codec) = &mut self.dispatch.codec {
            codec.keep();
        }
    }
    /// Those that have passed since it was last asked, in order, and when.
    pub fn take_packets(&mut self) -> Vec<(Time, Vec<u8>)> {
        self.dispatch.codec.as_mut().map(|codec| codec.take()).unwrap_or_default()
    }
    /// Counters of packets that all connections of a flow share; they change places with its own.
    pub(crate) fn share(&mut self, ordinals: &mut [u32; 2]) {
        std::mem::swap(&mut self.dispatch.ordinals, ordinals);
    }
    /// Bytes received and acknowledged, when it last looked.
    pub(crate) fn progress(&self) -> (u64, u64) {
        self.progress
    }
    /// Its socket, for an application outside.
    pub(crate) fn socket(&mut self) -> &mut E {
        &mut self.connection
    }
    /// Sends what the application outside has written.
    pub(crate) fn push(&mut self, cx: &mut Cx<'_>) {
        self.run(cx, |connection, io| connection.transmit(io));
    }

    /// Takes in a packet without its payload: its data did not arrive.
    #[cold]
    fn take_stub(&mut self, cx: &mut Cx<'_>, packet: &Packet, body: &E::Body) {
        if self.connection.takes_stubs() {
            self.hear(cx, packet, body);
            self.follow(cx);
        }
    }

    /// Its counters.
    pub fn counters(&self) -> HostCounters {
        HostCounters { expirations: self.expirations, ..self.dispatch.counters }
    }
    /// Its connection or association.
    pub fn connection(&self) -> &E {
        &self.connection
    }
    /// When its application was done, if it is.
    pub fn finished(&self) -> Option<Time> {
        self.app.finished()
    }

    /// What its application has timed, if it is one of messages or requests.
    pub fn stats(&self) -> Option<&Seen> {
        self.app.seen()
    }
    /// Bytes that were outstanding when the timer first expired, if it did.
    pub fn first_timeout_flight(&self) -> Option<u64> {
        self.first_timeout_flight
    }
    /// When no data were sent for more than a second: from one data segment to the next.
    pub fn silences(&self) -> &[(Time, Time)] {
        &self.dispatch.silences
    }

    #[cold]
    fn open(&mut self, cx: &mut Cx<'_>) {
        self.start = Time::NEVER;
        self.app.started(cx.now(), &mut self.connection);
        self.ask_app();
        self.run(cx, |connection, io| connection.open(io));
    }

    /// Takes in what a packet of this connection says.
    #[inline(always)]
    pub(crate) fn take(&mut self, cx: &mut Cx<'_>, packet: &Packet, body: &E::Body) {
        if packet.flags.has(Flags::STUB) {
            return self.take_stub(cx, packet, body);
        }
        if packet.flags.has(Flags::DATA) {
            self.dispatch.counters.data_received += 1;
            self.dispatch.counters.data_late += u64::from(packet.deadline() < cx.now());
            // Of the peer's direction, by whichever network path it came. What is discarded for its age did not arrive.
            if !self.connection.discards(cx.now(), body)
                && let Some(ledger) = cx.ledger_at(self.dispatch.ledger ^ 1)
            {
                ledger.received(packet.ordinal);
            }
        }
        let (base, ledger) = (self.dispatch.base, self.dispatch.ledger);
        body.acks(|channel, ack| {
            if let Some(ledger) = cx.ledger_at(ledger) {
                ledger.acked(base + channel.base() + ack, packet.born);
            }
        });
        self.hear(cx, packet, body);
        self.follow(cx);
    }

    // A call: in one piece with what comes before, all of it has to do with the registers that are left.
    #[inline(never)]
    fn hear(&mut self, cx: &mut Cx<'_>, packet: &Packet, body: &E::Body) {
        let (now, source) = (cx.now(), Source(cx.me().0));
        let mut io = Io { now, out: &mut self.out, tracer: cx.tracer(), source };
        self.connection.handle_packet(&mut io, body, packet);
    }

    /// A router could not pass a packet of this end on; `error` bears its number.
    #[cold]
    pub(crate) fn too_big(&mut self, cx: &mut Cx<'_>, error: &Packet, mtu: u32) {
        let path = self.dispatch.path_of(error.flow);
        self.run(cx, |connection, io| connection.handle_too_big(io, path, mtu));
    }

    /// A packet of bytes has come.
    #[cold]
    fn take_bytes(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let mut bytes = Vec::new();
        if cx.absorb_bytes(packet, &mut bytes)
            && let Some(body) = self.read(cx.now(), packet, &mut bytes)
        {
            self.take_read(cx, packet, &body);
        }
    }

    /// Takes in what was read.
    pub(crate) fn take_read(&mut self, cx: &mut Cx<'_>, packet: &Packet, body: &E::Body) {
        let codec = self.dispatch.codec.as_ref();
        let owes = codec.is_some_and(|codec| codec.owes_answer(body, &self.connection));
        self.take(cx, packet, body);
        if owes {
            self.run(cx, |connection, io| connection.answer(io));
        }
    }

    /// What bytes say to this connection.
    pub(crate) fn read(&mut self, now: Time, packet: &Packet, bytes: &mut [u8]) -> Option<E::Body> {
        let Host { dispatch, connection, .. } = self;
        dispatch.codec.as_mut()?.read(now, packet, bytes, connection)
    }

    /// Calls the connection and sends what it hands over.
    #[inline(always)]
    fn run(&mut self, cx: &mut Cx<'_>, call: impl FnOnce(&mut E, &mut Io<'_, E::Body>)) {
        let (now, source) = (cx.now(), Source(cx.me().0));
        let mut io = Io { now, out: &mut self.out, tracer: cx.tracer(), source };
        call(&mut self.connection, &mut io);
        self.follow(cx);
    }

    /// What follows whenever the connection has acted.
    #[inline(always)]
    fn follow(&mut self, cx: &mut Cx<'_>) {
        self.tell_app(cx);
        if !self.out.is_empty() {
            self.flush(cx);
        }
    }

    /// When the application wants to hear of time or progress again.
    fn ask_app(&mut self) {
        (self.app_next, self.app_waits_for) = (self.app.next_timeout(), self.app.waits_for());
    }

    #[inline(always)]
    fn tell_app(&mut self, cx: &mut Cx<'_>) {
        let progress = (self.connection.received(), self.connection.acknowledged());
        if progress == self.progress && !self.connection.has_events() {
            return;
        }
        self.progress = progress;
        if self.connection.has_events()
            || progress.0 >= self.app_waits_for.0
            || progress.1 >= self.app_waits_for.1
        {
            self.report(cx);
        }
    }

    /// Tells the application of its progress, and sends what it writes.
    #[inline(never)]
    fn report(&mut self, cx: &mut Cx<'_>) {
        let before = self.connection.written();
        let asked = self.app.progress(cx.now(), &mut self.connection);
        (self.app_next, self.app_waits_for) = asked;
        if self.connection.written() != before {
            let (now, source) = (cx.now(), Source(cx.me().0));
            let mut io = Io { now, out: &mut self.out, tracer: cx.tracer(), source };
            self.connection.transmit(&mut io);
        }
    }

    #[inline(never)] // called from many places
    fn flush(&mut self, cx: &mut Cx<'_>) {
        for outgoing in &self.out {
            self.dispatch.send(cx, outgoing);
        }
        self.out.clear();
    }
}

impl<E: Endpoint> Element for Host<E> {
    fn on_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet) {
        self.arrive(cx, port, &packet);
    }

    // The packet is read where it lies.
    #[inline]
    fn arrive(&mut self, cx: &mut Cx<'_>, port: Port, packet: &Packet) -> Time {
        if port == HOST_ERRORS {
            if let Some(error) = cx.absorb::<TooBig>(packet) {
                self.too_big(cx, packet, error.mtu);
            }
        } else if self.dispatch.codec.is_some() {
            self.take_bytes(cx, packet);
        } else if let Some(body) = cx.absorb::<E::Body>(packet) {
            cx.sight(packet, None::<&E::Body>);
            self.take(cx, packet, &body);
        }
        self.next_wake()
    }

    #[inline(always)] // part of `wake`
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        if self.start <= now {
            self.open(cx);
        }
        if self.app_next <= now {
            self.app.timeout(now, &mut self.connection);
            self.ask_app();
            self.run(cx, |connection, io| connection.transmit(io));
        }
        if self.connection.next_timeout() <= now {
            if let Some(Expiring { flight, established }) = self.connection.expiring(now) {
                self.expirations += 1;
                if established {
                    self.first_timeout_flight.get_or_insert(flight);
                }
            }
            self.run(cx, |connection, io| connection.handle_timeout(io));
        }
    }

    #[inline]
    fn next_wake(&self) -> Time {
        self.start.min(self.connection.next_timeout()).min(self.app_next)
    }

    fn holds(&self) -> usize {
        0
    }
}
