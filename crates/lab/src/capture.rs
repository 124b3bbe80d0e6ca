//! Packet capture of one repetition as pcapng, with ground truth as packet comments: taps at hosts, link sides and
//! radio cells.
//!
//! Packets are encoded as bytes at every host and at both sides of every link. The comment of each packet
//! states facts that no real capture contains: whether a retransmission was needed, sojourn time in queues,
//! where the packet was delivered or dropped. `docs/captures.md` describes the encoding. Packets of real
//! stacks are bytes already: taps of links show them as they entered at a packet port, with the ECN mark of the path.

mod collector;
mod decimal;
mod ends;
mod foresight;
mod numbers;
mod one_pass;
pub mod ports;
mod radio;
mod rescale;
mod stream;

use crate::once::run_recorded;
use ::capture::segment::{self, End, IpFields};
use ::capture::{Link, OutgoingFrame, PcapngWriter, Prepared, Tap};
use base::event::{Category, Record};
use base::packet::DropReason;
use base::tcp::Segment;
use base::trace::{Derived, Sighting, Tracer};
use base::truth::{Cause, Retransmission, SpuriousCause};
use base::wire;
use base::wire::frame::Framing;
use base::{Span, Time};
use collector::Collector;
pub use foresight::Foresight;
pub use one_pass::{CaptureFile, Captured, SweepCaptures};
use path::ElementId;
use scenario::Model;
use scenario::build::World;
use std::io::{self, Write};
pub use stream::{Streamed, stream};

/// t = 0 in seconds since 1970: a round number, so that the last digits of a timestamp are simulated time.
pub const EPOCH_S: u64 = 1_000_000_000;
/// Initial TTL (IPv4) or hop limit (IPv6).
const TTL: u8 = 64;

/// Packet of a real stack at the packet port between that stack and the network.
#[derive(Clone, Copy, Debug)]
pub struct PortCrossing<'a> {
    /// Element of the packet port.
    pub packet_port: ElementId,
    /// Time of the crossing on the driver's clock.
    pub t: Time,
    /// Number of events recorded before the crossing.
    pub after: usize,
    /// Packet number in the run; `None` for a packet without a flow, which ends at the packet port.
    pub packet: Option<u64>,
    /// Frame as it crossed the packet port.
    pub bytes: &'a [u8],
    /// Egress: lateness against the due time. `None`: ingress.
    pub late: Option<Span>,
}

/// Records of a run, input of a capture.
#[derive(Clone, Copy, Default)]
pub struct Recorded<'r, 'a> {
    /// Events of the path and of transports.
    pub records: &'r [Record],
    /// Packets that the model's hosts sent and received.
    pub sightings: &'r [Sighting],
    /// Packet port crossings, in time order at each packet port.
    pub crossings: &'r [PortCrossing<'a>],
    /// Framing at the packet ports, if packets are not bare IP. With framing, the capture has packet port crossings
    /// only.
    pub framing: Option<Framing>,
}

/// Source of a packet's bytes.
#[derive(Clone)]
enum Body<'a> {
    /// TCP segment of a model: flow and direction, size on the path, service class, IP identification, and whether
    /// routers may fragment it.
    Segment { ledger: u32, size: u32, class: u8, id: u16, segment: Segment, divisible: bool },
    /// Bytes of a real stack.
    Bytes(&'a [u8]),
    /// Encoded packet of a model of another protocol than TCP, IP header included.
    Packet(Vec<u8>),
    /// Packet that a router derived from another one (fragment, ICMP error, reassembled datagram).
    Derived(Box<Body<'a>>, Derived),
}

/// Verdict on a retransmission, as a comment states it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Verdict {
    cause: Cause,
    unneeded: bool,
    spurious: Option<SpuriousCause>,
}

impl Verdict {
    fn of(judged: &Retransmission) -> Verdict {
        Verdict { cause: judged.cause, unneeded: judged.unneeded, spurious: judged.spurious }
    }
}

