//! Receive offload: consecutive segments of one TCP connection, or datagrams of one UDP flow, joined into a large
//! packet, as a network card or kernel does (LRO, GRO).
//!
//! A large packet is the inverse of a cut ([`super::offload::cut`]): cut again, it gives the packets octet by octet.
//! Packets are joined only if that holds and their checksums are valid, so an error is never covered up.

use super::checksum::Sum;
use super::offload::{TCP_CHECKSUM, TCP_FLAGS, TCP_SEQ, UDP_CHECKSUM, UDP_HEADER, UDP_LENGTH, lengthen};
use super::{IpHead, TCP, UDP, flag};
use std::net::IpAddr;

/// Maximum size of a large packet: the length field of IPv4.
const MOST_BYTES: usize = 65_535;
/// Length of a TCP header with the timestamps option and its padding.
const WITH_TIMESTAMPS: usize = 32;
/// Padding and head of the timestamps option, as Linux and others write it (RFC 7323 appendix A).
const TIMESTAMPS: [u8; 4] = [1, 1, 8, 10];
/// ECN codepoint "congestion experienced": such a packet is delivered by itself.
const EXPERIENCED: u8 = 3;

/// Transport protocol of packets that may be joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Transport {
    fn number(self) -> u8 {
        match self {
            Transport::Tcp => TCP,
            Transport::Udp => UDP,
        }
    }

    /// Offset of the checksum in the transport header.
    pub fn checksum(self) -> usize {
        match self {
            Transport::Tcp => TCP_CHECKSUM,
            Transport::Udp => UDP_CHECKSUM,
        }
    }
}

/// Fields of a segment or datagram that may be joined.
#[derive(Clone, Copy)]
struct Segment {
    version: u8,
    transport: Transport,
    source: IpAddr,
    destination: IpAddr,
    /// Length of the IP header.
    ip: usize,
    /// Length of both headers.
    headers: usize,
    payload: usize,
    /// Sequence number of TCP.
    seq: u32,
    push: bool,
}

impl Segment {
    /// A whole segment with data and ACK flag and no options but timestamps, or a whole datagram with data and a
    /// checksum.
    fn read(packet: &[u8]) -> Option<Segment> {
        let ip = IpHead::read(packet, 0).ok()?;
        let header = ip.header as usize;
        let plain = header == if ip.version == 4 { 20 } else { 40 };
        if !plain || ip.fragment.is_some() || ip.ecn == EXPERIENCED || ip.size as usize != packet.len() {
            return None;
        }
        let inner = packet.get(header..)?;
        let (transport, length, seq, push) = match ip.protocol {
            TCP => {
                let (length, seq, push) = tcp(inner)?;
                (Transport::Tcp, length, seq, push)
            }
            UDP => (Transport::Udp, udp(inner)?, 0, false),
            _ => return None,
        };
        Some(Segment {
            version: ip.version,
            transport,
            source: ip.source,
            destination: ip.destination,
            ip: header,
            headers: header + length,
            payload: inner.len() - length,
            seq,
            push,
        })
    }

    /// Sum of the pseudo header of a packet of `length` bytes, transport header counted.
    fn pseudo(&self, length: usize) -> Sum {
        Sum::ZERO.and_pseudo(self.source, self.destination, self.transport.number(), length as u32)
    }

    /// Whether both checksums are valid: a sum that includes its own field is 0.
    fn is_valid(&self, packet: &[u8]) -> bool {
        let (ip, inner) = packet.split_at(self.ip.min(packet.len()));
        let head = self.version == 6 || Sum::ZERO.and(ip).finish() == 0;
        head && self.pseudo(inner.len()).and(inner).finish() == 0
    }
}

/// Header length, sequence number and PSH flag of a TCP segment that may be joined.
fn tcp(inner: &[u8]) -> Option<(usize, u32, bool)> {
    let tcp = Some(inner).filter(|tcp| tcp.len() > 20)?;
    // The low four bits are reserved; the last one is the ECN flag AE.
    let length = match tcp[12] {
        0x50 => 20,
        0x80 if tcp.len() > WITH_TIMESTAMPS && tcp[20..24] == TIMESTAMPS => WITH_TIMESTAMPS,
        _ => return None,
    };
    let flags = tcp[TCP_FLAGS];
    let seq = u32::from_be_bytes(tcp[TCP_SEQ..TCP_SEQ + 4].try_into().ok()?);
    (flags & !flag::PSH == flag::ACK).then_some((length, seq, flags & flag::PSH != 0))
}

