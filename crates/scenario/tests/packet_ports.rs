//! The claim: no input of a stack harms a port, and packets pass unchanged. The fuzzer's corpus is replayed, and
//! nearly valid packets are generated.

#[path = "packet_ports/mod.rs"]
mod fuzz;

use proptest::prelude::*;

#[test]
fn the_corpus_is_harmless() {
    testkit::corpus::replay("ip_packet", 4, fuzz::ip_packet);
}

/// A packet with a valid IP header, any protocol number, and arbitrary content.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let inside = proptest::collection::vec(any::<u8>(), 0..120);
    (any::<bool>(), prop_oneof![Just(6u8), Just(17), any::<u8>()], any::<u8>(), inside).prop_map(
        |(v6, protocol, tos, inside)| {
            let mut b;
            if v6 {
                b = vec![0x60 | tos >> 4, tos << 4, 0, 0, 0, inside.len() as u8, protocol, 64];
                b.resize(40, 0);
            } else {
                b = vec![0x45, tos, 0, 20 + inside.len() as u8, 0, 0, 0, 0, 64, protocol];
                b.resize(20, 0);
            }
            b.extend(inside);
            b
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// NS-21: fragments, whole packets and ICMP, nearly right, meet a link with an MTU and a model that joins them.
    #[test]
    fn fragments_of_any_kind_pass(packets in proptest::collection::vec((any::<u8>(), packet(), 0u8..6, any::<u8>(), any::<bool>()), 1..12)) {
        let mut bytes = Vec::new();
        for (side, mut packet, offset, id, more) in packets {
            if packet[0] == 0x45 {
                (packet[5], packet[6], packet[7]) = (id % 3, u8::from(more) << 5, offset);
                packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
            }
            bytes.extend([side, (packet.len() >> 8) as u8, packet.len() as u8]);
            bytes.extend(packet);
        }
        fuzz::fragments(&bytes);
    }

    #[test]
    fn packets_of_any_kind_pass(packets in proptest::collection::vec((any::<u8>(), packet()), 1..12)) {
        let mut bytes = Vec::new();
        for (side, packet) in packets {
            bytes.extend([side, (packet.len() >> 8) as u8, packet.len() as u8]);
            bytes.extend(packet);
        }
        fuzz::ip_packet(&bytes);
    }

    #[test]
    fn bytes_of_any_kind_are_harmless(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzz::ip_packet(&bytes);
    }
}
