//! Collector of a packet capture: joins packet port crossings, host sightings and path events by packet
//! number, and passes packets whose end is known to the writer.

use super::ends::{Windows, address, port};
use super::numbers::{ByElement, Numbers};
use super::{Body, Capture, Glimpse, PortCrossing, Sent, TTL, Verdict, foresight, inner, mark};
use ::capture::segment::{self, IpFields};
use ::capture::{Prepared, Tap};
use base::Time;
use base::event::{Event, Record};
use base::packet::{DropReason, Packet};
use base::tcp::Segment;
use base::trace::{Derived, Encoded, Sighting};
use base::truth::Cause;
use base::wire;
use base::wire::checksum::Sum;
use base::wire::frame::Framing;
use scenario::Model;
use scenario::build::World;
use scenario::model::Transport;
use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use transport::tcp::Role;
use transport::tcp::config::{Handshake, PathMtu};

/// Writes a packet at a tap; the last argument holds blocks that are no longer needed, to be filled anew.
type Give<'g, 'a> = dyn FnMut(&Glimpse<'a>, &mut Sent<'a>, &mut Vec<Prepared>) -> io::Result<()> + 'g;

/// State of the join of records, sightings and crossings into packets.
pub(super) struct Collector<'m, 'a> {
    model: &'m Model,
    /// Packets whose fate is open or which are not yet written, in the order of sending.
    packets: VecDeque<Sent<'a>>,
    /// Index of the first of `packets` among all packets.
    first: u32,
    /// Bit set of packet numbers already written with all their sightings.
    gone: Vec<u64>,
    /// True if an event named a packet of `gone`: its comment is wrong.
    late: bool,
    /// Index by packet number.
    by_id: Numbers,
    glimpses: Vec<Glimpse<'a>>,
    /// Tap of each host, by element.
    host_taps: ByElement,
    /// Tap at the entrance of each link, by element; the tap at its exit has the next number.
    link_taps: ByElement,
    taps: Vec<Tap>,
    hosts: usize,
    /// Number of retransmissions so far, for each direction of each flow.
    resent: Vec<u32>,
    /// Last IP identification, for each direction of each flow.
    numbers: Vec<u16>,
    /// Packet number and cause of transmission of the next packet that a host sends.
    cause: Option<(u64, Cause)>,
    /// Number of retransmitted byte ranges in the packet of `cause`.
    again: usize,
    /// Whether the listening end has received data, for each flow.
    got_data: Vec<bool>,
    pub(super) windows: Windows,
    framing: Option<Framing>,
    /// Whether routers may fragment the packets, for each direction of each flow.
    divisible: Vec<bool>,
    /// Whether the model is a one-way connection, for each flow.
    one_way: Vec<bool>,
    /// Blocks of packets that were written, to be filled anew.
    spare: Vec<Prepared>,
}

impl<'m, 'a> Collector<'m, 'a> {
    /// A collector with the taps of the model and no packets.
    pub(super) fn new(model: &'m Model, world: &World, framing: Option<Framing>) -> Self {
        let mut taps = Vec::new();
        let link = super::link(framing);
        let tap = |name: String, description: String| Tap { link, snap: 0, name, description };
        let mut host_taps = ByElement::default();
        for (n, node) in model.nodes.iter().enumerate() {
            let flows = model.flows.iter().zip(&world.flows);
            let stations = model.stations.iter().copied().zip(world.stations.iter().copied());
            let here: Vec<u32> = flows
                .flat_map(|(flow, ends)| [(flow.from, ends.from), (flow.to, ends.to)])
                .chain(stations)
                .filter_map(|(at, element)| (at == n).then_some(element.0))
                .collect();
            if !here.is_empty() {
                here.into_iter().for_each(|element| host_taps.insert(element, taps.len() as u32));
                taps.push(tap(node.name.clone(), "what this host sends and receives".into()));
            }
        }
        // A reassembly element belongs to its host: packets that wait there have reached the host.
        for (element, name) in world.names.iter().enumerate() {
            if let Some(host) = name.strip_suffix(".reassembly")
                && let Some(host) = world.names.iter().position(|other| other == host)
                && let Some(tap) = host_taps.get(host as u32)
            {
                host_taps.insert(element as u32, tap);
            }
        }
        let hosts = taps.len();
        let mut link_taps = ByElement::default();
        for link in &model.links {
            if let Some(element) = world.names.iter().position(|name| *name == link.name) {
                link_taps.insert(element as u32, taps.len() as u32);
                taps.push(tap(format!("{} in", link.name), "packets arriving at this link".into()));
                taps.push(tap(format!("{} out", link.name), "what leaves this link".into()));
            }
        }
        Collector {
            model,
            packets: VecDeque::new(),
            first: 0,
            gone: Vec::new(),
            late: false,
            by_id: Numbers::default(),
            glimpses: Vec::new(),
            host_taps,
            link_taps,
            taps,
            hosts,
            resent: vec![0; 2 * model.flows.len()],
            numbers: vec![0; 2 * model.flows.len()],
            cause: None,
            again: 0,
            got_data: vec![false; model.flows.len()],
            windows: Windows::new(world),
            framing,
            divisible: (0..2 * model.flows.len()).map(|ledger| divisible(model, ledger)).collect(),
            one_way: (0..model.flows.len()).map(|flow| one_way(model, flow)).collect(),
            spare: Vec::new(),
        }
    }