/// Header length of a UDP datagram that may be joined. A cut computes checksums, so a datagram without one may not.
fn udp(inner: &[u8]) -> Option<usize> {
    let udp = Some(inner).filter(|udp| udp.len() > UDP_HEADER)?;
    let word = |at: usize| usize::from(u16::from_be_bytes([udp[at], udp[at + 1]]));
    (word(UDP_LENGTH) == udp.len() && word(UDP_CHECKSUM) != 0).then_some(UDP_HEADER)
}

/// Packets of one connection or flow that form a large packet.
#[derive(Clone, Copy)]
pub struct Join {
    first: Segment,
    /// Number of packets.
    number: usize,
    /// Size of the large packet, bytes.
    size: usize,
    /// The last packet ends the large one: it is short, or has the PSH flag.
    ended: bool,
    push: bool,
}

impl Join {
    /// Begins with a packet; `None` if it cannot be joined with another.
    pub fn new(first: &[u8]) -> Option<Join> {
        let segment = Segment::read(first)?;
        Some(Join { first: segment, number: 1, size: first.len(), ended: segment.push, push: segment.push })
    }

    /// Adds the next packet, if it continues the large one; `first` is the packet of [`Join::new`]. False: unchanged.
    pub fn add(&mut self, first: &[u8], next: &[u8]) -> bool {
        if self.ended {
            return false;
        }
        let Some(segment) = Segment::read(next) else { return false };
        let expected = match self.first.transport {
            Transport::Tcp => self.first.seq.wrapping_add((self.size - self.first.headers) as u32),
            Transport::Udp => 0,
        };
        let continues = segment.transport == self.first.transport
            && segment.seq == expected
            && segment.payload <= self.first.payload
            && self.size + segment.payload <= MOST_BYTES
            && segment.headers == self.first.headers
            && self.has_same_headers(first, next);
        // The first packet is checked as soon as there is a second one.
        let valid = || (self.number > 1 || self.first.is_valid(first)) && segment.is_valid(next);
        if !continues || !valid() {
            return false;
        }
        self.number += 1;
        self.size += segment.payload;
        self.push = segment.push;
        self.ended = segment.push || segment.payload < self.first.payload;
        true
    }

    /// Whether the headers differ only as those of cut packets do: lengths, checksums, sequence number, PSH, and the
    /// identification of IPv4, which counts.
    fn has_same_headers(&self, first: &[u8], next: &[u8]) -> bool {
        let same = |from: usize, to: usize| first.get(from..to) == next.get(from..to);
        let ip = if self.first.version == 4 {
            let id = |packet: &[u8]| u16::from_be_bytes([packet[4], packet[5]]);
            let counts = id(next) == id(first).wrapping_add(self.number as u16);
            counts && same(0, 2) && same(6, 10) && same(12, 20)
        } else {
            same(0, 4) && same(6, 40)
        };
        let at = self.first.ip;
        ip && match self.first.transport {
            Transport::Tcp => {
                let tcp = [(0, TCP_SEQ), (TCP_SEQ + 4, TCP_FLAGS), (TCP_FLAGS + 1, TCP_CHECKSUM)];
                tcp.iter().all(|(from, to)| same(at + from, at + to))
                    && same(at + TCP_CHECKSUM + 2, self.first.headers)
            }
            Transport::Udp => same(at, at + UDP_LENGTH),
        }
    }

    /// Number of packets.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Whether no packet can follow.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// IP version.
    pub fn version(&self) -> u8 {
        self.first.version
    }

    /// Transport protocol.
    pub fn transport(&self) -> Transport {
        self.first.transport
    }

    /// Length of the IP header, and of both headers, bytes.
    pub fn header_lengths(&self) -> (usize, usize) {
        (self.first.ip, self.first.headers)
    }

    /// Payload bytes of each packet but the last one, which may have fewer.
    pub fn piece(&self) -> usize {
        self.first.payload
    }

