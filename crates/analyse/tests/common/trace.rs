//! Handwritten captures next to the sender: data segments sent, ACKs received.

#![allow(dead_code, unreachable_pub, reason = "tests use parts of it")]

use analyse::{Analyser, Flow, Limits, Observation, RecoveryVerdict};
use base::wire::{TcpHead, flag};
use base::{Span, Time};
use std::net::{IpAddr, Ipv4Addr};

pub const SEGMENT: u32 = 1000;
/// A round trip, ms.
pub const TRIP: u32 = 200;

/// IP identification that the receiver's host writes into its n-th packet.
pub type Scheme = fn(u16) -> Option<u16>;

/// Handwritten connection without timestamps.
#[derive(Clone)]
pub struct Trace {
    packets: Vec<Observation>,
    scheme: Scheme,
    /// Number of packets sent by the receiver's host.
    count: u16,
    /// Number of bytes sent by the receiver.
    spoken: u32,
}

impl Trace {
    /// The receiver uses SACK and DSACK. Handshake, then `clean` segments sent and acknowledged one by one; the second
    /// value is the time of the next segment, ms.
    pub fn opened(clean: u32) -> (Trace, u32) {
        Trace::begun(clean, true, |_| None)
    }

    /// Like `opened`, but without SACK, from a receiver whose packets have IP identifications.
    pub fn numbered(clean: u32, scheme: Scheme) -> (Trace, u32) {
        Trace::begun(clean, false, scheme)
    }

    fn begun(clean: u32, permits_sack: bool, scheme: Scheme) -> (Trace, u32) {
        let mut trace = Trace { packets: Vec::new(), scheme, count: 0, spoken: 0 };
        let syn =
            |seq| TcpHead { seq, flags: flag::SYN, mss: Some(1000), permits_sack, ..TcpHead::default() };
        trace.push(0, true, 0, syn(0));
        trace.push(TRIP, false, 0, TcpHead { ack: 1, flags: flag::SYN | flag::ACK, ..syn(0) });
        trace.sends(TRIP, 0, clean);
        (trace, TRIP + clean * TRIP)
    }

    /// Like `opened`, captured next to the receiver, with only the handshake.
    pub fn at_receiver() -> Trace {
        let mut trace = Trace { packets: Vec::new(), scheme: |_| None, count: 0, spoken: 0 };
        let syn = |seq| TcpHead { seq, flags: flag::SYN, mss: Some(1000), ..TcpHead::default() };
        trace.push(0, true, 0, syn(0));
        trace.push(0, false, 0, TcpHead { ack: 1, flags: flag::SYN | flag::ACK, ..syn(0) });
        trace
    }

    /// `segments` segments from segment `n` on arrive, merged into one packet with the IP identification of the first.
    pub fn arrive(&mut self, ms: u32, n: u32, segments: u32, id: u16) {
        let head = TcpHead { seq: 1 + n * SEGMENT, ack: 1, flags: flag::ACK, ..TcpHead::default() };
        self.push(ms, true, segments * SEGMENT, head);
        self.packets.last_mut().expect("pushed").id = Some(id);
    }

    fn push(&mut self, ms: u32, out: bool, payload: u32, mut head: TcpHead) {
        let address = |last: u8| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        let (from, to) = if out { (1, 2) } else { (2, 1) };
        (head.source, head.destination) = (u16::from(from) * 100, u16::from(to) * 100);
        if head.window == 0 {
            head.window = 60_000;
        }
        let id = if out { None } else { (self.scheme)(self.count) };
        self.count = self.count.wrapping_add(u16::from(!out));
        self.packets.push(Observation {
            t: Time::ZERO + Span::from_millis(u64::from(ms)),
            interface: 0,
            source: address(from),
            destination: address(to),
            id,
            size: 40 + payload,
            payload,
            ecn: 0,
            ttl: 64,
            head,
        });
    }

    /// Segment `n` is sent.
    pub fn send(&mut self, ms: u32, n: u32) {
        self.last(ms, n, 0);
    }

    /// Segment `n` is sent with a flag.
    pub fn last(&mut self, ms: u32, n: u32, fin: u8) {
        let head = TcpHead { seq: 1 + n * SEGMENT, ack: 1, flags: flag::ACK | fin, ..TcpHead::default() };
        self.push(ms, true, SEGMENT, head);
    }

    /// All before segment `n` is acknowledged, with SACK blocks of half-open segment ranges.
    pub fn answer(&mut self, ms: u32, n: u32, blocks: &[(u32, u32)]) {
        let bytes: Vec<(u32, u32)> = blocks.iter().map(|b| (1 + b.0 * SEGMENT, 1 + b.1 * SEGMENT)).collect();
        self.says(ms, 1 + n * SEGMENT, &bytes);
    }

    /// Like `answer`; then `more` further segments are sent and acknowledged one by one.
    pub fn answers(&mut self, ms: u32, n: u32, more: u32) {
        self.answer(ms, n, &[]);
        self.sends(ms, n, more);
    }

    /// `more` segments from segment `n` on are sent and acknowledged one by one.
    fn sends(&mut self, ms: u32, n: u32, more: u32) {
        for k in 0..more {
            self.send(ms + k * TRIP, n + k);
            self.answer(ms + (k + 1) * TRIP, n + k + 1, &[]);
        }
    }

    pub fn says(&mut self, ms: u32, ack: u32, blocks: &[(u32, u32)]) {
        let mut head = self.reply(ack);
        for block in blocks {
            head.sack[usize::from(head.sacks)] = *block;
            head.sacks += 1;
        }
        self.push(ms, false, 0, head);
    }

    fn reply(&self, ack: u32) -> TcpHead {
        TcpHead { seq: 1 + self.spoken, ack, flags: flag::ACK, ..TcpHead::default() }
    }

    /// The same bytes are acknowledged with another window.
    pub fn offers(&mut self, ms: u32, n: u32, window: u16) {
        let head = TcpHead { window, ..self.reply(1 + n * SEGMENT) };
        self.push(ms, false, 0, head);
    }

    /// The receiver sends a data segment of its own.
    pub fn speaks(&mut self, ms: u32, n: u32) {
        let head = self.reply(1 + n * SEGMENT);
        self.push(ms, false, SEGMENT, head);
        self.spoken += SEGMENT;
    }

    /// The receiver sends a data segment that the capture lacks.
    pub fn speaks_unheard(&mut self) {
        self.unheard(1);
        self.spoken += SEGMENT;
    }

    /// The receiver's host sends this number of packets to other destinations.
    pub fn unheard(&mut self, packets: u16) {
        self.count = self.count.wrapping_add(packets);
    }

    /// Number of packets that the receiver's host has sent.
    pub fn turn(&self) -> u16 {
        self.count
    }

    /// The next captured packet follows `turn` sent packets.
    pub fn return_to(&mut self, turn: u16) {
        self.count = turn;
    }

    pub fn analysed(&self) -> Flow {
        let mut analyser = Analyser::new(Limits::default());
        self.packets.iter().for_each(|o| analyser.push(o));
        analyser.finish().remove(0)
    }
}

/// Verdict on each timeout of the sender.
pub fn kinds(flow: &Flow) -> Vec<RecoveryVerdict> {
    flow.directions[0].timeouts.iter().map(|t| t.kind).collect()
}