    /// All taps, and the number of host taps, which come first.
    pub(super) fn taps(&self) -> (Vec<Tap>, usize) {
        (self.taps.clone(), self.hosts)
    }

    /// Processes records from index `from` on, with the sightings among and after them.
    pub(super) fn part(&mut self, from: usize, records: &[Record], sightings: &[Sighting]) {
        let mut next = sightings.iter().peekable();
        for (i, record) in (from..).zip(records) {
            while let Some(sighting) = next.next_if(|s| s.after <= i) {
                self.sight(sighting);
            }
            self.note(record, 2 * i + 1);
        }
        next.for_each(|sighting| self.sight(sighting));
    }

    /// Processes the crossing of a packet port by a packet of a real stack. An ingress must be processed
    /// before all events of its packet.
    pub(super) fn cross(&mut self, crossing: &PortCrossing<'a>) {
        let PortCrossing { packet_port, t, after, packet: number, bytes, late } = *crossing;
        let framing = self.framing;
        let known = number.and_then(|number| self.by_id.get(number));
        let packet = known.unwrap_or_else(|| {
            let packet = self.first + self.packets.len() as u32;
            if let Some(number) = number {
                self.by_id.insert(number, packet);
            }
            self.packets.push_back(Sent::new(number, Body::Bytes(bytes), ecn_of(bytes, framing)));
            packet
        });
        let Some(sent) = self.packets.get_mut((packet - self.first) as usize) else { return };
        if late.is_some() {
            sent.late = late;
            sent.corrupt = matches!(sent.body, Body::Bytes(came) if is_corrupt(came, bytes, framing));
        }
        let Some(tap) = self.host_taps.get(packet_port.0) else { return };
        let (order, ecn) = (2 * after, sent.ecn);
        self.show(Glimpse { t, order, tap, packet, ecn, bytes: Some(bytes) });
    }

    /// Processes a packet that a router derived from another one (fragment, ICMP error) or reassembled from
    /// fragments.
    fn derive(&mut self, head: &Packet, how: Derived) {
        let of = match how {
            Derived::Part { of, .. } | Derived::TooBig { of, .. } | Derived::Reset { of } => of,
            Derived::Joined => head.id,
        };
        let first = self.first;
        let place = self.find(of).map(|packet| (packet - first) as usize);
        let Some(source) = place.and_then(|place| self.packets.get_mut(place)) else { return };
        // A packet above the MTU or without a connection ends with a drop event.
        source.ended |= !matches!(how, Derived::TooBig { .. } | Derived::Reset { .. });
        if how == Derived::Joined || self.by_id.get(head.id).is_some() {
            return;
        }
        let whole = match &source.body {
            Body::Derived(of, Derived::Part { .. }) => (**of).clone(),
            whole => whole.clone(),
        };
        self.by_id.insert(head.id, first + self.packets.len() as u32);
        self.packets.push_back(Sent::new(Some(head.id), Body::Derived(Box::new(whole), how), head.ecn));
    }