    /// Writes the headers of the large packet over those of `first`, in `headers`. The transport checksum is the sum of
    /// the pseudo header, which the receiver completes ([`super::offload::complete`]).
    pub fn write_headers(&self, first: &[u8], headers: &mut [u8; MOST_HEADERS]) {
        let (ip, length) = self.header_lengths();
        headers[..length].copy_from_slice(&first[..length]);
        // The length field counts the payload behind these bytes.
        lengthen(&mut headers[..ip], self.first.version, 0, self.size);
        let inner = &mut headers[ip..length];
        match self.first.transport {
            Transport::Tcp if self.push => inner[TCP_FLAGS] |= flag::PSH,
            Transport::Tcp => {}
            Transport::Udp => {
                let length = (self.size - ip) as u16;
                inner[UDP_LENGTH..UDP_LENGTH + 2].copy_from_slice(&length.to_be_bytes());
            }
        }
        let (sum, field) = (!self.first.pseudo(self.size - ip).finish(), self.first.transport.checksum());
        inner[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Upper limit of the length of both headers.
pub const MOST_HEADERS: usize = 40 + WITH_TIMESTAMPS;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::offload::{complete, cut};
    use proptest::prelude::*;

    /// A segment with valid checksums; `size` is the payload's.
    fn segment(six: bool, timestamps: bool, push: bool, id: u16, seq: u32, payload: &[u8]) -> Vec<u8> {
        let header = if timestamps { WITH_TIMESTAMPS } else { 20 };
        let mut inner = vec![0x13, 0x88, 0x17, 0x70];
        inner.extend(seq.to_be_bytes());
        inner.extend([0, 0, 0, 7, (header as u8 / 4) << 4, flag::ACK | if push { flag::PSH } else { 0 }]);
        inner.extend([2, 0, 0, 0, 0, 0]);
        if timestamps {
            inner.extend([1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4]);
        }
        inner.extend(payload);
        let mut packet = vec![0x45, 2, 0, 0, 0, 0, 0x40, 0, 64, TCP, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2];
        packet[4..6].copy_from_slice(&id.to_be_bytes());
        if six {
            packet = vec![0x60, 0x20, 1, 2, 0, 0, TCP, 64];
            packet.extend([7; 32]);
        }
        let (ip, size) = (packet.len(), packet.len() + inner.len());
        packet.extend(inner);
        lengthen(&mut packet[..], if six { 6 } else { 4 }, 0, size);
        seal(&mut packet, ip);
        packet
    }

    /// A datagram with valid checksums.
    fn datagram(six: bool, id: u16, payload: &[u8]) -> Vec<u8> {
        let mut packet = segment(six, false, false, id, 0, &[]);
        let ip = packet.len() - 20;
        packet.truncate(ip + 4);
        packet[if six { 6 } else { 9 }] = UDP;
        packet.extend(((UDP_HEADER + payload.len()) as u16).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(payload);
        let size = packet.len();
        lengthen(&mut packet, if six { 6 } else { 4 }, 0, size);
        seal(&mut packet, ip);
        packet
    }

    /// Sets the transport checksum of a packet with an IP header of `ip` bytes.
    fn seal(packet: &mut [u8], ip: usize) {
        let head = IpHead::read(packet, 0).unwrap();
        let field = ip + if head.protocol == TCP { TCP_CHECKSUM } else { UDP_CHECKSUM };
        packet[field..field + 2].fill(0);
        let length = (packet.len() - ip) as u32;
        let sum = Sum::ZERO.and_pseudo(head.source, head.destination, head.protocol, length);
        let sum = match sum.and(&packet[ip..]).finish() {
            0 if head.protocol == UDP => 0xffff,
            sum => sum,
        };
        packet[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    }

    /// Consecutive datagrams of `piece` bytes, the last one of `last`.
    fn datagrams(six: bool, number: usize, piece: usize, last: usize) -> Vec<Vec<u8>> {
        let one = |i: usize| {
            let length = if i + 1 == number { last } else { piece };
            let data: Vec<u8> = (0..length).map(|k| (k * 7 + i * 31) as u8).collect();
            datagram(six, 0xfffeu16.wrapping_add(i as u16), &data)
        };
        (0..number).map(one).collect()
    }

    /// Consecutive segments of `piece` bytes, the last one of `last`.
    fn segments(
        six: bool,
        stamps: bool,
        push: bool,
        number: usize,
        piece: usize,
        last: usize,
    ) -> Vec<Vec<u8>> {
        let one = |i: usize| {
            let ended = i + 1 == number;
            let data: Vec<u8> =
                (0..if ended { last } else { piece }).map(|k| (k * 7 + i * 31) as u8).collect();
            let seq = (u32::MAX - 100).wrapping_add((i * piece) as u32);
            segment(six, stamps, push && ended, 0xfffeu16.wrapping_add(i as u16), seq, &data)
        };
        (0..number).map(one).collect()
    }

    /// Joins all segments; `None` if one does not continue the packet.
    fn join(segments: &[Vec<u8>]) -> Option<(Join, Vec<u8>)> {
        let mut joined = Join::new(&segments[0])?;
        if !segments[1..].iter().all(|next| joined.add(&segments[0], next)) {
            return None;
        }
        let mut headers = [0; MOST_HEADERS];
        joined.write_headers(&segments[0], &mut headers);
        let length = joined.header_lengths().1;
        let mut whole = headers[..length].to_vec();
        segments.iter().for_each(|segment| whole.extend(&segment[length..]));
        Some((joined, whole))
    }

    proptest! {
        /// Joined segments are one valid packet, and cut again they are the same octets.
        #[test]
        fn cutting_a_joined_packet_gives_its_segments(
            (six, stamps, push) in any::<(bool, bool, bool)>(),
            number in 2usize..9,
            (piece, last) in (1usize..1600).prop_flat_map(|piece| (Just(piece), 1..=piece)),
        ) {
            let before = segments(six, stamps, push, number, piece, last);
            let (joined, whole) = join(&before).unwrap();
            prop_assert_eq!((joined.number(), joined.piece()), (number, piece));
            prop_assert_eq!(joined.is_ended(), push || last < piece);
            prop_assert_eq!(cut(&whole, 0, piece).unwrap(), before);
            // A receiver that completes the checksum gets a valid packet.
            let mut whole = whole;
            prop_assert!(complete(&mut whole, joined.header_lengths().0, TCP_CHECKSUM));
            prop_assert!(Segment::read(&whole).unwrap().is_valid(&whole));
        }

        /// Joined datagrams are one valid packet, and cut again they are the same octets.
        #[test]
        fn cutting_joined_datagrams_gives_the_datagrams(
            six: bool,
            number in 2usize..9,
            (piece, last) in (1usize..1600).prop_flat_map(|piece| (Just(piece), 1..=piece)),
        ) {
            let before = datagrams(six, number, piece, last);
            let (joined, whole) = join(&before).unwrap();
            prop_assert_eq!((joined.number(), joined.piece()), (number, piece));
            prop_assert_eq!(joined.is_ended(), last < piece);
            prop_assert_eq!(cut(&whole, 0, piece).unwrap(), before);
            let mut whole = whole;
            prop_assert!(complete(&mut whole, joined.header_lengths().0, UDP_CHECKSUM));
            prop_assert!(Segment::read(&whole).unwrap().is_valid(&whole));
        }

        /// A wrong bit anywhere keeps a datagram out.
        #[test]
        fn no_error_of_a_datagram_is_covered_up(
            (six, second) in any::<(bool, bool)>(),
            piece in 1usize..60,
            at in 0usize..1000,
        ) {
            let mut both = datagrams(six, 2, piece, piece);
            let wrong = &mut both[usize::from(second)];
            let at = at % (wrong.len() * 8);
            wrong[at / 8] ^= 1 << (at % 8);
            prop_assert!(join(&both).is_none());
        }

        /// A large packet that is cut can be joined to the same octets.
        #[test]
        fn joining_the_segments_of_a_cut_packet_gives_the_packet(
            (six, stamps, push) in any::<(bool, bool, bool)>(),
            payload in 2usize..8000,
            piece in 1usize..1500,
        ) {
            let data: Vec<u8> = (0..payload).map(|k| (k * 13) as u8).collect();
            let before = segment(six, stamps, push, 9, 5, &data);
            let pieces = cut(&before, 0, piece).unwrap();
            let (joined, mut whole) = join(&pieces).unwrap();
            if joined.number() > 1 {
                complete(&mut whole, joined.header_lengths().0, TCP_CHECKSUM);
                prop_assert_eq!(whole, before);
            }
        }

        /// A wrong bit anywhere keeps a segment out, so that its receiver finds the error.
        #[test]
        fn no_error_is_covered_up(
            (six, stamps, second) in any::<(bool, bool, bool)>(),
            piece in 1usize..60,
            at in 0usize..1000,
        ) {
            let mut both = segments(six, stamps, true, 2, piece, piece);
            let wrong = &mut both[usize::from(second)];
            let at = at % (wrong.len() * 8);
            wrong[at / 8] ^= 1 << (at % 8);
            prop_assert!(join(&both).is_none());
        }

        #[test]
        fn nothing_is_trusted(first: Vec<u8>, next: Vec<u8>, changes in proptest::collection::vec((0usize..60, any::<u8>()), 0..6)) {
            if let Some(mut joined) = Join::new(&first) {
                joined.add(&first, &next);
            }
            let mut both = segments(changes.len() % 2 == 0, true, false, 2, 20, 20);
            for (i, (at, value)) in changes.into_iter().enumerate() {
                both[i % 2][at] = value;
            }
            join(&both);
        }
    }

    /// What a segment must not have, or must have in common with the one before it.
    #[test]
    fn other_segments_stay_apart() {
        let both = segments(false, true, false, 2, 100, 100);
        assert!(join(&both).is_some());
        let change = |i: usize, at: usize, value: u8| {
            let mut both = both.clone();
            both[i][at] = value;
            // Both checksums are valid again.
            let packet = &mut both[i];
            let size = packet.len();
            lengthen(packet, 4, 0, size);
            packet[36..38].fill(0);
            let ip = IpHead::read(packet, 0).unwrap();
            let sum = Sum::ZERO.and_pseudo(ip.source, ip.destination, TCP, size as u32 - 20);
            let sum = sum.and(&packet[20..]).finish();
            packet[36..38].copy_from_slice(&sum.to_be_bytes());
            join(&both).is_none()
        };
        for (flags, name) in [(flag::SYN, "SYN"), (flag::FIN, "FIN"), (flag::RST, "RST"), (flag::URG, "URG")]
        {
            assert!(change(0, 33, flag::ACK | flags) && change(1, 33, flag::ACK | flags), "{name}");
        }
        assert!(change(1, 33, flag::ACK | flag::ECE) && change(1, 33, flag::ACK | flag::CWR));
        assert!(change(0, 33, flag::ACK | flag::PSH), "data that is pushed ends a packet");
        assert!(!change(1, 33, flag::ACK | flag::PSH));
        assert!(change(1, 1, 3) && change(1, 1, 1), "ECN");
        assert!(change(1, 8, 63), "TTL");
        assert!(change(1, 5, 0), "identification");
        assert!(change(1, 21, 0) && change(1, 27, 0) && change(1, 31, 8), "port, sequence number, ACK");
        assert!(change(1, 35, 1), "window");
        assert!(change(1, 47, 9) && change(0, 42, 5), "timestamps, and another option");
        // Wrong sizes: longer than the first one; behind a short one; more than a packet can hold.
        assert!(join(&segments(false, true, false, 2, 100, 101)).is_none());
        let mut three = segments(false, true, false, 3, 100, 100);
        three[1].truncate(120);
        assert!(join(&three).is_none());
        assert!(join(&segments(false, false, false, 45, 1460, 1460)).is_none());
        assert!(join(&segments(false, false, false, 44, 1460, 1460)).is_some());
        assert!(Join::new(&segment(false, true, false, 0, 0, &[])).is_none(), "an ACK without data");
    }

    /// What a datagram must not have, or must have in common with the one before it.
    #[test]
    fn other_datagrams_stay_apart() {
        let both = datagrams(false, 2, 100, 100);
        assert!(join(&both).is_some());
        let change = |i: usize, at: usize, value: u8| {
            let mut both = both.clone();
            both[i][at] = value;
            let size = both[i].len();
            lengthen(&mut both[i], 4, 0, size);
            seal(&mut both[i], 20);
            join(&both).is_none()
        };
        assert!(change(1, 21, 0) && change(1, 23, 0), "ports");
        assert!(change(1, 15, 9) && change(1, 19, 9), "addresses");
        assert!(change(1, 1, 3) && change(1, 8, 63) && change(1, 5, 0), "ECN, TTL, identification");
        assert!(change(1, 25, 9), "length");
        // A cut would write a checksum where there was none.
        let mut without = both.clone();
        without.iter_mut().for_each(|packet| packet[26..28].fill(0));
        assert!(join(&without).is_none());
        assert!(join(&datagrams(false, 2, 100, 101)).is_none());
        assert!(Join::new(&datagram(false, 0, &[])).is_none(), "no data");
        // A datagram does not continue a segment.
        let mixed = [segment(false, false, false, 7, 0, &[1; 50]), datagram(false, 8, &[1; 50])];
        assert!(join(&mixed).is_none());
    }
}
