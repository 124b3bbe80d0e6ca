//! Door of a flow end without a model: packets of a real stack enter and leave the network.
//!
//! By a door: an element at the end of a flow that has no endpoint. A driver hands it the bytes of IP packets and
//! takes those that are due; the door stamps a head on what comes in, and of TCP it follows enough to tell the flow's
//! ledger what was sent, resent and received, on each of the flow's connections. What happens between two doors is
//! the business of the same elements as in virtual time.

use crate::deadlines::Deadlines;
use crate::host::HostCounters;
use crate::outlet::{Leaving, Outlet};
use base::event::{Category, Event, Source};
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::rng::mix;
use base::truth::{CONNECTION, Cause};
use base::wire::sctp::{RawChunk, SctpHead};
use base::wire::{self, Digest, Malformed, TcpHead, flag};
use base::{Span, Time};
use path::{Cx, Element, Port};
use std::collections::BTreeMap;
use transport::app::seen::Seen;
use transport::tcp::Role;

/// One end of a flow.
#[derive(Clone, Copy, Debug)]
pub struct DoorConfig {
    /// Whose packets these are.
    pub flow: FlowId,
    /// Where this end is.
    pub node: NodeId,
    /// Where the other end is.
    pub peer: NodeId,
    /// Opens or waits; the waiting end's packets carry [`Flags::REPLY`].
    pub role: Role,
    /// Deadlines that its packets carry, or get.
    pub deadlines: Deadlines,
}

/// What a driver does with a door of either kind.
pub trait Gate {
    /// Takes in a packet from outside: gives it a head, sends it on its way and tells its number in the network; none
    /// if its destination is nowhere.
    ///
    /// # Errors
    /// The bytes are no IP packet; they are left outside.
    fn take_in(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> Result<Option<u64>, Malformed>;
    /// The next packet that is to leave, in the order in which they became due.
    fn next_out(&mut self) -> Option<Leaving>;
    /// Gives back the buffer of a packet that has left.
    fn give_back(&mut self, buffer: Vec<u8>);
    /// The time of day (UT) when the run begins, for deadlines in headers. Without it, midnight.
    fn set_time_of_day(&mut self, _day: Span) {}
}

/// What the stack outside, or whoever speaks with it, says of its end.
#[derive(Clone, Default, Debug)]
pub struct Told {
    /// When its workload was done.
    pub finished: Option<Time>,
    /// Bytes its application has received.
    pub received: u64,
    /// Connections that it opened.
    pub connections: u64,
    /// What a workload of requests, pages or messages has seen.
    pub seen: Seen,
}

/// One connection, as it is seen from this end.
#[derive(Clone, Copy, Default, Debug)]
struct Conversation {
    /// This end's port, and the other's.
    ports: [u16; 2],
    /// Sequence number of this end's SYN, and of the other's.
    first: [Option<u32>; 2],
    /// One past the highest offset this end has sent.
    sent: u64,
    /// The highest acknowledgement that has come.
    acked: u64,
    /// Shift of the windows that the peer offers.
    peer_scale: u8,
}

/// The element through which packets of a real stack come in and go out.
pub struct Door {
    config: DoorConfig,
    ordinals: [u32; 2],
    counters: HostCounters,
    /// In the order in which they were first seen here.
    conversations: Vec<Conversation>,
    /// The last one of each pair of ports.
    by_ports: BTreeMap<[u16; 2], usize>,
    /// The one that was last looked for.
    present: usize,
    /// The largest payload of a segment.
    largest: u32,
    last_data: Option<Time>,
    silences: Vec<(Time, Time)>,
    outlet: Outlet,
    told: Told,
}

/// Shorter silences are what acknowledgement clocks do.
const LONG: Span = Span::from_secs(1);
/// Connections that are followed; there are no more pairs of ports to one service.
const MOST_CONVERSATIONS: usize = 1 << 16;
impl Door {
    /// A door through which nothing has come.
    pub fn new(config: DoorConfig) -> Self {
        Door {
            config,
            ordinals: [0; 2],
            counters: HostCounters::default(),
            conversations: Vec::new(),
            by_ports: BTreeMap::new(),
            present: 0,
            largest: 0,
            last_data: None,
            silences: Vec::new(),
            outlet: Outlet::default(),
            told: Told::default(),
        }
    }