    /// Processes a packet that a host sends or receives.
    pub(super) fn sight(&mut self, sighting: &Sighting) {
        let head = &sighting.packet;
        if let Some(how) = sighting.derived {
            return self.derive(head, how);
        }
        // Index by element: a packet on a further network path has its own ledger.
        let own = self.windows.ledgers.get(sighting.source.0).map(|own| own as usize);
        let sent = sighting.sent.is_some() || sighting.encoded.is_some();
        let ledger = own.map_or(head.ledger(), |own| if sent { own } else { own ^ 1 });
        let flow = ledger / 2;
        let packet = if sent {
            let cause = self.cause.take().filter(|(id, _)| *id == head.id).map(|(_, cause)| cause);
            let again = std::mem::take(&mut self.again);
            let packet = self.first + self.packets.len() as u32;
            self.by_id.insert(head.id, packet);
            // Identifications start at 1 in each direction of each flow, because some stacks treat 0 as
            // absent.
            let number = &mut self.numbers[ledger];
            *number = *number % u16::MAX + 1;
            let number = *number;
            let body = match (&sighting.sent, &sighting.encoded) {
                (Some(segment), _) => {
                    self.windows.note(ledger, segment.window);
                    self.windows.elsewhere |= ledger != head.ledger();
                    let mut segment = *segment;
                    if self.one_way[flow] {
                        self.complete_for_the_wire(flow, head, &mut segment);
                    }
                    let (size, class, divisible) = (head.size, head.class, self.divisible[ledger]);
                    let ledger = head.ledger() as u32;
                    Body::Segment { ledger, size, class, id: number, segment, divisible }
                }
                (None, Some(encoded)) => Body::Packet(self.packet(flow, head, number, encoded)),
                (None, None) => return,
            };
            let mut sent = Sent::new(Some(head.id), body, head.ecn);
            sent.cause = cause;
            if again > 0 {
                // The comment shows the verdict on the first of the retransmitted ranges.
                sent.judged = Some((ledger as u32, self.resent[ledger]));
                self.resent[ledger] += again as u32;
            }
            self.packets.push_back(sent);
            packet
        } else {
            if head.flags.has(base::Flags::DATA) {
                self.got_data[flow] |= !head.flags.has(base::Flags::REPLY);
            }
            let Some(packet) = self.find(head.id) else { return };
            packet
        };
        let tap = self.host_taps.get(sighting.source.0);
        let Some(seen) = self.packets.get_mut((packet - self.first) as usize) else { return };
        if !sent {
            // A fragment waits for reassembly.
            seen.ended = !matches!(seen.body, Body::Derived(_, Derived::Part { .. }));
        }
        let Some(tap) = tap else { return };
        seen.shown += 1;
        let (t, order) = (sighting.t, 2 * sighting.after);
        self.glimpses.push(Glimpse { t, order, tap, packet, ecn: head.ecn, bytes: None });
    }

    /// Encodes a packet of another protocol, IP header included. Each network path of a node has its own
    /// address.
    fn packet(&self, flow: usize, head: &Packet, id: u16, encoded: &Encoded) -> Vec<u8> {
        let f = &self.model.flows[flow];
        let ends = if head.flags.has(base::Flags::REPLY) { [f.to, f.from] } else { [f.from, f.to] };
        let [from, to] = ends.map(|node| address(node, head.interface));
        let divisible = self.divisible[2 * flow + usize::from(head.flags.has(base::Flags::REPLY))]
            || head.flags.has(base::Flags::DIVISIBLE);
        let outside = IpFields { id, ecn: head.ecn, class: head.class, ttl: TTL, divisible };
        let mut bytes = Vec::new();
        if matches!(f.transport.at(Role::Active), Transport::Udp(_)) {
            let datagram = datagram(flow, [from, to].map(IpAddr::V4), &encoded.bytes);
            segment::around(&mut bytes, from, to, encoded.protocol, &datagram, outside);
        } else {
            segment::around(&mut bytes, from, to, encoded.protocol, &encoded.bytes, outside);
        }
        // A deadline is encoded as an IP option, as it would be for routers.
        if !head.deadline().is_never() {
            let lifetime = head.deadline().since(head.born);
            wire::deadline::write(&mut bytes, wire::deadline::Encoding::Expiration, head.born, lifetime);
        }
        bytes
    }

    /// Completes a segment of a one-way model for the wire: the answer to a SYN carries SYN too, and the data
    /// sender acknowledges that SYN-ACK.
    fn complete_for_the_wire(&self, flow: usize, head: &Packet, segment: &mut Segment) {
        if head.ledger() % 2 == 1 {
            segment.syn = segment.ack <= 1 && !self.got_data[flow];
            segment.seq = u64::from(!segment.syn);
        } else if !segment.syn {
            (segment.has_ack, segment.ack) = (true, 1);
            if let Some(stamps) = &mut segment.timestamps {
                stamps.echo = Time::NEVER;
            }
        }
    }

