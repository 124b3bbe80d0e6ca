//! Serialisation of a modelled segment as an IP packet: IP and TCP headers with options and checksums; IPv4
//! packet of other protocols.
//!
//! The TCP header has the options of its connection. 64-bit stream offsets become 32-bit sequence numbers,
//! times become millisecond ticks, and windows are scaled. The payload is zeros, of which only the captured
//! part is written.

use super::checksum::Sum;
use super::{DCCP, TCP, UDP, flag, option};
use crate::Time;
use crate::tcp::Segment;
use std::net::{IpAddr, Ipv4Addr};

/// One end of a connection on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// Address; both ends use the same IP version.
    pub address: IpAddr,
    /// Port.
    pub port: u16,
    /// Initial sequence number (stream offset 0).
    pub first: u32,
    /// Timestamp clock at t = 0, milliseconds.
    pub clock: u32,
    /// MSS option of its SYN.
    pub mss: u16,
    /// Window scale option of its SYN; `None`: no option and no scaling.
    pub scale: Option<u8>,
    /// SACK-permitted option of its SYN.
    pub permits_sack: bool,
}

impl End {
    /// Placeholder: no address, all fields 0, no options.
    pub const NOBODY: End = End {
        address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        port: 0,
        first: 0,
        clock: 0,
        mss: 0,
        scale: None,
        permits_sack: false,
    };

    /// Sequence number of a stream offset.
    pub fn seq(&self, offset: u64) -> u32 {
        self.first.wrapping_add(offset as u32)
    }
    /// Timestamp clock at time `t`.
    pub fn ticks(&self, t: Time) -> u32 {
        self.clock.wrapping_add((t.as_nanos() / 1_000_000) as u32)
    }
}

/// IP header fields other than the addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IpFields {
    /// Identification.
    pub id: u16,
    /// ECN codepoint (RFC 3168 section 5).
    pub ecn: u8,
    /// Differentiated services codepoint (RFC 2474).
    pub class: u8,
    /// TTL or hop limit.
    pub ttl: u8,
    /// IPv4: whether routers may fragment the packet (DF is not set).
    pub divisible: bool,
}

/// Maximum length of TCP options, bytes.
const OPTIONS: usize = 40;

/// Largest headers: IPv6, TCP and its options, bytes.
const HEADERS: usize = 40 + 20 + OPTIONS;

/// Headers of a packet while they are written.
struct Headers {
    room: [u8; HEADERS],
    /// Bytes written.
    len: usize,
}

impl Headers {
    /// Appends bytes; what exceeds the room is left out.
    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        if let Some(to) = self.room.get_mut(self.len..self.len + N) {
            to.copy_from_slice(&bytes);
            self.len += N;
        }
    }
}

/// Writes the packet into `out`, which is cleared first: its headers, then payload up to `keep` bytes in
/// total. Returns the size of the whole packet, bytes.
pub fn packet(out: &mut Vec<u8>, from: &End, to: &End, segment: &Segment, ip: IpFields, keep: usize) -> u32 {
    let tcp = if from.address.is_ipv4() { 20 } else { 40 };
    let mut headers = Headers { room: [0; HEADERS], len: tcp + 20 };
    options(&mut headers, tcp + 20, from, to, segment);
    let Headers { mut room, len } = headers;
    let size = (len as u32 + segment.len).min(u32::from(u16::MAX));
    let (outside, inside) = room[..len].split_at_mut(tcp);
    tcp_header(inside, from, to, segment, len - tcp);
    match (from.address, to.address) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            header_v4(outside, [source.octets(), destination.octets()], TCP, ip, size);
        }
        (source, destination) => header_v6(outside, [v6(source), v6(destination)], ip, size),
    }
    // A payload of zeros contributes only its length.
    let sum = Sum::ZERO.and_pseudo(from.address, to.address, TCP, size - tcp as u32).and(inside);
    inside[16..18].copy_from_slice(&sum.finish().to_be_bytes());
    out.clear();
    out.extend_from_slice(&room[..len]);
    out.resize((size as usize).min(keep.max(len)), 0);
    size
}

/// Writes an IPv4 packet around a transport header and its payload into `out`, which is cleared first. Fills
/// in the checksum of UDP (RFC 768) and DCCP (RFC 4340 section 9), which covers the addresses; both have it
/// at offset 6.
pub fn around(out: &mut Vec<u8>, from: Ipv4Addr, to: Ipv4Addr, protocol: u8, inside: &[u8], ip: IpFields) {
    let inside = inside.get(..usize::from(u16::MAX) - 20).unwrap_or(inside);
    out.clear();
    out.resize(20, 0);
    header_v4(out, [from.octets(), to.octets()], protocol, ip, inside.len() as u32 + 20);
    out.extend_from_slice(inside);
    if matches!(protocol, UDP | DCCP)
        && let Some(field) = out.get_mut(26..28)
    {
        field.fill(0);
        let length = inside.len() as u32;
        let sum = Sum::ZERO.and_pseudo(from.into(), to.into(), protocol, length).and(&out[20..]).finish();
        let sum = if protocol == UDP && sum == 0 { u16::MAX } else { sum };
        out[26..28].copy_from_slice(&sum.to_be_bytes());
    }
}

