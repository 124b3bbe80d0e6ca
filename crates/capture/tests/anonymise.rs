//! Anonymised copies of captures: transport headers stay equal; addresses and payload are removed.

use base::wire::checksum::Sum;
use base::wire::{TCP, UDP};
use capture::anonymise::{Key, Mapping, copy};
use capture::{OutgoingFrame, Packet, PcapWriter, Reader, Tap, Transport};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;

const KEY: Key = Key(*b"a key of sixteen");

/// Number of leading bits common to two addresses.
fn shared(a: IpAddr, b: IpAddr) -> u32 {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => 0,
    }
}

proptest! {
    #[test]
    fn networks_stay_together(a: u32, b: u32, c: u128, d: u128, at in 0u32..128) {
        let mut mapping = Mapping::new(KEY);
        let mut holds = |a: IpAddr, b: IpAddr| (shared(a, b), shared(mapping.map(a), mapping.map(b)));
        // Random addresses, and neighbours.
        for (a, b) in [(a, b), (a, a ^ 1 << (at % 32))] {
            let (before, after) = holds(IpAddr::from(a.to_be_bytes()), IpAddr::from(b.to_be_bytes()));
            prop_assert!(before == after || a == u32::MAX || b == u32::MAX || a == 0 || b == 0);
        }
        for (c, d) in [(c, d), (c, c ^ 1 << at)] {
            let (before, after) = holds(IpAddr::from(c.to_be_bytes()), IpAddr::from(d.to_be_bytes()));
            prop_assert!(before == after || c == 0 || d == 0);
        }
    }
}

#[test]
fn the_key_decides_and_multicast_stays() {
    let address = |text: &str| text.parse::<IpAddr>().unwrap();
    let map = |key: Key, text: &str| Mapping::new(key).map(address(text));
    let here = map(KEY, "192.0.2.77");
    assert_ne!(here, address("192.0.2.77"));
    assert_eq!(here, map(KEY, "192.0.2.77"));
    assert_ne!(here, map(Key([0; 16]), "192.0.2.77"));
    for text in ["0.0.0.0", "255.255.255.255", "::"] {
        assert_eq!(map(KEY, text), address(text));
    }
    assert!(map(KEY, "224.1.2.3").is_multicast() && map(KEY, "ff02::1").is_multicast());
    assert!(!map(KEY, "100.1.2.3").is_multicast());
    // The key decides about every bit separately: over many addresses each is flipped in about half of the cases.
    let mut mapping = Mapping::new(KEY);
    let mut turned = [0u32; 32];
    for n in 0..2000u32 {
        let a = n.wrapping_mul(0x9e37_79b9) | 1;
        let IpAddr::V4(b) = mapping.map(IpAddr::from(a.to_be_bytes())) else { panic!() };
        for (bit, count) in turned.iter_mut().enumerate() {
            *count += (a ^ b.to_bits()) >> bit & 1;
        }
    }
    // The lower half has a separate decision for nearly every address: five standard deviations.
    assert!(turned[..16].iter().all(|n| (888..1112).contains(n)), "{turned:?}");
}

/// Fields of a packet that must not change.
fn kept(p: &Packet<'_>) -> (u32, u32, u32, Transport) {
    let transport = match p.transport {
        Transport::Tcp(mut tcp) => {
            (tcp.multipath, tcp.odd) = (false, false);
            Transport::Tcp(tcp)
        }
        other => other,
    };
    (p.ip.size, p.payload_len, u32::from(p.ip.ecn), transport)
}

