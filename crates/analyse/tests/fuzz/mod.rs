//! Fuzz target of the analyser, replayed by `cargo test`: for any observations in any order it ends, keeps its limits,
//! and does not contradict itself.
#![allow(unreachable_pub, reason = "the fuzz target uses it from outside")]

use analyse::{Analyser, Flow, Limits, Need, Observation, join, story};
use base::Time;
use base::wire::TcpHead;
use std::net::{IpAddr, Ipv4Addr};

/// Removes bytes from the front; zeros after the end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn u8(&mut self) -> u8 {
        match self.0 {
            [first, rest @ ..] => {
                let first = *first;
                self.0 = rest;
                first
            }
            [] => 0,
        }
    }
    fn u32(&mut self) -> u32 {
        u32::from_be_bytes([self.u8(), self.u8(), self.u8(), self.u8()])
    }
    /// Number near one of a few values, or any number.
    fn near(&mut self) -> u32 {
        match self.u8() {
            255 => self.u32(),
            n => 0xffff_f000u32.wrapping_add(u32::from(n & 63) * 100 + u32::from(n >> 6)),
        }
    }
}

fn observation(bytes: &mut Bytes<'_>, t: &mut u64) -> Observation {
    let kind = bytes.u8();
    *t = match bytes.u8() {
        255 => u64::from(bytes.u32()) << 24,
        n => t.saturating_add(
            u64::from(n) * [1_000, 1_000_000, 10_000_000, 300_000_000][usize::from(kind & 3)],
        ),
    };
    let reply = kind & 4 != 0;
    let address = |side: bool| IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1 + u8::from(side)));
    let port = |side: bool| if side { 80 } else { 4000 + u16::from(kind >> 7) };
    let mut head = TcpHead {
        source: port(reply),
        destination: port(!reply),
        seq: bytes.near(),
        ack: bytes.near(),
        flags: match bytes.u8() {
            n @ 0..64 => 0x10 | n & 1 | (n & 2) | (n & 4),
            n @ 64..96 => n,
            _ => 0x10,
        },
        window: u16::from(bytes.u8()) << 4,
        ..TcpHead::default()
    };
    if kind & 8 != 0 {
        head.timestamps = Some((bytes.near(), bytes.near()));
    }
    if kind & 16 != 0 {
        head.sacks = bytes.u8() % 5;
        for i in 0..head.sacks {
            head.sack[usize::from(i)] = (bytes.near(), bytes.near());
        }
    }
    if kind & 32 != 0 {
        head.scale = Some(bytes.u8());
        head.permits_sack = kind & 64 != 0;
    }
    let payload = match bytes.u8() {
        255 => bytes.u32() & 0xffff,
        n => u32::from(n & 15) * 100,
    };
    Observation {
        t: Time::from_nanos(*t),
        interface: u32::from(kind >> 6 & 1),
        source: address(reply),
        destination: address(!reply),
        id: (kind & 64 == 0).then(|| u16::from(bytes.u8())),
        size: payload + 40,
        payload,
        ecn: 0,
        ttl: 64,
        head,
    }
}

/// Target: arbitrary observations.
pub fn observations(input: &[u8]) {
    let keep = Limits { points: true, arrivals: true, happenings: 64, flows: 2 };
    let mut bytes = Bytes(input);
    let (mut analyser, mut t, mut pushed) = (Analyser::new(keep), 1 << 40, 0);
    while !bytes.0.is_empty() {
        analyser.push(&observation(&mut bytes, &mut t));
        pushed += 1;
    }
    let flows = analyser.finish();
    assert_eq!(flows.iter().map(|f| f.packets + f.captured_twice).sum::<u64>(), pushed);
    for flow in &flows {
        for direction in &flow.directions {
            assert!(
                direction.retransmissions.len() <= 64
                    && direction.faults.len() <= 64
                    && direction.idles.len() <= 64
            );
            assert!(
                direction.data_packets <= direction.packets
                    && direction.data_packets <= direction.data_segments
            );
            let judged = [Need::Needed, Need::Unneeded, Need::Unknown].map(|n| direction.count(n));
            assert_eq!(judged.iter().sum::<u64>(), direction.retransmissions.len() as u64);
            assert!(direction.retransmissions.iter().all(|r| r.seq < r.end));
            assert!(
                direction.timeouts.len() + direction.fast_retransmits.len()
                    <= direction.retransmissions.len()
            );
        }
    }
    let _ = story::tell(&flows.iter().collect::<Vec<&Flow>>());
    let mut here: Vec<(usize, Flow)> = flows.into_iter().enumerate().collect();
    let there = here.clone();
    join::join(&mut here, &there);
}
