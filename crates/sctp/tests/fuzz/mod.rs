//! Fuzz target of SCTP associations: two associations that exchange packets, and a third party that injects
//! arbitrary packets.

use base::body::Body as _;
use base::event::Source;
use base::packet::Packet as Head;
use base::rng::Seed;
use base::trace::Tracer;
use base::{Span, Time};
use sctp::chunk::{Origins, Packet, crc32c, decode};
use sctp::config::PathMtu;
use sctp::{Association, Config};
use transport::app::Socket as _;
use transport::endpoint::{Endpoint as _, Role};
use transport::{Io, Outgoing};

fn io<'a>(now: Time, out: &'a mut Vec<Outgoing<Packet>>, tracer: &'a mut Tracer) -> Io<'a, Packet> {
    Io { now, out, tracer, source: Source(0) }
}

/// An injected packet: an octet that selects receiver and form, an octet of time, an octet of length, and
/// bytes. Or an ICMP error: MTU in the first two bytes.
pub(crate) fn packets(mut bytes: &[u8]) {
    let chance = |name| Seed { seed: 1, repetition: 0 }.stream("fuzz", name);
    // In half of the inputs, the ends probe the path MTU.
    let path_mtu =
        if bytes.first().is_some_and(|how| how & 0x80 != 0) { PathMtu::Probe } else { PathMtu::Icmp };
    let config = || Config { path_mtu, ..Config::default() };
    let mut ends = [
        Association::new(config(), Role::Active, [1, 2], chance("a")),
        Association::new(config(), Role::Passive, [2, 1], chance("b")),
    ];
    ends[0].write(20_000);
    let (mut now, mut out, mut tracer) = (Time::ZERO, Vec::new(), Tracer::off());
    ends[0].open(&mut io(now, &mut out, &mut tracer));
    while let [how, wait, length, rest @ ..] = bytes {
        now += Span::from_millis(u64::from(*wait) * 8);
        let (packet, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        bytes = rest;
        for sent in std::mem::take(&mut out) {
            let mut wire = Vec::new();
            sent.body.encode(&mut wire);
            let to = usize::from(sent.body.ports == [1, 2]);
            let [_, expected] = ends[to].numbers();
            let [own, peer] = ends[to].initial();
            let initial = [if peer == 0 { sent.body.initial[0] } else { peer }, own];
            let near = [expected, ends[to].numbers()[0]];
            let read = decode(&wire, &Origins { initial, near }).expect("what it writes can be read");
            ends[to].handle_packet(&mut io(now, &mut out, &mut tracer), &read, &Head::NONE);
        }
        let end = &mut ends[usize::from(how & 1)];
        let mut packet = packet.to_vec();
        if how & 2 == 0 && packet.len() >= 12 {
            packet[4..8].copy_from_slice(&end.tags()[0].to_be_bytes());
            packet[8..12].fill(0);
            let sum = crc32c::checksum(&packet);
            packet[8..12].copy_from_slice(&sum.to_le_bytes());
        }
        if how & 0xfc == 4
            && let [high, low, ..] = packet[..]
        {
            let mtu = u32::from(u16::from_be_bytes([high, low]));
            end.handle_too_big(&mut io(now, &mut out, &mut tracer), 0, mtu);
        }
        let [own, peer] = end.initial();
        let [next, expected] = end.numbers();
        if let Ok(read) = decode(&packet, &Origins { initial: [peer, own], near: [expected, next] }) {
            end.handle_packet(&mut io(now, &mut out, &mut tracer), &read, &Head::NONE);
        }
        for end in &mut ends {
            for _ in 0..50 {
                if end.next_timeout() > now {
                    break;
                }
                end.handle_timeout(&mut io(now, &mut out, &mut tracer));
            }
            assert!(end.next_timeout() > now, "a timer that does not end");
        }
    }
}
