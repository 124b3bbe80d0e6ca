//! Fuzz target of a pair of ports: arbitrary bytes are packets that enter at either end. The fuzzer's target and the
//! replay of its corpus share this file.

#![allow(unreachable_pub, reason = "the fuzz target includes this file too")]

use base::rng::Seed;
use base::trace::Tracer;
use base::{Time, wire};
use host::{FlowPort, PacketPort as _};
use scenario::NoFiles;

const PATH: &str = r#"
    williwaw = 1
    [[hop]]
    name = "link"
    between = ["a", "b"]
    rate = "1 Mbit/s"
    delay = "1 ms"
    queue = "unlimited"
    [[flow]]
    name = "flow"
    from = "a"
    to = "b"
    transport = "linux"
    app = "bulk"
"#;

/// Reads the bytes as one packet, then as several: for each, a byte for its end and two for its length. An accepted
/// packet must leave at the other port, be still a packet, and leave nothing behind.
pub fn ip_packet(bytes: &[u8]) {
    if let Ok(digest) = wire::read(bytes) {
        assert!(digest.size as usize <= bytes.len() && digest.payload <= digest.size);
        let mut marked = bytes.to_vec();
        wire::set_ecn(&mut marked, !digest.ecn);
        assert_eq!(wire::read(&marked).map(|d| d.ecn), Ok(!digest.ecn & 3));
    }
    let Ok(scenario) = scenario::read("fuzz", PATH.as_bytes(), &NoFiles) else { panic!("a good scenario") };
    let world = scenario::build::build(scenario.first(), Seed { seed: 1, repetition: 0 }, Tracer::off());
    let (mut network, ends) = (world.network, world.flows[0]);
    network.start(None);
    let (mut rest, mut at, mut sent) = (bytes, 0u64, 0);
    while let [side, high, low, tail @ ..] = rest {
        let length = usize::from(*high % 8) * 256 + usize::from(*low);
        let (packet, next) = tail.split_at(length.min(tail.len()));
        let packet_port = if side % 2 == 0 { ends.from } else { ends.to };
        at += u64::from(*side) * 100_000;
        let taken = network.enter(Time::from_nanos(at), packet_port, |packet_port: &mut FlowPort, cx| {
            packet_port.inject(cx, packet)
        });
        sent += u32::from(matches!(taken, Some(Ok(_))));
        rest = next;
    }
    network.run_until(Time::from_secs_f64(3600.0));
    let mut left = 0;
    for packet_port in [ends.from, ends.to] {
        let now = network.now();
        while let Some(Some(leaving)) =
            network.enter(now, packet_port, |packet_port: &mut FlowPort, _| packet_port.next_departure())
        {
            assert!(wire::read(&leaving.bytes).is_ok());
            left += 1;
        }
    }
    assert_eq!((left, network.bodies()), (sent, 0));
}

const NARROW: &str = r#"
    williwaw = 1
    [[hop]]
    name = "core"
    between = ["a", "router"]
    rate = "10 Mbit/s"
    delay = "1 ms"
    [[hop]]
    name = "link"
    between = ["router", "b"]
    rate = "1 Mbit/s"
    delay = "1 ms"
    queue = "unlimited"
    mtu = "100 B"
    [[flow]]
    name = "flow"
    from = "a"
    to = "b"
    transport = { from = "linux", to = TO }
    app = "bulk"
"#;

/// Packets over a link with an MTU of 100 bytes, toward a real stack and toward a model with reassembly: what
/// passes fits and is a packet, and after an hour nothing waits for its rest.
pub fn fragments(bytes: &[u8]) {
    for (to, real) in
        [("\"linux\"", true), ("{ tcp = { give-up = \"10 s\", give-up-syn = \"10 s\" } }", false)]
    {
        let text = NARROW.replace("TO", to);
        let Ok(scenario) = scenario::read("fuzz", text.as_bytes(), &NoFiles) else {
            panic!("a good scenario")
        };
        let world = scenario::build::build(scenario.first(), Seed { seed: 1, repetition: 0 }, Tracer::off());
        let (mut network, ends) = (world.network, world.flows[0]);
        network.start(None);
        let (mut rest, mut at) = (bytes, 0u64);
        while let [side, high, low, tail @ ..] = rest {
            let length = usize::from(*high % 8) * 256 + usize::from(*low);
            let (packet, next) = tail.split_at(length.min(tail.len()));
            at += u64::from(*side) * 100_000;
            let packet_port = if real && side % 2 == 1 { ends.to } else { ends.from };
            let _ = network.enter(Time::from_nanos(at), packet_port, |packet_port: &mut FlowPort, cx| {
                packet_port.inject(cx, packet).is_ok()
            });
            assert_eq!(network.bodies() as usize, network.packets_inside());
            rest = next;
        }
        network.run_until(Time::from_secs_f64(3600.0));
        assert_eq!((network.bodies(), network.packets_inside()), (0, 0));
        for packet_port in [ends.from, ends.to].into_iter().take(if real { 2 } else { 1 }) {
            let now = network.now();
            while let Some(Some(leaving)) =
                network.enter(now, packet_port, |packet_port: &mut FlowPort, _| packet_port.next_departure())
            {
                let digest = wire::read(&leaving.bytes);
                let fits = |digest: wire::Digest| digest.size <= 100 || digest.protocol == wire::icmp::ICMP6;
                assert!(digest.is_ok_and(|digest| packet_port == ends.from || fits(digest)));
            }
        }
    }
}
