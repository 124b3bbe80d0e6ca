//! Multi-connection host: one flow end with several connections.
//!
//! Each connection is a host inside it. The connections share the flow's path, ledgers and packet counters,
//! and are distinguished by the base of their sequence numbers (`base::truth::CONNECTION`).

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
use transport::app::lines::{Lines, Workload};
use transport::app::{App, Socket};
use transport::endpoint::Role;
use transport::recovery::tcb_cache::TcbCache;
use transport::tcp::Config;
use transport::tcp::receiver::WindowManager;

/// One end of a flow, with any number of connections.
pub struct Party {
    template: Template,
    /// Start time; [`Time::NEVER`] once started.
    start: Time,
    lines: Vec<Line>,
    /// Connections with a deadline.
    awake: BTreeSet<usize>,
    workload: Box<dyn Workload>,
    ordinals: [u32; 2],
    /// Connections used by the application, processed after it returns.
    done: Done,
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
    /// Packets that pass are kept.
    keeps: bool,
    /// TCB cache shared with other connections to the same destination.
    cache: Option<TcbCache>,
    /// Window manager of the host, and the number of the flow there.
    manager: Option<(WindowManager, usize)>,
    /// Place of the host in a macroflow.
    macroflow: Option<Membership>,
}

struct Line {
    host: Host,
    /// Aborted by either end.
    dead: bool,
    /// The application has written or closed since the last check.
    touched: bool,
}

impl Socket for Line {
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
struct Done {
    /// Connections that the application may have written to.
    looked_at: BTreeSet<usize>,
    aborted: Vec<usize>,
}

/// Upper bound of the connections in one run, against mistakes and attacks.
const MOST_LINES: usize = 1 << 19;

/// Placeholder: the application runs outside of the host.
struct Outside;

impl App for Outside {
    fn started(&mut self, _now: Time, _socket: &mut dyn Socket) {}
    fn progressed(&mut self, _now: Time, _socket: &mut dyn Socket) {}
    fn finished(&self) -> Option<Time> {
        None
    }
}

impl Template {
    fn line(&self, number: usize) -> Line {
        let config = HostConfig {
            flow: self.flow,
            node: self.node,
            peer: self.peer,
            role: self.role,
            start: Time::NEVER,
        };
        let mut host = Host::new(config, self.tcp.clone(), Box::new(Outside)).numbered(number);
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
        Line { host, dead: false, touched: false }
    }
}

/// Connection set passed to the application.
struct Access<'a> {
    template: &'a Template,
    lines: &'a mut Vec<Line>,
    done: &'a mut Done,
}

impl Lines for Access<'_> {
    fn open(&mut self) -> usize {
        let number = self.lines.len();
        self.lines.push(self.template.line(number));
        number
    }
    fn line(&mut self, number: usize) -> Option<&mut dyn Socket> {
        let line = self.lines.get_mut(number).filter(|line| !line.dead)?;
        self.done.looked_at.insert(number);
        Some(line)
    }
    fn abort(&mut self, number: usize) {
        if let Some(line) = self.lines.get_mut(number).filter(|line| !line.dead) {
            line.dead = true;
            self.done.aborted.push(number);
        }
    }
}

impl Party {
    /// A host before its start. `config.start` is the start time of the application at the active end; the
    /// passive end exists from the beginning.
    pub fn new(config: HostConfig, tcp: Arc<Config>, workload: Box<dyn Workload>) -> Self {
        let HostConfig { flow, node, peer, role, start } = config;
        Party {
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
            lines: Vec::new(),
            awake: BTreeSet::new(),
            workload,
            ordinals: [0; 2],
            done: Done::default(),
        }
    }

    /// For a peer that is a real stack: sends and receives IP packets.
    #[must_use]
    pub fn coded(mut self, config: CodecConfig) -> Self {
        self.template.codec = Some(config);
        self
    }
    /// With connections that share their TCB.
    #[must_use]
    pub fn sharing(mut self, cache: TcbCache) -> Self {
        self.template.cache = Some(cache);
        self
    }
    /// Puts the receive windows under the congestion manager of the host, as connections of `flow` there.
    #[must_use]
    pub fn managed(mut self, manager: WindowManager, flow: usize) -> Self {
        self.template.manager = Some((manager, flow));
        self
    }
    /// Lets all connections share the congestion window of a macroflow.
    #[must_use]
    pub fn sending_in(mut self, member: Membership) -> Self {
        self.template.macroflow = Some(member);
        self
    }
    /// Keeps the packets that pass, if they are packets of bytes.
    pub fn keep_packets(&mut self) {
        self.template.keeps = true;
    }
    /// Takes the packets kept since the last call, of all connections in order of time.
    pub fn take_packets(&mut self) -> Vec<(Time, Vec<u8>)> {
        let mut all: Vec<_> = self.lines.iter_mut().flat_map(|line| line.host.take_packets()).collect();
        all.sort_by_key(|(t, _)| *t);
        all
    }

