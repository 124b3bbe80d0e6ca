//! Packet headers in frames of every link type.

use base::wire::{Malformed, flag};
use capture::{Link, Transport, Unread, decode};
use std::net::IpAddr;

const PAYLOAD: &[u8] = b"payload!";

fn segment() -> Vec<u8> {
    let mut tcp = [5000u16, 6000].map(u16::to_be_bytes).concat();
    tcp.extend([7u32, 9].map(u32::to_be_bytes).concat());
    tcp.extend([8 << 4, flag::ACK | flag::PSH, 2, 0, 0, 0, 0, 3]);
    tcp.extend([1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4]);
    tcp.extend(PAYLOAD);
    tcp
}

/// IPv4 packet with `inner` as its payload.
fn v4(protocol: u8, fragment: u16, inner: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x45, 0xb8 | 2];
    ip.extend((20 + inner.len() as u16).to_be_bytes());
    ip.extend([0x12, 0x34]);
    ip.extend(fragment.to_be_bytes());
    ip.extend([63, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    ip.extend(inner);
    ip
}

/// IPv6 packet with `inner` as its payload.
fn v6(next: u8, inner: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x6b, 0x80, 0, 0];
    ip.extend((inner.len() as u16).to_be_bytes());
    ip.extend([next, 62]);
    ip.extend([[0x20; 16], [0x21; 16]].concat());
    ip.extend(inner);
    ip
}

