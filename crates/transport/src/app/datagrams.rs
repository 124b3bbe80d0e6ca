//! Message workloads over numbered datagrams.
//!
//! One end cuts messages into numbered datagrams when it is time for them; the other counts which came, how late and
//! in which order. Nothing is acknowledged and nobody slows down: this is UDP (RFC 768) with a source that does not
//! care, as voice and video of the simpler kind are (catalogue RT-01, NS-01). Elements of the network and a kernel's
//! sockets carry them alike.

use super::lines::{Letter, Letters};
use super::seen::Seen;
use super::tell::{Pace, Useful};
use base::{Span, Time};

/// All datagrams are of one row.
const ROW: usize = 0;

/// One datagram that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its number in the flow, from 1.
    pub ordinal: u32,
    /// Bytes of messages before it.
    pub offset: u64,
    /// Bytes of its message in it.
    pub bytes: u32,
    /// Number of its message, from 0.
    pub message: u64,
    /// It is the last one of its message.
    pub last: bool,
}

/// How many datagrams a message of so many bytes takes, with at most `payload` of them in each (0 counts as 1).
pub fn fragments(bytes: u64, payload: u32) -> u64 {
    bytes.div_ceil(u64::from(payload.max(1)))
}

/// Who speaks.
pub struct Speaking {
    /// Most bytes of a message in one datagram.
    payload: u32,
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

impl Speaking {
    /// Speaks at this pace from `start` on, in datagrams that carry at most `payload` bytes (0 counts as 1).
    pub fn new(payload: u32, start: Time, mut pace: Pace, letters: Letters) -> Self {
        let next = pace.message();
        Speaking {
            payload: payload.max(1),
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

    /// Says what is due: `send` is called for each datagram, in order.
    pub fn speak(&mut self, now: Time, mut send: impl FnMut(Datagram)) {
        self.begins = Time::NEVER;
        while let Some((_, bytes)) = self.next.filter(|(at, _)| self.start + *at <= now) {
            let most = u64::from(self.payload);
            let fragments = fragments(bytes, self.payload);
            let end = u64::from(self.ordinal) + fragments;
            self.letters.post(ROW, Letter { end, made: now, reply: bytes, wait: Span::ZERO });
            self.seen.sent += 1;
            for i in 0..fragments {
                let bytes = (bytes - i * most).min(most) as u32;
                self.ordinal += 1;
                let (message, last) = (self.seen.sent - 1, i + 1 == fragments);
                send(Datagram { ordinal: self.ordinal, offset: self.bytes, bytes, message, last });
                self.bytes += u64::from(bytes);
            }
            self.next = self.pace.message();
        }
        if self.next.is_none() && self.finished.is_none() {
            self.finished = Some(now);
            self.letters.close(now);
        }
    }

    /// When it wants to speak; [`Time::NEVER`] if it has nothing more to say.
    pub fn next_wake(&self) -> Time {
        match self.next {
            Some((at, _)) => self.start + at,
            None => self.begins,
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
}

/// A message on its way.
#[derive(Clone, Copy, Debug)]
struct Message {
    /// The ordinal of its last datagram.
    end: u64,
    made: Time,
    bytes: u64,
    missing: u64,
}

/// Who listens.
pub struct Hearing {
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

impl Hearing {
    /// Hears what `letters` tell; see [`super::tell::Telling::useful`].
    pub fn new(letters: Letters, useful: Useful) -> Self {
        Hearing {
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

    /// The datagram with this number came; `born` is when it was sent, none: when its message was made. Copies count
    /// once, and what nobody sent not at all.
    pub fn hear(&mut self, now: Time, ordinal: u32, born: Option<Time>) {
        // Letters are written before their datagrams are sent.
        while self.messages.last().is_none_or(|message| message.end < u64::from(ordinal)) {
            let Some(letter) = self.letters.take(ROW, u64::MAX) else { return };
            let before = self.messages.last().map_or(0, |message| message.end);
            let (made, bytes, missing) = (letter.made, letter.reply, letter.end - before);
            self.messages.push(Message { end: letter.end, made, bytes, missing });
        }
        if ordinal == 0 || !self.is_new(ordinal) {
            return;
        }
        self.datagrams += 1;
        self.last = now;
        self.seen.reordered += u64::from(ordinal < self.latest);
        self.latest = self.latest.max(ordinal);
        let at = self.messages.partition_point(|message| message.end < u64::from(ordinal));
        let newer = at + 1 < self.messages.len() || self.letters.more(ROW);
        let Some(message) = self.messages.get_mut(at) else { return };
        self.seen.hear(now.since(born.unwrap_or(message.made)));
        message.missing = message.missing.saturating_sub(1);
        if message.missing == 0 {
            let delay = now.since(message.made);
            self.seen.delays.push(delay);
            self.seen.bytes += message.bytes;
            self.seen.late += u64::from(self.useful.late(delay, newer));
        }
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
}