fn v6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

fn tcp_header(out: &mut [u8], from: &End, to: &End, segment: &Segment, header: usize) {
    let when = |bit: u8, on: bool| if on { bit } else { 0 };
    let flags = when(flag::FIN, segment.fin)
        | when(flag::SYN, segment.syn)
        | when(flag::RST, segment.rst)
        | when(flag::PSH, segment.push)
        | when(flag::ACK, segment.has_ack)
        | when(flag::ECE, segment.ece)
        | when(flag::CWR, segment.cwr);
    // The window of a SYN is not scaled (RFC 7323 section 2.2). A scaled window is rounded up, so that it
    // covers every byte that the model may send.
    let scale = if segment.syn { 0 } else { from.scale.filter(|_| to.scale.is_some()).unwrap_or(0) };
    let window = segment.window.div_ceil(1 << scale).min(u32::from(u16::MAX)) as u16;
    let ack = if segment.has_ack { to.seq(segment.ack) } else { 0 };
    out[..2].copy_from_slice(&from.port.to_be_bytes());
    out[2..4].copy_from_slice(&to.port.to_be_bytes());
    out[4..8].copy_from_slice(&from.seq(segment.seq).to_be_bytes());
    out[8..12].copy_from_slice(&ack.to_be_bytes());
    out[12] = ((header / 4) << 4) as u8;
    out[13] = flags;
    out[14..16].copy_from_slice(&window.to_be_bytes());
}

fn header_v4(out: &mut [u8], [source, destination]: [[u8; 4]; 2], protocol: u8, ip: IpFields, size: u32) {
    out[0] = 0x45;
    out[1] = ip.class << 2 | ip.ecn & 3;
    out[2..4].copy_from_slice(&(size as u16).to_be_bytes());
    out[4..6].copy_from_slice(&ip.id.to_be_bytes());
    out[6] = if ip.divisible { 0 } else { 0x40 };
    out[8] = ip.ttl;
    out[9] = protocol;
    out[12..16].copy_from_slice(&source);
    out[16..20].copy_from_slice(&destination);
    let sum = Sum::ZERO.and(&out[..20]);
    out[10..12].copy_from_slice(&sum.finish().to_be_bytes());
}

fn header_v6(out: &mut [u8], [source, destination]: [[u8; 16]; 2], ip: IpFields, size: u32) {
    let traffic = ip.class << 2 | ip.ecn & 3;
    out[0] = 0x60 | traffic >> 4;
    out[1] = traffic << 4;
    out[4..6].copy_from_slice(&(size as u16).saturating_sub(40).to_be_bytes());
    out[6] = TCP;
    out[7] = ip.ttl;
    out[8..24].copy_from_slice(&source);
    out[24..40].copy_from_slice(&destination);
}

/// Appends the options, in the order and with the padding of most stacks; `begin` is the place of the first.
fn options(out: &mut Headers, begin: usize, from: &End, to: &End, segment: &Segment) {
    if segment.syn {
        let [high, low] = from.mss.to_be_bytes();
        out.put([option::MSS, 4, high, low]);
        if from.permits_sack {
            out.put([option::NOTHING, option::NOTHING, option::SACK_PERMITTED, 2]);
        }
        if let Some(scale) = from.scale {
            out.put([option::NOTHING, option::SCALE, 3, scale]);
        }
    }
    if let Some(stamps) = segment.timestamps {
        out.put([option::NOTHING, option::NOTHING, option::TIMESTAMPS, 10]);
        out.put(from.ticks(stamps.value).to_be_bytes());
        // TSecr is 0 without an ACK (RFC 7323 section 3.2), and before any timestamp was received.
        let echo = if segment.has_ack && !stamps.echo.is_never() { to.ticks(stamps.echo) } else { 0 };
        out.put(echo.to_be_bytes());
    }
    let blocks = segment.sack.as_slice();
    if !blocks.is_empty() {
        let room = (OPTIONS - (out.len - begin)).saturating_sub(4) / 8;
        let blocks = blocks.get(..room).unwrap_or(blocks);
        if !blocks.is_empty() {
            out.put([option::NOTHING, option::NOTHING, option::SACK, 2 + 8 * blocks.len() as u8]);
        }
        for block in blocks {
            out.put(to.seq(block.left).to_be_bytes());
            out.put(to.seq(block.right).to_be_bytes());
        }
    }
}

/// Smallest window scale with which a window of `largest` bytes fits into the header field (RFC 7323 section
/// 2.3: at most 14).
pub fn scale_for(largest: u32) -> u8 {
    (0..14).find(|&shift| largest.div_ceil(1 << shift) <= u32::from(u16::MAX)).unwrap_or(14)
}
