//! What would a packet capture of a repetition show? Its packets as bytes, at every host and at both sides of every
//! link, each with a comment that tells what no real capture can know: whether a retransmission was needed, how long
//! the packet waited in queues, where it ended. `docs/captures.md` says how the model becomes bytes.

use crate::once::run_recorded;
use ::capture::segment::{self, End, Outside};
use ::capture::{Link, PcapngWriter, Shot, Tap};
use base::event::{Category, Event, Record};
use base::packet::{DropReason, Packet};
use base::tcp::Segment;
use base::trace::{Sighting, Tracer};
use base::truth::{Cause, Retransmission};
use base::{Span, Time};
use scenario::Model;
use scenario::build::World;
use scenario::model::Transport;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use transport::tcp::config::Handshake;

/// t = 0 in seconds since 1970, so that the last digits of a time are those of the run.
pub const EPOCH_S: u64 = 1_000_000_000;
/// The first node's address; the others follow.
const FIRST_ADDRESS: u32 = 0x0a00_0001;
/// Where the waiting end of a flow listens.
const LISTENS: u16 = 5001;
/// Ports from which the opening ends of flows come.
const OPENS: u16 = 49_152;
/// Hops a packet may make.
const TTL: u8 = 64;

/// A packet as it was sent, and what became of it.
struct Sent {
    head: Packet,
    /// Its identification in the header of IP.
    id: u16,
    segment: Segment,
    cause: Option<Cause>,
    verdict: Option<Retransmission>,
    /// When it joined the queue it is in.
    joined: Option<Time>,
    /// How long it has waited in queues.
    queued: Span,
    /// Which element marked it.
    marked: Option<u32>,
    /// Where it ended, when and why.
    dropped: Option<(u32, Time, DropReason)>,
}

/// A packet at a tap.
#[derive(Clone, Copy)]
struct Glimpse {
    t: Time,
    /// Decides between what happens at the same instant: what was recorded first.
    order: usize,
    tap: u32,
    /// Which of the packets.
    packet: u32,
    /// Its ECN codepoint here.
    ecn: u8,
}

/// The packets of a repetition at all taps.
pub struct Capture {
    taps: Vec<Tap>,
    /// How many of the taps are hosts; the others are sides of links.
    hosts: usize,
    packets: Vec<Sent>,
    glimpses: Vec<Glimpse>,
    /// The two ends of each flow.
    ends: Vec<[End; 2]>,
    names: Vec<String>,
}

/// Runs a repetition and keeps its packets.
pub fn capture(model: &Model, repetition: u64) -> Capture {
    let tracer = Tracer::of(&[Category::Path, Category::Transport, Category::Packets]);
    let mut world = run_recorded(model, repetition, tracer, None).world;
    let records = world.network.tracer().take();
    let sightings = world.network.tracer().take_sightings();
    Capture::of(model, &world, &records, &sightings)
}

impl Capture {
    /// Makes it of what a run has recorded.
    fn of(model: &Model, world: &World, records: &[Record], sightings: &[Sighting]) -> Capture {
        let mut collector = Collector::new(model, world);
        let mut next = sightings.iter().peekable();
        for (i, record) in records.iter().enumerate() {
            while let Some(sighting) = next.next_if(|s| s.after <= i) {
                collector.sight(sighting);
            }
            collector.note(record, 2 * i + 1);
        }
        next.for_each(|sighting| collector.sight(sighting));
        collector.finish(model, world)
    }

    /// The taps: hosts first, then each side of each link.
    pub fn taps(&self) -> &[Tap] {
        &self.taps
    }
    /// The taps that are hosts.
    pub fn hosts(&self) -> &[Tap] {
        &self.taps[..self.hosts]
    }
    /// How many packets were seen, at all taps together.
    pub fn len(&self) -> usize {
        self.glimpses.len()
    }
    /// True if none was.
    pub fn is_empty(&self) -> bool {
        self.glimpses.is_empty()
    }

