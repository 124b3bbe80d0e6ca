//! Tests of the SCTP encoder and decoder: every packet is decoded as encoded, and no bytes cause a panic of
//! the decoder or of an association.

use base::body::Body as _;
use base::event::Source;
mod fuzz;

use base::packet::Packet as Head;
use base::rng::Seed;
use base::trace::Tracer;
use base::truth::Cause;
use base::{Span, Time};
use proptest::prelude::*;
use sctp::chunk::{Chunk, Data, Failure, Init, Opaque, Origins, Packet, Sack, decode};
use sctp::{Association, Config};
use transport::Io;
use transport::app::Socket as _;
use transport::endpoint::{Endpoint as _, Role};

fn init() -> impl Strategy<Value = Init> {
    (any::<[u32; 3]>(), any::<[u16; 2]>(), 1..5u8, any::<[bool; 2]>()).prop_map(|(w, s, addresses, b)| Init {
        tag: w[0],
        window: w[1],
        outbound: s[0],
        inbound: s[1],
        initial: w[2],
        addresses,
        ecn: b[0],
        forward_tsn: b[1],
        unrecognized: Vec::new(),
    })
}

fn opaque(most: usize) -> impl Strategy<Value = Opaque> {
    proptest::collection::vec(any::<u8>(), 0..most).prop_map(Opaque::from)
}

/// Parameters of an INIT that an INIT ACK reports as unknown; whole parameters.
fn reports() -> impl Strategy<Value = Vec<Opaque>> {
    proptest::collection::vec(opaque(20), 0..3)
}

fn failure() -> impl Strategy<Value = Failure> {
    prop_oneof![
        any::<u16>().prop_map(Failure::InvalidStream),
        any::<u32>().prop_map(Failure::StaleCookie),
        any::<u32>().prop_map(Failure::NoUserData),
        Just(Failure::UserAbort),
        Just(Failure::InvalidParameter),
        Just(Failure::ShuttingDown),
        Just(Failure::NewAddresses),
        opaque(40).prop_map(Failure::UnrecognizedChunk),
        Just(Failure::ProtocolViolation),
        (14..2000u16).prop_map(Failure::Other),
    ]
}

const NEAR: u64 = 1 << 33;

fn bundled() -> impl Strategy<Value = Chunk> {
    let tsn = NEAR..NEAR + 1000;
    let data = (tsn.clone(), any::<[u16; 2]>(), any::<[bool; 4]>(), 1..600u32, any::<u32>()).prop_map(
        |(tsn, s, b, len, ppid)| {
            Chunk::Data(Data {
                tsn,
                stream: s[0],
                ssn: u64::from(s[1]),
                begin: b[0],
                end: b[1],
                unordered: b[2],
                immediate: b[3],
                len,
                ppid,
                cause: Cause::New,
            })
        },
    );
    let sack = (
        tsn.clone(),
        any::<u32>(),
        proptest::collection::vec((1..50u64, 1..50u64), 0..5),
        proptest::collection::vec(tsn.clone(), 0..4),
    )
        .prop_map(|(cumulative, window, steps, duplicates)| {
            let mut at = cumulative;
            let gaps = steps.iter().map(|(skip, len)| {
                let from = at + skip;
                at = from + len;
                (from, at)
            });
            Chunk::Sack(Sack { cumulative, window, gaps: gaps.collect(), duplicates })
        });
    prop_oneof![
        4 => data,
        2 => sack,
        1 => opaque(40).prop_map(Chunk::Heartbeat),
        1 => opaque(40).prop_map(Chunk::HeartbeatAck),
        1 => (0..1400u16).prop_map(Chunk::Pad),
        1 => ((16..192u8).prop_filter("PAD", |kind| *kind != 132), any::<u8>(), opaque(40)).prop_map(|(kind, flags, value)| Chunk::Unknown(kind, flags, value)),
        1 => (any::<bool>(), proptest::option::of(failure())).prop_map(|(reflected, cause)| Chunk::Abort { reflected, cause }),
        1 => tsn.clone().prop_map(Chunk::Shutdown),
        1 => Just(Chunk::ShutdownAck),
        1 => failure().prop_map(Chunk::Error),
        1 => opaque(200).prop_map(Chunk::CookieEcho),
        1 => Just(Chunk::CookieAck),
        1 => tsn.clone().prop_map(Chunk::Ecne),
        1 => tsn.clone().prop_map(Chunk::Cwr),
        1 => (tsn, proptest::collection::vec(any::<(u16, u16)>(), 0..4))
            .prop_map(|(t, s)| Chunk::ForwardTsn(t, s.into_iter().map(|(a, b)| (a, u64::from(b))).collect())),
    ]
}

