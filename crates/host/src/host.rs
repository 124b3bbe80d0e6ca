//! Host: the element of the path around one transport endpoint and its application.
//!
//! It receives packets, wakes endpoint and application at their deadlines, and dispatches the packets that
//! they send.

use crate::codec::{Codec, CodecConfig, WireCodec};
use crate::dispatch::Dispatch;
use crate::macroflow::{GRANTS, Membership};
use base::Time;
use base::body::Body;
use base::event::Source;
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::tcp::Segment;
use base::truth::{CONNECTION, Cause};
use path::fragment::{HOST_ERRORS, TooBig};
use path::{Cx, Element, Port, Signal};
use std::sync::Arc;
use transport::app::App;
use transport::app::stats::AppStats;
use transport::endpoint::{Endpoint, Expiring, Role};
use transport::macroflow::Granting;
use transport::recovery::tcb_cache::TcbCache;
use transport::tcp::receiver::WindowManager;
use transport::tcp::{Config, Connection};
use transport::{Io, Outgoing};

/// Flow, nodes, role and start time of one flow end.
#[derive(Clone, Copy, Debug)]
pub struct HostConfig {
    /// Flow of the packets.
    pub flow: FlowId,
    /// Node of this end.
    pub node: NodeId,
    /// Node of the other end.
    pub peer: NodeId,
    /// Active or passive; packets of the passive end carry [`Flags::REPLY`].
    pub role: Role,
    /// Start time of the application.
    pub start: Time,
}

/// Counters of a flow end.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct HostCounters {
    /// Data segments sent, retransmissions included; SYN and FIN alone are not data.
    pub data_sent: u64,
    /// Retransmissions among `data_sent`.
    pub data_resent: u64,
    /// Packets without data sent.
    pub acks_sent: u64,
    /// Data segments received.
    pub data_received: u64,
    /// Bytes on the wire sent.
    pub bytes_sent: u64,
    /// Data packets received after their deadline.
    pub data_late: u64,
    /// Expiries of the retransmission timer, those of a SYN included.
    pub expirations: u64,
}

/// Element around one end of a flow, with an endpoint of any protocol.
pub struct Host<E: Endpoint = Connection> {
    /// Start time; [`Time::NEVER`] once started.
    start: Time,
    connection: E,
    app: Box<dyn App>,
    /// Next deadline of the application, updated after every call.
    app_next: Time,
    /// Bytes received and bytes acknowledged below which the application need not be called.
    app_waits_for: (u64, u64),
    out: Vec<Outgoing<E::Body>>,
    dispatch: Dispatch<E>,
    progress: (u64, u64),
    expirations: u64,
    /// Bytes outstanding at the first expiry of the timer.
    first_timeout_flight: Option<u64>,
    /// Congestion window that the endpoint shares with endpoints of other hosts.
    shared: Option<Box<dyn Granting>>,
}

impl Host {
    /// A TCP host before its start. Flows with equal options share `tcp`.
    pub fn new(config: HostConfig, tcp: Arc<Config>, app: Box<dyn App>) -> Self {
        let connection = Connection::new(tcp, config.role);
        Host::holding(&config, connection, app)
    }

    /// Sends and receives IP packets, for a peer that is a real stack. `number` is the connection's number in
    /// the flow.
    #[must_use]
    pub fn coded(mut self, config: &CodecConfig, number: usize) -> Self {
        let mut codec = Codec::new(config, number, self.connection.role() == Role::Active);
        codec.offer(&mut self.connection);
        self.over(Box::new(codec))
    }
    /// Shares the TCB with other connections to the same destination.
    #[must_use]
    pub fn sharing(mut self, cache: TcbCache) -> Self {
        self.connection.share(cache);
        self
    }
    /// Puts the receive window under the congestion manager of its node, as a connection of `flow` there.
    #[must_use]
    pub fn managed(mut self, manager: &WindowManager, flow: usize) -> Self {
        self.connection.manage(manager, flow);
        self
    }
    /// Shares the congestion window with the other streams of a macroflow.
    #[must_use]
    pub fn sending_in(self, member: &Membership) -> Self {
        self.sending_in_line(member, 0)
    }
    /// Shares the congestion window as connection number `line` of its owner.
    pub(crate) fn sending_in_line(mut self, member: &Membership, line: usize) -> Self {
        let mss = self.connection.config().mss;
        let place = (member.owner, u32::try_from(line).unwrap_or(u32::MAX));
        self.connection.join(member.macroflow.open_line(place, member.weight, mss));
        self.shared = Some(Box::new(member.macroflow.clone()));
        self
    }
    /// Sends an RST for this connection.
    pub(crate) fn reset(&mut self, cx: &mut Cx<'_>) {
        self.reset_at(cx, self.connection.sender.max_sent());
    }
    /// Sends an RST with sequence number `seq`.
    pub(crate) fn reset_at(&mut self, cx: &mut Cx<'_>, seq: u64) {
        self.connection.leave_macroflow();
        let ack = self.connection.receiver.next();
        let segment = Segment { seq, ack, has_ack: true, rst: true, ..Segment::default() };
        let size = self.connection.sender.config().wire.header;
        self.dispatch.send(cx, &Outgoing::new(segment, size, Cause::New));
    }
}

