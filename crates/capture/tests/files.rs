//! Capture files in pcap and pcapng format, in every byte order and resolution: complete, truncated and damaged.

use capture::{Error, Format, Link, NoticeKind, OutgoingFrame, PcapWriter, PcapngWriter, Reader, Tap};
use proptest::prelude::*;

/// Byte order of a file.
#[derive(Clone, Copy)]
struct Order {
    big: bool,
}

impl Order {
    fn u16(self, n: u16) -> [u8; 2] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }
    fn u32(self, n: u32) -> [u8; 4] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }
    fn u64(self, n: u64) -> [u8; 8] {
        if self.big { n.to_be_bytes() } else { n.to_le_bytes() }
    }
    fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        let mut out = [self.u16(code), self.u16(value.len() as u16)].concat();
        out.extend(value);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }
    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = self.u32(body.len() as u32 + 12);
        [&self.u32(kind)[..], &length, &body, &length].concat()
    }
    fn section(self) -> Vec<u8> {
        let body = [&self.u32(0x1a2b_3c4d)[..], &self.u16(1), &self.u16(0), &self.u64(u64::MAX)].concat();
        self.block(0x0a0d_0d0a, &body)
    }
    fn interface(self, link: u16, snap: u32, options: &[u8]) -> Vec<u8> {
        self.block(1, &[&self.u16(link)[..], &self.u16(0), &self.u32(snap), options].concat())
    }
    fn packet(self, interface: u32, units: u64, bytes: &[u8], options: &[u8]) -> Vec<u8> {
        let length = self.u32(bytes.len() as u32);
        let mut body =
            [self.u32(interface), self.u32((units >> 32) as u32), self.u32(units as u32), length, length]
                .concat();
        body.extend(bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(options);
        self.block(6, &body)
    }
}

const ORDERS: [Order; 2] = [Order { big: false }, Order { big: true }];

/// Time, interface, original length, captured bytes.
type Seen = (i64, u32, u32, Vec<u8>);

/// All packets and notices of a file.
fn frames(file: &[u8]) -> (Vec<Seen>, Vec<NoticeKind>) {
    let mut reader = Reader::open(file).unwrap();
    let mut out = Vec::new();
    while let Some(f) = reader.next().unwrap() {
        out.push((f.time_ns, f.interface, f.wire_len, f.bytes.to_vec()));
    }
    assert_eq!(reader.frames() as usize, out.len());
    (out, reader.notices().kept().iter().map(|notice| notice.kind).collect())
}

#[test]
fn pcap_in_every_order_and_resolution() {
    for order in ORDERS {
        for (magic, unit, extra, (major, minor)) in [
            (0xa1b2_c3d4u32, 1000, 0, (2, 4)),
            (0xa1b2_3c4d, 1, 0, (2, 4)),
            // The modified pcap format of Linux, with longer record headers.
            (0xa1b2_cd34, 1000, 8, (2, 4)),
            // Captured and original length exchanged.
            (0xa1b2_c3d4, 1000, 0, (2, 2)),
        ] {
            let header =
                [order.u32(magic).to_vec(), order.u16(major).to_vec(), order.u16(minor).to_vec()].concat();
            let mut file = [header, vec![0; 8], order.u32(4).to_vec(), order.u32(101).to_vec()].concat();
            for (seconds, below, wire, bytes) in
                [(7u32, 5u32, 60u32, &b"abcd"[..]), (4_000_000_000, 999_999, 3, b"xyz")]
            {
                let lengths = [bytes.len() as u32, wire];
                let [first, second] = if minor == 2 { [lengths[1], lengths[0]] } else { lengths };
                file.extend([seconds, below, first, second].map(|n| order.u32(n)).concat());
                file.resize(file.len() + extra, 0);
                file.extend(bytes);
            }
            let (found, notices) = frames(&file);
            assert!(notices.is_empty());
            assert_eq!(
                found[0],
                (7_000_000_000 + 5 * unit, 0, 60, b"abcd".to_vec()),
                "{magic:x} {}",
                order.big
            );
            assert_eq!(found[1], (4_000_000_000_000_000_000 + 999_999 * unit, 0, 3, b"xyz".to_vec()));
            // Truncated in a packet, in a header, and between packets.
            for (cut, whole) in [(1, 1), (3 + extra + 9, 1), (3 + extra + 16, 1), (3 + extra + 16 + 1, 0)] {
                let (found, notices) = frames(&file[..file.len() - cut]);
                assert_eq!(found.len(), whole);
                assert_eq!(notices.is_empty(), cut == 3 + extra + 16);
                assert!(notices.iter().all(|kind| *kind == NoticeKind::CutOff));
            }
            // An impossible length ends the reading, since the next record cannot be found.
            let at = file.len() - 3 - extra - 8 + if minor == 2 { 4 } else { 0 };
            file[at..at + 4].copy_from_slice(&order.u32(1 << 30));
            let (found, notices) = frames(&file);
            assert_eq!((found.len(), notices), (1, vec![NoticeKind::Damaged, NoticeKind::Stopped]));
        }
    }
}

