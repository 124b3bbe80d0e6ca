//! Fuzz target of a connection: arbitrary bytes become a peer that sends anything at any time. The
//! fuzzer's targets and the replay of its corpus share this file.

#![allow(unreachable_pub, dead_code, reason = "targets and tests include this file, each for its part")]

use base::event::Source;
use base::tcp::{Segment, Timestamps};
use base::trace::Tracer;
use base::{Span, Time};
use transport::app::Socket as _;
use transport::tcp::{Config, Connection, OptionKind, Role};
use transport::{Io, Outgoing};

/// Bytes, read until there are none; then zeros.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }
    fn number(&mut self) -> u64 {
        (u64::from(self.byte()) << 8) | u64::from(self.byte())
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A profile with a few options changed; options that do not go together stay out.
fn config(bytes: &mut Bytes<'_>) -> Config {
    let name = if bytes.byte().is_multiple_of(2) { "rfc" } else { "ns2-2001" };
    let mut config = Config::profile(name).expect("a profile");
    for _ in 0..bytes.byte() % 8 {
        let spec = Config::OPTIONS[bytes.byte() as usize % Config::OPTIONS.len()];
        let n = bytes.number();
        let text = match spec.kind {
            OptionKind::Bool => n.is_multiple_of(2).to_string(),
            OptionKind::Count => (1 + n % 5).to_string(),
            OptionKind::Span => format!("{} ms", 1 + n % 3000),
            OptionKind::Bytes => format!("{} B", n % 1500),
            OptionKind::Window if n.is_multiple_of(4) => "rfc6928".into(),
            OptionKind::Window => format!("{} B", 1 + n),
            OptionKind::Word(words) => words[n as usize % words.len()].into(),
        };
        let _ = config.set(spec.key, &text);
    }
    config
}

/// A number near something that matters to the connection, or anywhere.
fn near(bytes: &mut Bytes<'_>, places: &[u64]) -> u64 {
    let which = bytes.byte();
    if which >= 250 {
        return ((bytes.number() << 16) | bytes.number()) << ((which % 6) * 5);
    }
    let offset = i64::from(bytes.byte() as i8) * if which.is_multiple_of(2) { 1 } else { 97 };
    places[which as usize % places.len()].saturating_add_signed(offset)
}

/// One end under attack, with everything it ever sent checked as it leaves.
struct Attacked {
    connection: Connection,
    tracer: Tracer,
    out: Vec<Outgoing>,
    now: Time,
    /// The most that the peer ever allowed: acknowledged plus offered.
    allowed: u64,
    /// The MSS before any MTU was found.
    mss: u32,
}

impl Attacked {
    fn new(config: Config, role: Role) -> Self {
        let mss = config.mss;
        let connection = Connection::new(config, role);
        let allowed = connection.sender.peer_window();
        Attacked { connection, tracer: Tracer::off(), out: Vec::new(), now: Time::ZERO, allowed, mss }
    }

    fn call(&mut self, call: impl FnOnce(&mut Connection, &mut Io<'_>)) {
        let mut io = Io { now: self.now, out: &mut self.out, tracer: &mut self.tracer, source: Source(0) };
        call(&mut self.connection, &mut io);
        self.check();
    }

    fn check(&mut self) {
        let sender = &self.connection.sender;
        let config = sender.config();
        self.allowed = self.allowed.max(sender.una() + sender.peer_window());
        // A window of nothing may be probed with one segment.
        let probe = u64::from(config.mss) + 1;
        // The fault `window-overrun` exceeds the window by whole segments.
        let overrun = u64::from(config.window_overrun) * u64::from(self.mss);
        // Probes of the path MTU (RFC 4821) exceed the known MTU.
        let probes = config.path_mtu == transport::tcp::config::PathMtu::Probe;
        let largest = if probes { self.mss } else { config.mss };
        for sent in self.out.drain(..) {
            let end = sent.body.end();
            assert!(end <= self.allowed + probe + overrun, "sent up to {end}, allowed {}", self.allowed);
            assert!(end <= sender.end() + 1, "sent more than was written");
            assert!(sent.body.len <= largest, "a segment larger than the MSS");
        }
        assert!(sender.una() <= sender.max_sent() && sender.nxt() <= sender.max_sent());
        assert!(sender.tcb.window.cwnd.is_finite() && sender.tcb.window.cwnd >= 0.0);
        if config.halving == transport::tcp::config::Halving::Flight {
            assert!(sender.tcb.window.cwnd >= sender.tcb.window.mss, "cwnd {}", sender.tcb.window.cwnd);
        }
        assert!(self.connection.next_timeout() >= self.now || sender.flight() > 0, "a timer in the past");
        let ranges = sender.tcb.scoreboard.ranges();
        assert!(ranges.windows(2).all(|w| w[0].right < w[1].left), "ranges overlap");
        assert!(ranges.iter().all(|r| r.left < r.right && r.right <= sender.max_sent()));
    }

    fn wait(&mut self, ns: u64) {
        let until = self.now + Span::from_nanos(ns);
        let mut rested = 0;
        // Options may make timers of a millisecond: the wait ends early after 5 000 expirations.
        for _ in 0..5_000 {
            let due = self.connection.next_timeout();
            if due > until {
                self.now = until;
                return;
            }
            // A timer that fires again and again without time passing is an endless loop.
            rested = if due > self.now { 0 } else { rested + 1 };
            assert!(rested < 10, "a timer that never rests");
            self.now = self.now.max(due);
            self.call(|c, io| c.on_timeout(io));
        }
    }

    fn segment(&mut self, bytes: &mut Bytes<'_>) {
        let sender = &self.connection.sender;
        let mss = u64::from(sender.config().mss);
        let theirs = [self.connection.receiver.next(), 0, 1, self.connection.receiver.next() + mss];
        let ours = [sender.una(), sender.max_sent(), sender.nxt(), sender.una() + mss, sender.recover()];
        let flags = bytes.byte();
        let mut segment = Segment {
            seq: near(bytes, &theirs),
            ack: near(bytes, &ours),
            has_ack: flags & 1 != 0,
            len: if flags & 2 != 0 { bytes.number() as u32 } else { 0 },
            syn: flags & 4 != 0,
            fin: flags & 8 != 0,
            rst: flags & 16 != 0,
            ece: flags & 32 != 0,
            window: if flags & 64 != 0 { bytes.number() as u32 } else { 65_535 },
            ..Segment::default()
        };
        if flags & 128 != 0 {
            for _ in 0..bytes.byte() % 5 {
                segment.sack.push(near(bytes, &ours), near(bytes, &ours));
            }
            let echo = Time::from_nanos(near(bytes, &[self.now.as_nanos(), 0]));
            segment.timestamps = Some(Timestamps { value: self.now, echo });
        }
        // The network may have marked it, and the sender may say that it reduced its window.
        let ecn = (flags >> 3) & 3;
        segment.cwr = flags & 12 == 12;
        self.call(|c, io| c.on_packet(io, &segment, 0, ecn));
    }
}

fn attack(bytes: &[u8], role: Role, written: u64, choices: &[(&str, &str)]) {
    let mut bytes = Bytes(bytes);
    let mut config = config(&mut bytes);
    for (key, value) in choices {
        config.set(key, value).expect("an option");
    }
    let mut attacked = Attacked::new(config, role);
    if written > 0 {
        attacked.connection.write(written);
        attacked.connection.close();
    }
    attacked.call(|c, io| c.open(io));
    while !bytes.is_empty() {
        match bytes.byte() % 18 {
            0..11 => attacked.segment(&mut bytes),
            11 | 12 => attacked.wait(bytes.number() * 1_000),
            13 => attacked.wait(bytes.number() * 1_000_000),
            14 => {
                let more = bytes.number();
                attacked.connection.write(more);
                attacked.call(|c, io| c.transmit(io));
            }
            15 => {
                let more = bytes.number();
                attacked.connection.read_slowly(more.is_multiple_of(2));
                attacked.call(|c, io| c.transmit(io));
            }
            16 => {
                let more = bytes.number();
                attacked.connection.read(more);
                attacked.call(|c, io| c.transmit(io));
            }
            _ => {
                attacked.connection.stop();
                attacked.call(|c, io| c.transmit(io));
            }
        }
    }
    attacked.wait(600_000_000_000);
}

/// The end that opens and sends.
pub(crate) fn tcp_sender(bytes: &[u8]) {
    attack(bytes, Role::Active, 100_000, &[]);
}

/// The same with options that the bytes do not choose.
pub(crate) fn tcp_sender_with(bytes: &[u8], choices: &[(&str, &str)]) {
    attack(bytes, Role::Active, 100_000, choices);
}

/// The end that waits and receives.
pub(crate) fn tcp_receiver(bytes: &[u8]) {
    attack(bytes, Role::Passive, 0, &[]);
}