    /// Application.
    pub fn workload(&self) -> &dyn Workload {
        &*self.workload
    }
    /// All connections so far, closed ones included.
    pub fn connections(&self) -> impl Iterator<Item = &Host> {
        self.lines.iter().map(|line| &line.host)
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
    fn tell(&mut self, act: impl FnOnce(&mut dyn Workload, &mut dyn Lines)) {
        let Party { template, lines, workload, done, .. } = self;
        act(&mut **workload, &mut Access { template, lines, done });
    }

    /// Calls one connection, then the application if there was progress.
    fn with(&mut self, cx: &mut Cx<'_>, number: usize, act: impl FnOnce(&mut Host, &mut Cx<'_>)) {
        let Some(line) = self.lines.get_mut(number) else { return };
        let before = line.host.progress();
        line.host.share(&mut self.ordinals);
        act(&mut line.host, cx);
        line.host.share(&mut self.ordinals);
        if line.host.progress() != before && !line.dead {
            let now = cx.now();
            self.tell(|workload, lines| workload.progressed(now, number, lines));
        }
        self.note(number);
    }

    fn note(&mut self, number: usize) {
        let Some(line) = self.lines.get(number) else { return };
        if line.dead || line.host.next_wake().is_never() {
            self.awake.remove(&number);
        } else {
            self.awake.insert(number);
        }
    }

    /// Creates the connection with this number, if the other end may have opened it.
    fn admit(&mut self, number: usize) -> bool {
        if number >= self.lines.len() {
            if self.template.role == Role::Active || number >= MOST_LINES {
                return false; // the active end opens connections itself
            }
            // Connections may arrive in a different order than they were opened.
            self.lines.extend((self.lines.len()..=number).map(|n| self.template.line(n)));
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
        if !self.admit(number) {
            return;
        }
        let Some(line) = self.lines.get_mut(number) else { return };
        let dead = line.dead;
        let Some(segment) = line.host.read(cx.now(), packet, &mut bytes) else { return };
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
        self.see_to(cx);
    }

    /// Processes an ICMP "fragmentation needed": applies to all connections of the path, later ones too.
    #[cold]
    fn too_big(&mut self, cx: &mut Cx<'_>, error: &Packet, mtu: u32) {
        for number in 0..self.lines.len() {
            if !self.lines[number].dead {
                self.with(cx, number, |host, cx| host.too_big(cx, error, mtu));
            }
        }
        self.template.tcp = Arc::new(self.template.tcp.within(mtu));
        self.see_to(cx);
    }

    /// The peer has aborted a connection.
    fn broken(&mut self, now: Time, number: usize) {
        if let Some(line) = self.lines.get_mut(number).filter(|line| !line.dead) {
            line.dead = true;
            line.host.socket().leave_macroflow();
            self.workload.broken(now, number);
            self.note(number);
        }
    }

    /// Sends the data that the application wrote, and an RST for connections that it aborted.
    fn see_to(&mut self, cx: &mut Cx<'_>) {
        loop {
            if let Some(number) = self.done.aborted.pop() {
                self.with(cx, number, |host, cx| host.reset(cx));
            } else if let Some(number) = self.done.looked_at.pop_first() {
                let line = self.lines.get_mut(number).filter(|line| !line.dead);
                if line.is_some_and(|line| std::mem::take(&mut line.touched)) {
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

    /// Signals the congestion manager if grants are left.
    #[cold]
    fn pass_grants(&self, cx: &mut Cx<'_>) {
        let member = self.template.macroflow.as_ref();
        if member.is_some_and(|member| member.macroflow.has_grants()) {
            cx.signal(GRANTS, Signal::Grant);
        }
    }
}

impl Element for Party {
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
        if !self.admit(number) {
            return;
        }
        let dead = self.lines.get(number).is_none_or(|line| line.dead);
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
        self.see_to(cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        if self.start <= now {
            self.start = Time::NEVER;
            self.tell(|workload, lines| workload.started(now, lines));
            self.see_to(cx);
        }
        if self.workload.next_timeout() <= now {
            self.tell(|workload, lines| workload.timeout(now, lines));
            self.see_to(cx);
        }
        let due = |n: &usize| self.lines.get(*n).is_some_and(|line| line.host.next_wake() <= now);
        let due: Vec<usize> = self.awake.iter().copied().filter(due).collect();
        for number in due {
            self.with(cx, number, |host, cx| host.on_wake(cx));
            self.see_to(cx);
        }
    }

    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        if signal == Signal::Grant {
            if let Some(member) = self.template.macroflow.clone() {
                let mut from = 0;
                while let Some(line) = member.macroflow.next_granted(member.owner, from) {
                    self.with(cx, line as usize, |host, cx| host.push(cx));
                    from = line.saturating_add(1);
                }
            }
            self.see_to(cx);
        }
    }

    fn next_wake(&self) -> Time {
        let line = |n: &usize| self.lines.get(*n).map_or(Time::NEVER, |line| line.host.next_wake());
        let lines = self.awake.iter().map(line).min().unwrap_or(Time::NEVER);
        self.start.min(self.workload.next_timeout()).min(lines)
    }

    fn holds(&self) -> usize {
        0
    }
}
