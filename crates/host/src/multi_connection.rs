//! Host with several connections of one flow end, for workloads of requests and pages: connection set,
//! wake-ups, aborts, shared counters.
//!
//! Each connection is a [`Host`] inside of this element. The connections share the flow's path, ledgers and
//! packet ordinals, and are distinguished by the base of their sequence numbers (`base::truth::CONNECTION`).

use crate::codec::{CodecConfig, FIRST_PORT};
use crate::host::{Host, HostConfig, HostCounters};
use crate::macroflow::{GRANTS, Membership};
use base::packet::{FlowId, NodeId, Packet};
use base::tcp::Segment;
use base::truth::CONNECTION;
use base::{Flags, Time};
use path::fragment::{HOST_ERRORS, TooBig};
use path::{Cx, Element, Port, Signal};
use std::collections::BTreeSet;
use std::sync::Arc;
use transport::app::connections::{Connections, Workload};
use transport::app::{App, Socket};
use transport::endpoint::Role;
use transport::recovery::tcb_cache::TcbCache;
use transport::tcp::Config;
use transport::tcp::receiver::WindowManager;

/// One end of a flow, with any number of connections.
pub struct MultiConnectionHost {
    template: Template,
    /// Start time; [`Time::NEVER`] once started.
    start: Time,
    connections: Vec<HostedConnection>,
    /// Connections with a deadline.
    awake: BTreeSet<usize>,
    workload: Box<dyn Workload>,
    ordinals: [u32; 2],
    /// Calls of the application, processed after it returns.
    done: AppCalls,
}

/// Configuration common to all connections.
#[derive(Clone)]
struct Template {
    flow: FlowId,
    node: NodeId,
    peer: NodeId,
    role: Role,
    tcp: Arc<Config>,
    /// Wire format, if the peer is a real stack.
    codec: Option<CodecConfig>,
    /// Whether packets are kept.
    keeps: bool,
    /// TCB cache shared with other connections to the same destination.
    cache: Option<TcbCache>,
    /// Window manager of the node, and the number of the flow there.
    manager: Option<(WindowManager, usize)>,
    /// Membership of the host in a macroflow.
    macroflow: Option<Membership>,
}

struct HostedConnection {
    host: Host,
    /// Whether either end aborted the connection.
    dead: bool,
    /// Whether the application has written or closed since the last call.
    touched: bool,
}

impl Socket for HostedConnection {
    fn write(&mut self, bytes: u64) {
        self.touched = true;
        self.host.socket().write(bytes);
    }
    fn close(&mut self) {
        self.touched = true;
        self.host.socket().close();
    }
    fn stop(&mut self) {
        self.touched = true;
        self.host.socket().stop();
    }
    fn received(&self) -> u64 {
        self.host.connection().received()
    }
    fn acknowledged(&self) -> u64 {
        self.host.connection().acknowledged()
    }
}

#[derive(Default)]
struct AppCalls {
    /// Connections that the application may have written to.
    touched_by_app: BTreeSet<usize>,
    aborted: Vec<usize>,
}

/// Upper bound of the connections in one run, against errors and attacks.
const MOST_CONNECTIONS: usize = 1 << 19;

/// Placeholder application: the workload runs outside of the inner host.
struct NoApp;

impl App for NoApp {
    fn started(&mut self, _now: Time, _socket: &mut dyn Socket) {}
    fn progressed(&mut self, _now: Time, _socket: &mut dyn Socket) {}
    fn finished(&self) -> Option<Time> {
        None
    }
}