fn alone() -> impl Strategy<Value = Chunk> {
    prop_oneof![
        init().prop_map(Chunk::Init),
        (init(), reports(), opaque(200))
            .prop_map(|(init, unrecognized, cookie)| Chunk::InitAck(Init { unrecognized, ..init }, cookie)),
        any::<bool>().prop_map(|reflected| Chunk::ShutdownComplete { reflected }),
    ]
}

fn packet() -> impl Strategy<Value = Packet> {
    let chunks = prop_oneof![
        4 => proptest::collection::vec(bundled(), 1..6),
        1 => alone().prop_map(|chunk| vec![chunk]),
    ];
    (any::<[u16; 2]>(), any::<u32>(), any::<[u32; 2]>(), chunks)
        .prop_map(|(ports, tag, initial, chunks)| Packet { ports, tag, initial, chunks, divisible: false })
}

proptest! {
    #[test]
    fn what_is_written_is_read(packet in packet()) {
        let mut bytes = Vec::new();
        prop_assert_eq!(packet.encode(&mut bytes), Some(132));
        prop_assert_eq!(bytes.len() as u32, packet.size());
        let origins = Origins { initial: packet.initial, near: [NEAR; 2] };
        prop_assert_eq!(decode(&bytes, &origins), Ok(packet));
    }

    #[test]
    fn one_wrong_bit_is_found(packet in packet(), bit in any::<proptest::sample::Index>()) {
        let mut bytes = Vec::new();
        packet.encode(&mut bytes);
        let bit = bit.index(8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
        let origins = Origins { initial: packet.initial, near: [NEAR; 2] };
        prop_assert!(decode(&bytes, &origins).is_err());
    }

    #[test]
    fn no_bytes_make_the_reader_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), fix in any::<bool>()) {
        if fix && bytes.len() >= 12 {
            bytes[8..12].fill(0);
            let sum = sctp::chunk::crc32c::checksum(&bytes);
            bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        }
        let _ = decode(&bytes, &Origins::default());
    }

    /// A hostile peer: arbitrary packets at any time, with right or wrong tags and TSNs, and ICMP errors with
    /// any MTU.
    #[test]
    fn no_peer_makes_an_association_panic(
        seed in any::<u64>(),
        steps in proptest::collection::vec(
            (packet(), 0..4u8, 0..3000u64, proptest::option::weighted(0.2, (0..3u8, any::<u16>()))),
            1..40,
        ),
    ) {
        let chance = |name| Seed { seed, repetition: 0 }.stream("hostile", name);
        let mut active = Association::new(Config::default(), Role::Active, [1, 2], chance("a"));
        let mut passive = Association::new(Config::default(), Role::Passive, [2, 1], chance("b"));
        active.write(50_000);
        let mut now = Time::ZERO;
        let (mut out, mut tracer) = (Vec::new(), Tracer::off());
        let mut io = |now, out: &mut Vec<_>, act: &mut dyn FnMut(&mut Io<'_, Packet>)| {
            act(&mut Io { now, out, tracer: &mut tracer, source: Source(0) });
        };
        io(now, &mut out, &mut |io| active.open(io));
        for (mut packet, aim, ms, error) in steps {
            now += Span::from_millis(ms);
            // Both ends exchange packets, and the third party injects packets.
            for _ in 0..6 {
                let sent = std::mem::take(&mut out);
                for o in sent {
                    let head = Head::NONE;
                    let to_passive = o.body.ports == [1, 2];
                    let end = if to_passive { &mut passive } else { &mut active };
                    io(now, &mut out, &mut |io| end.handle_packet(io, &o.body, &head));
                }
            }
            let end = if aim & 1 == 0 { &mut active } else { &mut passive };
            if aim & 2 == 0 {
                packet.tag = end.tags()[0];
                let [own, next] = end.numbers();
                for chunk in &mut packet.chunks {
                    match chunk {
                        Chunk::Data(d) => d.tsn = next + d.tsn % 8,
                        Chunk::Sack(s) => {
                            let by = s.cumulative.saturating_sub(own / 2);
                            s.cumulative -= by;
                            s.gaps.iter_mut().for_each(|g| *g = (g.0 - by, g.1 - by));
                        }
                        Chunk::ForwardTsn(t, _) => *t = next + *t % 8,
                        _ => {}
                    }
                }
            }
            io(now, &mut out, &mut |io| end.handle_packet(io, &packet, &Head::NONE));
            if let Some((path, mtu)) = error {
                io(now, &mut out, &mut |io| end.handle_too_big(io, path, u32::from(mtu)));
            }
            for end in [&mut active, &mut passive] {
                for _ in 0..50 {
                    if end.next_timeout() > now {
                        break;
                    }
                    io(now, &mut out, &mut |io| end.handle_timeout(io));
                }
                prop_assert!(end.next_timeout() > now, "a timer that does not end");
            }
            prop_assert!(out.len() < 10_000);
        }
    }

    /// The fuzz target on random bytes.
    #[test]
    fn fuzz_body_holds(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        fuzz::packets(&bytes);
    }
}