#[test]
fn pcapng_sections_clocks_and_blocks() {
    let mut file = Vec::new();
    for order in ORDERS {
        file.extend(order.section());
        let clock = |resolution: u8, offset: u64| {
            let mut options = order.option(2, b"eth0");
            options.extend(order.option(9, &[resolution]));
            options.extend(order.option(14, &order.u64(offset)));
            options.extend(order.option(0, &[]));
            options
        };
        file.extend(order.interface(1, 0, &[]));
        file.extend(order.interface(101, 4, &clock(9, 0)));
        file.extend(order.interface(113, 0, &clock(0x80 | 10, 100)));
        file.extend(order.block(0xbad, b"somebody's own"));
        file.extend(order.packet(0, 5_000_000, b"micro", &[]));
        let comments = [
            order.option(1, b"one"),
            order.option(2, &order.u32(2)),
            order.option(1, "zw\u{f6}lf".as_bytes()),
            order.option(1, b"broken \xff"),
            order.option(0, &[]),
        ];
        file.extend(order.packet(1, 5_000_000_007, b"nano", &comments.concat()));
        file.extend(order.packet(2, 1024 + 512, b"binary", &[]));
        // From an interface without a description.
        file.extend(order.packet(3, 0, b"lost", &[]));
        // Without a time, truncated to the interface's snapshot length; the obsolete packet block.
        file.extend(order.block(3, &[&order.u32(6)[..], b"simple"].concat()));
        let obsolete =
            [&order.u16(1)[..], &order.u16(9), &[0u32, 77, 3, 9].map(|n| order.u32(n)).concat(), b"old"];
        file.extend(order.block(2, &obsolete.concat()));
        let statistics = [[1u32, 0, 0].map(|n| order.u32(n)).concat(), order.option(5, &order.u64(42))];
        file.extend(order.block(5, &statistics.concat()));
    }
    let mut reader = Reader::open(&file[..]).unwrap();
    assert_eq!(reader.format(), Format::Pcapng);
    for first in [0, 3] {
        let mut next = |time: i64, interface: u32, wire: u32, bytes: &[u8]| {
            let frame = reader.next().unwrap().unwrap();
            assert_eq!((frame.time_ns, frame.interface, frame.wire_len), (time, first + interface, wire));
            assert_eq!(frame.bytes, bytes);
            (frame.link, frame.comments().map(str::to_owned).collect::<Vec<_>>(), frame.flags())
        };
        assert_eq!(next(5_000_000_000, 0, 5, b"micro"), (Link::ETHERNET, vec![], None));
        let comments = vec!["one".to_owned(), "zw\u{f6}lf".into(), "broken ".into()];
        assert_eq!(next(5_000_000_007, 1, 4, b"nano"), (Link::RAW, comments, Some(2)));
        assert_eq!(next(101_500_000_000, 2, 6, b"binary").0, Link::LINUX_SLL);
        next(101_500_000_000, 0, 6, b"simple");
        next(77, 1, 9, b"old");
    }
    assert!(reader.next().unwrap().is_none());
    let lost: Vec<_> = reader.interfaces().iter().map(|i| (i.section, i.lost, i.name.clone())).collect();
    assert_eq!(lost[1], (0, Some(42), Some("eth0".into())));
    assert_eq!(lost[4], (1, Some(42), Some("eth0".into())));
    let notices = reader.notices();
    assert_eq!(notices.count(NoticeKind::NoInterface), 2);
    assert_eq!(notices.count(NoticeKind::NoTime), 2);
    assert_eq!(notices.count(NoticeKind::Damaged), 0);
}