impl Template {
    fn conn(&self, number: usize) -> HostedConnection {
        let config = HostConfig {
            flow: self.flow,
            node: self.node,
            peer: self.peer,
            role: self.role,
            start: Time::NEVER,
        };
        let mut host = Host::new(config, self.tcp.clone(), Box::new(NoApp)).numbered(number);
        if let Some(cache) = &self.cache {
            host = host.sharing(cache.clone());
        }
        if let Some((manager, flow)) = &self.manager {
            host = host.managed(manager, *flow);
        }
        if let Some(member) = &self.macroflow {
            host = host.sending_in_line(member, number);
        }
        if let Some(codec) = &self.codec {
            host = host.coded(codec, number);
            if self.keeps {
                host.keep_packets();
            }
        }
        HostedConnection { host, dead: false, touched: false }
    }
}

/// The connections, as passed to the application.
struct Access<'a> {
    template: &'a Template,
    connections: &'a mut Vec<HostedConnection>,
    done: &'a mut AppCalls,
}

impl Connections for Access<'_> {
    fn open(&mut self) -> usize {
        let number = self.connections.len();
        self.connections.push(self.template.conn(number));
        number
    }
    fn connection(&mut self, number: usize) -> Option<&mut dyn Socket> {
        let conn = self.connections.get_mut(number).filter(|conn| !conn.dead)?;
        self.done.touched_by_app.insert(number);
        Some(conn)
    }
    fn abort(&mut self, number: usize) {
        if let Some(conn) = self.connections.get_mut(number).filter(|conn| !conn.dead) {
            conn.dead = true;
            self.done.aborted.push(number);
        }
    }
}

impl MultiConnectionHost {
    /// A host before its start. `config.start` is the start time of the application at the active end; the
    /// passive end exists from the beginning.
    pub fn new(config: HostConfig, tcp: Arc<Config>, workload: Box<dyn Workload>) -> Self {
        let HostConfig { flow, node, peer, role, start } = config;
        MultiConnectionHost {
            template: Template {
                flow,
                node,
                peer,
                role,
                tcp,
                codec: None,
                keeps: false,
                cache: None,
                manager: None,
                macroflow: None,
            },
            start: if role == Role::Active { start } else { Time::NEVER },
            connections: Vec::new(),
            awake: BTreeSet::new(),
            workload,
            ordinals: [0; 2],
            done: AppCalls::default(),
        }
    }

    /// Sends and receives IP packets, for a peer that is a real stack.
    #[must_use]
    pub fn coded(mut self, config: CodecConfig) -> Self {
        self.template.codec = Some(config);
        self
    }
    /// Shares the TCB among its connections and with others to the same destination.
    #[must_use]
    pub fn sharing(mut self, cache: TcbCache) -> Self {
        self.template.cache = Some(cache);
        self
    }
    /// Puts the receive windows under the congestion manager of the node, as connections of `flow` there.
    #[must_use]
    pub fn managed(mut self, manager: WindowManager, flow: usize) -> Self {
        self.template.manager = Some((manager, flow));
        self
    }
    /// Shares the congestion window of a macroflow among all connections.
    #[must_use]
    pub fn sending_in(mut self, member: Membership) -> Self {
        self.template.macroflow = Some(member);
        self
    }
    /// Keeps the packets that cross the codecs, if the peer is a real stack.
    pub fn keep_packets(&mut self) {
        self.template.keeps = true;
    }
    /// Takes the packets kept since the last call, of all connections in time order.
    pub fn take_packets(&mut self) -> Vec<(Time, Vec<u8>)> {
        let mut all: Vec<_> = self.connections.iter_mut().flat_map(|conn| conn.host.take_packets()).collect();
        all.sort_by_key(|(t, _)| *t);
        all
    }

    /// The application.
    pub fn workload(&self) -> &dyn Workload {
        &*self.workload
    }
    /// All connections so far, closed ones included.
    pub fn connections(&self) -> impl Iterator<Item = &Host> {
        self.connections.iter().map(|conn| &conn.host)
    }
    /// Sum of the counters of all connections.
    pub fn counters(&self) -> HostCounters {
        let mut sum = HostCounters::default();
        for host in self.connections() {
            let c = host.counters();
            sum.data_sent += c.data_sent;
            sum.data_resent += c.data_resent;
            sum.acks_sent += c.acks_sent;
            sum.data_received += c.data_received;
            sum.bytes_sent += c.bytes_sent;
            sum.expirations += c.expirations;
        }
        sum
    }