    /// Its counters. `expirations` stays 0: from outside nobody sees a timer.
    pub fn counters(&self) -> HostCounters {
        self.counters
    }
    /// What was told of the end behind it.
    pub fn told(&self) -> &Told {
        &self.told
    }
    /// Takes note of what the end behind it has achieved.
    pub fn tell(&mut self, told: Told) {
        self.told = told;
    }
    /// The largest payload of a segment that came in here; 0 before the first.
    pub fn largest_segment(&self) -> u32 {
        self.largest
    }
    /// When no data came in for more than a second: from one data segment to the next.
    pub fn silences(&self) -> &[(Time, Time)] {
        &self.silences
    }

    fn flags(&self, digest: &Digest) -> Flags {
        let when = |flag: Flags, on: bool| if on { flag.0 } else { 0 };
        let tcp = digest.tcp.unwrap_or_default();
        Flags(
            when(Flags::DATA, digest.payload > 0)
                | when(Flags::ACK, tcp.has(flag::ACK))
                | when(Flags::SYN, tcp.has(flag::SYN))
                | when(Flags::FIN, tcp.has(flag::FIN))
                | when(Flags::RST, tcp.has(flag::RST))
                | when(Flags::REPLY, self.config.role == Role::Passive),
        )
    }

    fn ledger(&self) -> usize {
        self.config.flow.0 as usize * 2 + usize::from(self.config.role == Role::Passive)
    }

    /// The connection between these ports, this end's first. A SYN of this end with another number than before begins
    /// a new one. `opening`: it is a SYN with this number.
    fn conversation(&mut self, ports: [u16; 2], opening: Option<u32>) -> Option<usize> {
        let matches = |c: &Conversation| {
            c.ports == ports && opening.is_none_or(|seq| c.first[0].is_none_or(|first| first == seq))
        };
        if self.conversations.get(self.present).is_some_and(matches) {
            return Some(self.present);
        }
        let known = self.by_ports.get(&ports).copied();
        let found = known.filter(|&i| self.conversations.get(i).is_some_and(matches));
        let index = match found {
            Some(index) => index,
            None if self.conversations.len() >= MOST_CONVERSATIONS => return None,
            None => {
                self.conversations.push(Conversation { ports, ..Conversation::default() });
                self.conversations.len() - 1
            }
        };
        self.by_ports.insert(ports, index);
        self.present = index;
        Some(index)
    }

    /// A segment of this end: what it says of the stream. Offsets are as everywhere, a SYN has 0, and each connection
    /// counts from where its numbers begin.
    fn sent(&mut self, cx: &mut Cx<'_>, tcp: &TcpHead, len: u32, ordinal: u32, id: u64) {
        let opening = tcp.has(flag::SYN).then_some(tcp.seq);
        let Some(number) = self.conversation([tcp.source, tcp.destination], opening) else { return };
        let me = self.ledger();
        let Some(here) = self.conversations.get_mut(number) else { return };
        if opening.is_some() {
            here.first[0] = opening;
            here.sent = here.sent.max(1);
        }
        let Some(first) = here.first[0] else { return };
        if len == 0 {
            return;
        }
        // Data on a SYN lie behind it.
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
        cx.record(Category::Transport, now, || Event::DataSent { packet: id, seq, len, cause });
    }

