//! Segmentation offload: large TCP and UDP frames cut into wire-size packets; completion of checksums.
//!
//! A kernel with segmentation offload or receive offload handles segments of up to 64 kB. This module cuts
//! them as a network card does: headers repeated, lengths, sequence numbers and checksums computed for each
//! packet. The inverse is [`super::join`].

use super::checksum::Sum;
use super::{IpHead, TCP, UDP, flag};

/// Offset of the sequence number in a TCP header.
pub(super) const TCP_SEQ: usize = 4;
/// Offset of the flags in a TCP header.
pub(super) const TCP_FLAGS: usize = 13;
/// Offset of the checksum in a TCP header.
pub(super) const TCP_CHECKSUM: usize = 16;
/// Offset of the length in a UDP header.
pub(super) const UDP_LENGTH: usize = 4;
/// Offset of the checksum in a UDP header.
pub(super) const UDP_CHECKSUM: usize = 6;
/// Length of a UDP header, bytes.
pub(super) const UDP_HEADER: usize = 8;

/// Position in a large packet that is cut into wire packets, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Cutter {
    /// Offset of the IP header in the frame.
    at: usize,
    /// Offset of the transport header in the frame.
    transport: usize,
    /// Offset of the payload in the frame.
    payload: usize,
    /// End of the packet in the frame.
    end: usize,
    /// Payload bytes per packet; the last packet may have fewer.
    piece: usize,
    /// Number of packets that are cut already.
    number: usize,
    version: u8,
    protocol: u8,
    /// Sum of the pseudo header of an empty packet.
    pseudo: Sum,
}

impl Cutter {
    /// Cutter of the IP packet at offset `at` of a frame, into packets of `piece` payload bytes. `None` if it is no
    /// complete TCP segment or UDP datagram.
    pub fn new(frame: &[u8], at: usize, piece: usize) -> Option<Cutter> {
        let packet = frame.get(at..)?;
        let ip = IpHead::read(packet, packet.len() as u32).ok()?;
        let packet = packet.get(..ip.size as usize)?;
        let transport = ip.header as usize;
        let header = match ip.protocol {
            TCP => usize::from(packet.get(transport + 12)? >> 4) * 4,
            UDP => UDP_HEADER,
            _ => return None,
        };
        let least = if ip.protocol == TCP { 20 } else { UDP_HEADER };
        let payload = packet.get(transport + header..)?;
        if ip.fragment.is_some() || header < least || piece == 0 || payload.is_empty() {
            return None;
        }
        Some(Cutter {
            at,
            transport: at + transport,
            payload: at + transport + header,
            end: at + packet.len(),
            piece,
            number: 0,
            version: ip.version,
            protocol: ip.protocol,
            pseudo: Sum::ZERO.and_pseudo(ip.source, ip.destination, ip.protocol, 0),
        })
    }

    /// Number of packets in total.
    pub fn total(&self) -> usize {
        (self.end - self.payload).div_ceil(self.piece)
    }

    /// Whether all packets are cut.
    pub fn is_done(&self) -> bool {
        self.number >= self.total()
    }

    /// Writes the next frame into `into` and returns its length; `frame` is that of [`Cutter::new`]. `None` after the
    /// last one, or if the frame does not fit.
    pub fn next(&mut self, frame: &[u8], into: &mut [u8]) -> Option<usize> {
        let (i, last) = (self.number, self.number + 1 >= self.total());
        if self.is_done() {
            return None;
        }
        let start = self.payload + i * self.piece;
        let part = frame.get(start..self.end.min(start + self.piece))?;
        let length = self.payload + part.len();
        let out = into.get_mut(..length)?;
        let (heads, data) = out.split_at_mut(self.payload);
        heads.copy_from_slice(frame.get(..self.payload)?);
        data.copy_from_slice(part);
        self.number += 1;
        lengthen(out.get_mut(self.at..)?, self.version, i as u16, length - self.at);
        let inner = out.get_mut(self.transport..)?;
        let field = if self.protocol == TCP {
            let seq = inner.get_mut(TCP_SEQ..TCP_SEQ + 4)?;
            let first = u32::from_be_bytes(seq.try_into().ok()?);
            seq.copy_from_slice(&first.wrapping_add((i * self.piece) as u32).to_be_bytes());
            let flags = inner.get_mut(TCP_FLAGS)?;
            if i > 0 {
                *flags &= !flag::CWR;
            }
            if !last {
                *flags &= !(flag::FIN | flag::PSH);
            }
            TCP_CHECKSUM
        } else {
            let length = (inner.len() as u16).to_be_bytes();
            inner.get_mut(UDP_LENGTH..UDP_LENGTH + 2)?.copy_from_slice(&length);
            UDP_CHECKSUM
        };
        inner.get_mut(field..field + 2)?.fill(0);
        let sum = self.pseudo.and_word(inner.len() as u32).and(inner).finish();
        put_sum(inner, field, sum, self.protocol);
        Some(length)
    }
}

