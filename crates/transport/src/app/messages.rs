//! Message workloads over transports that keep messages (SCTP, DCCP, ATP): a source that gives each message a stream, an
//! order and a lifetime, and a sink that times what arrives. Over a byte stream, [`super::tell`] does the same.

use super::lines::{Letter, Letters};
use super::message::{Message, MessageEvent, MessageId};
use super::seen::Seen;
use super::tell::{Pace, Useful};
use super::{App, Socket};
use base::{Span, Time};
use std::collections::BTreeMap;

/// How the messages of a source are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Manner {
    /// They go to this many streams in turn; at least 1.
    pub streams: u16,
    /// They may be delivered in any order.
    pub unordered: bool,
    /// They are abandoned when they are of no use any more.
    pub lifetime: Option<Span>,
    /// They are abandoned rather than retransmitted more often.
    pub retransmissions: Option<u32>,
    /// The interval between them grows with each major loss and shrinks again with each message that is acknowledged.
    pub adapts: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Manner { streams: 1, unordered: false, lifetime: None, retransmissions: None, adapts: false }
    }
}

impl Manner {
    /// Reliable and ordered messages, but for a use that ends.
    pub fn of(useful: Useful) -> Manner {
        let lifetime = if let Useful::For(span) = useful { Some(span) } else { None };
        Manner { lifetime, ..Manner::default() }
    }
}

/// The longest interval of a source that adapts, in those of its pace.
const MOST_STRETCH: f64 = 16.0;
/// What is left of the stretch beyond 1 after each message that is acknowledged: half of it is gone after three.
const RELAX: f64 = 0.8;

/// Makes messages at a pace and sends each whole.
pub struct MessageSource {
    pace: Pace,
    manner: Manner,
    letters: Letters,
    start: Time,
    next: Option<(Span, u64)>,
    /// When the next message is due, by the pace or later.
    due: Time,
    /// The interval in those of the pace, at least 1.
    stretch: f64,
    /// Messages neither acknowledged nor given up.
    outstanding: u64,
    finished: Option<Time>,
    seen: Seen,
}

impl MessageSource {
    /// Makes messages at this pace.
    pub fn new(mut pace: Pace, manner: Manner, letters: Letters) -> Self {
        let next = pace.message();
        let (start, seen) = (Time::NEVER, Seen::default());
        MessageSource {
            pace,
            manner,
            letters,
            start,
            next,
            due: Time::NEVER,
            stretch: 1.0,
            outstanding: 0,
            finished: None,
            seen,
        }
    }

    /// Draws the next message: its interval begins where the last one was due.
    fn draw(&mut self) {
        let last = self.next.map_or(Span::ZERO, |(at, _)| at);
        self.next = self.pace.message();
        let Some((at, _)) = self.next else { return };
        let interval = at.as_nanos().saturating_sub(last.as_nanos());
        self.due = if self.manner.adapts {
            self.due + Span::from_nanos((interval as f64 * self.stretch) as u64)
        } else {
            self.start + at
        };
    }

    fn settle(&mut self, now: Time) {
        if self.next.is_none() && self.outstanding == 0 && self.finished.is_none() {
            self.finished = Some(now);
            self.letters.close(now);
        }
    }
}

impl App for MessageSource {
    fn started(&mut self, now: Time, socket: &mut dyn Socket) {
        self.start = now;
        self.due = now + self.next.map_or(Span::ZERO, |(at, _)| at);
        self.timeout(now, socket);
    }

    fn progressed(&mut self, now: Time, socket: &mut dyn Socket) {
        while let Some(event) = socket.poll_event() {
            match event {
                MessageEvent::Acknowledged(_) | MessageEvent::Expired(_) | MessageEvent::Abandoned(_) => {
                    self.outstanding = self.outstanding.saturating_sub(1);
                    if matches!(event, MessageEvent::Acknowledged(_)) {
                        self.stretch = 1.0 + RELAX * (self.stretch - 1.0);
                    }
                }
                // Paper III.A: after cng the application may lengthen its interval.
                MessageEvent::Congested => self.stretch = (2.0 * self.stretch).min(MOST_STRETCH),
                MessageEvent::Broken => (self.next, self.outstanding) = (None, 0),
                MessageEvent::Received { .. } => {}
            }
        }
        self.settle(now);
    }

    fn timeout(&mut self, now: Time, socket: &mut dyn Socket) {
        while let Some((_, bytes)) = self.next.filter(|_| self.due <= now) {
            let Manner { streams, unordered, lifetime, retransmissions, .. } = self.manner;
            let stream = (self.seen.sent % u64::from(streams.max(1))) as u16;
            let number = self.seen.sent;
            let id = socket
                .send(Message { bytes, stream, unordered, lifetime, retransmissions })
                .unwrap_or(number);
            self.letters.post(0, Letter { end: id, made: now, reply: bytes, wait: Span::ZERO });
            self.seen.sent += 1;
            self.outstanding += 1;
            self.draw();
            if self.next.is_none() {
                socket.close();
            }
        }
        self.settle(now);
    }

    fn next_timeout(&self) -> Time {
        if self.start.is_never() { Time::NEVER } else { self.next.map_or(Time::NEVER, |_| self.due) }
    }
    fn finished(&self) -> Option<Time> {
        self.finished
    }
    fn seen(&self) -> Option<&Seen> {
        Some(&self.seen)
    }
}

/// Times the messages that a [`MessageSource`] sends.
pub struct MessageSink {
    letters: Letters,
    useful: Useful,
    /// Messages made and not yet received.
    made: BTreeMap<MessageId, Time>,
    latest: Option<MessageId>,
    seen: Seen,
}

impl MessageSink {
    /// Times what `letters` announce.
    pub fn new(letters: Letters, useful: Useful) -> Self {
        MessageSink { letters, useful, made: BTreeMap::new(), latest: None, seen: Seen::default() }
    }

    fn receive(&mut self, now: Time, message: Option<MessageId>, bytes: u64) {
        while let Some(letter) = self.letters.take(0, u64::MAX) {
            self.made.insert(letter.end, letter.made);
        }
        let first = self.made.first_key_value().map(|(id, _)| *id);
        let Some((id, made)) = message.or(first).and_then(|id| Some((id, self.made.remove(&id)?))) else {
            return;
        };
        let newer = self.made.range(id..).next().is_some();
        let delay = now.since(made);
        self.seen.delays.push(delay);
        self.seen.hear(delay);
        self.seen.bytes += bytes;
        self.seen.late += u64::from(self.useful.late(delay, newer));
        self.seen.reordered += u64::from(self.latest.is_some_and(|latest| id < latest));
        self.latest = self.latest.max(Some(id));
    }
}

impl App for MessageSink {
    fn started(&mut self, _now: Time, _socket: &mut dyn Socket) {}
    fn progressed(&mut self, now: Time, socket: &mut dyn Socket) {
        while let Some(event) = socket.poll_event() {
            if let MessageEvent::Received { message, bytes, .. } = event {
                self.receive(now, message, bytes);
            }
        }
    }
    fn finished(&self) -> Option<Time> {
        self.letters.closed()
    }
    fn seen(&self) -> Option<&Seen> {
        Some(&self.seen)
    }
}