    /// A segment of the other end arrives.
    fn came(&mut self, cx: &mut Cx<'_>, tcp: &TcpHead, packet: &Packet) {
        let Some(number) = self.conversation([tcp.destination, tcp.source], None) else { return };
        let me = self.ledger();
        let Some(here) = self.conversations.get_mut(number) else { return };
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

/// The SCTP packet inside an IP packet.
fn sctp(bytes: &[u8]) -> Option<(SctpHead, impl Iterator<Item = RawChunk<'_>>)> {
    let ip = wire::IpHead::read(bytes, 0).ok()?;
    wire::sctp::read(bytes.get(ip.header as usize..)?)
}

/// An association of SCTP: transmission sequence numbers count chunks, from the initial one.
impl Door {
    /// A packet of this end: which chunks it sends, and which of them again.
    fn sent_chunks(&mut self, cx: &mut Cx<'_>, bytes: &[u8], ordinal: u32, id: u64) {
        let Some((head, chunks)) = sctp(bytes) else { return };
        let (me, now) = (self.ledger(), cx.now());
        let mut again = false;
        for chunk in chunks {
            let opening = chunk.init().map(|(_, initial)| initial);
            let Some(number) = self.conversation([head.source, head.destination], opening) else { return };
            let Some(here) = self.conversations.get_mut(number) else { return };
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
            cx.record(Category::Transport, now, || Event::DataSent { packet: id, seq, len: 1, cause });
        }
        self.counters.data_resent += u64::from(again);
    }

    /// A packet of the other end arrives: what it acknowledges.
    fn chunks_came(&mut self, cx: &mut Cx<'_>, bytes: &[u8], packet: &Packet) {
        let Some((head, chunks)) = sctp(bytes) else { return };
        let Some(number) = self.conversation([head.destination, head.source], None) else { return };
        let (me, now, source) = (self.ledger(), cx.now(), Source(cx.me().0));
        let base = number as u64 * CONNECTION;
        for chunk in chunks {
            let Some(here) = self.conversations.get_mut(number) else { return };
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

impl Gate for Door {
    fn take_in(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> Result<Option<u64>, Malformed> {
        wire::read(bytes)?;
        let (bytes, lives) = self.config.deadlines.apply(cx.now(), bytes);
        let (digest, bytes) = (wire::read(&bytes)?, &*bytes);
        let bytes = bytes.get(..digest.size as usize).unwrap_or(bytes);
        let (body, id) = cx.emit_bytes(bytes, digest.size);
        let flags = self.flags(&digest);
        let data = flags.has(Flags::DATA);
        let ordinal = &mut self.ordinals[usize::from(data)];
        *ordinal += 1;
        let ordinal = *ordinal;
        self.counters.bytes_sent += u64::from(digest.size);
        if data {
            self.counters.data_sent += 1;
            self.largest = self.largest.max(digest.payload);
            if let Some(last) = self.last_data.replace(cx.now())
                && cx.now().since(last) > LONG
            {
                self.silences.push((last, cx.now()));
            }
        } else {
            self.counters.acks_sent += 1;
        }
        if let Some(tcp) = &digest.tcp {
            self.sent(cx, tcp, digest.payload, ordinal, id);
        } else if digest.protocol == wire::SCTP {
            self.sent_chunks(cx, bytes, ordinal, id);
        }
        let packet = Packet {
            id,
            born: cx.now(),
            lives,
            body,
            flow: self.config.flow,
            size: digest.size,
            ordinal,
            source: self.config.node,
            destination: self.config.peer,
            interface: 0,
            flags,
            class: digest.class,
            ecn: digest.ecn,
            unit: 0,
        };
        cx.forward(Port(0), packet);
        Ok(Some(id))
    }

    fn next_out(&mut self) -> Option<Leaving> {
        self.outlet.next()
    }

    fn give_back(&mut self, buffer: Vec<u8>) {
        self.outlet.give_back(buffer);
    }

    fn set_time_of_day(&mut self, day: Span) {
        self.config.deadlines.day = day;
    }
}

/// Makes one bit wrong, which one hangs on the packet's number: the stack behind the door finds it by its checksum
/// (catalogue SW-37). Bits of the IP header and of what it carries are as likely.
pub(crate) fn flip(bytes: &mut [u8], id: u64) {
    let bits = bytes.len() as u64 * 8;
    if let Some(bit) = mix(id).checked_rem(bits)
        && let Some(byte) = bytes.get_mut((bit / 8) as usize)
    {
        *byte ^= 1 << (bit % 8);
    }
}

impl Element for Door {
    /// A packet has come through the network: it is to leave now.
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        let mut bytes = self.outlet.buffer();
        if !cx.absorb_bytes(&packet, &mut bytes) {
            return; // a model's segment has no bytes for the world outside
        }
        let corrupt = packet.flags.has(Flags::CORRUPT);
        let data = packet.flags.has(Flags::DATA);
        self.counters.data_received += u64::from(data && !corrupt);
        if let Some(ledger) = cx.ledger(&packet) {
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
                Some(tcp) => self.came(cx, tcp, &packet),
                None if digest.protocol == wire::SCTP => self.chunks_came(cx, &bytes, &packet),
                None => {}
            }
        }
        if corrupt {
            flip(&mut bytes, packet.id);
        }
        self.outlet.leave(cx.now(), packet.id, bytes);
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    /// What has left the network is inside it no longer.
    fn holds(&self) -> usize {
        0
    }
}
