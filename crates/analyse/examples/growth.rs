//! Growth of the analyser's cost with the length of a capture, by shape: `growth SHAPE SEGMENTS`, or `growth list`.
//!
//! `benches/analyse-growth` counts the instructions of `judged` for lengths that double.

#![expect(clippy::print_stdout, reason = "an example speaks")]

use analyse::{Analyser, Flow, Need, Observation};
use base::rng::mix;
use base::wire::{TcpHead, flag};
use base::{Span, Time};
use std::net::{IpAddr, Ipv4Addr};

/// Bytes of a segment, and a round trip.
const SEGMENT: u32 = 1000;
const TRIP: u64 = 100_000;

/// A capture that is being made: times in microseconds.
struct Shape {
    packets: Vec<Observation>,
    port: u16,
    stamps: bool,
    ids: [u16; 2],
}

impl Shape {
    fn new(sack: bool, stamps: bool) -> Shape {
        let mut shape = Shape { packets: Vec::new(), port: 1, stamps, ids: [7, 7] };
        shape.open(0, sack);
        shape
    }

    fn open(&mut self, at: u64, sack: bool) {
        let syn = |ack, flags| TcpHead {
            ack,
            flags,
            mss: Some(1460),
            scale: Some(9),
            permits_sack: sack,
            ..TcpHead::default()
        };
        self.push(at, 0, 0, syn(0, flag::SYN));
        self.push(at + TRIP, 1, 0, syn(1, flag::SYN | flag::ACK));
        let head = TcpHead { seq: 1, ack: 1, flags: flag::ACK, ..TcpHead::default() };
        self.push(at + TRIP, 0, 0, head);
    }

    fn push(&mut self, at: u64, side: usize, payload: u32, mut head: TcpHead) {
        let address = |side: usize| IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1 + side as u8));
        let ports = [self.port, 80];
        (head.source, head.destination) = (ports[side], ports[1 - side]);
        head.window = 60_000;
        self.ids[side] = self.ids[side].checked_add(1).unwrap_or(1);
        if self.stamps {
            let echo = head.timestamps.map_or(0, |ts| ts.1);
            head.timestamps = Some(((at / 1000) as u32, echo));
        }
        self.packets.push(Observation {
            t: Time::ZERO + Span::from_nanos(at * 1000),
            interface: 0,
            source: address(side),
            destination: address(1 - side),
            id: Some(self.ids[side]),
            size: 40 + payload,
            payload,
            ecn: 0,
            ttl: 64,
            head,
        });
    }

    fn data(&mut self, at: u64, n: u64) {
        let head = TcpHead { seq: 1 + n as u32 * SEGMENT, ack: 1, flags: flag::ACK, ..TcpHead::default() };
        self.push(at, 0, SEGMENT, head);
    }

    /// Everything before segment `n` is acknowledged; the ACK echoes the timestamp of the data sent at `echo`.
    fn ack(&mut self, at: u64, n: u64, echo: u64, blocks: &[(u64, u64)]) {
        let mut head =
            TcpHead { seq: 1, ack: 1 + n as u32 * SEGMENT, flags: flag::ACK, ..TcpHead::default() };
        head.timestamps = self.stamps.then_some((0, (echo / 1000) as u32));
        for (left, right) in blocks {
            head.sack[usize::from(head.sacks)] = (1 + *left as u32 * SEGMENT, 1 + *right as u32 * SEGMENT);
            head.sacks += 1;
        }
        self.push(at, 1, 0, head);
    }

    /// Segments from one to before another, a window at a time, each answered.
    fn clean(&mut self, mut at: u64, from: u64, to: u64, window: u64) -> u64 {
        let mut n = from;
        while n < to {
            let end = (n + window).min(to);
            (n..end).for_each(|k| self.data(at + (k - n) * 10, k));
            (n..end).for_each(|k| self.ack(at + TRIP + (k - n) * 10, k + 1, at + (k - n) * 10, &[]));
            (at, n) = (at + TRIP + window * 10, end);
        }
        at
    }

    fn sorted(mut self) -> Vec<Observation> {
        self.packets.sort_by_key(|o| o.t);
        self.packets
    }
}

