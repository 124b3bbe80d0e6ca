//! Application interface over a byte stream: bulk transfer, sink, slow reader.
//!
//! It writes, reads and closes; the connection below may be a model or a kernel's socket. Applications count bytes,
//! they do not carry any.

pub mod ask;
pub mod band;
pub mod datagrams;
pub mod lines;
pub mod message;
pub mod messages;
pub mod notes;
pub mod seen;
pub mod streams;
pub mod tell;

use self::message::{Message, MessageEvent, MessageId};
use self::seen::Seen;
use base::{Span, Time};

/// What an application may do with its connection.
pub trait Socket {
    /// Offers so many more bytes for sending.
    fn write(&mut self, bytes: u64);
    /// No more will be written.
    fn close(&mut self);
    /// Nothing more is sent: what was written and not yet sent is withdrawn.
    fn stop(&mut self);
    /// From now on what comes waits in the receive buffer until it is read, or (the default) does not.
    fn read_slowly(&mut self, _slowly: bool) {}
    /// Reads at most so many bytes; how many were there.
    fn read(&mut self, _bytes: u64) -> u64 {
        0
    }
    /// Bytes received in order so far.
    fn received(&self) -> u64;
    /// Bytes acknowledged by the peer so far.
    fn acknowledged(&self) -> u64;

    /// Bytes of a stream received in order so far.
    fn received_on(&self, _stream: u16) -> u64 {
        self.received()
    }
    /// Bytes of a stream acknowledged by the peer so far.
    fn acknowledged_on(&self, _stream: u16) -> u64 {
        self.acknowledged()
    }
    /// Offers a message for sending; its number, or `None` where the transport keeps no messages. A byte stream takes
    /// its bytes.
    fn send(&mut self, message: Message) -> Option<MessageId> {
        self.write(message.bytes);
        None
    }
    /// How many streams may be sent on; a byte stream is one.
    fn streams(&self) -> u16 {
        1
    }
    /// Whether the transport keeps message boundaries: [`Socket::poll_event`] then tells of every message.
    fn keeps_messages(&self) -> bool {
        false
    }
    /// True if there are events to poll. The host calls [`App::progressed`] whatever the application waits for.
    #[inline]
    fn has_events(&self) -> bool {
        false
    }
    /// The oldest event not yet polled.
    fn poll_event(&mut self) -> Option<MessageEvent> {
        None
    }
}

/// An application at one end of a connection.
pub trait App: Send {
    /// The connection is about to open: what to write first.
    fn started(&mut self, now: Time, socket: &mut dyn Socket);
    /// More has been received or acknowledged.
    fn progressed(&mut self, now: Time, socket: &mut dyn Socket);
    /// Before so many bytes are received, or so many acknowledged, [`App::progressed`] would find nothing to
    /// do, and need not be called. Asked after every call.
    fn waits_for(&self) -> (u64, u64) {
        (0, 0)
    }
    /// The time it asked for has come.
    fn timeout(&mut self, _now: Time, _socket: &mut dyn Socket) {}
    /// When it wants to run; [`Time::NEVER`] if not.
    fn next_timeout(&self) -> Time {
        Time::NEVER
    }
    /// When its work was done, if it is, as seen from here.
    fn finished(&self) -> Option<Time>;

    /// What it has timed and counted, if it is a workload of messages or requests.
    fn seen(&self) -> Option<&Seen> {
        None
    }

    /// [`App::progressed`], and what to ask after it, in one call: the host's way in.
    fn progress(&mut self, now: Time, socket: &mut dyn Socket) -> (Time, (u64, u64)) {
        self.progressed(now, socket);
        (self.next_timeout(), self.waits_for())
    }
}

/// Sends as fast as the transport allows: a fixed number of bytes, or for some time, or without end.
#[derive(Clone, Debug)]
pub struct Bulk {
    bytes: Option<u64>,
    lasts: Option<Span>,
    stops: Time,
    finished: Option<Time>,
}

impl Bulk {
    /// Sends so many bytes (`None`: without end) for so long (`None`: until they are delivered).
    pub fn new(bytes: Option<u64>, lasts: Option<Span>) -> Self {
        Bulk { bytes, lasts, stops: Time::NEVER, finished: None }
    }
}

/// More than any run sends, and far from overflow.
const WITHOUT_END: u64 = 1 << 50;