    /// Calls the application.
    fn call_app(&mut self, act: impl FnOnce(&mut dyn Workload, &mut dyn Connections)) {
        let MultiConnectionHost { template, connections, workload, done, .. } = self;
        act(&mut **workload, &mut Access { template, connections, done });
    }

    /// Calls one connection, then the application if there was progress.
    fn with(&mut self, cx: &mut Cx<'_>, number: usize, act: impl FnOnce(&mut Host, &mut Cx<'_>)) {
        let Some(conn) = self.connections.get_mut(number) else { return };
        let before = conn.host.progress();
        conn.host.share(&mut self.ordinals);
        act(&mut conn.host, cx);
        conn.host.share(&mut self.ordinals);
        if conn.host.progress() != before && !conn.dead {
            let now = cx.now();
            self.call_app(|workload, connections| workload.progressed(now, number, connections));
        }
        self.note(number);
    }

    fn note(&mut self, number: usize) {
        let Some(conn) = self.connections.get(number) else { return };
        if conn.dead || conn.host.next_wake().is_never() {
            self.awake.remove(&number);
        } else {
            self.awake.insert(number);
        }
    }

    /// Creates the connection with this number, if the other end may have opened it; false for an impossible
    /// number.
    fn create_connection(&mut self, number: usize) -> bool {
        if number >= self.connections.len() {
            if self.template.role == Role::Active || number >= MOST_CONNECTIONS {
                return false; // The active end opens connections itself.
            }
            // Connections may arrive in another order than they were opened.
            self.connections.extend((self.connections.len()..=number).map(|n| self.template.conn(n)));
        }
        true
    }

    /// Processes a packet of bytes.
    #[cold]
    fn take_bytes(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let mut bytes = Vec::new();
        if !cx.absorb_bytes(packet, &mut bytes) {
            return;
        }
        let Some(tcp) = base::wire::read(&bytes).ok().and_then(|digest| digest.tcp) else { return };
        let port = if self.template.role == Role::Active { tcp.destination } else { tcp.source };
        let Some(number) = port.checked_sub(FIRST_PORT).map(usize::from) else { return };
        if !self.create_connection(number) {
            return;
        }
        let Some(conn) = self.connections.get_mut(number) else { return };
        let dead = conn.dead;
        let Some(segment) = conn.host.read(cx.now(), packet, &mut bytes) else { return };
        if segment.rst {
            self.broken(cx.now(), number);
        } else if dead {
            if let Some(ledger) = cx.ledger(packet).filter(|_| packet.flags.has(Flags::DATA)) {
                ledger.received(packet.ordinal);
            }
            //= RFC 9293 section 3.10.7.1: the sequence number of the RST is the ACK number of the segment
            self.with(cx, number, |host, cx| host.reset_at(cx, segment.ack));
        } else {
            self.with(cx, number, |host, cx| host.take_read(cx, packet, &segment));
        }
        self.process_app_calls(cx);
    }

    /// Processes an ICMP "fragmentation needed": it applies to all connections of the path, later ones too.
    #[cold]
    fn too_big(&mut self, cx: &mut Cx<'_>, error: &Packet, mtu: u32) {
        for number in 0..self.connections.len() {
            if !self.connections[number].dead {
                self.with(cx, number, |host, cx| host.too_big(cx, error, mtu));
            }
        }
        self.template.tcp = Arc::new(self.template.tcp.within(mtu));
        self.process_app_calls(cx);
    }

    /// Marks a connection as aborted by the peer.
    fn broken(&mut self, now: Time, number: usize) {
        if let Some(conn) = self.connections.get_mut(number).filter(|conn| !conn.dead) {
            conn.dead = true;
            conn.host.socket().leave_macroflow();
            self.workload.broken(now, number);
            self.note(number);
        }
    }

    /// Sends the data that the application wrote, and an RST for connections that it aborted.
    fn process_app_calls(&mut self, cx: &mut Cx<'_>) {
        loop {
            if let Some(number) = self.done.aborted.pop() {
                self.with(cx, number, |host, cx| host.reset(cx));
            } else if let Some(number) = self.done.touched_by_app.pop_first() {
                let conn = self.connections.get_mut(number).filter(|conn| !conn.dead);
                if conn.is_some_and(|conn| std::mem::take(&mut conn.touched)) {
                    self.with(cx, number, |host, cx| host.push(cx));
                }
            } else {
                break;
            }
        }
        if self.template.macroflow.is_some() {
            self.pass_grants(cx);
        }
    }

    /// Signals the granter if grants are left for other hosts.
    #[cold]
    fn pass_grants(&self, cx: &mut Cx<'_>) {
        let member = self.template.macroflow.as_ref();
        if member.is_some_and(|member| member.macroflow.has_grants()) {
            cx.signal(GRANTS, Signal::Grant);
        }
    }
}

