//! RTP session over UDP, one end (RFC 3550): frames cut into packets, marker and timestamp by the payload format, RTCP.
//! It has no congestion control and no repair; the application receives an event at each report of heavy loss.

use crate::format::{Format, Properties};
use crate::packet::{Block, Compound, Content, Rtp};
use crate::reporter::{Reporter, ReporterConfig};
use base::packet::Packet;
use base::rng::Stream;
use base::truth::Cause;
use base::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use transport::app::Socket;
use transport::app::message::{Message, MessageEvent, MessageId};
use transport::endpoint::{Endpoint, EndpointReport, Expiring, Io, Outgoing, Role};

/// Configuration of both endpoints.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Payload format.
    pub format: Format,
    /// Clock of a dynamic format, ticks per second; other formats have their own.
    pub clock: u32,
    /// Maximum media octets in a packet.
    pub payload: u32,
    /// Session bandwidth, octets/s; RTCP has 5 % of it.
    pub bandwidth: f64,
    /// Lifetime of packets in the network: no limit, the lifetime of the message, or a fixed time.
    pub lifetime: Lifetime,
    /// Octets of the IP option that carries a deadline.
    pub option: u32,
}

/// Lifetime of packets in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// No deadline.
    Always,
    /// Lifetime of the message.
    Message,
    /// A fixed time.
    For(Span),
}

impl Default for Config {
    fn default() -> Self {
        Config {
            format: Format::Dynamic,
            clock: 90_000,
            payload: 1400,
            bandwidth: 8000.0,
            lifetime: Lifetime::Always,
            option: 8,
        }
    }
}

impl Config {
    /// Properties of the format, with the clock of a dynamic one.
    pub fn properties(&self) -> Properties {
        let properties = self.format.properties();
        let clock = if self.format == Format::Dynamic { self.clock.max(1) } else { properties.clock };
        Properties { clock, ..properties }
    }
}

/// Fraction lost, in 1/256, above which the application receives a congestion event: 4 %, the threshold of Busse, Deffner and
/// Schulzrinne (1996).
const CONGESTED: u8 = 10;
/// Most frames in assembly; older frames are discarded.
const ASSEMBLING: usize = 256;

/// A frame to be sent.
#[derive(Clone, Copy, Debug)]
struct Frame {
    id: MessageId,
    bytes: u64,
    lifetime: Option<Span>,
}

/// A frame in assembly.
#[derive(Clone, Debug)]
struct Assembly {
    parts: Vec<u64>,
    missing: u32,
}

/// Endpoint of an RTP session.
#[derive(Debug)]
pub struct Session {
    config: Config,
    format: Properties,
    role: Role,
    reporter: Reporter,
    started: bool,
    closed: bool,
    next_id: MessageId,
    /// Extended sequence number of the next packet.
    seq: u64,
    waiting: VecDeque<Frame>,
    /// Frames sent and not yet covered by a report: number, last sequence number on the wire, end in the flow.
    uncovered: VecDeque<(MessageId, u32, u64)>,
    written: u64,
    sent: u64,
    acknowledged: u64,
    /// Time and duration of the last audio frame.
    spoke: Option<(Time, Span)>,
    assembling: BTreeMap<MessageId, Assembly>,
    /// Lowest frame number still assembled.
    from: MessageId,
    position: u64,
    bytes: u64,
    duplicates: u64,
    events: VecDeque<MessageEvent>,
}

impl Session {
    /// A new endpoint; `chance` gives source, sequence numbers, timestamps and report intervals.
    pub fn new(config: Config, role: Role, mut chance: Stream) -> Self {
        let format = config.properties();
        let seq = chance.bits() >> 48;
        let name = if role == Role::Active { "sender" } else { "receiver" };
        let reporter = ReporterConfig {
            cname: format!("{name}@williwaw"),
            clock: format.clock,
            bandwidth: config.bandwidth,
        };
        Session {
            format,
            role,
            reporter: Reporter::new(reporter, chance),
            started: false,
            closed: false,
            next_id: 0,
            seq,
            waiting: VecDeque::new(),
            uncovered: VecDeque::new(),
            written: 0,
            sent: 0,
            acknowledged: 0,
            spoke: None,
            assembling: BTreeMap::new(),
            from: 0,
            position: 0,
            bytes: 0,
            duplicates: 0,
            events: VecDeque::new(),
            config,
        }
    }

