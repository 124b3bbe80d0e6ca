//! Test harness of an SCTP dialogue: the tested association, a scripted clock, sent packets, notifications
//! and a log.

use super::chunk::{Context, short};
use super::options::Options;
use crate::verdict::{Arrow, Rung};
use base::event::{Category, Event, Source};
use base::packet::Packet as Head;
use base::rng::Seed;
use base::trace::Tracer;
use base::{Span, Time};
use sctp::Association;
use sctp::chunk::{Chunk, Init, Opaque, Packet};
use std::collections::VecDeque;
use transport::app::Socket as _;
use transport::app::message::MessageEvent;
use transport::endpoint::{Endpoint as _, Role};
use transport::{Io, Outgoing};

/// t = 0 of a dialogue: late enough for a handshake before it.
pub(super) const ORIGIN: f64 = 1000.0;
/// Verification tag and initial TSN of the peer.
const PEER: [u32; 2] = [0x5ca1_ab1e, 0xffff_fff0];
/// Bound of timer expiries in a dialogue: it ends a dialogue whose timers never stop.
const MAX_EXPIRIES: usize = 100_000;

/// A sent packet that no expectation has matched.
pub(super) struct SentPacket {
    pub(super) t: f64,
    pub(super) packet: Packet,
    pub(super) path: u8,
    /// Index of its line in the ladder diagram.
    pub(super) rung: usize,
}

pub(super) struct SctpHarness {
    pub(super) association: Association,
    pub(super) now: Time,
    pub(super) left: VecDeque<SentPacket>,
    pub(super) rungs: Vec<Rung>,
    pub(super) notifications: Vec<String>,
    pub(super) context: Context,
    /// Verification tag of the tested end.
    tag: u32,
    peer: [bool; 2],
    out: Vec<Outgoing<Packet>>,
    tracer: Tracer,
    expiries_left: usize,
}

/// Harness time of a time in the dialogue, seconds.
pub(super) fn at(t: f64) -> Time {
    Time::from_secs_f64(ORIGIN + t)
}

/// Dialogue time of a harness time, seconds with nanosecond resolution.
pub(super) fn seconds(t: Time) -> f64 {
    (t.as_nanos() as i64 - at(0.0).as_nanos() as i64) as f64 / 1e9
}

impl SctpHarness {
    pub(super) fn new(options: &Options) -> SctpHarness {
        let ports = if options.role == Role::Active { [1024, 9] } else { [9, 1024] };
        let chance = Seed { seed: 1, repetition: 0 }.stream("script", "sctp");
        let none: Opaque = Opaque::from([]);
        let mut harness = SctpHarness {
            association: Association::new(options.config.clone(), options.role, ports, chance),
            now: at(0.0),
            left: VecDeque::new(),
            rungs: Vec::new(),
            notifications: Vec::new(),
            context: Context {
                peer: PEER,
                window: options.peer_window,
                cookie: none.clone(),
                heartbeat: none,
            },
            tag: 0,
            peer: options.peer,
            out: Vec::new(),
            tracer: Tracer::of(&[Category::Transport]),
            expiries_left: MAX_EXPIRIES,
        };
        if options.established {
            harness.establish(options.role);
        }
        harness
    }

    /// Set-up of the association at t = 0 without delay: no RTT is measured.
    fn establish(&mut self, role: Role) {
        let init = Init {
            tag: PEER[0],
            window: self.context.window,
            outbound: 10,
            inbound: u16::MAX,
            initial: PEER[1],
            addresses: self.association.config().paths,
            ecn: self.peer[1],
            forward_tsn: self.peer[0],
            unrecognized: Vec::new(),
        };
        match role {
            Role::Active => {
                self.run(|association, io| association.open(io));
                self.tag = self.association.tags()[0];
                self.receive(vec![Chunk::InitAck(init, Opaque::from([1; 8]))], self.tag, 0, false);
                self.receive(vec![Chunk::CookieAck], self.tag, 0, false);
            }
            Role::Passive => {
                self.receive(vec![Chunk::Init(init)], 0, 0, false);
                let cookie = self.context.cookie.clone();
                self.receive(vec![Chunk::CookieEcho(cookie)], self.tag, 0, false);
            }
        }
        self.left.clear();
        self.rungs.clear();
        self.notifications.clear();
    }

    /// Correct verification tag of a packet from the peer that starts with this chunk.
    pub(super) fn tag_for(&self, first: Option<&Chunk>) -> u32 {
        match first {
            Some(Chunk::Init(_)) => 0,
            Some(Chunk::Abort { reflected: true, .. } | Chunk::ShutdownComplete { reflected: true }) => {
                self.association.tags()[1]
            }
            Some(Chunk::CookieEcho(_)) => self.tag,
            _ => self.association.tags()[0],
        }
    }