#[test]
fn what_is_damaged_is_left_out_and_the_rest_is_read() {
    for order in ORDERS {
        let head = [order.section(), order.interface(101, 0, &[])].concat();
        let packet = |n: u8| order.packet(0, u64::from(n), &[n; 50], &[]);
        let seen = |file: &[u8]| -> Vec<u8> { frames(file).0.iter().map(|frame| frame.3[0]).collect() };
        // Bytes between blocks.
        let file = [head.clone(), packet(1), b"rubbish".to_vec(), packet(2), packet(3)].concat();
        let (found, notices) = frames(&file);
        assert_eq!(found.iter().map(|f| f.3[0]).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(notices, [NoticeKind::Damaged, NoticeKind::Resumed]);
        // A first length that is too short, no multiple of four, too long for a packet, longer than the file.
        for length in [8u32, 83, 40, 1 << 20, 1 << 30] {
            let mut second = packet(2);
            second[4..8].copy_from_slice(&order.u32(length));
            let file = [head.clone(), packet(1), second, packet(3)].concat();
            assert_eq!(seen(&file), [1, 3], "{length}");
        }
        // A packet with a captured length beyond its block.
        let mut second = packet(2);
        second[20..24].copy_from_slice(&order.u32(1000));
        assert_eq!(seen(&[head.clone(), packet(1), second, packet(3)].concat()), [1, 3]);
        // Damage at the end, with nothing after it.
        let (found, notices) = frames(&[head.clone(), packet(1), vec![7; 100]].concat());
        assert_eq!((found.len(), notices), (1, vec![NoticeKind::Damaged, NoticeKind::Stopped]));
        // Truncated anywhere: every complete packet is read.
        let file = [head.clone(), packet(1), packet(2)].concat();
        for cut in 0..packet(2).len() {
            let (found, notices) = frames(&file[..file.len() - cut]);
            assert_eq!(found.len(), if cut == 0 { 2 } else { 1 });
            assert_eq!(notices, if cut == 0 { vec![] } else { vec![NoticeKind::CutOff] });
        }
    }
}

#[test]
fn what_is_no_capture_is_told() {
    let why = |file: &[u8]| match Reader::open(file) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("that is no capture"),
    };
    assert_eq!(why(b""), "the file is empty");
    assert_eq!(why(b"\xd4\xc3"), "the file ends in its own header");
    assert_eq!(why(b"\xd4\xc3\xb2\xa1\x02\x00"), "the file ends in its own header");
    assert!(why(b"<!DOCTYPE html>").starts_with("neither pcap nor pcapng: it begins with 3c 21 44 4f"));
    assert!(why(&[&[0x0a, 0x0d, 0x0d, 0x0a], &[0; 24][..]].concat()).contains("no known byte order"));
    assert!(matches!(Reader::open(&b"\x0a\x0d\x0d\x0a\x1c\0\0\0"[..]), Err(Error::NoHeader)));
}

