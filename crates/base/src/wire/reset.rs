//! RST that answers a TCP segment without a connection (RFC 9293 section 3.10.7.1).

use super::segment::{self, End, IpFields};
use super::{IpHead, TCP, TcpHead, flag};
use crate::tcp::Segment;

/// Hop limit of the answer.
const TTL: u8 = 64;

/// RST to the sender of a TCP segment, from the address to which it was sent. `None` for an RST, a fragment, or another
/// packet.
pub fn answer(packet: &[u8]) -> Option<Vec<u8>> {
    let ip = IpHead::read(packet, 0).ok().filter(|ip| ip.protocol == TCP && ip.fragment.is_none())?;
    let (tcp, header) = TcpHead::read(packet.get(ip.header as usize..)?)?;
    if tcp.has(flag::RST) {
        return None;
    }
    let from = End { address: ip.destination, port: tcp.destination, ..End::NOBODY };
    let to = End { address: ip.source, port: tcp.source, ..End::NOBODY };
    let payload = ip.size.saturating_sub(ip.header).saturating_sub(header as u32);
    let asked = Segment {
        seq: u64::from(tcp.seq),
        ack: u64::from(tcp.ack),
        len: payload,
        has_ack: tcp.has(flag::ACK),
        syn: tcp.has(flag::SYN),
        fin: tcp.has(flag::FIN),
        ..Segment::default()
    };
    let mut out = Vec::new();
    let fields = IpFields { ttl: TTL, ..IpFields::default() };
    segment::packet(&mut out, &from, &to, &to_segment(&asked), fields, usize::MAX);
    Some(out)
}

/// RST that answers a segment, in its sequence numbers.
pub fn to_segment(asked: &Segment) -> Segment {
    let reset = Segment { rst: true, ..Segment::default() };
    if asked.has_ack {
        Segment { seq: asked.ack, ..reset }
    } else {
        Segment { has_ack: true, ack: asked.end(), ..reset }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{self, checksum::Sum};
    use std::net::IpAddr;

    fn reset_of(asked: &Segment, addresses: [IpAddr; 2]) -> Option<Vec<u8>> {
        let [near, far] = addresses;
        let from = End { address: near, port: 4000, first: u32::MAX - 2, ..End::NOBODY };
        let to = End { address: far, port: 80, first: 900, ..End::NOBODY };
        let mut bytes = Vec::new();
        segment::packet(&mut bytes, &from, &to, asked, IpFields::default(), usize::MAX);
        answer(&bytes)
    }

    /// RFC 9293 section 3.10.7.1: with an ACK the RST takes its number; without one it acknowledges the segment.
    #[test]
    fn a_reset_is_acceptable_to_the_sender() {
        let v4: [IpAddr; 2] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
        let v6: [IpAddr; 2] = [[0xfd00, 0, 0, 0, 0, 0, 0, 1].into(), [0xfd00, 0, 0, 0, 0, 0, 0, 2].into()];
        for addresses in [v4, v6] {
            let data = Segment { seq: 10, ack: 20, len: 100, has_ack: true, ..Segment::default() };
            let bytes = reset_of(&data, addresses).unwrap();
            let tcp = wire::read(&bytes).unwrap().tcp.unwrap();
            assert_eq!((tcp.source, tcp.destination, tcp.flags, tcp.seq), (80, 4000, flag::RST, 920));
            assert_eq!(wire::destination(&bytes), Some(addresses[0]));
            let inside = &bytes[bytes.len() - 20..];
            let sum = Sum::ZERO.and_pseudo(addresses[1], addresses[0], TCP, 20).and(inside);
            assert_eq!(sum.finish(), 0);
            let syn = Segment { syn: true, ..Segment::default() };
            let tcp = wire::read(&reset_of(&syn, addresses).unwrap()).unwrap().tcp.unwrap();
            assert_eq!((tcp.flags, tcp.seq, tcp.ack), (flag::RST | flag::ACK, 0, u32::MAX - 1));
            assert_eq!(reset_of(&Segment { rst: true, ..data }, addresses), None);
        }
    }
}