impl Element for MultiConnectionHost {
    fn on_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet) {
        if port == HOST_ERRORS {
            if let Some(error) = cx.absorb::<TooBig>(&packet) {
                self.too_big(cx, &packet, error.mtu);
            }
            return;
        }
        if self.template.codec.is_some() {
            return self.take_bytes(cx, &packet);
        }
        let Some(segment) = cx.absorb::<Segment>(&packet) else { return };
        let number = (segment.seq / CONNECTION) as usize;
        let base = number as u64 * CONNECTION;
        let segment = if number == 0 { segment } else { segment.renumbered(|n| n.saturating_sub(base)) };
        if !self.create_connection(number) {
            return;
        }
        let dead = self.connections.get(number).is_none_or(|conn| conn.dead);
        if segment.rst {
            self.broken(cx.now(), number);
        } else if dead {
            //= RFC 9293 section 3.5.2: a segment for a connection that does not exist is answered by an RST
            if packet.flags.has(Flags::DATA)
                && let Some(ledger) = cx.ledger(&packet)
            {
                ledger.received(packet.ordinal);
            }
            if packet.flags.has(Flags::DATA) || segment.fin || segment.syn {
                self.with(cx, number, |host, cx| host.reset(cx));
            }
        } else {
            self.with(cx, number, |host, cx| host.take(cx, &packet, &segment));
        }
        self.process_app_calls(cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        if self.start <= now {
            self.start = Time::NEVER;
            self.call_app(|workload, connections| workload.started(now, connections));
            self.process_app_calls(cx);
        }
        if self.workload.next_timeout() <= now {
            self.call_app(|workload, connections| workload.timeout(now, connections));
            self.process_app_calls(cx);
        }
        let due = |n: &usize| self.connections.get(*n).is_some_and(|conn| conn.host.next_wake() <= now);
        let due: Vec<usize> = self.awake.iter().copied().filter(due).collect();
        for number in due {
            self.with(cx, number, |host, cx| host.on_wake(cx));
            self.process_app_calls(cx);
        }
    }

    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        if signal == Signal::Grant {
            if let Some(member) = self.template.macroflow.clone() {
                let mut from = 0;
                while let Some(number) = member.macroflow.next_granted(member.owner, from) {
                    self.with(cx, number as usize, |host, cx| host.push(cx));
                    from = number.saturating_add(1);
                }
            }
            self.process_app_calls(cx);
        }
    }

    fn next_wake(&self) -> Time {
        let conn = |n: &usize| self.connections.get(*n).map_or(Time::NEVER, |conn| conn.host.next_wake());
        let connections = self.awake.iter().map(conn).min().unwrap_or(Time::NEVER);
        self.start.min(self.workload.next_timeout()).min(connections)
    }

    fn holds(&self) -> usize {
        0
    }
}