    /// Calls the association, and collects its packets and notifications.
    pub(super) fn run(&mut self, call: impl FnOnce(&mut Association, &mut Io<'_, Packet>)) {
        let mut io = Io { now: self.now, out: &mut self.out, tracer: &mut self.tracer, source: Source(0) };
        call(&mut self.association, &mut io);
        let t = seconds(self.now);
        let rungs = &mut self.rungs;
        let mut rung = |arrow, words: &str| {
            rungs.push(Rung { t, wrong: false, arrow, words: words.to_owned() });
            rungs.len() - 1
        };
        for record in self.tracer.take() {
            let words = match record.event {
                Event::RtoFired { .. } => "timeout",
                Event::FastRetransmit { .. } => "fast rtx",
                Event::RecoveryEnded { .. } => "recovered",
                Event::Verdict { spurious: true, .. } => "spurious",
                Event::Verdict { spurious: false, .. } => "genuine",
                _ => continue,
            };
            rung(Arrow::None, words);
        }
        for out in self.out.drain(..) {
            for chunk in &out.body.chunks {
                match chunk {
                    Chunk::InitAck(init, cookie) => {
                        (self.tag, self.context.cookie) = (init.tag, cookie.clone());
                    }
                    Chunk::Init(init) => self.tag = init.tag,
                    Chunk::Heartbeat(info) => self.context.heartbeat = info.clone(),
                    _ => {}
                }
            }
            let place = rung(Arrow::Left, &short(&out.body.chunks));
            self.left.push_back(SentPacket { t, packet: out.body, path: out.path, rung: place });
        }
        while let Some(event) = self.association.poll_event() {
            self.notifications.push(match event {
                MessageEvent::Received { stream, bytes, .. } => format!("received {stream}:{bytes}"),
                MessageEvent::Acknowledged(id) => format!("acknowledged {id}"),
                MessageEvent::Expired(id) => format!("expired {id}"),
                MessageEvent::Abandoned(id) => format!("abandoned {id}"),
                MessageEvent::Congested => "congested".to_owned(),
                MessageEvent::Broken => "broken".to_owned(),
            });
        }
    }

    /// Logs a call of the application.
    pub(super) fn note(&mut self, words: String) {
        self.rungs.push(Rung { t: seconds(self.now), wrong: false, arrow: Arrow::None, words });
    }

    /// The association receives a packet now.
    pub(super) fn receive(&mut self, chunks: Vec<Chunk>, tag: u32, path: u8, marked: bool) {
        let words = short(&chunks);
        self.rungs.push(Rung { t: seconds(self.now), wrong: false, arrow: Arrow::Right, words });
        let [own, _] = self.association.initial();
        let packet = Packet { ports: [9, 1024], tag, initial: [PEER[1], own], chunks, divisible: false };
        let head = Head { interface: u16::from(path), ecn: if marked { 3 } else { 2 }, ..Head::NONE };
        self.run(|association, io| association.handle_packet(io, &packet, &head));
    }

    /// Runs the timers that expire up to and including `t`, and advances the clock to `t`.
    pub(super) fn run_until(&mut self, t: Time) {
        while self.association.next_timeout() <= t && self.expiries_left > 0 {
            self.expiries_left -= 1;
            self.now = self.now.max(self.association.next_timeout());
            self.run(|association, io| association.handle_timeout(io));
        }
        self.now = self.now.max(t);
    }

    /// Runs the timers that expire before `t`, and advances the clock to `t`.
    pub(super) fn run_before(&mut self, t: Time) {
        self.run_until(Time::from_nanos(t.as_nanos().saturating_sub(crate::harness::SAME.as_nanos())));
        self.now = self.now.max(t);
    }

    /// True once [`MAX_EXPIRIES`] timers have expired.
    pub(super) fn out_of_expiries(&self) -> bool {
        self.expiries_left == 0
    }

    /// Value of the association's state by name.
    pub(super) fn value(&self, name: &str) -> Option<toml::Value> {
        let a = &self.association;
        let (path, name) = match name.split_once('.') {
            Some((path, rest)) => (a.paths().get(path.parse::<usize>().ok()?)?, rest),
            None => (a.paths().first()?, name),
        };
        let bytes = |n: u64| toml::Value::Integer(i64::try_from(n).unwrap_or(i64::MAX));
        let span = |s: Span| toml::Value::Float(s.as_secs_f64());
        let counts = a.counts();
        Some(match name {
            "state" => toml::Value::String(a.state().to_string()),
            "cwnd" => bytes(path.cwnd),
            "ssthresh" => bytes(path.threshold),
            "partial" => bytes(path.partial),
            "flight" => bytes(path.flight),
            "errors" => bytes(u64::from(path.errors)),
            "rto" => span(path.timer.timeout()),
            "srtt" => span(path.timer.srtt()),
            "rttvar" => span(path.timer.rttvar()),
            "recovering" => toml::Value::Boolean(path.recovers_to.is_some()),
            "active" => toml::Value::Boolean(path.is_active()),
            "heartbeats" => bytes(counts.heartbeats),
            "timeouts" => bytes(counts.timeouts),
            "restarts" => bytes(counts.restarts),
            "failovers" => bytes(counts.failovers),
            _ => return None,
        })
    }
}
