//! How do datagrams travel? One end sends them when its application speaks, the other counts what comes, how
//! late and in which order. Nothing is acknowledged and nobody slows down: this is UDP (RFC 768) with a source
//! that does not care, as voice and video of the simpler kind are (catalogue RT-01, NS-01).

use base::event::{Category, Event};
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::pool::BodyRef;
use base::truth::Cause;
use base::{Span, Time};
use path::{Cx, Element, Port};
use transport::app::lines::{Letter, Letters};
use transport::app::seen::Seen;
use transport::app::tell::{Pace, Useful};

/// The ends and sizes of a flow of datagrams.
#[derive(Clone, Copy, Debug)]
pub struct DatagramConfig {
    /// Whose packets these are.
    pub flow: FlowId,
    /// Where it sends from.
    pub node: NodeId,
    /// Where to.
    pub peer: NodeId,
    /// Most bytes of a message in one datagram; larger messages take several.
    pub payload: u32,
    /// Headers of each, bytes.
    pub header: u32,
}

/// All datagrams are of one row.
const ROW: usize = 0;

/// The end that sends.
pub struct Speaker {
    config: DatagramConfig,
    pace: Pace,
    letters: Letters,
    /// When to start; [`Time::NEVER`] once started.
    begins: Time,
    start: Time,
    next: Option<(Span, u64)>,
    ordinal: u32,
    bytes: u64,
    finished: Option<Time>,
    seen: Seen,
}

impl Speaker {
    /// Speaks at this pace from `start` on.
    pub fn new(config: DatagramConfig, start: Time, mut pace: Pace, letters: Letters) -> Self {
        let next = pace.message();
        Speaker {
            config,
            pace,
            letters,
            begins: start,
            start,
            next,
            ordinal: 0,
            bytes: 0,
            finished: None,
            seen: Seen::default(),
        }
    }

    /// When its last message was sent, if it was.
    pub fn finished(&self) -> Option<Time> {
        self.finished
    }
    /// What it sent.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }
    /// Datagrams sent.
    pub fn datagrams(&self) -> u32 {
        self.ordinal
    }
    /// Bytes of messages sent.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn send(&mut self, cx: &mut Cx<'_>, payload: u32) {
        self.ordinal += 1;
        let size = payload + self.config.header;
        let (id, now) = (cx.emit_virtual(size), cx.now());
        let (seq, len, cause) = (self.bytes, payload, Cause::New);
        self.bytes += u64::from(payload);
        cx.record(Category::Transport, now, || Event::DataSent { packet: id, seq, len, cause });
        let packet = Packet {
            id,
            born: cx.now(),
            deadline: Time::NEVER,
            body: BodyRef::NONE,
            flow: self.config.flow,
            size,
            ordinal: self.ordinal,
            source: self.config.node,
            destination: self.config.peer,
            interface: 0,
            flags: Flags::DATA,
            class: 0,
            ecn: 0,
        };
        cx.forward(Port(0), packet);
    }
}

impl Element for Speaker {
    /// Nobody answers datagrams; what comes is taken out.
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.absorb(&packet);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        self.begins = Time::NEVER;
        while let Some((_, bytes)) = self.next.filter(|(at, _)| self.start + *at <= now) {
            let most = u64::from(self.config.payload.max(1));
            let fragments = bytes.div_ceil(most);
            let end = u64::from(self.ordinal) + fragments;
            self.letters.post(ROW, Letter { end, made: now, reply: bytes, wait: Span::ZERO });
            self.seen.sent += 1;
            for i in 0..fragments {
                self.send(cx, (bytes - i * most).min(most) as u32);
            }
            self.next = self.pace.message();
        }
        if self.next.is_none() && self.finished.is_none() {
            self.finished = Some(now);
            self.letters.close(now);
        }
    }

    fn next_wake(&self) -> Time {
        match self.next {
            Some((at, _)) => self.start + at,
            None => self.begins,
        }
    }

    fn holds(&self) -> usize {
        0
    }
}

/// A message on its way.
#[derive(Clone, Copy, Debug)]
struct Message {
    /// One past the ordinal of its last datagram.
    end: u64,
    made: Time,
    bytes: u64,
    missing: u64,
}

/// The end that listens.
pub struct Hearer {
    letters: Letters,
    useful: Useful,
    messages: Vec<Message>,
    /// A bit for each datagram: it came.
    came: Vec<u64>,
    latest: u32,
    datagrams: u64,
    last: Time,
    seen: Seen,
}

impl Hearer {
    /// Hears what `letters` tell; see [`transport::app::tell::Telling::useful`].
    pub fn new(letters: Letters, useful: Useful) -> Self {
        Hearer {
            letters,
            useful,
            messages: Vec::new(),
            came: Vec::new(),
            latest: 0,
            datagrams: 0,
            last: Time::ZERO,
            seen: Seen::default(),
        }
    }

    /// Since when the other end has nothing more to say, if so.
    pub fn finished(&self) -> Option<Time> {
        self.letters.closed()
    }
    /// What it heard.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }
    /// Datagrams that came, each once.
    pub fn datagrams(&self) -> u64 {
        self.datagrams
    }
    /// When the last one came.
    pub fn last(&self) -> Time {
        self.last
    }

    fn is_new(&mut self, ordinal: u32) -> bool {
        let (word, bit) = (ordinal as usize / 64, 1u64 << (ordinal % 64));
        if word >= self.came.len() {
            self.came.resize((word + 1).next_power_of_two(), 0);
        }
        let new = self.came[word] & bit == 0;
        self.came[word] |= bit;
        new
    }

    fn hear(&mut self, now: Time, packet: &Packet) {
        if !self.is_new(packet.ordinal) {
            return;
        }
        self.datagrams += 1;
        self.last = now;
        self.seen.reordered += u64::from(packet.ordinal < self.latest);
        self.latest = self.latest.max(packet.ordinal);
        self.seen.hear(now.since(packet.born));
        let ordinal = u64::from(packet.ordinal);
        // Letters are written before their datagrams are sent.
        while self.messages.last().is_none_or(|message| message.end < ordinal) {
            let Some(letter) = self.letters.take(ROW, u64::MAX) else { return };
            let before = self.messages.last().map_or(0, |message| message.end);
            let (made, bytes, missing) = (letter.made, letter.reply, letter.end - before);
            self.messages.push(Message { end: letter.end, made, bytes, missing });
        }
        let at = self.messages.partition_point(|message| message.end < ordinal);
        let newer = at + 1 < self.messages.len() || self.letters.more(ROW);
        let Some(message) = self.messages.get_mut(at) else { return };
        message.missing = message.missing.saturating_sub(1);
        if message.missing == 0 {
            let delay = now.since(message.made);
            self.seen.delays.push(delay);
            self.seen.bytes += message.bytes;
            self.seen.late += u64::from(self.useful.late(delay, newer));
        }
    }
}

impl Element for Hearer {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.absorb(&packet);
        if let Some(ledger) = cx.ledger(&packet) {
            ledger.received(packet.ordinal);
        }
        let now = cx.now();
        self.hear(now, &packet);
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}