impl App for Bulk {
    fn started(&mut self, now: Time, socket: &mut dyn Socket) {
        socket.write(self.bytes.unwrap_or(WITHOUT_END));
        if self.bytes.is_some() {
            socket.close();
        }
        if let Some(lasts) = self.lasts {
            self.stops = now + lasts;
        }
    }
    fn progressed(&mut self, now: Time, socket: &mut dyn Socket) {
        if self.finished.is_none() && self.bytes.is_some_and(|n| socket.acknowledged() >= n) {
            self.finished = Some(now);
            self.stops = Time::NEVER;
        }
    }
    fn waits_for(&self) -> (u64, u64) {
        let done = self.finished.is_some();
        (u64::MAX, self.bytes.filter(|_| !done).unwrap_or(u64::MAX))
    }
    fn timeout(&mut self, now: Time, socket: &mut dyn Socket) {
        socket.stop();
        self.stops = Time::NEVER;
        self.finished.get_or_insert(now);
    }
    fn next_timeout(&self) -> Time {
        self.stops
    }
    fn finished(&self) -> Option<Time> {
        self.finished
    }
}

/// How an application reads that does not take everything at once. What it has not read fills the receive
/// buffer, and a full buffer closes the window.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Bytes a second; without end: whatever is there.
    pub rate: Option<u64>,
    /// It reads nothing for so long after the start.
    pub pause: Span,
    next: Time,
    /// Bytes that had come when there was nothing to read.
    come: u64,
}

/// A slow reader takes pieces of this size, or of a tenth of a second if that is more.
const PIECE: u64 = 1000;

impl Reading {
    /// Reads so many bytes a second (`None`: whatever is there), after a pause.
    pub fn new(rate: Option<u64>, pause: Span) -> Self {
        Reading { rate: rate.map(|r| r.max(1)), pause, next: Time::NEVER, come: 0 }
    }

    fn started(&mut self, now: Time, socket: &mut dyn Socket) {
        socket.read_slowly(true);
        self.next = now + self.pause;
    }

    fn read(&mut self, now: Time, socket: &mut dyn Socket) {
        match self.rate {
            None => {
                socket.read(u64::MAX);
                socket.read_slowly(false);
                self.next = Time::NEVER;
            }
            Some(rate) => {
                let piece = PIECE.max(rate / 10);
                // As long as its piece would have taken, or until something comes.
                let took = socket.read(piece);
                if took == 0 {
                    self.come = socket.received();
                }
                let ns = u128::from(piece) * 1_000_000_000 / u128::from(rate);
                self.next = if took > 0 { now + Span::from_nanos(ns as u64) } else { Time::NEVER };
            }
        }
    }

    /// Something may have come while there was nothing to read. Transports without a receive buffer give nothing to
    /// read, so that only new bytes count.
    fn woken(&mut self, now: Time, socket: &dyn Socket) {
        if self.next.is_never() && self.rate.is_some() && socket.received() > self.come {
            self.next = now;
        }
    }
}

/// Takes what comes; done when `expected` bytes have come, or as soon as the other end is where that one decides.
#[derive(Clone, Debug)]
pub struct Sink {
    expected: Option<u64>,
    timed: bool,
    finished: Option<Time>,
    reading: Option<Reading>,
    /// When something came last; known only if `timed`.
    last: Time,
}

impl Sink {
    /// Waits for so many bytes; `None`: without end.
    pub fn new(expected: Option<u64>) -> Self {
        Sink { expected, timed: false, finished: None, reading: None, last: Time::ZERO }
    }

    /// The same for a transfer that lasts for some time: whatever came last ended it.
    #[must_use]
    pub fn timed(mut self, timed: bool) -> Self {
        self.timed = timed;
        self
    }

    /// The same, read as `reading` says.
    #[must_use]
    pub fn reading(mut self, reading: Reading) -> Self {
        self.reading = Some(reading);
        self
    }
}

impl App for Sink {
    fn started(&mut self, now: Time, socket: &mut dyn Socket) {
        self.last = now;
        if let Some(reading) = &mut self.reading {
            reading.started(now, socket);
        }
    }
    fn progressed(&mut self, now: Time, socket: &mut dyn Socket) {
        if let Some(reading) = &mut self.reading {
            reading.woken(now, socket);
        }
        self.last = now;
        if self.finished.is_none() && self.expected.is_some_and(|n| socket.received() >= n) {
            self.finished = Some(now);
        }
    }
    fn waits_for(&self) -> (u64, u64) {
        if self.timed || self.reading.is_some() {
            return (0, 0);
        }
        (self.expected.filter(|_| self.finished.is_none()).unwrap_or(u64::MAX), u64::MAX)
    }
    fn timeout(&mut self, now: Time, socket: &mut dyn Socket) {
        if let Some(reading) = &mut self.reading {
            reading.read(now, socket);
        }
    }
    fn next_timeout(&self) -> Time {
        self.reading.map_or(Time::NEVER, |r| r.next)
    }
    fn finished(&self) -> Option<Time> {
        self.finished.or(self.timed.then_some(self.last))
    }
}
