//! Packet port of a flow end without a model: packets of a real stack, tracking of TCP connections and SCTP
//! associations for the ledger.
//!
//! A driver passes in the bytes of IP packets and takes those that are due. The packet port creates a head
//! for each incoming packet. It tracks TCP and SCTP far enough to record in the ledger the data sent,
//! retransmitted and received on each connection. Between two packet ports, packets cross the same elements
//! as in virtual time.

use crate::codec::path_of;
use crate::deadlines::Deadlines;
use crate::host::HostCounters;
use crate::port::{PacketPort, PacketRoute, PortQueues, flip};
use base::event::{Category, Event, Source};
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::truth::{CONNECTION, Cause};
use base::wire::sctp::{RawChunk, SctpHead};
use base::wire::{self, Malformed, TcpHead, flag};
use base::{Span, Time};
use path::{Cx, Element, Port};
use std::borrow::Cow;
use std::collections::BTreeMap;
use transport::app::stats::AppStats;
use transport::tcp::Role;

/// Configuration of one end of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowPortConfig {
    /// Flow of the packets.
    pub flow: FlowId,
    /// Node of this end.
    pub node: NodeId,
    /// Node of the other end.
    pub peer: NodeId,
    /// Active or passive; packets of the passive end carry [`Flags::REPLY`].
    pub role: Role,
    /// Deadlines that packets contain or are stamped with.
    pub deadlines: Deadlines,
}

/// Results reported by the stack or driver behind a packet port.
#[derive(Clone, Default, Debug)]
pub struct ExternalReport {
    /// Time at which the workload was done.
    pub finished: Option<Time>,
    /// Bytes received by the application.
    pub received: u64,
    /// Connections opened.
    pub connections: u64,
    /// Statistics of a workload of requests, pages or messages.
    pub stats: AppStats,
}

/// A connection, as seen from this end.
#[derive(Clone, Copy, Default, Debug)]
struct TrackedConnection {
    /// Local and remote port.
    ports: [u16; 2],
    /// Initial sequence numbers of this end and of the other end.
    first: [Option<u32>; 2],
    /// One past the highest offset sent by this end.
    sent: u64,
    /// Highest ACK received.
    acked: u64,
    /// Window scale of the peer.
    peer_scale: u8,
}

/// Element through which packets of a real stack enter and leave the network.
pub struct FlowPort {
    config: FlowPortConfig,
    /// Flow number of the first further network path, and the number of such paths.
    other_paths: (FlowId, u8),
    ordinals: [u32; 2],
    counters: HostCounters,
    /// Connections in order of first appearance.
    tracked: Vec<TrackedConnection>,
    /// Latest connection of each pair of ports.
    by_ports: BTreeMap<[u16; 2], usize>,
    /// Index of the connection that was looked up last.
    present: usize,
    /// Largest payload of a TCP segment so far, bytes.
    largest: u32,
    last_data: Option<Time>,
    send_gaps: Vec<(Time, Time)>,
    queues: PortQueues,
    external: ExternalReport,
}

/// Gaps up to 1 s are normal ACK clocking and are not recorded.
const LONG: Span = Span::from_secs(1);
/// Maximum number of tracked connections; one service has no more pairs of ports.
const MOST_TRACKED: usize = 1 << 16;
impl FlowPort {
    /// A packet port before its first packet.
    pub fn new(config: FlowPortConfig) -> Self {
        FlowPort {
            config,
            other_paths: (config.flow, 0),
            ordinals: [0; 2],
            counters: HostCounters::default(),
            tracked: Vec::new(),
            by_ports: BTreeMap::new(),
            present: 0,
            largest: 0,
            last_data: None,
            send_gaps: Vec::new(),
            queues: PortQueues::new(config.deadlines),
            external: ExternalReport::default(),
        }
    }

    /// Adds `paths` further network paths: packets to their addresses ([`path_address`](crate::path_address))
    /// have flow numbers from `first` on and leave by the ports from 1 on.
    #[must_use]
    pub fn with_paths(mut self, first: FlowId, paths: u8) -> Self {
        self.other_paths = (first, paths);
        self
    }

