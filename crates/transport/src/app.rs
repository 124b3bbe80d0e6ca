//! Application interface over a byte stream (`App`, `Socket`), with bulk sender, sink and slow reader.
//!
//! An application writes, reads and closes; the connection may be a model or a kernel socket. Applications
//! count bytes and carry no content.

pub mod arrival_log;
pub mod connections;
pub mod datagrams;
pub mod in_band;
pub mod media;
pub mod message;
pub mod message_stream;
pub mod messages;
pub mod request;
mod schedule_progress;
pub mod stats;
pub mod streams;
pub mod units;

use self::message::{Message, MessageEvent, MessageId};
use self::stats::AppStats;
use base::{Span, Time};

/// Interface of a connection for its application.
pub trait Socket {
    /// Appends `bytes` to the send stream.
    fn write(&mut self, bytes: u64);
    /// Closes the send stream.
    fn close(&mut self);
    /// Discards data written but not yet sent, and closes.
    fn stop(&mut self);
    /// Whether received data stay in the receive buffer until they are read; by default they do not.
    fn read_slowly(&mut self, _slowly: bool) {}
    /// Reads at most `_bytes`; returns the number read.
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
    /// Sends a message; returns its number, or `None` where the transport keeps no message boundaries. A byte
    /// stream appends its bytes.
    fn send(&mut self, message: Message) -> Option<MessageId> {
        self.write(message.bytes);
        None
    }
    /// Number of streams for sending; 1 for a byte stream.
    fn streams(&self) -> u16 {
        1
    }
    /// Whether the transport keeps message boundaries; [`Socket::poll_event`] then reports every message.
    fn keeps_messages(&self) -> bool {
        false
    }
    /// True if there are events to poll. The host then calls [`App::progressed`] regardless of
    /// [`App::waits_for`].
    #[inline]
    fn has_events(&self) -> bool {
        false
    }
    /// Takes the oldest event not yet polled.
    fn poll_event(&mut self) -> Option<MessageEvent> {
        None
    }
}

/// An application at one end of a connection.
pub trait App: Send {
    /// The connection is about to open; the first data may be written.
    fn started(&mut self, now: Time, socket: &mut dyn Socket);
    /// More data have been received or acknowledged.
    fn progressed(&mut self, now: Time, socket: &mut dyn Socket);
    /// Bytes received, and bytes acknowledged, before which a call of [`App::progressed`] would have no
    /// effect. Queried after every call.
    fn waits_for(&self) -> (u64, u64) {
        (0, 0)
    }
    /// The deadline of [`App::next_timeout`] has passed.
    fn timeout(&mut self, _now: Time, _socket: &mut dyn Socket) {}
    /// Time of the application's next timeout; [`Time::NEVER`]: none.
    fn next_timeout(&self) -> Time {
        Time::NEVER
    }
    /// Time at which this end completed its part of the workload; none before completion.
    fn finished(&self) -> Option<Time>;

    /// Statistics of a workload of messages or requests; none for others.
    fn stats(&self) -> Option<&AppStats> {
        None
    }

    /// [`App::progressed`] and the queries after it in one call; used by the host.
    fn progress(&mut self, now: Time, socket: &mut dyn Socket) -> (Time, (u64, u64)) {
        self.progressed(now, socket);
        (self.next_timeout(), self.waits_for())
    }
}

/// Bulk transfer: sends as fast as the transport allows, a fixed number of bytes, for a fixed time, or
/// without end.
#[derive(Clone, Debug)]
pub struct Bulk {
    bytes: Option<u64>,
    lasts: Option<Span>,
    stops: Time,
    finished: Option<Time>,
}

impl Bulk {
    /// Sends `bytes` (`None`: unlimited) for `lasts` (`None`: until they are delivered).
    pub fn new(bytes: Option<u64>, lasts: Option<Span>) -> Self {
        Bulk { bytes, lasts, stops: Time::NEVER, finished: None }
    }
}

/// Bytes written by an unlimited transfer.
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

/// Reading behaviour of an application that does not read at once. Unread data fill the receive buffer, and a
/// full buffer closes the window.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Reading rate, bytes per second; none: reads all available data.
    pub rate: Option<u64>,
    /// Initial time without reading.
    pub pause: Span,
    next: Time,
    /// Bytes received when the last read returned no data.
    come: u64,
}

/// Minimum size of a read, bytes; at higher rates a read takes the bytes of a tenth of a second.
const PIECE: u64 = 1000;

impl Reading {
    /// Reads `rate` bytes per second (`None`: all available data), after a pause.
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
                // The next read follows after the time of this piece, or when new data arrive.
                let took = socket.read(piece);
                if took == 0 {
                    self.come = socket.received();
                }
                let ns = u128::from(piece) * 1_000_000_000 / u128::from(rate);
                self.next = if took > 0 { now + Span::from_nanos(ns as u64) } else { Time::NEVER };
            }
        }
    }

    /// Resumes reading after new data, if the last read returned no data. Transports without a receive buffer never
    /// return data to read, so only newly received bytes count.
    fn woken(&mut self, now: Time, socket: &dyn Socket) {
        if self.next.is_never() && self.rate.is_some() && socket.received() > self.come {
            self.next = now;
        }
    }
}

/// Sink: reads all data; complete after `expected` bytes, or when the peer completes.
#[derive(Clone, Debug)]
pub struct Sink {
    expected: Option<u64>,
    timed: bool,
    finished: Option<Time>,
    reading: Option<Reading>,
    /// Bytes received; maintained only if `timed`.
    come: u64,
    last: Time,
}

impl Sink {
    /// Expects `expected` bytes; `None`: unlimited.
    pub fn new(expected: Option<u64>) -> Self {
        Sink { expected, timed: false, finished: None, reading: None, come: 0, last: Time::ZERO }
    }

    /// Sink of a timed transfer: the arrival of the last data completes it.
    #[must_use]
    pub fn timed(mut self, timed: bool) -> Self {
        self.timed = timed;
        self
    }

    /// Reads as `reading` specifies.
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
        // Reports of the transport and acknowledgements are no data.
        let received = socket.received();
        if received > self.come {
            (self.come, self.last) = (received, now);
        }
        if self.finished.is_none() && self.expected.is_some_and(|n| received >= n) {
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