    /// Processes an event; `order` is its place in the order of recording: 2 i + 1 for record i. A sighting that
    /// follows i records has the place 2 i.
    pub(super) fn note(&mut self, record: &Record, order: usize) {
        let (t, source) = (record.t, record.source.0);
        let id = match record.event {
            Event::Enqueued { packet, .. }
            | Event::ServiceStarted { packet }
            | Event::Delivered { packet }
            | Event::Marked { packet }
            | Event::Dropped { packet, .. }
            | Event::DataSent { packet, .. } => packet,
            _ => return,
        };
        let packet = self.find(id);
        if let Event::DataSent { cause, .. } = record.event {
            let first = self.first;
            match packet.and_then(|packet| self.packets.get_mut((packet - first) as usize)) {
                // A packet of a real stack, whose packet port follows the connection and records `DataSent`.
                Some(sent) => {
                    let ledger = self.windows.ledgers.get(source).filter(|_| cause == Cause::Resent);
                    sent.judged = ledger.and_then(|ledger| {
                        let resent = self.resent.get_mut(ledger as usize)?;
                        *resent += 1;
                        Some((ledger, *resent - 1))
                    });
                    sent.cause = Some(cause);
                }
                None => {
                    let same = self.cause.is_some_and(|(known, _)| known == id);
                    let again = usize::from(!matches!(cause, Cause::New | Cause::WindowProbe));
                    self.again = if same { self.again + again } else { again };
                    // Cause and verdict of a packet with several ranges are those of its retransmitted
                    // ranges, if it has any.
                    if !same || again > 0 {
                        self.cause = Some((id, cause));
                    }
                }
            }
            return;
        }
        let Some(packet) = packet else { return };
        let tap = self.link_taps.get(source);
        let Some(sent) = self.packets.get_mut((packet - self.first) as usize) else { return };
        let before = sent.marked.filter(|&by| by != source);
        let ecn = |marked: Option<u32>| if marked.is_some() { 3 } else { sent.ecn };
        let glimpse = |tap, ecn| Glimpse { t, order, tap, packet, ecn, bytes: None };
        let shown = match record.event {
            Event::Enqueued { .. } => {
                sent.joined = Some(t);
                tap.map(|tap| glimpse(tap, ecn(before)))
            }
            Event::ServiceStarted { .. } => {
                if let Some(joined) = sent.joined.take() {
                    sent.queued += t.since(joined);
                }
                None
            }
            Event::Delivered { .. } => tap.map(|tap| glimpse(tap + 1, ecn(sent.marked))),
            Event::Marked { .. } => {
                sent.marked = Some(source);
                None
            }
            Event::Dropped { reason, .. } => {
                // A packet refused at the queue's entrance has still arrived there.
                let refused =
                    matches!(reason, DropReason::QueueFull | DropReason::Early) && sent.joined.is_none();
                let shown = tap.filter(|_| refused).map(|tap| glimpse(tap, ecn(before)));
                sent.dropped = Some((source, t, reason));
                sent.ended = true;
                shown
            }
            _ => None,
        };
        if let Some(shown) = shown {
            sent.shown += 1;
            self.glimpses.push(shown);
        }
    }

    /// Index of a packet whose fate is open. Sets `late` for a packet that was written already.
    fn find(&mut self, id: u64) -> Option<u32> {
        let packet = self.by_id.get(id);
        if packet.is_none() {
            let word = self.gone.get((id / 64) as usize).copied().unwrap_or(0);
            self.late |= word >> (id % 64) & 1 == 1;
        }
        packet
    }

    /// Adds a sighting of a packet at a tap.
    fn show(&mut self, glimpse: Glimpse<'a>) {
        if let Some(sent) = self.packets.get_mut((glimpse.packet - self.first) as usize) {
            sent.shown += 1;
        }
        self.glimpses.push(glimpse);
    }

    /// Passes sightings before `now` (or all) to `give` in time order, up to the first packet whose end is
    /// unknown, and discards finished packets from memory. `judge` gives the verdict on a retransmission, by direction
    /// and number. Returns false if an event named a packet already
    /// written: its comment is wrong.
    ///
    /// # Errors
    ///
    /// Errors of `give`.
    pub(super) fn give_out(
        &mut self,
        now: Option<Time>,
        judge: &mut dyn FnMut(u32, u32) -> Option<Verdict>,
        give: &mut Give<'_, 'a>,
    ) -> io::Result<bool> {
        let key = |g: &Glimpse<'_>| (g.t, g.order);
        if !self.glimpses.is_sorted_by_key(key) {
            self.glimpses.sort_by_key(key);
        }
        let mut given = 0;
        for glimpse in &self.glimpses {
            let Some(sent) = self.packets.get_mut((glimpse.packet - self.first) as usize) else { break };
            if now.is_some_and(|now| glimpse.t >= now || !sent.ended) {
                break;
            }
            if let Some((ledger, number)) = sent.judged.take() {
                sent.verdict = judge(ledger, number);
            }
            give(glimpse, sent, &mut self.spare)?;
            sent.shown -= 1;
            given += 1;
        }
        self.glimpses.drain(..given);
        let mut written = 0;
        for sent in self.packets.iter_mut().take_while(|sent| sent.ended && sent.shown == 0) {
            if let Some(id) = sent.number {
                let word = (id / 64) as usize;
                if word >= self.gone.len() {
                    self.gone.resize(word + 1, 0);
                }
                self.gone[word] |= 1 << (id % 64);
                self.by_id.remove(id);
            }
            self.spare.extend(sent.ready.take().map(|(_, block)| block));
            written += 1;
        }
        self.packets.drain(..written);
        self.first += written as u32;
        Ok(!self.late)
    }