    /// Counters of this end. `expirations` stays 0: timers are not visible from outside.
    pub fn counters(&self) -> HostCounters {
        self.counters
    }
    /// Results reported for the end behind the packet port.
    pub fn external_report(&self) -> &ExternalReport {
        &self.external
    }
    /// Stores the results reported for the end behind the packet port.
    pub fn set_external_report(&mut self, external: ExternalReport) {
        self.external = external;
    }
    /// Largest payload of a segment that entered here, bytes; 0 before the first.
    pub fn largest_segment(&self) -> u32 {
        self.largest
    }
    /// Gaps of more than a second between two data segments that entered.
    pub fn send_gaps(&self) -> &[(Time, Time)] {
        &self.send_gaps
    }

    fn ledger(&self) -> usize {
        self.config.flow.0 as usize * 2 + usize::from(self.config.role == Role::Passive)
    }

    /// Index of the connection between these ports, this end's port first. A SYN of this end with a new
    /// initial sequence number (`opening`) starts a new connection.
    fn tracked(&mut self, ports: [u16; 2], opening: Option<u32>) -> Option<usize> {
        let matches = |c: &TrackedConnection| {
            c.ports == ports && opening.is_none_or(|seq| c.first[0].is_none_or(|first| first == seq))
        };
        if self.tracked.get(self.present).is_some_and(matches) {
            return Some(self.present);
        }
        let known = self.by_ports.get(&ports).copied();
        let found = known.filter(|&i| self.tracked.get(i).is_some_and(matches));
        let index = match found {
            Some(index) => index,
            None if self.tracked.len() >= MOST_TRACKED => return None,
            None => {
                self.tracked.push(TrackedConnection { ports, ..TrackedConnection::default() });
                self.tracked.len() - 1
            }
        };
        self.by_ports.insert(ports, index);
        self.present = index;
        Some(index)
    }

    /// Records a segment of this end in the ledger. Offsets count from the connection's initial sequence
    /// number: a SYN has offset 0.
    fn record_sent(&mut self, cx: &mut Cx<'_>, tcp: &TcpHead, len: u32, ordinal: u32, id: u64) {
        let opening = tcp.has(flag::SYN).then_some(tcp.seq);
        let Some(number) = self.tracked([tcp.source, tcp.destination], opening) else { return };
        let me = self.ledger();
        let Some(here) = self.tracked.get_mut(number) else { return };
        if opening.is_some() {
            here.first[0] = opening;
            here.sent = here.sent.max(1);
        }
        let Some(first) = here.first[0] else { return };
        if len == 0 {
            return;
        }
        // Data on a SYN follow the SYN's sequence number.
        let at = tcp.seq.wrapping_sub(first).wrapping_add(u32::from(tcp.has(flag::SYN)));
        let base = number as u64 * CONNECTION;
        let offset = wire::unwrap(here.sent, at);
        let (seq, known) = (base + offset, base + here.sent);
        let end = seq + u64::from(len);
        here.sent = here.sent.max(offset + u64::from(len));
        let now = cx.now();
        let cause = if seq < known { Cause::Resent } else { Cause::New };
        if cause == Cause::Resent {
            self.counters.data_resent += 1;
        }
        if let Some(ledger) = cx.ledger_at(me) {
            if seq < known {
                ledger.sent(now, seq, end.min(known), ordinal, Cause::Resent);
            }
            if end > known {
                ledger.sent(now, seq.max(known), end, ordinal, Cause::New);
            }
        }
        cx.record_data(|| Event::DataSent { packet: id, seq, len, cause });
    }

