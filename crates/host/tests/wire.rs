//! Tests of frames between the two ends of a wire: unchanged, except for impairments of the path.

use base::packet::{Flags, FlowId, NodeId, Packet};
use base::trace::Tracer;
use base::wire::checksum::Sum;
use base::wire::frame::Framing;
use base::wire::{self, hdlc};
use base::{Span, Time};
use host::{FramePort, FramePortConfig, PacketPort as _};
use path::{Cx, Element, ElementId, Network, Port};
use proptest::prelude::*;

/// Impairment of every packet by the path; keeps the last head.
#[derive(Default)]
struct Air {
    corrupt: bool,
    marks: bool,
    head: Option<Packet>,
}

impl Element for Air {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        let flags = if self.corrupt { packet.flags.with(Flags::CORRUPT) } else { packet.flags };
        let ecn = if self.marks && packet.ecn != 0 { 3 } else { packet.ecn };
        self.head = Some(packet);
        cx.forward(Port(0), Packet { flags, ecn, ..packet });
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}

/// A path with a frame port at either side.
struct Path {
    network: Network,
    from: ElementId,
    air: ElementId,
    to: ElementId,
    at: Time,
}

impl Path {
    fn new(framing: Framing, air: Air) -> Path {
        let mut network = Network::new(1, Tracer::off());
        let end = |node: u16| {
            let (node, peer, reply) = (NodeId(node), NodeId(1 - node), node == 1);
            FramePort::new(FramePortConfig { framing, flow: FlowId(0), node, peer, reply })
        };
        let (to, air, from) = (network.add(end(1)), network.add(air), network.add(end(0)));
        network.wire(from, Port(0), air, Port(0));
        network.wire(air, Port(0), to, Port(0));
        network.start(None);
        Path { network, from, air, to, at: Time::ZERO }
    }

    /// The frame that leaves for an input frame, with its head on the path; `None` for a rejected frame.
    fn pass(&mut self, frame: &[u8]) -> Option<(Vec<u8>, Packet)> {
        self.at += Span::from_millis(1);
        let taken = self.network.enter(self.at, self.from, |end: &mut FramePort, cx| end.inject(cx, frame));
        taken.unwrap().ok()?;
        let out = self.network.enter(self.at, self.to, |end: &mut FramePort, _| end.next_departure());
        let head = self.network.element::<Air>(self.air).and_then(|air| air.head);
        assert_eq!(self.network.bodies(), 0);
        Some((out.flatten().unwrap().bytes, head.unwrap()))
    }
}

/// A UDP packet with this byte of class and ECN.
fn packet(tos: u8, payload: usize) -> Vec<u8> {
    let mut bytes = vec![0x45, tos];
    bytes.extend((28 + payload as u16).to_be_bytes());
    bytes.extend([0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 9]);
    bytes.extend((8 + payload as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.resize(28 + payload, 0x5a);
    let sum = Sum::ZERO.and(&bytes[..20]).finish();
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes
}

fn framed(framing: Framing, tos: u8, payload: usize) -> Vec<u8> {
    match framing {
        Framing::Ethernet => [&[7; 12][..], &[8, 0], &packet(tos, payload)].concat(),
        Framing::Ppp => {
            let inner = [&[0xff, 3, 0, 0x21][..], &packet(tos, payload)].concat();
            [&inner[..], &hdlc::check_of(&inner)].concat()
        }
    }
}

const BOTH: [Framing; 2] = [Framing::Ethernet, Framing::Ppp];

/// The head of a frame has the fields of its packet: size, class, ECN, data flag. On a serial line it has the
/// size of the frame (SW-12).
#[test]
fn heads_tell_what_is_in_the_frame() {
    for framing in BOTH {
        let mut path = Path::new(framing, Air::default());
        let frame = framed(framing, 0xb8 | 2, 100);
        let (out, head) = path.pass(&frame).unwrap();
        let size = if framing == Framing::Ethernet { 128 } else { 128 + 6 };
        assert_eq!((out, head.size, head.class, head.ecn), (frame, size, 0x2e, 2));
        assert!(head.flags.has(Flags::DATA) && head.ordinal == 1);
        let (_, head) = path.pass(&framed(framing, 0, 0)).unwrap();
        assert!(!head.flags.has(Flags::DATA), "a datagram of nothing");
    }
    // A frame without an IP packet passes a serial line, but no Ethernet wire.
    let lcp = [0xff, 3, 0xc0, 0x21, 1, 1, 0, 4, 0xd1, 0xb5];
    let (out, head) = Path::new(Framing::Ppp, Air::default()).pass(&lcp).unwrap();
    assert_eq!((&out[..], head.size, head.class), (&lcp[..], 10, 0));
    assert!(head.flags.has(Flags::DATA));
    let arp = [&[7; 12][..], &[8, 6], &[0; 28]].concat();
    assert!(Path::new(Framing::Ethernet, Air::default()).pass(&arp).is_none());
}

/// An ECN mark of the path is written into the packet, and all checksums of the frame are updated.
#[test]
fn marks_are_written_into_frames() {
    for framing in BOTH {
        let mut path = Path::new(framing, Air { marks: true, ..Air::default() });
        let (out, _) = path.pass(&framed(framing, 2, 40)).unwrap();
        let at = framing.packet(&out).unwrap();
        assert_eq!(wire::read(&out[at..]).unwrap().ecn, 3);
        assert_eq!(Sum::ZERO.and(&out[at..at + 20]).finish(), 0);
        assert!(framing == Framing::Ethernet || hdlc::is_good(&out));
    }
}

/// SW-37: a corrupt frame has one wrong bit. On a serial line it may be anywhere, and the frame check
/// sequence detects it. On Ethernet it is in the packet, because the network card computes a new frame check
/// sequence.
#[test]
fn corrupt_frames_have_a_wrong_bit() {
    for framing in BOTH {
        let mut path = Path::new(framing, Air { corrupt: true, ..Air::default() });
        for payload in 0..60 {
            let frame = framed(framing, 0, payload);
            let (out, _) = path.pass(&frame).unwrap();
            let wrong: Vec<usize> = (0..frame.len()).filter(|&i| frame[i] != out[i]).collect();
            assert_eq!((out.len(), wrong.len()), (frame.len(), 1));
            match framing {
                Framing::Ethernet => assert!(wrong[0] >= 14),
                Framing::Ppp => assert!(!hdlc::is_good(&out)),
            }
        }
    }
}

proptest! {
    /// A frame leaves unchanged.
    #[test]
    fn frames_come_out_as_they_went_in(frame in proptest::collection::vec(any::<u8>(), 4..200)) {
        for framing in BOTH {
            if let Some((out, _)) = Path::new(framing, Air::default()).pass(&frame) {
                prop_assert_eq!(&out, &frame);
            }
        }
    }
}