#[test]
fn ip_is_found_behind_every_link() {
    let (four, six) = (v4(6, 0x4000, &segment()), v6(6, &segment()));
    let ethernet = |kind: &[u8]| [&[0; 12], kind].concat();
    let snap: &[u8] = &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let cases: Vec<(u16, Vec<u8>, &[u8])> = vec![
        (1, ethernet(&[8, 0]), &four),
        (1, ethernet(&[0x86, 0xdd]), &six),
        (1, ethernet(&[0x81, 0, 0, 5, 8, 0]), &four),
        (1, ethernet(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 0x86, 0xdd]), &six),
        (1, ethernet(&[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64]), &four),
        (1, ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 82, 0, 0x57]), &six),
        (1, ethernet(&[&[0, 60], snap].concat()), &four),
        (1, ethernet(&[0, 60, 6, 6, 3]), &four),
        (0, vec![2, 0, 0, 0], &four),
        (0, vec![0, 0, 0, 30], &six),
        (108, vec![0, 0, 0, 2], &four),
        (9, vec![0xff, 3, 0, 0x21], &four),
        (9, vec![0x57], &six),
        (50, vec![0xff, 3, 0, 0x21], &four),
        (50, vec![0x0f, 0, 8, 0], &four),
        (51, vec![0x11, 0, 0, 1, 0, 64, 0, 0x21], &four),
        (104, vec![0x8f, 0, 0x86, 0xdd], &six),
        (166, vec![1, 0xff, 3, 0, 0x21], &four),
        (204, vec![0, 0, 0x57], &six),
        (10, [&[0x50; 13], snap].concat(), &four),
        (113, [&[0; 14][..], &[8, 0]].concat(), &four),
        (113, [&[0; 14][..], &[0x81, 0, 0, 5, 0x86, 0xdd]].concat(), &six),
        (113, [&[0; 14][..], &[0, 4], snap].concat(), &four),
        (276, [&[8, 0][..], &[0; 18]].concat(), &four),
        // IEEE 802.11: with four addresses, with QoS control, with a timestamp and a padding flag in the radio header;
        // then the older radio headers.
        (105, [&[0x08, 1][..], &[0; 22], snap].concat(), &four),
        (105, [&[0x08, 3][..], &[0; 28], snap].concat(), &four),
        (105, [&[0x88, 2][..], &[0; 24], snap].concat(), &four),
        (127, [&[0, 0, 17, 0, 3, 0, 0, 0][..], &[7; 8], &[0x20], &[0x88, 1], &[0; 26], snap].concat(), &four),
        (127, [&[0, 0, 12, 0, 0, 0, 0, 0x80, 0, 0, 0, 0][..], &[0x08, 1], &[0; 22], snap].concat(), &four),
        (119, [&[0; 144][..], &[0x08, 1], &[0; 22], snap].concat(), &four),
        (
            163,
            [&[0x80, 0x21, 0x10, 1, 0, 0, 0, 64][..], &[0; 56], &[0x08, 1], &[0; 22], snap].concat(),
            &four,
        ),
        // Headers with a protocol field: netfilter's log, and Apple's in either byte order.
        (192, [&[0, 0, 8, 0, 1, 0, 0, 0][..], &[0; 12], &[8, 0]].concat(), &four),
        (239, vec![2, 0, 0, 9, 8, 0, 10, 0, 0, 0, 0, 0, 7, 0, 6, 0, b'e', b'0', 0, 0, 64, 0, 9, 0], &four),
        (239, vec![10, 0, 0, 9, 0, 8, 0, 10, 0, 0, 0, 0, 0, 84, 0, 9], &six),
        (258, [&[108, 0, 0, 0, 1, 0, 0, 0, 12, 0, 0, 0][..], &[0; 96]].concat(), &four),
        (
            149,
            [&[0, 0, 0, 108, 0, 0, 0, 1, 0, 0, 0, 1][..], &[0; 96], &[0; 12], &[0x86, 0xdd]].concat(),
            &six,
        ),
        (12, vec![], &four),
        (14, vec![], &six),
        (101, vec![], &six),
        (228, vec![], &four),
        (229, vec![], &six),
    ];
    for (link, before, ip) in cases {
        // With a trailer, which does not belong to the packet.
        let frame = [&before, ip, &[0; 6]].concat();
        let packet = decode(Link(link), &frame, frame.len() as u32).unwrap_or_else(|e| panic!("{link}: {e}"));
        assert_eq!(packet.network, before.len(), "{link}");
        assert_eq!((packet.payload, packet.payload_len), (PAYLOAD, 8), "{link}");
        let tcp = packet.tcp().unwrap();
        assert_eq!((tcp.seq, tcp.ack, tcp.timestamps), (7, 9, Some((3, 4))));
        assert!(Link(link).name().is_some());
        // Truncated at any length, nothing is invented.
        for kept in 0..frame.len() {
            match decode(Link(link), &frame[..kept], frame.len() as u32) {
                Err(why) => assert!(matches!(why, Unread::Short | Unread::NotIp(_)), "{link}: {why}"),
                Ok(cut) => {
                    assert_eq!(cut.ip, packet.ip);
                    assert_eq!(cut.cut, kept < before.len() + ip.len());
                    match cut.tcp() {
                        Some(tcp) => assert_eq!((tcp.seq, cut.payload_len), (7, 8)),
                        None => assert_eq!(cut.transport, Transport::Unreadable),
                    }
                }
            }
        }
    }
    assert_eq!(decode(Link(147), &four, 100), Err(Unread::Link));
    let arp = ethernet(&[8, 6, 0, 0]);
    assert_eq!(decode(Link::ETHERNET, &arp, 60), Err(Unread::NotIp(0x806)));
    let endless = [0x81, 0, 0, 1].repeat(50);
    assert!(decode(Link::ETHERNET, &ethernet(&endless), 300).is_err());
}