    /// Records a segment that arrives from the other end.
    fn record_arrival(&mut self, cx: &mut Cx<'_>, tcp: &TcpHead, packet: &Packet) {
        let Some(number) = self.tracked([tcp.destination, tcp.source], None) else { return };
        let me = self.ledger();
        let Some(here) = self.tracked.get_mut(number) else { return };
        if tcp.has(flag::SYN) {
            here.first[1] = Some(tcp.seq);
            here.peer_scale = tcp.scale.unwrap_or(0).min(14);
        }
        let Some(first) = here.first[0] else { return };
        if !tcp.has(flag::ACK) {
            return;
        }
        let base = number as u64 * CONNECTION;
        let offset = wire::unwrap(here.acked, tcp.ack.wrapping_sub(first));
        let duplicate = offset <= here.acked;
        here.acked = here.acked.max(offset);
        let ack = base + offset;
        // The window of a SYN is not scaled (RFC 7323 section 2.2).
        let scale = if tcp.has(flag::SYN) { 0 } else { here.peer_scale };
        if let Some(ledger) = cx.ledger_at(me) {
            ledger.acked(ack, packet.born);
        }
        let now = cx.now();
        let window = u32::from(tcp.window) << scale;
        cx.record(Category::Transport, now, || Event::AckReceived { ack, window, duplicate });
        let source = Source(cx.me().0);
        for &(left, right) in tcp.blocks() {
            let at = |edge: u32| base + wire::unwrap(offset, edge.wrapping_sub(first));
            let (left, right) = (at(left), at(right));
            cx.tracer().record(Category::Transport, now, source, || Event::SackBlock { left, right });
        }
    }
}

/// Common header and chunks of the SCTP packet inside of an IP packet.
fn sctp(bytes: &[u8]) -> Option<(SctpHead, impl Iterator<Item = RawChunk<'_>>)> {
    let ip = wire::IpHead::read(bytes, 0).ok()?;
    wire::sctp::read(bytes.get(ip.header as usize..)?)
}

/// Tracking of SCTP associations: transmission sequence numbers (TSNs) count chunks from the initial TSN.
impl FlowPort {
    /// Records a packet of this end: the chunks sent, and the chunks retransmitted.
    fn record_sent_chunks(&mut self, cx: &mut Cx<'_>, bytes: &[u8], ordinal: u32, id: u64) {
        let Some((head, chunks)) = sctp(bytes) else { return };
        let (me, now) = (self.ledger(), cx.now());
        let mut again = false;
        for chunk in chunks {
            let opening = chunk.init().map(|(_, initial)| initial);
            let Some(number) = self.tracked([head.source, head.destination], opening) else { return };
            let Some(here) = self.tracked.get_mut(number) else { return };
            here.first[0] = opening.or(here.first[0]);
            let (Some(first), Some(data)) = (here.first[0], chunk.data()) else { continue };
            let offset = wire::unwrap(here.sent, data.tsn.wrapping_sub(first));
            let cause = if offset < here.sent { Cause::Resent } else { Cause::New };
            here.sent = here.sent.max(offset + 1);
            again |= cause == Cause::Resent;
            let seq = number as u64 * CONNECTION + offset;
            if let Some(ledger) = cx.ledger_at(me) {
                ledger.sent(now, seq, seq + 1, ordinal, cause);
            }
            cx.record_data(|| Event::DataSent { packet: id, seq, len: 1, cause });
        }
        self.counters.data_resent += u64::from(again);
    }

    /// Records the acknowledgements in a packet that arrives from the other end.
    fn record_sacks(&mut self, cx: &mut Cx<'_>, bytes: &[u8], packet: &Packet) {
        let Some((head, chunks)) = sctp(bytes) else { return };
        let Some(number) = self.tracked([head.destination, head.source], None) else { return };
        let (me, now, source) = (self.ledger(), cx.now(), Source(cx.me().0));
        let base = number as u64 * CONNECTION;
        for chunk in chunks {
            let Some(here) = self.tracked.get_mut(number) else { return };
            let (Some(first), Some(sack)) = (here.first[0], chunk.sack()) else { continue };
            let offset = |acked: u64, tsn: u32| wire::unwrap(acked, tsn.wrapping_sub(first));
            let cumulative = offset(here.acked, sack.cumulative.wrapping_add(1));
            let duplicate = cumulative <= here.acked;
            here.acked = here.acked.max(cumulative);
            let ack = base + cumulative;
            if let Some(ledger) = cx.ledger_at(me) {
                ledger.acked(ack, packet.born);
            }
            cx.record(Category::Transport, now, || Event::AckReceived {
                ack,
                window: sack.window,
                duplicate,
            });
            for (from, to) in sack.gaps {
                let (left, right) = (base + offset(cumulative, from), base + offset(cumulative, to) + 1);
                cx.tracer().record(Category::Transport, now, source, || Event::SackBlock { left, right });
            }
        }
    }
}

