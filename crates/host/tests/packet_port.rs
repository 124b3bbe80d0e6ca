//! Test of corrupt packets at a packet port: one bit of the frame is flipped.

use base::packet::{Flags, FlowId, NodeId, Packet};
use base::trace::Tracer;
use base::{Span, Time};
use host::{Deadlines, FlowPort, FlowPortConfig, PacketPort as _};
use path::{Cx, Element, Network, Port};
use transport::tcp::Role;

/// Element that corrupts packets if the flag is set.
struct Air(bool);

impl Element for Air {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        let flags = if self.0 { packet.flags.with(Flags::CORRUPT) } else { packet.flags };
        cx.forward(Port(0), Packet { flags, ..packet });
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}

/// An IPv4 datagram with this UDP payload, bytes.
fn datagram(payload: usize) -> Vec<u8> {
    let total = (28 + payload) as u16;
    let mut bytes = vec![0x45, 0];
    bytes.extend(total.to_be_bytes());
    bytes.extend([0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend([0x12, 0x34, 0x56, 0x78]);
    bytes.extend((8 + payload as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.resize(28 + payload, 0x5a);
    bytes
}

/// SW-37: one bit is flipped on exit, and a checksum detects it; other packets leave as they entered.
#[test]
fn sw_37_a_port_flips_a_bit_of_a_corrupt_packet() {
    for corrupt in [false, true] {
        let mut network = Network::new(1, Tracer::off());
        let packet_port = |node, role| {
            FlowPort::new(FlowPortConfig {
                flow: FlowId(0),
                node: NodeId(node),
                peer: NodeId(1 - node),
                role,
                deadlines: Deadlines::default(),
            })
        };
        let to = network.add(packet_port(1, Role::Passive));
        let air = network.add(Air(corrupt));
        let from = network.add(packet_port(0, Role::Active));
        network.wire(from, Port(0), air, Port(0));
        network.wire(air, Port(0), to, Port(0));
        network.start(None);
        let mut places = Vec::new();
        for i in 0..50u64 {
            let at = Time::ZERO + Span::from_millis(i);
            let bytes = datagram(100);
            network
                .enter(at, from, |packet_port: &mut FlowPort, cx| packet_port.inject(cx, &bytes))
                .unwrap()
                .unwrap();
            let out = network
                .enter(at, to, |packet_port: &mut FlowPort, _| packet_port.next_departure())
                .unwrap()
                .unwrap();
            let wrong = bytes.iter().zip(&out.bytes).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
            assert_eq!((out.bytes.len(), wrong), (bytes.len(), u32::from(corrupt)));
            places.extend(bytes.iter().zip(&out.bytes).position(|(a, b)| a != b));
        }
        places.sort_unstable();
        places.dedup();
        assert!(!corrupt || places.len() > 20, "another bit each time: {places:?}");
        let ledger = &network.ledgers()[0];
        assert_eq!(ledger.other_drops, if corrupt { 50 } else { 0 });
        assert_eq!(network.bodies(), 0);
    }
}
