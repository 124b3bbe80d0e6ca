//! Join of door crossings, host sightings and path events by packet number.
//!
//! Crossings of doors, sightings of hosts and events of the path are joined by the packets' numbers.

use super::{Body, Capture, Crossing, Glimpse, Sent, TTL, inner, mark};
use ::capture::Tap;
use ::capture::segment::{self, End, Outside};
use base::event::{Event, Record};
use base::packet::{DropReason, Packet};
use base::tcp::Segment;
use base::trace::{Encoded, Sighting};
use base::truth::{Cause, Retransmission};
use base::wire;
use base::wire::frame::Framing;
use base::{Span, Time};
use scenario::Model;
use scenario::build::World;
use scenario::model::Transport;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use transport::tcp::config::Handshake;

/// The first node's address; the others follow.
const FIRST_ADDRESS: u32 = 0x0a00_0001;
/// Where the waiting end of a flow listens.
const LISTENS: u16 = 5001;
/// Ports from which the opening ends of flows come.
const OPENS: u16 = 49_152;

/// Goes through what was recorded, in its order.
pub(super) struct Collector<'m, 'a> {
    model: &'m Model,
    packets: Vec<Sent<'a>>,
    /// Packet by its number.
    by_id: BTreeMap<u64, u32>,
    glimpses: Vec<Glimpse<'a>>,
    /// Tap of each host, by its element.
    host_taps: BTreeMap<u32, u32>,
    /// The ledger of what each end of a flow sends, by its element.
    ledgers: BTreeMap<u32, usize>,
    /// Tap before each link, by its element; the one behind it follows.
    link_taps: BTreeMap<u32, u32>,
    taps: Vec<Tap>,
    hosts: usize,
    /// For each direction of each flow, what became of its retransmissions, in the order they were sent.
    verdicts: Vec<std::vec::IntoIter<Retransmission>>,
    /// For each direction of each flow, the identification given last.
    numbers: Vec<u16>,
    /// Why the packet is sent that is seen next.
    cause: Option<(u64, Cause)>,
    /// How many ranges of that packet were sent before.
    again: usize,
    /// For each flow, whether its waiting end has got data.
    got_data: Vec<bool>,
    /// For each flow and end, the largest window it offered.
    windows: Vec<[u32; 2]>,
    framing: Option<Framing>,
}

impl<'m, 'a> Collector<'m, 'a> {
    /// With the taps of the model, where nothing has passed yet.
    pub(super) fn new(model: &'m Model, world: &World, framing: Option<Framing>) -> Self {
        let mut taps = Vec::new();
        let link = super::link(framing);
        let tap = |name: String, description: String| Tap { link, snap: 0, name, description };
        let mut host_taps = BTreeMap::new();
        for (n, node) in model.nodes.iter().enumerate() {
            let flows = model.flows.iter().zip(&world.flows);
            let stations = model.stations.iter().copied().zip(world.stations.iter().copied());
            let here: Vec<u32> = flows
                .flat_map(|(flow, ends)| [(flow.from, ends.from), (flow.to, ends.to)])
                .chain(stations)
                .filter_map(|(at, element)| (at == n).then_some(element.0))
                .collect();
            if !here.is_empty() {
                host_taps.extend(here.into_iter().map(|element| (element, taps.len() as u32)));
                taps.push(tap(node.name.clone(), "what this host sends and receives".into()));
            }
        }
        let hosts = taps.len();
        let ends = world.flows.iter().flat_map(|ends| [ends.from, ends.to]);
        let ledgers = ends.enumerate().map(|(ledger, end)| (end.0, ledger)).collect();
        let mut link_taps = BTreeMap::new();
        for link in &model.links {
            if let Some(element) = world.names.iter().position(|name| *name == link.name) {
                link_taps.insert(element as u32, taps.len() as u32);
                taps.push(tap(format!("{} in", link.name), "what comes to this link".into()));
                taps.push(tap(format!("{} out", link.name), "what leaves this link".into()));
            }
        }
        Collector {
            model,
            packets: Vec::new(),
            by_id: BTreeMap::new(),
            glimpses: Vec::new(),
            host_taps,
            ledgers,
            link_taps,
            taps,
            hosts,
            verdicts: world.network.ledgers().iter().map(|ledger| ledger.verdicts().into_iter()).collect(),
            numbers: vec![0; 2 * model.flows.len()],
            cause: None,
            again: 0,
            got_data: vec![false; model.flows.len()],
            windows: vec![[0; 2]; model.flows.len()],
            framing,
        }
    }