impl PacketPort for FlowPort {
    fn inject(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> Result<Option<u64>, Malformed> {
        let digest = wire::read(bytes)?;
        let (bytes, lives) = self.queues.deadlines.apply(cx.now(), bytes);
        let digest = if let Cow::Owned(stamped) = &bytes { wire::read(stamped)? } else { digest };
        let bytes = bytes.get(..digest.size as usize).unwrap_or(&bytes);
        let (body, id) = cx.emit_bytes(bytes, digest.size);
        let (first, others) = self.other_paths;
        let path = if others == 0 { 0 } else { path_of(bytes).min(others) };
        let route = PacketRoute {
            flow: if path == 0 { self.config.flow } else { FlowId(first.0 + u32::from(path) - 1) },
            source: self.config.node,
            destination: self.config.peer,
            reply: self.config.role == Role::Passive,
        };
        let head = route.head(cx.now(), (body, id), digest.size, Some(&digest), &mut self.ordinals);
        let (data, ordinal) = (head.flags.has(Flags::DATA), head.ordinal);
        self.counters.bytes_sent += u64::from(digest.size);
        if data {
            self.counters.data_sent += 1;
            self.largest = self.largest.max(digest.payload);
            if let Some(last) = self.last_data.replace(cx.now())
                && cx.now().since(last) > LONG
            {
                self.send_gaps.push((last, cx.now()));
            }
        } else {
            self.counters.acks_sent += 1;
        }
        if let Some(tcp) = &digest.tcp {
            self.record_sent(cx, tcp, digest.payload, ordinal, id);
        } else if digest.protocol == wire::SCTP {
            self.record_sent_chunks(cx, bytes, ordinal, id);
        }
        cx.forward(Port(u16::from(path)), Packet { lives, ..head });
        Ok(Some(id))
    }

    fn queues(&mut self) -> &mut PortQueues {
        &mut self.queues
    }
}

impl Element for FlowPort {
    /// Delivers a packet that has crossed the network: it leaves now.
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        let Some(mut bytes) = self.queues.absorb(cx, &packet) else { return };
        let corrupt = packet.flags.has(Flags::CORRUPT);
        let data = packet.flags.has(Flags::DATA);
        self.counters.data_received += u64::from(data && !corrupt);
        // Packets of further network paths count for the flow.
        if let Some(ledger) = cx.ledger_at(self.ledger() ^ 1) {
            match (data, corrupt) {
                (true, false) => ledger.received(packet.ordinal),
                (true, true) => ledger.other_drops += 1,
                (false, true) => ledger.ack_drops += 1,
                (false, false) => {}
            }
        }
        if let Ok(digest) = wire::read(&bytes) {
            if digest.ecn != packet.ecn {
                wire::set_ecn(&mut bytes, packet.ecn);
            }
            match &digest.tcp {
                _ if corrupt => {}
                Some(tcp) => self.record_arrival(cx, tcp, &packet),
                None if digest.protocol == wire::SCTP => self.record_sacks(cx, &bytes, &packet),
                None => {}
            }
        }
        if corrupt {
            flip(&mut bytes, packet.id);
        }
        self.queues.leave(cx.now(), packet.id, bytes);
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    /// Packets in the departure queue have left the network.
    fn holds(&self) -> usize {
        0
    }
}
