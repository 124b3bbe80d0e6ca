//! A capture written by hand: data sent, ACKs received.

#![allow(dead_code, unreachable_pub, reason = "tests use parts of it")]

use analyse::{Analyser, Flow, Limits, Observation, RecoveryVerdict};
use base::wire::{TcpHead, flag};
use base::{Span, Time};
use std::net::{IpAddr, Ipv4Addr};

pub const SEGMENT: u32 = 1000;
/// A round trip, ms.
pub const TRIP: u32 = 200;

/// The identification that the receiver's host writes into its packet of this number.
pub type Scheme = fn(u16) -> Option<u16>;

/// A connection without timestamps.
#[derive(Clone)]
pub struct Trace {
    packets: Vec<Observation>,
    scheme: Scheme,
    /// So many the receiver's host has sent.
    count: u16,
    /// Bytes that the receiver has sent.
    spoken: u32,
}

impl Trace {
    /// The receiver uses SACK and reports duplicates. Opened, and `clean` segments sent and answered one by one; the next is
    /// sent at the second value, ms.
    pub fn opened(clean: u32) -> (Trace, u32) {
        Trace::begun(clean, true, |_| None)
    }

    /// The same without SACK, from a receiver whose packets have identifications.
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

    /// The same, captured next to the receiver, where nothing has come but the opening.
    pub fn at_receiver() -> Trace {
        let mut trace = Trace { packets: Vec::new(), scheme: |_| None, count: 0, spoken: 0 };
        let syn = |seq| TcpHead { seq, flags: flag::SYN, mss: Some(1000), ..TcpHead::default() };
        trace.push(0, true, 0, syn(0));
        trace.push(0, false, 0, TcpHead { ack: 1, flags: flag::SYN | flag::ACK, ..syn(0) });
        trace
    }

    /// So many segments from this one on arrive, put together into one packet with the number of the first.
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

    /// Segment `n` leaves.
    pub fn send(&mut self, ms: u32, n: u32) {
        self.last(ms, n, 0);
    }

    /// The same, with a flag.
    pub fn last(&mut self, ms: u32, n: u32, fin: u8) {
        let head = TcpHead { seq: 1 + n * SEGMENT, ack: 1, flags: flag::ACK | fin, ..TcpHead::default() };
        self.push(ms, true, SEGMENT, head);
    }

    /// All before segment `n` is acknowledged; blocks of segments from one to before another.
    pub fn answer(&mut self, ms: u32, n: u32, blocks: &[(u32, u32)]) {
        let bytes: Vec<(u32, u32)> = blocks.iter().map(|b| (1 + b.0 * SEGMENT, 1 + b.1 * SEGMENT)).collect();
        self.says(ms, 1 + n * SEGMENT, &bytes);
    }

    /// As above, and this number of further packets are sent and acknowledged one by one.
    pub fn answers(&mut self, ms: u32, n: u32, more: u32) {
        self.answer(ms, n, &[]);
        self.sends(ms, n, more);
    }

    /// So many segments from this one on are sent and answered one by one.
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

    /// The same bytes are acknowledged, with another window.
    pub fn offers(&mut self, ms: u32, n: u32, window: u16) {
        let head = TcpHead { window, ..self.reply(1 + n * SEGMENT) };
        self.push(ms, false, 0, head);
    }

    /// The receiver sends a segment of its own.
    pub fn speaks(&mut self, ms: u32, n: u32) {
        let head = self.reply(1 + n * SEGMENT);
        self.push(ms, false, SEGMENT, head);
        self.spoken += SEGMENT;
    }

    /// A retransmission that the capture misses.
    pub fn speaks_unheard(&mut self) {
        self.unheard(1);
        self.spoken += SEGMENT;
    }

    /// The receiver's host sends this number of packets outside the capture.
    pub fn unheard(&mut self, packets: u16) {
        self.count = self.count.wrapping_add(packets);
    }

    /// How many packets the receiver's host has sent.
    pub fn turn(&self) -> u16 {
        self.count
    }

    /// The next captured packet follows this number of packets sent.
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