    /// Writes it as pcapng: one tap, or all of them, an interface each. Of every packet `snap` bytes are kept; 0
    /// keeps all.
    ///
    /// # Errors
    /// The writer's.
    pub fn write<W: Write>(
        &self,
        out: W,
        only: Option<usize>,
        snap: u32,
        application: &str,
    ) -> io::Result<W> {
        let taps: Vec<Tap> = match only {
            Some(tap) => self.taps.iter().skip(tap).take(1).cloned().collect(),
            None => self.taps.clone(),
        };
        let taps = taps.into_iter().map(|tap| Tap { snap, ..tap }).collect();
        let mut writer = PcapngWriter::new(out, taps, application)?;
        let keep = if snap == 0 { usize::MAX } else { snap as usize };
        let (mut bytes, mut comment) = (Vec::new(), String::new());
        for glimpse in self.glimpses.iter().filter(|g| only.is_none_or(|tap| g.tap as usize == tap)) {
            let sent = &self.packets[glimpse.packet as usize];
            let ends = &self.ends[sent.head.flow.0 as usize];
            let reply = sent.head.ledger() % 2;
            let outside = Outside { id: sent.id, ecn: glimpse.ecn, class: sent.head.class, ttl: TTL };
            let wire_len =
                segment::packet(&mut bytes, &ends[reply], &ends[1 - reply], &sent.segment, outside, keep);
            self.comment(sent, wire_len, &mut comment);
            writer.write(&Shot {
                time_ns: EPOCH_S * 1_000_000_000 + glimpse.t.as_nanos(),
                tap: if only.is_some() { 0 } else { glimpse.tap },
                wire_len,
                bytes: &bytes,
                comment: &comment,
            })?;
        }
        writer.finish()
    }

    /// What is true of a packet, in words that programs can read too.
    fn comment(&self, sent: &Sent, wire_len: u32, text: &mut String) {
        text.clear();
        let mut say = |word: std::fmt::Arguments<'_>| {
            // Writing into a string cannot fail.
            let _ = text.write_fmt(word);
        };
        say(format_args!("packet={}", sent.head.id));
        if let Some(cause) = sent.cause {
            say(format_args!(" sent={cause}"));
        }
        if let Some(verdict) = sent.verdict {
            say(format_args!(" verdict={}", if verdict.unneeded { "unneeded" } else { "needed" }));
            if verdict.cause == Cause::Timeout {
                match verdict.spurious {
                    Some(cause) => say(format_args!(" timeout=spurious cause={cause}")),
                    None => say(format_args!(" timeout=genuine")),
                }
            }
        }
        if sent.queued > Span::ZERO {
            say(format_args!(" queued={:.9}", sent.queued.as_secs_f64()));
        }
        if let Some((place, t, reason)) = sent.dropped {
            let place = self.names.get(place as usize).map_or("", String::as_str);
            say(format_args!(" dropped={reason} at={place} t={:.9}", t.as_secs_f64()));
        }
        if sent.head.size != wire_len {
            say(format_args!(" size={}", sent.head.size));
        }
    }
}

/// Goes through what was recorded, in its order.
struct Collector<'a> {
    model: &'a Model,
    packets: Vec<Sent>,
    /// Packet by its number.
    by_id: BTreeMap<u64, u32>,
    glimpses: Vec<Glimpse>,
    /// Tap of each host, by its element.
    host_taps: BTreeMap<u32, u32>,
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
    /// For each flow, whether its waiting end has got data.
    got_data: Vec<bool>,
    /// For each flow and end, the largest window it offered.
    windows: Vec<[u32; 2]>,
}