    /// A packet of a real stack comes in or leaves. What came in is to be told before anything that happened to it.
    pub(super) fn cross(&mut self, crossing: &Crossing<'a>) {
        let Crossing { door, t, after, packet: number, bytes, late } = *crossing;
        let framing = self.framing;
        let known = number.and_then(|number| self.by_id.get(&number).copied());
        let packet = known.unwrap_or_else(|| {
            let packet = self.packets.len() as u32;
            self.by_id.extend(number.map(|number| (number, packet)));
            self.packets.push(Sent {
                number,
                body: Body::Bytes(bytes),
                ecn: ecn_of(bytes, framing),
                cause: None,
                verdict: None,
                joined: None,
                queued: Span::ZERO,
                marked: None,
                dropped: None,
                late: None,
                corrupt: false,
            });
            packet
        });
        let Some(sent) = self.packets.get_mut(packet as usize) else { return };
        if late.is_some() {
            sent.late = late;
            sent.corrupt = matches!(sent.body, Body::Bytes(came) if is_corrupt(came, bytes, framing));
        }
        let Some(&tap) = self.host_taps.get(&door.0) else { return };
        let (order, ecn) = (2 * after, sent.ecn);
        self.glimpses.push(Glimpse { t, order, tap, packet, ecn, bytes: Some(bytes) });
    }

    /// A host sends or takes in.
    pub(super) fn sight(&mut self, sighting: &Sighting) {
        let head = sighting.packet;
        // By the element: a packet on another network path has a number of its own.
        let own = self.ledgers.get(&sighting.source.0).copied();
        let sent = sighting.sent.is_some() || sighting.encoded.is_some();
        let ledger = own.map_or(head.ledger(), |own| if sent { own } else { own ^ 1 });
        let flow = ledger / 2;
        let carried = match (&sighting.sent, &sighting.encoded) {
            (Some(segment), _) => {
                let segment = self.as_on_a_wire(flow, &head, *segment);
                let window = &mut self.windows[flow][ledger % 2];
                *window = (*window).max(segment.window);
                Some(Ok(segment))
            }
            (None, Some(encoded)) => Some(Err(encoded)),
            (None, None) => None,
        };
        if let Some(carried) = carried {
            let cause = self.cause.take().filter(|(id, _)| *id == head.id).map(|(_, cause)| cause);
            let again = std::mem::take(&mut self.again);
            self.by_id.insert(head.id, self.packets.len() as u32);
            // From 1 on in each direction of each flow; 0 says nothing to some.
            let number = &mut self.numbers[ledger];
            *number = *number % u16::MAX + 1;
            let number = *number;
            // Of several ranges that were sent again, the verdict on the first is shown.
            let mut verdicts = self.verdicts.get_mut(ledger).into_iter().flatten().take(again);
            let verdict = verdicts.next();
            verdicts.for_each(drop);
            let body = match carried {
                Ok(segment) => Body::Segment { head, id: number, segment },
                Err(encoded) => Body::Packet(self.packet(flow, &head, number, encoded)),
            };
            self.packets.push(Sent {
                number: Some(head.id),
                body,
                ecn: head.ecn,
                cause,
                verdict,
                joined: None,
                queued: Span::ZERO,
                marked: None,
                dropped: None,
                late: None,
                corrupt: false,
            });
        } else if head.flags.has(base::Flags::DATA) {
            self.got_data[flow] |= !head.flags.has(base::Flags::REPLY);
        }
        let (Some(&tap), Some(&packet)) = (self.host_taps.get(&sighting.source.0), self.by_id.get(&head.id))
        else {
            return;
        };
        let (t, order) = (sighting.t, 2 * sighting.after);
        self.glimpses.push(Glimpse { t, order, tap, packet, ecn: head.ecn, bytes: None });
    }

    /// A packet of another protocol, from the head of IP on. Each network path of a node has an address of its own.
    fn packet(&self, flow: usize, head: &Packet, id: u16, encoded: &Encoded) -> Vec<u8> {
        let f = &self.model.flows[flow];
        let ends = if head.flags.has(base::Flags::REPLY) { [f.to, f.from] } else { [f.from, f.to] };
        let [from, to] = ends.map(|node| address(node, head.interface));
        let outside = Outside { id, ecn: head.ecn, class: head.class, ttl: TTL };
        let mut bytes = Vec::new();
        segment::around(&mut bytes, from, to, encoded.protocol, &encoded.bytes, outside);
        // A deadline is an IP option for whoever reads the capture, as it would be for routers.
        if !head.deadline().is_never() {
            let lifetime = head.deadline().since(head.born);
            wire::deadline::write(&mut bytes, wire::deadline::Encoding::Expiration, head.born, lifetime);
        }
        bytes
    }

    /// What a one-way model leaves out because it has no wire: that the answer to a SYN is a SYN too, and that
    /// whoever sends data also acknowledges that one.
    fn as_on_a_wire(&self, flow: usize, head: &Packet, mut segment: Segment) -> Segment {
        let Transport::Tcp { config, .. } = &self.model.flows[flow].transport else { return segment };
        if config.handshake != Handshake::OneWay {
            return segment;
        }
        if head.ledger() % 2 == 1 {
            segment.syn = segment.ack <= 1 && !self.got_data[flow];
            segment.seq = u64::from(!segment.syn);
        } else if !segment.syn {
            (segment.has_ack, segment.ack) = (true, 1);
            if let Some(stamps) = &mut segment.timestamps {
                stamps.echo = Time::NEVER;
            }
        }
        segment
    }