    /// Discards blocks of packets that are not yet written at all taps, so that they are encoded anew.
    pub(super) fn discard_blocks(&mut self) {
        self.spare
            .extend(self.packets.iter_mut().filter_map(|sent| sent.ready.take()).map(|(_, block)| block));
    }

    /// Sorts all sightings by time and adds the radio taps.
    pub(super) fn finish(mut self, model: &Model, world: &World) -> Capture<'a> {
        self.glimpses.sort_by_key(|g| (g.t, g.order));
        let verdicts = foresight::verdicts(world);
        for sent in &mut self.packets {
            let judged = sent.judged.take();
            sent.verdict = judged
                .and_then(|(ledger, number)| verdicts.get(ledger as usize)?.get(number as usize).copied());
        }
        let ends = self.windows.ends(model);
        let mut capture = Capture {
            first_radio: self.taps.len(),
            taps: self.taps,
            hosts: self.hosts,
            packets: self.packets.into(),
            glimpses: self.glimpses,
            ends,
            names: world.names.clone(),
            framing: self.framing,
            radio: Vec::new(),
            origin_ns: 0,
        };
        let (taps, frames) = super::radio::frames(&capture, &self.by_id, model, world, capture.first_radio);
        capture.taps.extend(taps);
        capture.radio = frames;
        capture
    }
}

/// Whether routers may fragment the packets of one direction of a flow.
fn divisible(model: &Model, ledger: usize) -> bool {
    let role = if ledger.is_multiple_of(2) { Role::Active } else { Role::Passive };
    match model.flows[ledger / 2].transport.at(role) {
        Transport::Tcp { config, .. } => config.path_mtu == PathMtu::Off,
        Transport::Model(spec) if spec.learns_mtu() => false,
        _ => model.links.iter().any(|link| link.mtu.is_some()),
    }
}

/// Whether a flow is a one-way connection of TCP.
fn one_way(model: &Model, flow: usize) -> bool {
    let transport = model.flows[flow].transport.at(Role::Active);
    matches!(transport, Transport::Tcp { config, .. } if config.opening.handshake == Handshake::OneWay)
}

/// ECN codepoint of the packet in a frame; 0 without an IP packet.
fn ecn_of(frame: &[u8], framing: Option<Framing>) -> u8 {
    let packet = inner(frame, framing).and_then(|at| frame.get(at..));
    packet.and_then(|packet| wire::read(packet).ok()).map_or(0, |digest| digest.ecn)
}

/// True if a frame changed on the path, apart from an ECN mark and octets behind the packet.
fn is_corrupt(came: &[u8], left: &[u8], framing: Option<Framing>) -> bool {
    let came = came.get(..left.len()).unwrap_or(came);
    if came == left {
        return false;
    }
    let mut marked = came.to_vec();
    mark(&mut marked, framing, ecn_of(left, framing));
    marked != left
}

/// UDP datagram of a model: ports, length and checksum (RFC 768).
fn datagram(flow: usize, [from, to]: [IpAddr; 2], zeros: &[u8]) -> Vec<u8> {
    let mut bytes = zeros.to_vec();
    let length = bytes.len().min(usize::from(u16::MAX)) as u16;
    for (at, word) in [port(flow, 0), port(flow, 1), length].into_iter().enumerate() {
        bytes[2 * at..2 * at + 2].copy_from_slice(&word.to_be_bytes());
    }
    let sum = Sum::ZERO.and(&bytes).and_pseudo(from, to, wire::UDP, u32::from(length)).finish();
    // Checksum 0 means that none was computed (RFC 768).
    bytes[6..8].copy_from_slice(&(if sum == 0 { u16::MAX } else { sum }).to_be_bytes());
    bytes
}