/// Packet as the host sent it, and its history on the path.
struct Sent<'a> {
    /// Packet number in the run; `None` for a packet without a flow.
    number: Option<u64>,
    body: Body<'a>,
    /// ECN codepoint at the sender.
    ecn: u8,
    /// Cause of the transmission, if known.
    cause: Option<Cause>,
    /// Verdict on a retransmission.
    verdict: Option<Verdict>,
    /// Of a retransmission without verdict yet: direction of its flow, and its number in that direction.
    judged: Option<(u32, u32)>,
    /// Time of arrival in the queue in which the packet waits.
    joined: Option<Time>,
    /// Total sojourn in queues.
    queued: Span,
    /// Element that set CE.
    marked: Option<u32>,
    /// Element, time and reason of the drop.
    dropped: Option<(u32, Time, DropReason)>,
    /// Lateness at the exit packet port against the due time.
    late: Option<Span>,
    /// Packet left the network with bit errors.
    corrupt: bool,
    /// Packet was received by its host, or dropped.
    ended: bool,
    /// Number of sightings not yet written.
    shown: u32,
    /// ECN codepoint and block of the last sighting written, if its bytes were encoded from the model.
    ready: Option<(u8, Prepared)>,
}

impl<'a> Sent<'a> {
    #[inline(always)]
    fn new(number: Option<u64>, body: Body<'a>, ecn: u8) -> Self {
        Sent {
            number,
            body,
            ecn,
            cause: None,
            verdict: None,
            judged: None,
            joined: None,
            queued: Span::ZERO,
            marked: None,
            dropped: None,
            late: None,
            corrupt: false,
            ended: false,
            shown: 0,
            ready: None,
        }
    }
}

/// Sighting of a packet at a tap.
#[derive(Clone, Copy)]
struct Glimpse<'a> {
    t: Time,
    /// Order of recording; breaks ties between packets of one instant.
    order: usize,
    /// Index of the tap.
    tap: u32,
    /// Index of the packet.
    packet: u32,
    /// ECN codepoint at this tap.
    ecn: u8,
    /// Bytes recorded at this tap; `None` where the packet is encoded from the model.
    bytes: Option<&'a [u8]>,
}

/// The packets of a repetition at all taps.
pub struct Capture<'a> {
    taps: Vec<Tap>,
    /// Number of host taps; the remaining taps are sides of links and radio cells.
    hosts: usize,
    packets: Vec<Sent<'a>>,
    glimpses: Vec<Glimpse<'a>>,
    /// Addresses, ports and options of both ends of each flow.
    ends: Vec<[End; 2]>,
    names: Vec<String>,
    framing: Option<Framing>,
    /// Frames at radio taps in time order.
    radio: Vec<radio::Octets>,
    /// Index of the first radio tap.
    first_radio: usize,
    /// t = 0, nanoseconds since 1970.
    origin_ns: u64,
}

/// Runs a repetition and captures its packets.
pub fn capture(model: &Model, repetition: u64) -> Capture<'static> {
    let tracer = Tracer::of(&[Category::Path, Category::Transport, Category::Packets]);
    let mut world = run_recorded(model, repetition, tracer, None).world;
    let records = world.network.tracer().take();
    let sightings = world.network.tracer().take_sightings();
    let recorded = Recorded { records: &records, sightings: &sightings, ..Recorded::default() };
    Capture { origin_ns: EPOCH_S * 1_000_000_000, ..Capture::of(model, &world, recorded) }
}