impl<E: Endpoint> Host<E> {
    /// A host around an endpoint, before its start.
    pub fn holding(config: &HostConfig, endpoint: E, app: Box<dyn App>) -> Self {
        let shared = endpoint.shares();
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
            shared,
        }
    }

    /// Adds network paths: packets on port 1 have flow number `first`, those on port 2 the next number.
    #[must_use]
    pub fn with_paths(mut self, first: FlowId) -> Self {
        self.dispatch.other_paths = first;
        self
    }

    /// Sends and receives packets of bytes through `codec`, for a peer that is a real stack.
    #[must_use]
    pub fn over(mut self, codec: Box<dyn WireCodec<E>>) -> Self {
        self.dispatch.codec = Some(codec);
        self
    }
    /// Sets the connection's number in the flow, from 0.
    pub(crate) fn numbered(mut self, number: usize) -> Self {
        self.dispatch.base = CONNECTION * number as u64;
        self
    }
    /// Keeps the packets that cross the codec, if the host has one.
    pub fn keep_packets(&mut self) {
        if let Some(codec) = &mut self.dispatch.codec {
            codec.keep();
        }
    }
    /// Takes the packets kept since the last call, in order, with their times.
    pub fn take_packets(&mut self) -> Vec<(Time, Vec<u8>)> {
        self.dispatch.codec.as_mut().map(|codec| codec.take()).unwrap_or_default()
    }
    /// Swaps in the packet ordinals that all connections of a flow share.
    pub(crate) fn share(&mut self, ordinals: &mut [u32; 2]) {
        std::mem::swap(&mut self.dispatch.ordinals, ordinals);
    }
    /// Bytes received and acknowledged at the last check.
    pub(crate) fn progress(&self) -> (u64, u64) {
        self.progress
    }
    /// Socket, for an application outside of the host.
    pub(crate) fn socket(&mut self) -> &mut E {
        &mut self.connection
    }
    /// Sends the data that an application outside of the host wrote.
    pub(crate) fn push(&mut self, cx: &mut Cx<'_>) {
        self.run(cx, |connection, io| connection.transmit(io));
    }

    /// Processes a packet whose payload a router removed: its data did not arrive.
    #[cold]
    fn take_stub(&mut self, cx: &mut Cx<'_>, packet: &Packet, body: &E::Body) {
        if self.connection.takes_stubs() {
            self.handle_packet(cx, packet, body);
            self.follow(cx);
        }
    }

    /// Counters.
    pub fn counters(&self) -> HostCounters {
        HostCounters { expirations: self.expirations, ..self.dispatch.counters }
    }
    /// The connection or association.
    pub fn connection(&self) -> &E {
        &self.connection
    }
    /// Time at which the application was done; `None` before.
    pub fn finished(&self) -> Option<Time> {
        self.app.finished()
    }

    /// Statistics of the application, if its workload is messages or requests.
    pub fn stats(&self) -> Option<&AppStats> {
        self.app.stats()
    }
    /// Bytes outstanding at the first expiry of the timer, if it expired.
    pub fn first_timeout_flight(&self) -> Option<u64> {
        self.first_timeout_flight
    }
    /// Gaps of more than a second between two data segments sent.
    pub fn silences(&self) -> &[(Time, Time)] {
        &self.dispatch.silences
    }

    /// Signals the granter if this call has left grants for other hosts.
    #[cold]
    fn pass_grants(&self, cx: &mut Cx<'_>) {
        if self.shared.as_ref().is_some_and(|shared| shared.has_grants()) {
            cx.signal(GRANTS, Signal::Grant);
        }
    }

    #[cold]
    fn open(&mut self, cx: &mut Cx<'_>) {
        self.start = Time::NEVER;
        self.app.started(cx.now(), &mut self.connection);
        self.update_app_deadlines();
        self.run(cx, |connection, io| connection.open(io));
    }

    /// Processes a packet of this connection.
    #[inline(always)]
    pub(crate) fn take(&mut self, cx: &mut Cx<'_>, packet: &Packet, body: &E::Body) {
        if packet.flags.has(Flags::STUB) {
            return self.take_stub(cx, packet, body);
        }
        if packet.flags.has(Flags::DATA) {
            self.dispatch.counters.data_received += 1;
            self.dispatch.counters.data_late += u64::from(packet.deadline() < cx.now());
            // The ledger is that of the peer's direction, for any network path. Data discarded for their age
            // do not count as received.
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
        self.handle_packet(cx, packet, body);
        self.follow(cx);
    }

    // Not inlined: merged with its caller, both would lack registers.
    #[inline(never)]
    fn handle_packet(&mut self, cx: &mut Cx<'_>, packet: &Packet, body: &E::Body) {
        let (now, source) = (cx.now(), Source(cx.me().0));
        let mut io = Io { now, out: &mut self.out, tracer: cx.tracer(), source };
        self.connection.handle_packet(&mut io, body, packet);
    }

    /// Processes an ICMP "fragmentation needed" for a packet of this end; `error` has the packet's flow
    /// number.
    #[cold]
    pub(crate) fn too_big(&mut self, cx: &mut Cx<'_>, error: &Packet, mtu: u32) {
        let path = self.dispatch.path_of(error.flow);
        self.run(cx, |connection, io| connection.handle_too_big(io, path, mtu));
    }

    /// Processes a packet of bytes.
    #[cold]
    fn take_bytes(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let mut bytes = Vec::new();
        if cx.absorb_bytes(packet, &mut bytes)
            && let Some(body) = self.read(cx.now(), packet, &mut bytes)
        {
            self.take_read(cx, packet, &body);
        }
    }

    /// Processes a decoded body, and replies if the codec requires it.
    pub(crate) fn take_read(&mut self, cx: &mut Cx<'_>, packet: &Packet, body: &E::Body) {
        let codec = self.dispatch.codec.as_ref();
        let owes = codec.is_some_and(|codec| codec.owes_answer(body, &self.connection));
        self.take(cx, packet, body);
        if owes {
            self.run(cx, |connection, io| connection.answer(io));
        }
    }

    /// Decodes the bytes of a packet for this connection.
    pub(crate) fn read(&mut self, now: Time, packet: &Packet, bytes: &mut [u8]) -> Option<E::Body> {
        let Host { dispatch, connection, .. } = self;
        dispatch.codec.as_mut()?.read(now, packet, bytes, connection)
    }

    /// Calls the connection, then sends its packets.
    #[inline(always)]
    fn run(&mut self, cx: &mut Cx<'_>, call: impl FnOnce(&mut E, &mut Io<'_, E::Body>)) {
        let (now, source) = (cx.now(), Source(cx.me().0));
        let mut io = Io { now, out: &mut self.out, tracer: cx.tracer(), source };
        call(&mut self.connection, &mut io);
        self.follow(cx);
    }

    /// Reports progress to the application and sends packets, after every call of the connection.
    #[inline(always)]
    fn follow(&mut self, cx: &mut Cx<'_>) {
        self.report_progress(cx);
        if !self.out.is_empty() {
            self.flush(cx);
        }
    }

    /// Updates the application's deadline and progress thresholds.
    fn update_app_deadlines(&mut self) {
        (self.app_next, self.app_waits_for) = (self.app.next_timeout(), self.app.waits_for());
    }

    #[inline(always)]
    fn report_progress(&mut self, cx: &mut Cx<'_>) {
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

    /// Reports progress to the application, and sends the data that it writes.
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

    // The body is read in place.
    #[inline]
    fn arrive(&mut self, cx: &mut Cx<'_>, port: Port, packet: &Packet) -> Time {
        if port == HOST_ERRORS {
            if let Some(error) = cx.absorb::<TooBig>(packet) {
                self.too_big(cx, packet, error.mtu);
            }
        } else if self.dispatch.codec.is_some() {
            self.take_bytes(cx, packet);
        } else {
            let mut body = None;
            cx.absorb_into(packet, &mut body);
            if let Some(body) = &body {
                cx.sight(packet, None::<&E::Body>);
                self.take(cx, packet, body);
            }
        }
        if self.shared.is_some() {
            self.pass_grants(cx);
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
            self.update_app_deadlines();
            self.run(cx, |connection, io| connection.transmit(io));
        }
        if self.connection.next_timeout() <= now {
            if let Some(Expiring { flight, established }) = self.connection.expiring(now) {
                self.expirations += 1;
                if established {
                    self.first_timeout_flight.get_or_insert(flight);
                }
            }
            // Not by `run`: as a closure it would be a call of its own.
            let (now, source) = (cx.now(), Source(cx.me().0));
            let mut io = Io { now, out: &mut self.out, tracer: cx.tracer(), source };
            self.connection.handle_timeout(&mut io);
            self.follow(cx);
        }
        if self.shared.is_some() {
            self.pass_grants(cx);
        }
    }

    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        if signal == Signal::Grant {
            self.push(cx);
            self.pass_grants(cx);
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
