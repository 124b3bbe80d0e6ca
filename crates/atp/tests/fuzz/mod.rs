//! Fuzz body of ATP: both ends of a flow that hear each other and packets of a stranger.

#![allow(unreachable_pub, reason = "the fuzz target includes this file too")]

use atp::packet::{Content, Vector};
use atp::{Atp, AtpEnd, Carrier, Config, Method, SharedWindow};
use base::body::Body as _;
use base::event::Source;
use base::packet::{Flags, Packet};
use base::rng::Seed;
use base::trace::Tracer;
use base::truth::Cause;
use base::{Span, Time};
use dccp::tfrc::Feedback;
use rtp::{Block, Compound, SenderInfo};
use transport::app::Socket as _;
use transport::app::message::Message;
use transport::endpoint::{Endpoint as _, Role};
use transport::{Io, Outgoing};

/// Longest units and vectors, bytes and fragments: memory of a receiver is bounded by its buffer, of a vector by this.
const LONGEST: u64 = 1 << 20;

/// Numbers from octets; zeros behind the end.
struct Octets<'a>(&'a [u8]);

impl Octets<'_> {
    fn one(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }
    /// Small numbers are as likely as any.
    fn number(&mut self) -> u64 {
        match self.one() {
            255 => (0..8).fold(0, |n, _| n << 8 | u64::from(self.one())),
            254 => u64::from(self.one()) << 8 | u64::from(self.one()),
            small => u64::from(small),
        }
    }
    fn share(&mut self) -> f64 {
        f64::from(self.one()) / 255.0
    }
    fn time(&mut self) -> Time {
        match self.one() {
            255 => Time::NEVER,
            ticks => Time::ZERO + Span::from_millis(u64::from(ticks) * 50),
        }
    }
}

/// A report of a stranger.
fn report(octets: &mut Octets<'_>) -> Compound {
    let block = |octets: &mut Octets<'_>| Block {
        ssrc: octets.number() as u32,
        fraction: octets.one(),
        lost: octets.number() as i32,
        highest: octets.number() as u32,
        jitter: octets.number() as u32,
        last_report: octets.number() as u32,
        since_last_report: octets.number() as u32,
    };
    let what = octets.one();
    Compound {
        ssrc: octets.number() as u32,
        sender: (what & 1 != 0).then(|| SenderInfo { ntp: octets.number(), ..SenderInfo::default() }),
        blocks: (0..what & 3).map(|_| block(octets)).collect(),
        cname: String::new(),
        bye: what & 8 != 0,
    }
}

fn packet(octets: &mut Octets<'_>) -> (Atp, Packet) {
    let flags = octets.one();
    let content = match octets.one() % 8 {
        0 => Content::Fragment {
            number: octets.number() as u32,
            bytes: octets.number() as u32 & 0xffff,
            tx: octets.number(),
            sent: octets.time(),
            rtt: Span::from_millis(u64::from(octets.one())),
            again: if flags & 1 == 0 { Cause::New } else { Cause::Timeout },
            offset: octets.number(),
        },
        1 => {
            let len = (octets.number() % LONGEST) as u32;
            let mut vector = Vector::new(len);
            (0..octets.one() % 8).for_each(|_| {
                let n = octets.number() as u32;
                if n < len {
                    vector.set(n);
                }
            });
            let (rate, loss) = (octets.number() as f64, octets.share());
            Content::Ack {
                vector,
                echo: (octets.number(), octets.time(), Span::from_millis(u64::from(octets.one()))),
                congested: flags & 1 != 0,
                expired: flags & 2 != 0,
                report: (flags & 4 != 0).then(|| Feedback {
                    sent: octets.time(),
                    held: Span::from_millis(u64::from(octets.one())),
                    rate,
                    loss,
                }),
                deadline: (flags & 8 != 0).then(|| octets.time()),
            }
        }
        2 => Content::Request {
            lifetime: (flags & 1 != 0).then(|| Span::from_millis(u64::from(octets.one()) * 100)),
        },
        3 => Content::Abort,
        4 => Content::Syn,
        5 => Content::Fin,
        6 => Content::Report(report(octets)),
        _ => Content::Unreachable,
    };
    let atp = Atp {
        adu: octets.number(),
        length: octets.number() % LONGEST,
        fragments: (octets.number() % LONGEST) as u32,
        deadline: octets.time(),
        content,
        answer: flags & 16 != 0,
        whole: flags & 32 != 0,
        class: 0,
        coverage: u32::MAX,
        carrier: if flags & 64 == 0 { Carrier::Udp } else { Carrier::Rtp },
        rtp: (octets.number() as u32, octets.number() as u32),
    };
    let mut head = Packet { ecn: octets.one() & 3, ..Packet::NONE };
    if flags & 128 != 0 {
        head.flags = if head.ecn & 1 == 0 { Flags::STUB } else { Flags::EXPIRED };
    }
    (atp, head)
}