impl<'a> Capture<'a> {
    /// Builds the capture from the records of a run; times count from t = 0.
    pub fn of(model: &Model, world: &World, recorded: Recorded<'_, 'a>) -> Capture<'a> {
        let mut collector = Collector::new(model, world, recorded.framing);
        for crossing in recorded.crossings {
            collector.cross(crossing);
        }
        // A framed capture shows packet port crossings only.
        let sightings = if recorded.framing.is_none() { recorded.sightings } else { &[] };
        collector.part(0, recorded.records, sightings);
        collector.finish(model, world)
    }

    /// The taps: hosts, then each side of each link, then radio cells.
    pub fn taps(&self) -> &[Tap] {
        &self.taps
    }
    /// The taps that are hosts.
    pub fn hosts(&self) -> &[Tap] {
        &self.taps[..self.hosts]
    }
    /// Number of packets and radio frames, summed over all taps.
    pub fn len(&self) -> usize {
        self.glimpses.len() + self.radio.len()
    }
    /// True if no packet and no radio frame was seen.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes pcapng: one tap, or all taps with one interface each. `snap` is the snap length in bytes; 0
    /// keeps whole packets.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write<W: Write>(
        &self,
        out: W,
        only: Option<usize>,
        snap: u32,
        application: &str,
    ) -> io::Result<W> {
        // Radio blocks are shorter than a packet's headers, so that the snap length does not apply to them.
        let mut taps = snapped(&self.taps, None, snap);
        taps.iter_mut().skip(self.first_radio).for_each(|tap| tap.snap = 0);
        if let Some(tap) = only {
            taps = taps.into_iter().skip(tap).take(1).collect();
        }
        let mut writer = PcapngWriter::new(out, taps, application)?;
        let mut format = Format::new(&self.ends, &self.names, self.framing, snap);
        let wanted = |tap: u32| only.is_none_or(|only| tap as usize == only);
        let shown = |tap: u32| if only.is_some() { 0 } else { tap };
        let mut radio = self.radio.iter().filter(|f| wanted(f.tap)).peekable();
        let frame = |writer: &mut PcapngWriter<W>, frame: &radio::Octets| {
            writer.write(&OutgoingFrame {
                time_ns: self.origin_ns + frame.t.as_nanos(),
                tap: shown(frame.tap),
                wire_len: frame.bytes.len() as u32,
                bytes: &frame.bytes,
                comment: &frame.comment,
            })
        };
        for glimpse in self.glimpses.iter().filter(|g| wanted(g.tap)) {
            while let Some(before) = radio.next_if(|f| f.t < glimpse.t) {
                frame(&mut writer, before)?;
            }
            let wire_len = format.frame(glimpse, &self.packets[glimpse.packet as usize]);
            writer.write(&OutgoingFrame {
                time_ns: self.origin_ns + glimpse.t.as_nanos(),
                tap: shown(glimpse.tap),
                wire_len,
                bytes: &format.bytes,
                comment: std::str::from_utf8(&format.comment).unwrap_or_default(),
            })?;
        }
        for rest in radio {
            frame(&mut writer, rest)?;
        }
        writer.finish()
    }

    /// Sets `bytes` to a packet with the ECN codepoint `ecn`, or to the bytes `seen` recorded at the tap. Packets
    /// encoded from segments are cut to `keep` bytes. Returns the packet's length.
    fn bytes_of(
        &self,
        sent: &Sent<'_>,
        ecn: u8,
        seen: Option<&[u8]>,
        keep: usize,
        bytes: &mut Vec<u8>,
    ) -> u32 {
        let format = Format { keep, ..Format::new(&self.ends, &self.names, self.framing, 0) };
        format.bytes_of(sent, ecn, seen, bytes)
    }
}

/// Taps of a file: the tap `only`, or all, with snap length `snap`.
fn snapped(taps: &[Tap], only: Option<usize>, snap: u32) -> Vec<Tap> {
    let chosen = taps.iter().enumerate().filter(|(at, _)| only.is_none_or(|tap| *at == tap));
    chosen.map(|(_, tap)| Tap { snap, ..tap.clone() }).collect()
}

/// Encoder of a packet's bytes and comment at a tap.
pub(crate) struct Format<'c> {
    ends: &'c [[End; 2]],
    names: &'c [String],
    framing: Option<Framing>,
    /// Snap length of packets encoded from segments, bytes.
    keep: usize,
    /// Bytes of the last packet encoded.
    bytes: Vec<u8>,
    /// Comment of the last packet encoded, UTF-8.
    comment: Vec<u8>,
}

