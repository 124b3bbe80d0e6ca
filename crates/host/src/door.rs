//! How do packets of a real stack come in and go out? By a door: an element at the end of a flow that has no
//! endpoint. A driver hands it the bytes of IP packets and takes those that are due; the door stamps a head on
//! what comes in, and of TCP it follows enough to tell the flow's ledger what was sent, resent and received.
//! What happens between two doors is the business of the same elements as in virtual time.

use crate::host::HostCounters;
use base::event::{Category, Event, Source};
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::rng::mix;
use base::truth::{CONNECTION, Cause};
use base::wire::{self, Digest, Malformed, TcpHead, flag};
use base::{Span, Time};
use path::{Cx, Element, Port};
use std::collections::{BTreeMap, VecDeque};
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
}

/// What a driver does with a door of either kind.
pub trait Gate {
    /// Takes in a packet from outside: gives it a head and sends it on its way.
    ///
    /// # Errors
    /// The bytes are no IP packet; they are left outside.
    fn take_in(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> Result<(), Malformed>;
    /// The next packet that is to leave, in the order in which they became due.
    fn next_out(&mut self) -> Option<Leaving>;
    /// Gives back the buffer of a packet that has left.
    fn give_back(&mut self, buffer: Vec<u8>);
}

/// A packet that is to leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// When it is due outside.
    pub due: Time,
    /// Its number in the network.
    pub id: u64,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// What the stack outside, or whoever speaks with it, says of its end.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Told {
    /// When its workload was done.
    pub finished: Option<Time>,
    /// Bytes its application has received.
    pub received: u64,
}

/// The element through which packets of a real stack come in and go out.
pub struct Door {
    config: DoorConfig,
    ordinals: [u32; 2],
    counters: HostCounters,
    /// What is known of each connection, by the port that opened it.
    connections: BTreeMap<u16, Known>,
    /// The largest payload of a segment.
    largest: u32,
    last_data: Option<Time>,
    silences: Vec<(Time, Time)>,
    leaving: VecDeque<Leaving>,
    spare: Vec<Vec<u8>>,
    told: Told,
}

/// What a door knows of a connection.
#[derive(Clone, Copy, Default, Debug)]
struct Known {
    /// Where its offsets begin in the ledger: see [`CONNECTION`].
    base: u64,
    /// Sequence number of this end's SYN, and of the other's.
    first: [Option<u32>; 2],
    /// One past the highest offset this end has sent.
    sent: u64,
    /// The highest acknowledgement that has come.
    acked: u64,
    /// Shift of the windows that the peer offers.
    peer_scale: u8,
}

/// Shorter silences are what acknowledgement clocks do.
const LONG: Span = Span::from_secs(1);
/// Buffers kept for packets to come.
const SPARE: usize = 256;

impl Door {
    /// A door through which nothing has come.
    pub fn new(config: DoorConfig) -> Self {
        Door {
            config,
            ordinals: [0; 2],
            counters: HostCounters::default(),
            connections: BTreeMap::new(),
            largest: 0,
            last_data: None,
            silences: Vec::new(),
            leaving: VecDeque::new(),
            spare: Vec::new(),
            told: Told::default(),
        }
    }

    /// Its counters. `expirations` stays 0: from outside nobody sees a timer.
    pub fn counters(&self) -> HostCounters {
        self.counters
    }
    /// What was told of the end behind it.
    pub fn told(&self) -> Told {
        self.told
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

    /// What is known of the connection of a segment, which this end sends or not.
    fn known(&mut self, tcp: &TcpHead, sends: bool) -> &mut Known {
        let opener = sends == (self.config.role == Role::Active);
        let base = self.connections.len() as u64 * CONNECTION;
        let port = if opener { tcp.source } else { tcp.destination };
        self.connections.entry(port).or_insert(Known { base, ..Known::default() })
    }

    /// A segment of this end: what it says of the stream. Offsets are as everywhere, a SYN has 0.
    fn sent(&mut self, cx: &mut Cx<'_>, tcp: &TcpHead, len: u32, ordinal: u32, id: u64) {
        let of = self.known(tcp, true);
        if tcp.has(flag::SYN) {
            of.first[0] = Some(tcp.seq);
            of.sent = of.sent.max(1);
        }
        let Some(first) = of.first[0] else { return };
        if len == 0 {
            return;
        }
        // Data on a SYN lie behind it.
        let at = tcp.seq.wrapping_sub(first).wrapping_add(u32::from(tcp.has(flag::SYN)));
        let seq = wire::unwrap(of.sent, at);
        let end = seq + u64::from(len);
        let (now, known, base) = (cx.now(), of.sent, of.base);
        let cause = if seq < known { Cause::Resent } else { Cause::New };
        of.sent = known.max(end);
        if cause == Cause::Resent {
            self.counters.data_resent += 1;
        }
        let me = self.ledger();
        if let Some(ledger) = cx.ledger_at(me) {
            if seq < known {
                ledger.sent(now, base + seq, base + end.min(known), ordinal, Cause::Resent);
            }
            if end > known {
                ledger.sent(now, base + seq.max(known), base + end, ordinal, Cause::New);
            }
        }
        cx.record(Category::Transport, now, || Event::DataSent { packet: id, seq, len, cause });
    }

    /// A segment of the other end arrives.
    fn came(&mut self, cx: &mut Cx<'_>, tcp: &TcpHead, packet: &Packet) {
        let of = self.known(tcp, false);
        if tcp.has(flag::SYN) {
            of.first[1] = Some(tcp.seq);
            of.peer_scale = tcp.scale.unwrap_or(0).min(14);
        }
        let Some(first) = of.first[0] else { return };
        if !tcp.has(flag::ACK) {
            return;
        }
        let ack = wire::unwrap(of.acked, tcp.ack.wrapping_sub(first));
        let duplicate = ack <= of.acked;
        of.acked = of.acked.max(ack);
        let (base, peer_scale) = (of.base, of.peer_scale);
        let me = self.ledger();
        if let Some(ledger) = cx.ledger_at(me) {
            ledger.acked(base + ack, packet.born);
        }
        let now = cx.now();
        // The window of a SYN is not scaled (RFC 7323 section 2.2).
        let scale = if tcp.has(flag::SYN) { 0 } else { peer_scale };
        let window = u32::from(tcp.window) << scale;
        cx.record(Category::Transport, now, || Event::AckReceived { ack, window, duplicate });
        let source = Source(cx.me().0);
        for &(left, right) in tcp.blocks() {
            let at = |edge: u32| wire::unwrap(ack, edge.wrapping_sub(first));
            let (left, right) = (at(left), at(right));
            cx.tracer().record(Category::Transport, now, source, || Event::SackBlock { left, right });
        }
    }
}

impl Gate for Door {
    fn take_in(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> Result<(), Malformed> {
        let digest = wire::read(bytes)?;
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
        }
        let packet = Packet {
            id,
            born: cx.now(),
            deadline: Time::NEVER,
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
        };
        cx.forward(Port(0), packet);
        Ok(())
    }

    fn next_out(&mut self) -> Option<Leaving> {
        self.leaving.pop_front()
    }

    fn give_back(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < SPARE {
            buffer.clear();
            self.spare.push(buffer);
        }
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
        let mut bytes = self.spare.pop().unwrap_or_default();
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
            if let Some(tcp) = digest.tcp.as_ref().filter(|_| !corrupt) {
                self.came(cx, tcp, &packet);
            }
        }
        if corrupt {
            flip(&mut bytes, packet.id);
        }
        self.leaving.push_back(Leaving { due: cx.now(), id: packet.id, bytes });
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