    /// RTCP participant of this endpoint.
    pub fn reporter(&self) -> &Reporter {
        &self.reporter
    }

    fn control(&mut self, io: &mut Io<'_, Rtp>, compound: Compound) {
        let packet =
            Rtp { ssrc: self.reporter.ssrc(), content: Content::Control(compound), deadline: Time::NEVER };
        let size = packet.size();
        io.send(packet, size, Cause::New);
    }

    //= RFC 3551 sections 4.1 and 5: for audio the marker begins a talkspurt, for video it ends a frame
    fn begins_talkspurt(&mut self, now: Time, bytes: u64) -> bool {
        let silent = self
            .spoke
            .is_none_or(|(at, duration)| now > at + duration + Span::from_nanos(duration.as_nanos() / 2));
        self.spoke = self.format.duration(bytes).map(|duration| (now, duration));
        silent
    }

    fn send_frame(&mut self, io: &mut Io<'_, Rtp>, frame: Frame) {
        let timestamp = self.reporter.timestamp(io.now);
        let payload = u64::from(self.config.payload.max(1));
        let parts = frame.bytes.div_ceil(payload) as u32;
        let spurt = !self.format.video && self.begins_talkspurt(io.now, frame.bytes);
        let lifetime = match self.config.lifetime {
            Lifetime::Always => None,
            Lifetime::Message => frame.lifetime,
            Lifetime::For(span) => Some(span),
        };
        for part in 0..parts {
            let at = u64::from(part) * payload;
            let bytes = (frame.bytes - at).min(payload) as u32;
            let marker = if self.format.video { part + 1 == parts } else { spurt && part == 0 };
            let content = Content::Data {
                seq: self.seq,
                timestamp,
                marker,
                payload_type: self.format.payload_type,
                header: self.format.header,
                bytes,
                frame: (frame.id, parts, frame.bytes),
                part,
                offset: self.sent,
            };
            let deadline = lifetime.map_or(Time::NEVER, |life| io.now + life);
            let packet = Rtp { ssrc: self.reporter.ssrc(), content, deadline };
            let option = if lifetime.is_some() { self.config.option } else { 0 };
            let outgoing = Outgoing::new(packet.clone(), packet.size() + option, Cause::New);
            io.out.push(match lifetime {
                Some(life) => outgoing.living(life),
                None => outgoing,
            });
            self.reporter.on_sent(io.now, bytes + self.format.header);
            self.sent += u64::from(bytes);
            self.seq += 1;
        }
        self.uncovered.push_back((frame.id, self.seq.wrapping_sub(1) as u32, self.sent));
    }

    /// A block about this end's data arrived.
    fn covered(&mut self, block: &Block) {
        // The receiver counts cycles from its first packet, the sender from its own: 16 bits and their distance decide.
        let highest = block.highest as u16;
        while let Some(&(id, last, end)) = self.uncovered.front() {
            if (highest.wrapping_sub(last as u16) as i16) < 0 {
                break;
            }
            self.uncovered.pop_front();
            self.acknowledged = end;
            self.events.push_back(MessageEvent::Acknowledged(id));
        }
        if block.fraction > CONGESTED {
            self.events.push_back(MessageEvent::Congested);
        }
    }

    fn receive(&mut self, now: Time, ssrc: u32, content: &Content) {
        let Content::Data { seq, timestamp, bytes, frame: (frame, parts, length), part, offset, .. } =
            *content
        else {
            return;
        };
        if !self.reporter.on_data(now, ssrc, seq as u16, timestamp) || part >= parts {
            return;
        }
        if frame < self.from {
            self.duplicates += 1;
            return;
        }
        let fresh = || Assembly { parts: vec![0; parts.div_ceil(64) as usize], missing: parts };
        let assembly = self.assembling.entry(frame).or_insert_with(fresh);
        let (word, bit) = (part as usize / 64, 1_u64 << (part % 64));
        match assembly.parts.get_mut(word) {
            Some(bits) if *bits & bit == 0 => *bits |= bit,
            _ => {
                self.duplicates += 1;
                return;
            }
        }
        assembly.missing = assembly.missing.saturating_sub(1);
        let whole = assembly.missing == 0;
        self.bytes += u64::from(bytes);
        self.position = self.position.max(offset.saturating_add(u64::from(bytes)));
        if whole {
            let message = Some(frame);
            self.events.push_back(MessageEvent::Received {
                stream: 0,
                message,
                bytes: length,
                unordered: true,
            });
        }
        while self.assembling.len() > ASSEMBLING {
            if let Some((oldest, _)) = self.assembling.pop_first() {
                self.from = oldest + 1;
            }
        }
    }