/// Options, units, then packets of a stranger. No panic, every timer comes to rest, all that is sent can be written
/// within the 16 bits of a UDP length.
pub(crate) fn packets(bytes: &[u8]) {
    let mut octets = Octets(bytes);
    let choices = octets.one();
    let config = Config {
        control: if choices & 1 == 0 { Method::Aimd } else { Method::Tfrc },
        connect: choices & 2 != 0,
        receiver_initiated: choices & 4 != 0,
        retransmit: choices & 8 == 0,
        feasibility: choices & 16 == 0,
        processes: (choices & 32 != 0).then_some(1000),
        receiver_patience: (choices & 64 != 0).then_some(Span::from_secs(3)),
        unbinds: (choices & 128 != 0).then_some(Span::from_secs(6)),
        carrier: if octets.one() & 1 == 0 { Carrier::Udp } else { Carrier::Rtp },
        ..Config::default()
    };
    let shared = SharedWindow::default();
    let mut ends = [Role::Active, Role::Passive].map(|role| {
        let chance =
            Seed { seed: 1, repetition: 0 }.stream("fuzz", if role == Role::Active { "a" } else { "b" });
        AtpEnd::new(config.clone(), role, shared.clone()).reporting(chance)
    });
    for _ in 0..octets.one() % 4 {
        let lifetime = Some(Span::from_millis(u64::from(octets.one()) * 100));
        ends[0].send(Message { lifetime, ..Message::of(octets.number() % LONGEST) });
    }
    let (mut now, mut tracer) = (Time::ZERO, Tracer::off());
    let mut out: [Vec<Outgoing<Atp>>; 2] = [Vec::new(), Vec::new()];
    for (end, out) in ends.iter_mut().zip(&mut out) {
        end.open(&mut Io { now, out, tracer: &mut tracer, source: Source(0) });
    }
    while !octets.0.is_empty() {
        let how = octets.one();
        now += Span::from_millis(u64::from(octets.one()) * 8);
        for from in 0..2 {
            for sent in std::mem::take(&mut out[from]).into_iter().take(64) {
                let mut wire = Vec::new();
                sent.body.encode(&mut wire);
                assert!(wire.len() >= 8, "a UDP header at least");
                let out = &mut out[1 - from];
                let mut io = Io { now, out, tracer: &mut tracer, source: Source(0) };
                ends[1 - from].handle_packet(&mut io, &sent.body, &Packet::NONE);
            }
        }
        let to = usize::from(how & 1);
        let (atp, head) = packet(&mut octets);
        let mut io = Io { now, out: &mut out[to], tracer: &mut tracer, source: Source(0) };
        ends[to].handle_packet(&mut io, &atp, &head);
        for (end, out) in ends.iter_mut().zip(&mut out) {
            let mut fired = 0;
            while end.next_timeout() <= now && fired < 100 {
                end.handle_timeout(&mut Io { now, out, tracer: &mut tracer, source: Source(0) });
                fired += 1;
            }
            assert!(end.next_timeout() > now, "a timer that never rests");
            while end.poll_event().is_some() {}
            assert!(out.len() < 10_000, "{} packets at once", out.len());
        }
    }
}
