//! Observations of packets captured at a simulated host: 32-bit numbers that wrap around, timestamps in milliseconds,
//! scaled windows.

use analyse::Observation;
use base::packet::Flags;
use base::tcp::Segment;
use base::trace::Sighting;
use base::wire::{TcpHead, flag};
use base::{FlowId, Time};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// Initial sequence numbers, close to the wrap-around.
pub const FIRST: [u32; 2] = [u32::MAX - 20_000, u32::MAX - 3];
/// The ports of sender and receiver.
pub const PORTS: [u16; 2] = [40_000, 80];
/// Timestamp clocks at t = 0.
const CLOCK: [u32; 2] = [u32::MAX - 5_000, 77_000];

/// Packets of one flow that the host `at` sent or received, as a capture next to it contains them.
pub fn observed(sightings: &[Sighting], at: u32, flow: u32, sack: bool) -> Vec<Observation> {
    let mut segments: BTreeMap<u64, (Segment, u16)> = BTreeMap::new();
    let largest = sightings.iter().filter_map(|s| s.sent).map(|s| s.window).max().unwrap_or(0);
    let shift = (0..14).find(|s| largest >> s <= 0xffff).unwrap_or(14);
    // The MSS option offers the payload of a segment without options (RFC 6691).
    let sent = || sightings.iter().filter(|s| s.packet.flow == FlowId(flow)).filter_map(|s| s.sent);
    let options = if sent().any(|s| s.timestamps.is_some()) { 12 } else { 0 };
    let mss = sent().map(|s| s.len).max().unwrap_or(0).max(64) + options;
    let mut out = Vec::new();
    // Each end counts its packets in the IP identification, as Linux does for each socket.
    let mut numbers = [0u16; 2];
    for s in sightings.iter().filter(|s| s.packet.flow == FlowId(flow)) {
        if let Some(segment) = s.sent {
            let number = &mut numbers[usize::from(s.packet.flags.has(Flags::REPLY))];
            *number = number.checked_add(1).unwrap_or(1);
            segments.insert(s.packet.id, (segment, *number));
        }
        if s.source.0 == at
            && let Some((segment, number)) = segments.get(&s.packet.id)
        {
            out.push(Observation { id: Some(*number), ..observation(s, segment, (mss as u16, shift), sack) });
        }
    }
    out
}

fn observation(s: &Sighting, segment: &Segment, (mss, shift): (u16, u8), sack: bool) -> Observation {
    let from = usize::from(s.packet.flags.has(Flags::REPLY));
    let to = 1 - from;
    let seq = |side: usize, offset: u64| FIRST[side].wrapping_add(offset as u32);
    let ticks = |side: usize, t: Time| CLOCK[side].wrapping_add((t.as_nanos() / 1_000_000) as u32);
    let when = |bit: u8, on: bool| if on { bit } else { 0 };
    let mut head = TcpHead {
        source: PORTS[from],
        destination: PORTS[to],
        seq: seq(from, segment.seq),
        ack: if segment.has_ack { seq(to, segment.ack) } else { 0 },
        flags: when(flag::SYN, segment.syn)
            | when(flag::FIN, segment.fin)
            | when(flag::RST, segment.rst)
            | when(flag::ACK, segment.has_ack),
        window: if segment.syn {
            segment.window.min(0xffff) as u16
        } else {
            segment.window.div_ceil(1 << shift).min(0xffff) as u16
        },
        timestamps: segment.timestamps.map(|ts| {
            let echo = if segment.has_ack && !ts.echo.is_never() { ticks(to, ts.echo) } else { 0 };
            (ticks(from, ts.value), echo)
        }),
        ..TcpHead::default()
    };
    if segment.syn {
        (head.mss, head.scale, head.permits_sack) = (Some(mss), Some(shift), sack);
    }
    for block in segment.sack.as_slice() {
        head.sack[usize::from(head.sacks)] = (seq(to, block.left), seq(to, block.right));
        head.sacks += 1;
    }
    let address = |side: usize| IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1 + side as u8));
    Observation {
        t: s.t,
        interface: 0,
        source: address(from),
        destination: address(to),
        id: None,
        size: s.packet.size,
        payload: segment.len,
        ecn: s.packet.ecn,
        ttl: 64,
        head,
    }
}