/// Cuts the IP packet at offset `at` of a frame into packets of `piece` payload bytes, the last one possibly
/// shorter; returns the frames. `None` if it is no complete TCP segment or UDP datagram.
pub fn cut(frame: &[u8], at: usize, piece: usize) -> Option<Vec<Vec<u8>>> {
    let mut cutter = Cutter::new(frame, at, piece)?;
    let mut frames = Vec::with_capacity(cutter.total());
    while !cutter.is_done() {
        let mut into = vec![0; cutter.payload + piece.min(cutter.end - cutter.payload)];
        let length = cutter.next(frame, &mut into)?;
        into.truncate(length);
        frames.push(into);
    }
    Some(frames)
}

/// Completes the checksum of a frame with checksum offload: the field at `start + field` holds the sum of the
/// pseudo header, and the rest is summed from `start` on. False if the offset is out of range.
pub fn complete(frame: &mut [u8], start: usize, field: usize) -> bool {
    let Some(inner) = frame.get_mut(start..).filter(|inner| inner.len() >= field + 2) else { return false };
    let sum = Sum::ZERO.and(inner).finish();
    put_sum(inner, field, sum, if field == UDP_CHECKSUM { UDP } else { TCP });
    true
}

/// Writes a checksum. In UDP a sum of 0 is sent as 0xffff, since 0 means no checksum (RFC 768).
fn put_sum(inner: &mut [u8], field: usize, sum: u16, protocol: u8) {
    let sum = if protocol == UDP && sum == 0 { 0xffff } else { sum };
    if let Some(place) = inner.get_mut(field..field + 2) {
        place.copy_from_slice(&sum.to_be_bytes());
    }
}

