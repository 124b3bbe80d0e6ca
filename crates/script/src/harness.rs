//! Test harness of a TCP dialogue: one connection, a scripted clock, a log of segments, application calls and
//! events.

use base::event::{Category, Event, Source};
use base::tcp::Segment;
use base::trace::Tracer;
use base::{Span, Time};
use transport::tcp::{Config, Connection, Role, ecn};
use transport::{Io, Outgoing};

/// An entry of the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogEntry {
    /// Time on the harness's clock.
    pub t: Time,
    /// Event.
    pub what: EventKind,
    /// Whether the event contradicts the script.
    pub wrong: bool,
}

/// Kind of event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventKind {
    /// The application wrote this number of bytes.
    Write(u64),
    /// The application closed.
    Close,
    /// A segment was received.
    In(Segment),
    /// A segment was sent.
    Out {
        /// The segment.
        segment: Segment,
        /// Whether some of its data had been sent before.
        again: bool,
        /// Whether its packet was ECN-capable (RFC 3168).
        ect: bool,
    },
    /// The connection recorded a trace event.
    Inside(Event),
}

/// Test harness of one connection.
pub struct TestHarness {
    /// Sender or receiver under test.
    pub connection: Connection,
    /// Current time.
    pub now: Time,
    /// Log, in time order.
    pub log: Vec<LogEntry>,
    out: Vec<Outgoing>,
    tracer: Tracer,
    /// One past the highest sequence number sent.
    highest: u64,
    /// Number of timer expiries that are still permitted.
    expiries_left: u32,
    /// Number of bytes that the application may still write.
    bytes_left: u64,
}

/// Bound of timer expiries in a script: it ends a script whose timers never stop.
const MAX_EXPIRIES: u32 = 20_000;
/// Bound of bytes written in a script.
const MAX_BYTES: u64 = 64 << 20;

impl TestHarness {
    /// A harness at `now`.
    pub fn new(config: Config, role: Role, now: Time) -> TestHarness {
        TestHarness {
            connection: Connection::new(config, role),
            now,
            log: Vec::new(),
            out: Vec::new(),
            tracer: Tracer::of(&[Category::Transport]),
            highest: 0,
            expiries_left: MAX_EXPIRIES,
            bytes_left: MAX_BYTES,
        }
    }

    /// True once `MAX_EXPIRIES` timers have expired.
    pub fn out_of_expiries(&self) -> bool {
        self.expiries_left == 0
    }

    /// Adds an entry to the log at the current time.
    pub fn note(&mut self, what: EventKind) {
        self.log.push(LogEntry { t: self.now, what, wrong: false });
    }

    /// Calls the connection and logs its events.
    pub fn run(&mut self, call: impl FnOnce(&mut Connection, &mut Io<'_>)) {
        let mut io = Io { now: self.now, out: &mut self.out, tracer: &mut self.tracer, source: Source(0) };
        call(&mut self.connection, &mut io);
        let t = self.now;
        let mut log = |what| self.log.push(LogEntry { t, what, wrong: false });
        for record in self.tracer.take() {
            let event = record.event;
            let decided = matches!(
                event,
                Event::RtoFired { .. }
                    | Event::FastRetransmit { .. }
                    | Event::RecoveryEnded { .. }
                    | Event::Verdict { .. }
                    | Event::FastRetransmitVerdict { .. }
            );
            if decided {
                log(EventKind::Inside(event));
            }
        }
        for out in self.out.drain(..) {
            let segment = out.body;
            let again = segment.end() > segment.seq && segment.seq < self.highest;
            self.highest = self.highest.max(segment.end());
            log(EventKind::Out { segment, again, ect: out.ecn != ecn::NOT_ECT });
        }
    }

    /// The connection receives a segment now.
    pub fn receive(&mut self, segment: &Segment) {
        self.receive_in(segment, ecn::NOT_ECT);
    }

    /// The connection receives a segment now, in a packet with this ECN codepoint.
    pub fn receive_in(&mut self, segment: &Segment, ecn: u8) {
        self.note(EventKind::In(*segment));
        self.run(|c, io| c.on_packet(io, segment, 0, ecn));
    }

    /// Whether the packet of the log entry `moment` was ECN-capable.
    pub fn is_ect(&self, moment: usize) -> bool {
        matches!(self.log.get(moment), Some(LogEntry { what: EventKind::Out { ect: true, .. }, .. }))
    }

    /// The application writes now. False if the script would exceed `MAX_BYTES`: nothing is written.
    #[must_use]
    pub fn write(&mut self, bytes: u64) -> bool {
        let Some(left) = self.bytes_left.checked_sub(bytes) else { return false };
        self.bytes_left = left;
        self.note(EventKind::Write(bytes));
        self.run(|c, io| {
            c.sender.write(bytes);
            c.transmit(io);
        });
        true
    }

    /// The application closes now.
    pub fn close(&mut self) {
        self.note(EventKind::Close);
        self.run(|c, io| {
            c.sender.close();
            c.transmit(io);
        });
    }

    /// Runs the timers that expire up to and including `t`, and advances the clock to `t`.
    pub fn run_until(&mut self, t: Time) {
        loop {
            let next = self.connection.next_timeout();
            if next > t || self.expiries_left == 0 {
                break;
            }
            self.expiries_left -= 1;
            self.now = self.now.max(next);
            self.run(|c, io| c.on_timeout(io));
        }
        self.now = self.now.max(t);
    }

    /// Runs the timers that expire before `t`, and advances the clock to `t`.
    pub fn run_before(&mut self, t: Time) {
        self.run_until(Time::from_nanos(t.as_nanos().saturating_sub(SAME.as_nanos())));
        self.now = self.now.max(t);
    }
}

/// Times closer than this count as equal.
pub const SAME: Span = Span::from_nanos(1_000);