#[test]
fn a_block_of_no_bound_takes_no_memory() {
    // A block of an unknown type with a length of 1 GB, of which only the beginning exists.
    let order = ORDERS[0];
    let mut file = [order.section(), order.interface(101, 0, &[])].concat();
    file.extend([order.u32(0x0bad), order.u32(1 << 30)].concat());
    file.resize(100_000, 1);
    let (found, notices) = frames(&file);
    assert_eq!((found.len(), notices), (0, vec![NoticeKind::Damaged, NoticeKind::Stopped]));
    // An endless series of interface blocks.
    let many = [order.section(), order.interface(101, 0, &[]).repeat(70_000)].concat();
    let (found, notices) = frames(&many);
    assert_eq!((found.len(), notices), (0, vec![NoticeKind::Stopped]));
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        shots in proptest::collection::vec(
            (0u64..1 << 62, 0u32..3, 0u32..100, proptest::collection::vec(any::<u8>(), 0..200), "[a-zäöü =]{0,40}"), 0..40,
        ),
        snap in prop_oneof![Just(0u32), 1u32..200],
    ) {
        let taps: Vec<Tap> = ["a", "bc", ""].map(|name| Tap { snap, ..Tap::ip(name) }).to_vec();
        let mut ng = PcapngWriter::new(Vec::new(), taps.clone(), "a test").unwrap();
        let mut classic = PcapWriter::new(Vec::new(), taps[0].clone()).unwrap();
        for (time_ns, tap, more, bytes, comment) in &shots {
            let wire_len = bytes.len() as u32 + more;
            let shot = OutgoingFrame { time_ns: *time_ns, tap: *tap, wire_len, bytes, comment };
            ng.write(&shot).unwrap();
            classic.write(&shot).unwrap();
        }
        let (ng, classic) = (ng.finish().unwrap(), classic.finish().unwrap());
        let mut ng = Reader::open(&ng[..]).unwrap();
        let mut classic = Reader::open(&classic[..]).unwrap();
        for (time_ns, tap, more, bytes, comment) in &shots {
            let kept = if snap == 0 { bytes.len() } else { bytes.len().min(snap as usize) };
            let wire_len = bytes.len() as u32 + more;
            let frame = ng.next().unwrap().unwrap();
            prop_assert_eq!((frame.time_ns as u64, frame.interface, frame.wire_len), (*time_ns, *tap, wire_len));
            prop_assert_eq!((frame.bytes, frame.link), (&bytes[..kept], Link::RAW));
            let comments: Vec<&str> = frame.comments().collect();
            prop_assert_eq!(comments, if comment.is_empty() { vec![] } else { vec![comment.as_str()] });
            let frame = classic.next().unwrap().unwrap();
            let (seconds, below) = (*time_ns / 1_000_000_000, *time_ns % 1_000_000_000);
            let wrapped = u64::from(seconds as u32) * 1_000_000_000 + below;
            prop_assert_eq!((frame.time_ns as u64, frame.wire_len, frame.bytes), (wrapped, wire_len, &bytes[..kept]));
        }
        prop_assert!(ng.next().unwrap().is_none() && classic.next().unwrap().is_none());
        prop_assert!(ng.notices().is_empty() && classic.notices().is_empty());
        prop_assert_eq!(ng.interfaces()[1].name.as_deref(), Some("bc"));
        prop_assert_eq!(ng.interfaces()[2].name.as_deref(), None);
    }
}

#[test]
fn packed_files_are_unpacked_as_far_as_they_go() {
    use capture::Unpacked;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write as _;
    let pack = |bytes: &[u8]| {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    };
    let mut writer = PcapngWriter::new(Vec::new(), vec![Tap::ip("a")], "a test").unwrap();
    for n in 0..5000u32 {
        let bytes = n.wrapping_mul(0x9e37_79b9).to_le_bytes().repeat(20);
        writer
            .write(&OutgoingFrame { time_ns: 7, tap: 0, wire_len: 80, bytes: &bytes, comment: "" })
            .unwrap();
    }
    let plain = writer.finish().unwrap();
    let count = |file: &[u8]| {
        let mut reader = Reader::open(Unpacked::new(file).unwrap()).unwrap();
        while reader.next().unwrap().is_some() {}
        (reader.frames(), reader.notices().count(NoticeKind::CutOff))
    };
    assert_eq!(count(&plain), (5000, 0));
    let packed = pack(&plain);
    assert_eq!(count(&packed), (5000, 0));
    // Compressed in two members, as some programs do.
    let (one, two) = plain.split_at(plain.len() / 2);
    assert_eq!(count(&[pack(one), pack(two)].concat()), (5000, 0));
    let (frames, cut) = count(&packed[..packed.len() / 2]);
    assert!((1000..4000).contains(&frames) && cut > 0, "{frames} {cut}");
    let mut damaged = packed.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 50].fill(0xff);
    let (frames, cut) = count(&damaged);
    assert!(frames < 5000 && cut > 0, "{frames} {cut}");
    for (begin, says) in
        [(&b"\x28\xb5\x2f\xfd...."[..], "zstd -dc"), (b"PK\x03\x04....", "unzip -p"), (&packed, "gzip -dc")]
    {
        let why = Reader::open(begin).err().map(|error| error.to_string());
        assert!(why.as_ref().is_some_and(|why| why.contains(says)), "{why:?}");
    }
}