impl<'a> Collector<'a> {
    fn new(model: &'a Model, world: &World) -> Self {
        let mut taps = Vec::new();
        let tap = |name: String, description: String| Tap { link: Link::RAW, snap: 0, name, description };
        let mut host_taps = BTreeMap::new();
        for (n, node) in model.nodes.iter().enumerate() {
            let flows = model.flows.iter().zip(&world.flows);
            let here: Vec<u32> = flows
                .flat_map(|(flow, ends)| [(flow.from, ends.from), (flow.to, ends.to)])
                .filter_map(|(at, element)| (at == n).then_some(element.0))
                .collect();
            if !here.is_empty() {
                host_taps.extend(here.into_iter().map(|element| (element, taps.len() as u32)));
                taps.push(tap(node.name.clone(), "what this host sends and receives".into()));
            }
        }
        let hosts = taps.len();
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
            link_taps,
            taps,
            hosts,
            verdicts: world.network.ledgers().iter().map(|ledger| ledger.verdicts().into_iter()).collect(),
            numbers: vec![0; 2 * model.flows.len()],
            cause: None,
            got_data: vec![false; model.flows.len()],
            windows: vec![[0; 2]; model.flows.len()],
        }
    }

    /// A host sends or takes in.
    fn sight(&mut self, sighting: &Sighting) {
        let head = sighting.packet;
        let flow = head.flow.0 as usize;
        if let Some(segment) = sighting.sent {
            let segment = self.as_on_a_wire(flow, &head, segment);
            let window = &mut self.windows[flow][head.ledger() % 2];
            *window = (*window).max(segment.window);
            let cause = self.cause.take().filter(|(id, _)| *id == head.id).map(|(_, cause)| cause);
            let again = cause.is_some_and(|cause| !matches!(cause, Cause::New | Cause::WindowProbe));
            self.by_id.insert(head.id, self.packets.len() as u32);
            // From 1 on in each direction of each flow; 0 says nothing to some.
            let number = &mut self.numbers[head.ledger()];
            *number = *number % u16::MAX + 1;
            self.packets.push(Sent {
                head,
                id: *number,
                segment,
                cause,
                verdict: if again { self.verdicts[head.ledger()].next() } else { None },
                joined: None,
                queued: Span::ZERO,
                marked: None,
                dropped: None,
            });
        } else if head.flags.has(base::Flags::DATA) {
            self.got_data[flow] |= !head.flags.has(base::Flags::REPLY);
        }
        let (Some(&tap), Some(&packet)) = (self.host_taps.get(&sighting.source.0), self.by_id.get(&head.id))
        else {
            return;
        };
        let (t, order) = (sighting.t, 2 * sighting.after);
        self.glimpses.push(Glimpse { t, order, tap, packet, ecn: head.ecn });
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
    fn note(&mut self, record: &Record, order: usize) {
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
        if let Event::DataSent { cause, .. } = record.event {
            self.cause = Some((id, cause));
            return;
        }
        let Some(&packet) = self.by_id.get(&id) else { return };
        let tap = self.link_taps.get(&source).copied();
        let sent = &mut self.packets[packet as usize];
        let before = sent.marked.filter(|&by| by != source);
        let ecn = |marked: Option<u32>| if marked.is_some() { 3 } else { sent.head.ecn };
        let glimpse = |tap, ecn| Glimpse { t, order, tap, packet, ecn };
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

    fn finish(mut self, model: &Model, world: &World) -> Capture {
        self.glimpses.sort_by_key(|g| (g.t, g.order));
        let ends = (0..model.flows.len()).map(|flow| ends(model, flow, self.windows[flow])).collect();
        Capture {
            taps: self.taps,
            hosts: self.hosts,
            packets: self.packets,
            glimpses: self.glimpses,
            ends,
            names: world.names.clone(),
        }
    }
}

/// How the two ends of a flow show on the wire.
fn ends(model: &Model, flow: usize, windows: [u32; 2]) -> [End; 2] {
    let f = &model.flows[flow];
    let Transport::Tcp { config, .. } = &f.transport else { return [END; 2] };
    // An option counts against the segment size that is told (RFC 6691).
    let mss = config.mss + if config.timestamps { 12 } else { 0 };
    let one_way = config.handshake == Handshake::OneWay;
    let scales = if one_way { windows.iter().any(|w| *w > u32::from(u16::MAX)) } else { config.window_scale };
    let end = |node: usize, side: usize| {
        let number = (2 * flow + side + 1) as u32;
        End {
            address: IpAddr::V4(Ipv4Addr::from_bits(FIRST_ADDRESS + node as u32)),
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

const END: End = End {
    address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    port: 0,
    first: 0,
    clock: 0,
    mss: 0,
    scale: None,
    permits_sack: false,
};
