//! Fuzz body of RTP: any octets as RTP and as RTCP, and both ends of a session that hear each other and a stranger.

use base::event::Source;
use base::packet::Packet as Head;
use base::rng::Seed;
use base::trace::Tracer;
use base::{Span, Time};
use rtp::session::{Config, Session};
use rtp::wire::Header;
use rtp::{Compound, Content, Format, Rtp};
use transport::Io;
use transport::app::Socket as _;
use transport::endpoint::{Endpoint as _, Role};

/// Each packet of the stranger: an octet that says to whom and what, one of time, one of length, and octets.
pub(crate) fn packets(mut bytes: &[u8]) {
    let chance = |name| Seed { seed: 1, repetition: 0 }.stream("fuzz", name);
    let format = Format::ALL[usize::from(bytes.first().copied().unwrap_or(0)) % Format::ALL.len()];
    let config = || Config { format, ..Config::default() };
    let mut ends = [
        Session::new(config(), Role::Active, chance("a")),
        Session::new(config(), Role::Passive, chance("b")),
    ];
    let (mut now, mut tracer) = (Time::ZERO, Tracer::off());
    let mut out = [Vec::new(), Vec::new()];
    ends[0].write(20_000);
    ends[0].open(&mut Io { now, out: &mut out[0], tracer: &mut tracer, source: Source(0) });
    while let [how, wait, length, rest @ ..] = bytes {
        now += Span::from_millis(u64::from(*wait) * 50);
        let (packet, rest) = rest.split_at(usize::from(*length).min(rest.len()));
        bytes = rest;
        for from in 0..2 {
            for sent in std::mem::take(&mut out[from]) {
                let mut io = Io { now, out: &mut out[1 - from], tracer: &mut tracer, source: Source(0) };
                ends[1 - from].handle_packet(&mut io, &sent.body, &Head::NONE);
            }
        }
        let to = usize::from(how & 1);
        let content = if how & 2 == 0 {
            Compound::read(packet).ok().map(|mut compound| {
                let mut written = Vec::new();
                compound.write(&mut written);
                let again = Compound::read(&written).expect("what it writes can be read");
                assert_eq!(again.blocks.len(), compound.blocks.len().min(31));
                // Half of the strangers know the source of the other end.
                if how & 4 != 0 {
                    let own = ends[to].reporter().ssrc();
                    compound.blocks.iter_mut().for_each(|block| block.ssrc = own);
                }
                (compound.ssrc, Content::Control(compound))
            })
        } else {
            Header::read(packet).ok().map(|header| {
                assert!(header.length <= packet.len());
                let number = |at: usize| u32::from(packet.get(at).copied().unwrap_or(0));
                let content = Content::Data {
                    seq: u64::from(header.seq),
                    timestamp: header.timestamp,
                    marker: header.marker,
                    payload_type: header.payload_type,
                    header: 0,
                    bytes: (packet.len() - header.length) as u32,
                    frame: (u64::from(number(12)) << (number(13) % 57), number(14), u64::from(number(15))),
                    part: number(16),
                    offset: u64::from(header.timestamp),
                };
                (header.ssrc, content)
            })
        };
        if let Some((ssrc, content)) = content {
            let body = Rtp { ssrc, content, deadline: Time::NEVER };
            let mut io = Io { now, out: &mut out[to], tracer: &mut tracer, source: Source(0) };
            ends[to].handle_packet(&mut io, &body, &Head::NONE);
        }
        if how & 8 != 0 {
            ends[to].send(transport::app::message::Message::of(u64::from(*wait) * 100));
            let mut io = Io { now, out: &mut out[to], tracer: &mut tracer, source: Source(0) };
            ends[to].transmit(&mut io);
        }
        for (end, out) in ends.iter_mut().zip(&mut out) {
            for _ in 0..50 {
                if end.next_timeout() > now {
                    break;
                }
                end.handle_timeout(&mut Io { now, out, tracer: &mut tracer, source: Source(0) });
            }
            assert!(end.next_timeout() > now, "a timer that does not end");
            assert!(out.len() < 1000, "a flood");
            while end.poll_event().is_some() {}
        }
    }
}