#[test]
fn headers_of_both_versions_are_read() {
    let frame = v4(6, 0x4000, &segment());
    let p = decode(Link::RAW, &frame, 0).unwrap();
    let ip = p.ip;
    assert_eq!((ip.version, ip.ecn, ip.class, ip.ttl, ip.protocol), (4, 2, 46, 63, 6));
    assert_eq!((ip.id, ip.whole, ip.fragment, ip.size, ip.header), (Some(0x1234), true, None, 60, 20));
    assert_eq!((ip.source, ip.destination), (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])));
    let frame = v6(6, &segment());
    let ip = decode(Link::RAW, &frame, 0).unwrap().ip;
    assert_eq!((ip.version, ip.ecn, ip.class, ip.ttl, ip.id), (6, 0, 46, 62, None));
    assert_eq!((ip.source, ip.destination), (IpAddr::from([0x20; 16]), IpAddr::from([0x21; 16])));
    // Hop-by-hop options, routing, destination options, authentication, then a fragment that is complete.
    let mut inner = vec![43, 0, 0, 0, 0, 0, 0, 0];
    inner.extend([60, 0, 0, 0, 0, 0, 0, 0]);
    inner.extend([51, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    inner.extend([44, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    inner.extend([6, 0, 0, 0, 0, 0, 0, 9]);
    let headers = inner.len() as u32;
    inner.extend(segment());
    let frame = v6(0, &inner);
    let p = decode(Link::RAW, &frame, 0).unwrap();
    assert_eq!((p.ip.header, p.ip.id, p.ip.fragment), (40 + headers, Some(9), None));
    assert_eq!((p.tcp().unwrap().seq, p.payload), (7, PAYLOAD));
}

#[test]
fn fragments_and_other_transports_are_told() {
    let first = v4(6, 0x2000, &segment());
    let p = decode(Link::RAW, &first, 0).unwrap();
    assert!(p.tcp().is_some() && p.ip.fragment.is_some_and(|f| f.more && f.offset == 0));
    let later = v4(6, 5, &[1; 24]);
    let p = decode(Link::RAW, &later, 0).unwrap();
    assert_eq!((p.transport, p.payload_len, p.ip.fragment.unwrap().offset), (Transport::Fragment, 24, 40));
    let six = v6(44, &[&[6, 0, 0, 0x10, 0, 0, 0, 5][..], &[1; 16]].concat());
    let p = decode(Link::RAW, &six, 0).unwrap();
    assert_eq!((p.transport, p.ip.id, p.payload_len), (Transport::Fragment, Some(5), 16));
    let udp = [&[0, 1, 0, 2, 0, 12, 0, 0][..], b"abcd"].concat();
    let frame = v4(17, 0, &udp);
    let p = decode(Link::RAW, &frame, 0).unwrap();
    assert_eq!((p.transport, p.payload), (Transport::Udp { source: 1, destination: 2 }, &b"abcd"[..]));
    let sctp = [&[0, 3, 0, 4, 0, 0, 0, 9, 0, 0, 0, 0][..], b"chunk"].concat();
    let frame = v4(132, 0, &sctp);
    let p = decode(Link::RAW, &frame, 0).unwrap();
    assert_eq!(
        (p.transport, p.payload),
        (Transport::Sctp { source: 3, destination: 4, tag: 9 }, &b"chunk"[..])
    );
    let frame = v4(1, 0, b"ping");
    assert_eq!(decode(Link::RAW, &frame, 0).unwrap().transport, Transport::Other);
    for (protocol, inner) in [(6, &[0; 19][..]), (6, &[0; 20]), (17, &[0; 7]), (132, &[0; 7])] {
        let frame = v4(protocol, 0, inner);
        assert_eq!(decode(Link::RAW, &frame, 0).unwrap().transport, Transport::Unreadable, "{protocol}");
    }
    assert_eq!(decode(Link::RAW, &[0x75; 40], 0), Err(Unread::Malformed(Malformed::Version)));
}

#[test]
fn a_segment_before_the_network_card_has_cut_it_up_has_its_length_from_the_frame() {
    let mut frame = v4(6, 0, &segment());
    frame[2..4].fill(0);
    let p = decode(Link::RAW, &frame, 70_000).unwrap();
    assert_eq!((p.ip.size, p.payload_len, p.cut), (70_000, 70_000 - 52, true));
    let mut frame = v6(6, &segment());
    frame[4..6].fill(0);
    let p = decode(Link::RAW, &frame, 90_000).unwrap();
    assert_eq!((p.ip.size, p.payload_len), (90_000, 90_000 - 72));
}

#[test]
fn options_are_read_and_unknown_ones_stepped_over() {
    let with = |options: &[u8]| {
        let mut options = options.to_vec();
        options.resize(options.len().next_multiple_of(4), 0);
        let mut tcp = segment();
        tcp.truncate(20);
        tcp[12] = ((5 + options.len() / 4) << 4) as u8;
        tcp.extend(options);
        *decode(Link::RAW, &v4(6, 0, &tcp), 0).unwrap().tcp().unwrap()
    };
    let syn = with(&[2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7]);
    assert_eq!(
        (syn.mss, syn.permits_sack, syn.timestamps, syn.scale),
        (Some(1460), true, Some((1, 0)), Some(7))
    );
    // Multipath TCP, Fast Open, an experimental option, MD5, then the known options.
    let many =
        with(&[30, 4, 0, 1, 34, 2, 254, 4, 0xf9, 0x89, 19, 6, 1, 2, 3, 4, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    assert!(many.multipath && !many.odd);
    assert_eq!(many.blocks(), [(1, 2)]);
    let four = with(&[&[5, 34][..], &[9; 32]].concat());
    assert_eq!(four.blocks().len(), 4);
    for odd in [&[2, 0][..], &[2, 1], &[1, 1, 8, 12], &[1, 1, 1, 8]] {
        assert!(with(odd).odd, "{odd:?}");
    }
    // A list that ends early gives no information about later options.
    assert!(!with(&[0, 8, 99, 1]).odd);
}

/// A tunnel is read as its inner packet; if that is unreadable, as the outer one.
#[test]
fn packets_in_tunnels_are_read() {
    let (four, six) = (v4(6, 0x4000, &segment()), v6(6, &segment()));
    let udp = |from: u16, to: u16, head: &[u8], inner: &[u8]| {
        let length = 8 + head.len() + inner.len();
        let ports = [from.to_be_bytes(), to.to_be_bytes(), (length as u16).to_be_bytes(), [0, 0]].concat();
        v4(17, 0, &[&ports, head, inner].concat())
    };
    let ethernet: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x81, 0, 0, 7, 8, 0];
    let with = |head: &[u8], inner: &[u8]| [head, inner].concat();
    let cases: Vec<(&str, Vec<u8>, &[u8])> = vec![
        ("IP in IP", v4(4, 0, &four), &four),
        ("version 6 in 4", v4(41, 0, &six), &six),
        ("version 4 in 6", v6(4, &four), &four),
        ("GRE", v4(47, 0, &with(&[0, 0, 8, 0], &four)), &four),
        ("GRE with all", v4(47, 0, &with(&[&[0xb0, 0, 0x86, 0xdd][..], &[1; 12]].concat(), &six)), &six),
        ("GRE, bridged", v4(47, 0, &with(&[&[0, 0, 0x65, 0x58][..], ethernet].concat(), &four)), &four),
        (
            "PPTP",
            v4(47, 0, &with(&[0x30, 0x81, 0x88, 0x0b, 0, 9, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0x21], &four)),
            &four,
        ),
        ("GTP", udp(2152, 2152, &[0x30, 255, 0, 60, 0, 0, 0, 5], &four), &four),
        ("GTP from its port", udp(2152, 9999, &[0x32, 255, 0, 84, 0, 0, 0, 5, 0, 1, 0, 0], &six), &six),
        // As in 5G: an extension header with the QoS flow, and another of two words.
        (
            "GTP with extensions",
            udp(
                40_000,
                2152,
                &[0x34, 255, 0, 76, 0, 0, 0, 5, 0, 0, 0, 0x85, 1, 0, 1, 0x40, 2, 0, 0, 0, 0, 0, 0, 0],
                &four,
            ),
            &four,
        ),
        ("VXLAN", udp(1, 4789, &with(&[8, 0, 0, 0, 0, 0, 9, 0], ethernet), &four), &four),
        ("Geneve", udp(1, 6081, &with(&[1, 0, 0x65, 0x58, 0, 0, 9, 0, 0, 0, 0, 0], ethernet), &four), &four),
        ("Geneve without Ethernet", udp(1, 6081, &[0, 0, 8, 0, 0, 0, 9, 0], &four), &four),
        ("L2TP", udp(1701, 1701, &[0, 2, 0, 1, 0, 2, 0xff, 3, 0, 0x21], &four), &four),
        (
            "L2TP with all",
            udp(1701, 1701, &[0x4a, 2, 0, 90, 0, 1, 0, 2, 0, 3, 0, 4, 0, 2, 9, 9, 0x57], &six),
            &six,
        ),
        (
            "tunnels in tunnels",
            v4(
                4,
                0,
                &udp(2152, 2152, &[0x30, 255, 0, 84, 0, 0, 0, 5], &v4(47, 0, &with(&[0, 0, 8, 0], &four))),
            ),
            &four,
        ),
    ];
    for (name, outer, inner) in cases {
        let frame = [&[0; 12][..], &[8, 0], &outer, &[0; 6]].concat();
        let packet = decode(Link::ETHERNET, &frame, frame.len() as u32).unwrap();
        let alone = decode(Link::RAW, inner, 0).unwrap();
        assert_eq!((packet.ip, packet.transport), (alone.ip, alone.transport), "{name}");
        assert_eq!((packet.payload, packet.payload_len, packet.cut), (PAYLOAD, 8, false), "{name}");
        assert_eq!(&frame[packet.network..packet.network + inner.len()], inner, "{name}");
        // Truncated at any length, it is either the inner or the outer packet.
        for kept in 0..frame.len() {
            let Ok(cut) = decode(Link::ETHERNET, &frame[..kept], frame.len() as u32) else { continue };
            assert!(cut.ip.source == alone.ip.source || cut.tcp().is_none(), "{name}: {kept}");
            assert_eq!(cut.cut, kept < 14 + outer.len(), "{name}: {kept}");
        }
    }
    // Packets that only resemble a tunnel are left as they are.
    let told = |frame: &[u8]| decode(Link::RAW, frame, 0).unwrap().transport;
    let alike = udp(2152, 2152, &[0x30, 255, 0, 60, 0, 0, 0, 5], &[0x45; 30]);
    assert_eq!(told(&alike), Transport::Udp { source: 2152, destination: 2152 });
    for (port, head) in [(2152, [0x30, 1]), (2152, [0x50, 255]), (1701, [0xc8, 2]), (4789, [0, 0])] {
        let frame = udp(5, port, &[&head[..], &[0; 6]].concat(), &four);
        let kind = told(&frame);
        assert!(matches!(kind, Transport::Udp { .. }), "{port}: {kind:?}");
    }
    assert_eq!(told(&v4(47, 0, &with(&[0x40, 0, 8, 0], &four))), Transport::Other);
    // The inner packet is longer than the outer one.
    let mut long = v4(4, 0, &four);
    long[22..24].copy_from_slice(&500u16.to_be_bytes());
    assert_eq!(told(&long), Transport::Other);
}

/// PPPoE has its own length field; a device that counts the padding of short frames as IP does not change the length.
#[test]
fn a_length_below_ip_counts() {
    let mut ip = v4(6, 0, &segment());
    ip.truncate(52);
    ip.extend([0; 8]);
    let frame = [&[0; 12][..], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 54, 0, 0x21], &ip].concat();
    let packet = decode(Link::ETHERNET, &frame, frame.len() as u32).unwrap();
    assert_eq!((packet.ip.size, packet.payload_len, packet.cut), (52, 0, false));
    assert_eq!(packet.tcp().unwrap().seq, 7);
}