/// A whole window is held up, its timer expires, and all of it is sent again (go-back-N).
fn go_back_n(n: u64, sack: bool, stamps: bool) -> Vec<Observation> {
    let mut s = Shape::new(sack, stamps);
    let at = s.clean(200_000, 0, 20, 10);
    (20..20 + n).for_each(|k| s.data(at + k * 10, k));
    let late = at + 3_000_000 + n * 10;
    s.data(late, 20);
    // The answers to the originals come, each lets out one more of the window; then duplicates for all of it.
    for k in 0..n {
        s.ack(late + 10_000 + k * 20, 21 + k, at + (20 + k) * 10, &[]);
        if k + 1 < n {
            s.data(late + 10_005 + k * 20, 20 + k + 1);
        }
    }
    for k in 0..n {
        let copy = [(20 + k, 21 + k)];
        let blocks: &[(u64, u64)] = if sack { &copy } else { &[] };
        s.ack(late + 10_000 + TRIP + n * 20 + k * 20, 20 + n, late + 10_005 + k * 20, blocks);
    }
    s.clean(late + 2 * TRIP + n * 50, 20 + n, 40 + n, 10);
    s.sorted()
}

/// One segment is lost, and all behind it is answered by duplicates.
fn duplicates(n: u64, blocks: impl Fn(u64) -> Vec<(u64, u64)>, sack: bool) -> Vec<Observation> {
    let mut s = Shape::new(sack, false);
    let at = s.clean(200_000, 0, 20, 10);
    (20..21 + n).for_each(|k| s.data(at + k * 10, k));
    (0..n).for_each(|k| s.ack(at + TRIP + k * 10, 20, 0, &blocks(k)));
    s.data(at + TRIP + 31, 20);
    let end = at + 3 * TRIP + n * 10;
    s.ack(end, 21 + n, 0, &[]);
    s.clean(end + TRIP, 21 + n, 41 + n, 10);
    s.sorted()
}

fn one_segment(n: u64) -> Vec<Observation> {
    let mut s = Shape::new(true, false);
    let at = s.clean(200_000, 0, 20, 10);
    (0..=n).for_each(|k| s.data(at + k * 1000, 20));
    s.ack(at + n * 1000 + TRIP, 21, 0, &[]);
    s.clean(at + n * 1000 + 3 * TRIP, 21, 41, 10);
    s.sorted()
}

/// One segment in this many is lost and repaired by a fast retransmit.
pub(crate) fn losses(n: u64, every: u64) -> Vec<Observation> {
    let mut s = Shape::new(true, true);
    let (mut at, mut k) = (200_000, 0);
    while k < n {
        let end = k + every;
        (k..end).for_each(|j| s.data(at + (j - k) * 10, j));
        (k + 1..end).for_each(|j| s.ack(at + TRIP + (j - k) * 10, k, 0, &[(k + 1, j + 1)]));
        s.data(at + TRIP + 35, k);
        s.ack(at + 2 * TRIP + 35, end, at + TRIP + 35, &[]);
        (at, k) = (at + 3 * TRIP, end);
    }
    s.clean(at, k, k + 20, 10);
    s.sorted()
}

/// The timer expires for each segment.
fn spikes(n: u64) -> Vec<Observation> {
    let mut s = Shape::new(true, true);
    let mut at = s.clean(200_000, 0, 20, 10);
    for k in 20..20 + n {
        s.data(at, k);
        s.data(at + 1_000_000, k);
        s.ack(at + 1_000_000 + TRIP / 2, k + 1, at, &[]);
        s.ack(at + 1_000_000 + TRIP, k + 1, at, &[(k, k + 1)]);
        at += 1_000_000 + 3 * TRIP;
    }
    s.sorted()
}

fn connections(n: u64) -> Vec<Observation> {
    let mut s = Shape::new(true, true);
    for c in 0..n / 10 {
        s.port = 1000 + (c % 60_000) as u16;
        s.open(c * 50_000, true);
        s.clean(c * 50_000 + 2 * TRIP, 0, 10, 10);
    }
    s.sorted()
}

fn copies(n: u64) -> Vec<Observation> {
    let mut s = Shape::new(true, true);
    s.clean(200_000, 0, n, 100);
    let copy = |o: &Observation| Observation { t: o.t + Span::from_millis(20), ttl: 63, ..*o };
    let more: Vec<_> = s.packets.iter().map(copy).collect();
    s.packets.extend(more);
    s.sorted()
}