    /// Ends the session: frames not yet reported are settled without a report.
    fn leave(&mut self, io: &mut Io<'_, Rtp>) {
        if let Some(compound) = self.reporter.leave(io.now) {
            self.control(io, compound);
        }
        let open = std::mem::take(&mut self.uncovered);
        self.events.extend(open.into_iter().map(|(id, ..)| MessageEvent::Abandoned(id)));
    }
}

impl Socket for Session {
    /// RTP has no stream: each write is a frame.
    fn write(&mut self, bytes: u64) {
        self.send(Message::of(bytes));
    }
    fn close(&mut self) {
        self.closed = true;
    }
    fn stop(&mut self) {
        self.closed = true;
        let waiting = std::mem::take(&mut self.waiting);
        self.events.extend(waiting.into_iter().map(|frame| MessageEvent::Expired(frame.id)));
    }
    fn received(&self) -> u64 {
        self.position
    }
    fn acknowledged(&self) -> u64 {
        self.acknowledged
    }
    fn send(&mut self, message: Message) -> Option<MessageId> {
        let (id, bytes) = (self.next_id, message.bytes.max(1));
        self.next_id += 1;
        if self.closed {
            self.events.push_back(MessageEvent::Expired(id));
        } else {
            self.written += bytes;
            self.waiting.push_back(Frame { id, bytes, lifetime: message.lifetime });
        }
        Some(id)
    }
    fn keeps_messages(&self) -> bool {
        true
    }
    fn has_events(&self) -> bool {
        !self.events.is_empty()
    }
    fn poll_event(&mut self) -> Option<MessageEvent> {
        self.events.pop_front()
    }
}

impl Endpoint for Session {
    type Body = Rtp;

    fn open(&mut self, io: &mut Io<'_, Rtp>) {
        self.started = true;
        // The receive-only endpoint joins with the first packet of the session.
        if self.role == Role::Active {
            self.reporter.start(io.now);
        }
        self.transmit(io);
    }

    fn handle_packet(&mut self, io: &mut Io<'_, Rtp>, body: &Rtp, _head: &Packet) {
        self.reporter.start(io.now);
        match &body.content {
            Content::Data { .. } => self.receive(io.now, body.ssrc, &body.content),
            Content::Control(compound) => {
                if let Some(block) = self.reporter.on_compound(io.now, compound, body.size()) {
                    self.covered(&block);
                }
                // Of two participants the other one has left: the last report goes with the own BYE.
                if compound.bye {
                    self.leave(io);
                }
            }
        }
    }

    fn handle_timeout(&mut self, io: &mut Io<'_, Rtp>) {
        if let Some(compound) = self.reporter.report(io.now) {
            self.control(io, compound);
        }
        self.transmit(io);
    }

    fn transmit(&mut self, io: &mut Io<'_, Rtp>) {
        if !self.started {
            return;
        }
        while let Some(frame) = self.waiting.pop_front() {
            self.send_frame(io, frame);
        }
        if self.closed && !self.reporter.has_left() {
            self.leave(io);
        }
    }

    fn next_timeout(&self) -> Time {
        self.reporter.next_timeout()
    }
    fn written(&self) -> (u64, bool) {
        (self.written, self.closed)
    }
    fn expiring(&self, _now: Time) -> Option<Expiring> {
        None
    }
    fn report(&self) -> EndpointReport {
        let mut named = self.reporter.named();
        if self.reporter.reception().is_some() || self.bytes > 0 {
            named.push(("duplicates_received", self.duplicates as f64));
        }
        EndpointReport { unit: self.config.payload, named, ..EndpointReport::default() }
    }
    fn delivered(&self) -> u64 {
        self.bytes
    }
}