impl<'c> Format<'c> {
    fn new(ends: &'c [[End; 2]], names: &'c [String], framing: Option<Framing>, snap: u32) -> Self {
        let keep = if snap == 0 { usize::MAX } else { snap as usize };
        Format { ends, names, framing, keep, bytes: Vec::new(), comment: Vec::new() }
    }

    /// Encodes bytes and comment of a packet at a tap into the fields. Returns the packet's length on the wire.
    fn frame(&mut self, glimpse: &Glimpse<'_>, sent: &Sent<'_>) -> u32 {
        let mut bytes = std::mem::take(&mut self.bytes);
        let wire_len = self.bytes_of(sent, glimpse.ecn, glimpse.bytes, &mut bytes);
        self.bytes = bytes;
        self.write_comment(sent, wire_len);
        wire_len
    }

    /// pcapng block of a packet whose end is known. Consecutive taps with the same ECN codepoint share the block;
    /// `snap` is the snap length of all taps. `spare` holds blocks that are no longer needed, to be filled anew.
    fn block<'s>(
        &mut self,
        glimpse: &Glimpse<'_>,
        sent: &'s mut Sent<'_>,
        snap: u32,
        spare: &mut Vec<Prepared>,
    ) -> &'s mut Prepared {
        // A block with bytes recorded at a tap is not shared with other taps.
        let ecn = if glimpse.bytes.is_none() { glimpse.ecn } else { u8::MAX };
        if sent.ready.as_ref().is_none_or(|(known, _)| *known != ecn || ecn == u8::MAX) {
            let wire_len = self.frame(glimpse, sent);
            let known = sent.ready.take().map(|(_, block)| block);
            let mut block = known.or_else(|| spare.pop()).unwrap_or_default();
            block.fill(snap, wire_len, &self.bytes, &self.comment);
            sent.ready = Some((ecn, block));
        }
        &mut sent.ready.get_or_insert_default().1
    }

    /// Sets `bytes` to a packet with the ECN codepoint `ecn`, or to the bytes `seen` recorded at the tap. Packets
    /// encoded from segments are cut to the snap length. Returns the packet's length.
    fn bytes_of(&self, sent: &Sent<'_>, ecn: u8, seen: Option<&[u8]>, bytes: &mut Vec<u8>) -> u32 {
        match &sent.body {
            Body::Segment { .. } => self.body(&sent.body, ecn, self.keep, bytes),
            Body::Derived(of, how) => {
                let mut whole = Vec::new();
                self.body(of, ecn, usize::MAX, &mut whole);
                let made = match how {
                    Derived::Part { part, .. } => {
                        wire::fragment::piece(&whole, part.from, part.len, part.more)
                    }
                    Derived::TooBig { mtu, .. } => wire::icmp::too_big(&whole, *mtu),
                    Derived::Reset { .. } => wire::reset::answer(&whole),
                    Derived::Joined => None,
                };
                *bytes = made.unwrap_or_default();
                let size = bytes.len() as u32;
                bytes.truncate(self.keep);
                size
            }
            Body::Packet(as_sent) => {
                bytes.clear();
                bytes.extend_from_slice(as_sent);
                if ecn != sent.ecn {
                    mark(bytes, self.framing, ecn);
                }
                bytes.len() as u32
            }
            Body::Bytes(as_sent) => {
                bytes.clear();
                bytes.extend_from_slice(seen.unwrap_or(as_sent));
                if seen.is_none() && ecn != sent.ecn {
                    mark(bytes, self.framing, ecn);
                }
                bytes.len() as u32
            }
        }
    }

    /// Sets `bytes` to a packet as the host sent it; a segment has the ECN codepoint `ecn` and is cut to `keep`
    /// bytes. Returns the packet's length.
    fn body(&self, body: &Body<'_>, ecn: u8, keep: usize, bytes: &mut Vec<u8>) -> u32 {
        match body {
            Body::Segment { ledger, class, id, segment, divisible, .. } => {
                let ledger = *ledger as usize;
                let (ends, reply) = (&self.ends[ledger / 2], ledger % 2);
                let outside = IpFields { id: *id, ecn, class: *class, ttl: TTL, divisible: *divisible };
                segment::packet(bytes, &ends[reply], &ends[1 - reply], segment, outside, keep)
            }
            Body::Packet(as_sent) => {
                bytes.clone_from(as_sent);
                bytes.len() as u32
            }
            Body::Bytes(as_sent) => {
                *bytes = as_sent.to_vec();
                bytes.len() as u32
            }
            Body::Derived(of, _) => self.body(of, ecn, keep, bytes),
        }
    }

    /// Writes the ground truth about a packet as its comment: `key=value` words, readable by programs.
    fn write_comment(&mut self, sent: &Sent<'_>, wire_len: u32) {
        let text = &mut self.comment;
        text.clear();
        match sent.number {
            Some(number) => {
                text.extend_from_slice(b"packet=");
                decimal::number(text, number);
            }
            None => text.extend_from_slice(b"for=nobody"),
        }
        if let Some(cause) = sent.cause {
            text.extend_from_slice(b" sent=");
            text.extend_from_slice(cause.name().as_bytes());
        }
        if let Some(verdict) = sent.verdict {
            let need: &[u8] = if verdict.unneeded { b" verdict=unneeded" } else { b" verdict=needed" };
            text.extend_from_slice(need);
            if verdict.cause == Cause::Timeout {
                match verdict.spurious {
                    Some(cause) => {
                        text.extend_from_slice(b" timeout=spurious cause=");
                        text.extend_from_slice(cause.name().as_bytes());
                    }
                    None => text.extend_from_slice(b" timeout=genuine"),
                }
            }
        }
        if sent.queued > Span::ZERO {
            text.extend_from_slice(b" queued=");
            decimal::seconds(text, sent.queued.as_nanos());
        }
        if let Some((place, t, reason)) = sent.dropped {
            let place = self.names.get(place as usize).map_or("", String::as_str);
            for word in [" dropped=", reason.name(), " at=", place, " t="] {
                text.extend_from_slice(word.as_bytes());
            }
            decimal::seconds(text, t.as_nanos());
        }
        if let Body::Segment { size, .. } = sent.body
            && size != wire_len
        {
            text.extend_from_slice(b" size=");
            decimal::number(text, u64::from(size));
        }
        let mut say = |word: &str, number| {
            text.extend_from_slice(word.as_bytes());
            decimal::number(text, number);
        };
        match &sent.body {
            Body::Derived(_, Derived::Part { of, .. }) => say(" fragment-of=", *of),
            Body::Derived(_, Derived::TooBig { of, .. } | Derived::Reset { of }) => say(" about=", *of),
            _ => {}
        }
        if sent.corrupt {
            text.extend_from_slice(b" corrupt=yes");
        }
        if let Some(late) = sent.late {
            text.extend_from_slice(b" late=");
            decimal::seconds(text, late.as_nanos());
        }
    }
}

/// Link type of a capture for a framing.
pub fn link(framing: Option<Framing>) -> Link {
    match framing {
        None => Link::RAW,
        Some(Framing::Ethernet) => Link::ETHERNET,
        Some(Framing::Ppp) => Link::PPP,
    }
}

/// Offset of the IP packet in a frame.
fn inner(frame: &[u8], framing: Option<Framing>) -> Option<usize> {
    framing.map_or(Some(0), |framing| framing.packet(frame))
}

/// Sets the ECN codepoint of the packet in a frame.
fn mark(frame: &mut [u8], framing: Option<Framing>, ecn: u8) {
    if let Some(packet) = inner(frame, framing).and_then(|at| frame.get_mut(at..)) {
        wire::set_ecn(packet, ecn);
    }
}