/// Anonymises a file and compares the copy with it; returns the number of packets compared.
fn check(file: &[u8]) -> u64 {
    let mut out = Vec::new();
    let tally = copy(&mut Reader::open(file).unwrap(), &mut out, &mut Mapping::new(KEY), "test").unwrap();
    let (mut before, mut after) = (Reader::open(file).unwrap(), Reader::open(&out[..]).unwrap());
    let mut names: BTreeMap<IpAddr, IpAddr> = BTreeMap::new();
    let mut left_out = 0;
    while let Some(frame) = before.next().unwrap() {
        let Ok(old) = frame.decode() else {
            left_out += 1;
            continue;
        };
        let copy = after.next().unwrap().unwrap();
        let new = copy.decode().unwrap();
        assert_eq!((frame.time_ns, frame.interface), (copy.time_ns, copy.interface));
        assert_eq!(kept(&old), kept(&new));
        assert!(new.payload.is_empty(), "something was said");
        assert_eq!(copy.comments().count(), 0);
        for (a, b) in [(old.ip.source, new.ip.source), (old.ip.destination, new.ip.destination)] {
            assert_eq!(*names.entry(a).or_insert(b), b);
        }
        let header = new.ip.header as usize;
        if new.ip.version == 4 {
            assert_eq!(Sum::ZERO.and(&copy.bytes[..header]).finish(), 0);
        }
        let protocol = match new.transport {
            Transport::Tcp(tcp) if !tcp.cut => TCP,
            Transport::Udp { .. } if copy.bytes[header + 6..header + 8] != [0, 0] => UDP,
            _ => continue,
        };
        let length = new.ip.size - new.ip.header;
        let pseudo = Sum::ZERO.and_pseudo(new.ip.source, new.ip.destination, protocol, length);
        assert_eq!(pseudo.and(&copy.bytes[header..]).finish(), 0, "checksum");
    }
    assert!(after.next().unwrap().is_none() && after.notices().is_empty());
    assert_eq!(tally.left_out, left_out);
    tally.written
}

#[test]
fn copies_of_captures_have_the_same_transports() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/captures");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("left out: {} is not here", folder.display());
        return;
    };
    for entry in entries {
        let mut file = Vec::new();
        File::open(entry.unwrap().path()).unwrap().read_to_end(&mut file).unwrap();
        assert!(check(&file) > 0);
    }
}

#[test]
fn what_was_said_is_gone() {
    let secret = b"SECRETSECRET";
    let tcp_options = [&[30u8, 14][..], secret, &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]].concat();
    let mut tcp = vec![0u8; 20];
    tcp[12] = ((5 + tcp_options.len() / 4) << 4) as u8;
    tcp.extend(&tcp_options);
    tcp.extend(secret);
    let extension = |kind: u8| [&[kind, 1, 5, 12][..], secret].concat();
    let v6 = |next: u8, inner: &[u8]| {
        let mut ip = vec![0x60, 0, 0, 0, 0, inner.len() as u8, next, 64];
        ip.extend([0x20; 32]);
        ip.extend(inner);
        ip
    };
    let v4 = |protocol: u8, inner: &[u8]| {
        let mut ip = vec![
            0x48,
            0,
            0,
            32 + inner.len() as u8,
            0,
            7,
            0x40,
            0,
            64,
            protocol,
            0,
            0,
            10,
            0,
            0,
            1,
            10,
            0,
            0,
            2,
        ];
        ip.extend(secret);
        ip.extend(inner);
        ip
    };
    let udp = [&[0u8, 1, 0, 2, 0, 20, 1, 1][..], secret].concat();
    let packets = [
        v4(6, &tcp),
        v4(17, &udp),
        v4(132, &[&[0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0][..], secret].concat()),
        v4(1, &[&[8, 0, 0, 0][..], secret].concat()),
        v4(99, secret),
        v6(0, &[extension(60), extension(43), extension(6), tcp.clone()].concat()),
        v6(17, &udp),
    ];
    let mut writer = PcapWriter::new(Vec::new(), Tap::ip("SECRET")).unwrap();
    for bytes in &packets {
        writer
            .write(&OutgoingFrame { time_ns: 5, tap: 0, wire_len: bytes.len() as u32, bytes, comment: "" })
            .unwrap();
    }
    let file = writer.finish().unwrap();
    assert_eq!(check(&file), packets.len() as u64);
    let mut out = Vec::new();
    copy(&mut Reader::open(&file[..]).unwrap(), &mut out, &mut Mapping::new(KEY), "test").unwrap();
    assert!(!out.windows(4).any(|w| secret.windows(4).any(|s| s == w)), "a secret is left");
}