/// Sets the length of a packet in its header; in IPv4 also the identification, by `number`, and the header checksum.
pub(super) fn lengthen(packet: &mut [u8], version: u8, number: u16, size: usize) {
    let size = size as u16;
    if version == 6 {
        packet[4..6].copy_from_slice(&size.wrapping_sub(40).to_be_bytes());
        return;
    }
    packet[2..4].copy_from_slice(&size.to_be_bytes());
    let id = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(number);
    packet[4..6].copy_from_slice(&id.to_be_bytes());
    packet[10..12].fill(0);
    let header = usize::from(packet[0] & 15) * 4;
    let sum = Sum::ZERO.and(packet.get(..header).unwrap_or_default()).finish();
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire;
    use proptest::prelude::*;

    /// A frame with a packet behind 14 bytes, and valid checksums.
    fn frame(version: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let header = if protocol == TCP { 32 } else { UDP_HEADER };
        let mut inner = vec![0; header];
        if protocol == TCP {
            inner[..4].copy_from_slice(&[0x13, 0x88, 0x17, 0x70]);
            inner[TCP_SEQ..8].copy_from_slice(&u32::MAX.to_be_bytes());
            inner[12] = 0x80;
            inner[TCP_FLAGS] = flag::ACK | flag::PSH | flag::FIN | flag::CWR;
            inner[20..32].copy_from_slice(&[1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9]);
        } else {
            inner[UDP_LENGTH..6].copy_from_slice(&((header + payload.len()) as u16).to_be_bytes());
        }
        inner.extend(payload);
        let mut packet = if version == 4 {
            let mut head = vec![0x45, 0, 0, 0, 0xff, 0xff, 0x40, 0, 64, protocol, 0, 0];
            head.extend([198, 18, 0, 1, 198, 18, 0, 2]);
            head
        } else {
            let mut head = vec![0x60, 0, 0, 0, 0, 0, protocol, 64];
            head.extend([7; 32]);
            head
        };
        packet.extend(inner);
        let size = packet.len();
        lengthen(&mut packet, version, 0, size);
        let ip = IpHead::read(&packet, 0).unwrap();
        let (at, field) = (ip.header as usize, if protocol == TCP { TCP_CHECKSUM } else { UDP_CHECKSUM });
        let sum = Sum::ZERO.and_pseudo(ip.source, ip.destination, protocol, (packet.len() - at) as u32);
        let sum = sum.and(&packet[at..]).finish();
        put_sum(&mut packet[at..], field, sum, protocol);
        [&[9; 14], &packet[..]].concat()
    }

    /// Whether all checksums of a frame are valid: a sum that includes its own field is 0.
    fn sums_are_right(frame: &[u8]) -> bool {
        let packet = &frame[14..];
        let ip = IpHead::read(packet, 0).unwrap();
        let inner = &packet[ip.header as usize..ip.size as usize];
        let head = ip.version == 6 || Sum::ZERO.and(&packet[..ip.header as usize]).finish() == 0;
        let sum = Sum::ZERO.and_pseudo(ip.source, ip.destination, ip.protocol, inner.len() as u32);
        head && sum.and(inner).finish() == 0
    }

    proptest! {
        /// The packets carry the payload in order, and each one is valid.
        #[test]
        fn pieces_are_packets(
            payload in proptest::collection::vec(any::<u8>(), 1..4000),
            piece in 1usize..1500,
            six: bool,
            datagrams: bool,
        ) {
            let (version, protocol) = (if six { 6 } else { 4 }, if datagrams { UDP } else { TCP });
            let whole = frame(version, protocol, &payload);
            let pieces = cut(&whole, 14, piece).unwrap();
            prop_assert_eq!(pieces.len(), payload.len().div_ceil(piece));
            let mut joined: Vec<u8> = Vec::new();
            for (i, part) in pieces.iter().enumerate() {
                prop_assert!(sums_are_right(part));
                let digest = wire::read(&part[14..]).unwrap();
                prop_assert_eq!(digest.size as usize, part.len() - 14);
                let last = i + 1 == pieces.len();
                prop_assert!(digest.payload as usize == piece || last);
                if let Some(tcp) = digest.tcp {
                    prop_assert_eq!(tcp.seq, u32::MAX.wrapping_add(joined.len() as u32));
                    prop_assert_eq!(tcp.has(flag::FIN), last);
                    prop_assert_eq!(tcp.has(flag::CWR), i == 0);
                }
                joined.extend(&part[part.len() - digest.payload as usize..]);
            }
            prop_assert_eq!(joined, payload);
        }

        /// A packet cut into one piece, or completed from the sum of its pseudo header, is unchanged.
        #[test]
        fn one_piece_is_the_whole(payload in proptest::collection::vec(any::<u8>(), 1..200), six: bool, datagrams: bool) {
            let (version, protocol) = (if six { 6 } else { 4 }, if datagrams { UDP } else { TCP });
            let whole = frame(version, protocol, &payload);
            prop_assert_eq!(cut(&whole, 14, 200).unwrap(), vec![whole.clone()]);
            let ip = IpHead::read(&whole[14..], 0).unwrap();
            let (start, field) = (14 + ip.header as usize, if datagrams { UDP_CHECKSUM } else { TCP_CHECKSUM });
            let mut partial = whole.clone();
            let length = (whole.len() - start) as u32;
            let pseudo = !Sum::ZERO.and_pseudo(ip.source, ip.destination, protocol, length).finish();
            partial[start + field..start + field + 2].copy_from_slice(&pseudo.to_be_bytes());
            prop_assert!(complete(&mut partial, start, field));
            prop_assert_eq!(partial, whole);
        }

        #[test]
        fn nothing_is_trusted(frame: Vec<u8>, at in 0usize..40, piece in 0usize..100, start in 0usize..70, field in 0usize..70) {
            let _ = cut(&frame, at, piece);
            let mut frame = frame;
            let _ = complete(&mut frame, start, field);
        }
    }
}