    /// An event; `order` is its place among all that happened.
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
        let packet = self.by_id.get(&id).copied();
        if let Event::DataSent { cause, .. } = record.event {
            match packet.and_then(|packet| self.packets.get_mut(packet as usize)) {
                // It came in at a door, which follows it.
                Some(sent) => {
                    let ledger = self.ledgers.get(&source).filter(|_| cause == Cause::Resent);
                    sent.verdict = ledger.and_then(|&ledger| self.verdicts.get_mut(ledger)?.next());
                    sent.cause = Some(cause);
                }
                None => {
                    let same = self.cause.is_some_and(|(known, _)| known == id);
                    let again = usize::from(!matches!(cause, Cause::New | Cause::WindowProbe));
                    self.again = if same { self.again + again } else { again };
                    // A bundle is sent for what it repeats, if it repeats anything.
                    if !same || again > 0 {
                        self.cause = Some((id, cause));
                    }
                }
            }
            return;
        }
        let Some(packet) = packet else { return };
        let tap = self.link_taps.get(&source).copied();
        let sent = &mut self.packets[packet as usize];
        let before = sent.marked.filter(|&by| by != source);
        let ecn = |marked: Option<u32>| if marked.is_some() { 3 } else { sent.ecn };
        let glimpse = |tap, ecn| Glimpse { t, order, tap, packet, ecn, bytes: None };
        match record.event {
            Event::Enqueued { .. } => {
                self.glimpses.extend(tap.map(|tap| glimpse(tap, ecn(before))));
                sent.joined = Some(t);
            }
            Event::ServiceStarted { .. } => {
                if let Some(joined) = sent.joined.take() {
                    sent.queued += t.since(joined);
                }
            }
            Event::Delivered { .. } => {
                self.glimpses.extend(tap.map(|tap| glimpse(tap + 1, ecn(sent.marked))));
            }
            Event::Marked { .. } => sent.marked = Some(source),
            Event::Dropped { reason, .. } => {
                // Refused at the entrance: it has come all the same.
                if matches!(reason, DropReason::QueueFull | DropReason::Early) && sent.joined.is_none() {
                    self.glimpses.extend(tap.map(|tap| glimpse(tap, ecn(before))));
                }
                sent.dropped = Some((source, t, reason));
            }
            _ => {}
        }
    }

    /// The capture that this is.
    pub(super) fn finish(mut self, model: &Model, world: &World) -> Capture<'a> {
        self.glimpses.sort_by_key(|g| (g.t, g.order));
        let ends = (0..model.flows.len()).map(|flow| ends(model, flow, self.windows[flow])).collect();
        let mut capture = Capture {
            first_radio: self.taps.len(),
            taps: self.taps,
            hosts: self.hosts,
            packets: self.packets,
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

/// The address of a node on one of its network paths: 10.path.x.y.
fn address(node: usize, path: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(FIRST_ADDRESS + (u32::from(path) << 16) + node as u32)
}

/// The ECN codepoint of the packet in a frame; 0 where it is none.
fn ecn_of(frame: &[u8], framing: Option<Framing>) -> u8 {
    let packet = inner(frame, framing).and_then(|at| frame.get(at..));
    packet.and_then(|packet| wire::read(packet).ok()).map_or(0, |digest| digest.ecn)
}

/// Whether more is different in a frame than a mark and what stood behind the packet.
fn is_corrupt(came: &[u8], left: &[u8], framing: Option<Framing>) -> bool {
    let came = came.get(..left.len()).unwrap_or(came);
    if came == left {
        return false;
    }
    let mut marked = came.to_vec();
    mark(&mut marked, framing, ecn_of(left, framing));
    marked != left
}

/// How the two ends of a flow show on the wire.
fn ends(model: &Model, flow: usize, windows: [u32; 2]) -> [End; 2] {
    let f = &model.flows[flow];
    let Transport::Tcp { config, .. } = &f.transport else { return [End::NOBODY; 2] };
    // An option counts against the segment size that is told (RFC 6691).
    let mss = config.mss + if config.timestamps { 12 } else { 0 };
    let one_way = config.handshake == Handshake::OneWay;
    let scales = if one_way { windows.iter().any(|w| *w > u32::from(u16::MAX)) } else { config.window_scale };
    let end = |node: usize, side: usize| {
        let number = (2 * flow + side + 1) as u32;
        End {
            address: IpAddr::V4(address(node, 0)),
            port: if side == 0 { OPENS + (flow % 16_384) as u16 } else { LISTENS + (flow / 16_384) as u16 },
            // Far apart, and not those of another run's flow by chance.
            first: number.wrapping_mul(0x9e37_79b9),
            clock: number.wrapping_mul(0x0100_0193),
            mss: mss.min(u32::from(u16::MAX)) as u16,
            scale: scales.then(|| segment::scale_for(windows[side])),
            permits_sack: config.uses_sack(),
        }
    };
    [end(f.from, 0), end(f.to, 1)]
}