/// Ten segments in a hundred are lost at random, and each is sent again a round trip later, in windows of 4000 segments.
fn wide(n: u64) -> Vec<Observation> {
    let mut s = Shape::new(true, true);
    let (mut at, mut k) = (200_000, 0);
    while k < n {
        let end = (k + 4000).min(n.max(k + 1));
        let lost: Vec<u64> = (k..end).filter(|j| mix(*j).is_multiple_of(10)).collect();
        (k..end).for_each(|j| s.data(at + (j - k) * 2, j));
        let first = lost.first().copied().unwrap_or(end);
        let mut top = (first, first);
        for j in k..end {
            if j < first {
                s.ack(at + TRIP + (j - k) * 2, j + 1, at + (j - k) * 2, &[]);
            } else if !mix(j).is_multiple_of(10) {
                top = if top.1 == j { (top.0, j + 1) } else { (j, j + 1) };
                s.ack(at + TRIP + (j - k) * 2, first, at, &[top]);
            }
        }
        let again = at + 2 * TRIP;
        for (i, j) in lost.iter().enumerate() {
            s.data(again + i as u64 * 2, *j);
            let next = lost.get(i + 1).copied().unwrap_or(end);
            s.ack(again + TRIP + i as u64 * 2, next, again + i as u64 * 2, &[]);
        }
        (at, k) = (again + 3 * TRIP, end);
    }
    s.clean(at, k, k + 20, 10);
    s.sorted()
}

fn probes(n: u64) -> Vec<Observation> {
    let mut s = Shape::new(true, false);
    let mut at = s.clean(200_000, 0, 20, 10);
    for _ in 0..n {
        let head = TcpHead { seq: 1 + 20 * SEGMENT, ack: 1, flags: flag::ACK, ..TcpHead::default() };
        s.push(at, 0, 1, head);
        s.ack(at + TRIP, 20, 0, &[]);
        if let Some(o) = s.packets.last_mut() {
            o.head.window = 0;
        }
        at += 500_000;
    }
    s.sorted()
}

pub(crate) const SHAPES: [&str; 12] = [
    "clean",
    "go-back-n",
    "go-back-n-sack",
    "duplicate-acks",
    "growing-sack",
    "random-sack",
    "one-segment",
    "losses",
    "timeouts",
    "connections",
    "copies",
    "wide-window",
];

pub(crate) fn made(shape: &str, n: u64) -> Option<Vec<Observation>> {
    Some(match shape {
        "clean" => {
            let mut s = Shape::new(true, true);
            s.clean(200_000, 0, n, 100);
            s.sorted()
        }
        "go-back-n" => go_back_n(n, false, false),
        "go-back-n-sack" => go_back_n(n, true, true),
        "duplicate-acks" => duplicates(n, |_| Vec::new(), false),
        "growing-sack" => duplicates(n, |k| vec![(21, 22 + k)], true),
        "random-sack" => duplicates(
            n,
            |k| {
                let at = 21 + mix(k) % n;
                vec![(at, at + 1)]
            },
            true,
        ),
        "one-segment" => one_segment(n),
        "losses" => losses(n, 100),
        "timeouts" => spikes(n),
        "connections" => connections(n),
        "copies" => copies(n),
        "wide-window" => wide(n),
        "probes" => probes(n),
        _ => return None,
    })
}

/// Quantity counted.
#[inline(never)]
pub(crate) fn judged(packets: &[Observation]) -> Vec<Flow> {
    let mut analyser = Analyser::default();
    packets.iter().for_each(|o| analyser.push(o));
    analyser.finish()
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let n = args.get(1).and_then(|n| n.parse().ok()).unwrap_or(1000);
    let Some(packets) = args.first().and_then(|shape| made(shape, n)) else {
        println!("{}", SHAPES.join("\n"));
        return;
    };
    let flows = judged(&packets);
    let again = || flows.iter().flat_map(|f| &f.directions).flat_map(|w| &w.retransmissions);
    let of = |need| again().filter(|r| r.need == need).count();
    println!(
        "{} packets, {} needed, {} unneeded, {} unknown",
        packets.len(),
        of(Need::Needed),
        of(Need::Unneeded),
        of(Need::Unknown)
    );
}
