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

/// Words of the largest headers: IPv6, TCP and its options.
const WORDS: usize = (40 + 20 + OPTIONS) / 4;

/// Headers of a packet as words of 32 bits, while they are written.
struct Headers {
    words: [u32; WORDS],
    /// Words written.
    len: usize,
}

impl Headers {
    /// Appends words; what exceeds the room is left out.
    #[inline]
    fn put<const N: usize>(&mut self, words: [u32; N]) {
        if let Some(to) = self.words.get_mut(self.len..self.len + N) {
            to.copy_from_slice(&words);
            self.len += N;
        }
    }

    /// Sum of the words from index `from` on.
    #[inline]
    fn sum(&self, from: usize) -> Sum {
        let words = self.words.get(from..self.len).unwrap_or_default();
        words.iter().fold(Sum::ZERO, |sum, word| sum.and_word(*word))
    }
}

/// Word of two halves.
fn halves(high: u16, low: u16) -> u32 {
    u32::from(high) << 16 | u32::from(low)
}

/// Writes the packet into `out`, which is cleared first: its headers, then payload up to `keep` bytes in
/// total. Returns the size of the whole packet, bytes.
pub fn packet(out: &mut Vec<u8>, from: &End, to: &End, segment: &Segment, ip: IpFields, keep: usize) -> u32 {
    let tcp = if from.address.is_ipv4() { 5 } else { 10 };
    let mut headers = Headers { words: [0; WORDS], len: tcp + 5 };
    options(&mut headers, tcp + 5, from, to, segment);
    let length = 4 * headers.len;
    let size = (length as u32 + segment.len).min(u32::from(u16::MAX));
    headers.words[tcp..tcp + 5].copy_from_slice(&tcp_header(from, to, segment, headers.len - tcp));
    // A payload of zeros contributes only its length.
    let pseudo = match (from.address, to.address) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let words = header_v4([source, destination], TCP, ip, size);
            headers.words[..5].copy_from_slice(&words);
            Sum::ZERO.and_word(words[3]).and_word(words[4])
        }
        (source, destination) => {
            headers.words[..10].copy_from_slice(&header_v6([v6(source), v6(destination)], ip, size));
            headers.words[2..10].iter().fold(Sum::ZERO, |sum, word| sum.and_word(*word))
        }
    };
    let pseudo = pseudo.and_word(u32::from(TCP)).and_word(size - 4 * tcp as u32);
    headers.words[tcp + 4] = u32::from(headers.sum(tcp).plus(pseudo).finish()) << 16;
    let mut bytes = [0; 4 * WORDS];
    for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(headers.words).take(headers.len) {
        *to = word.to_be_bytes();
    }
    out.clear();
    out.extend_from_slice(bytes.get(..length).unwrap_or_default());
    out.resize((size as usize).min(keep.max(length)), 0);
    size
}

/// Writes an IPv4 packet around a transport header and its payload into `out`, which is cleared first. Fills
/// in the checksum of UDP (RFC 768) and DCCP (RFC 4340 section 9), which covers the addresses; both have it
/// at offset 6.
pub fn around(out: &mut Vec<u8>, from: Ipv4Addr, to: Ipv4Addr, protocol: u8, inside: &[u8], ip: IpFields) {
    let inside = inside.get(..usize::from(u16::MAX) - 20).unwrap_or(inside);
    out.clear();
    out.extend(
        header_v4([from, to], protocol, ip, inside.len() as u32 + 20).into_iter().flat_map(u32::to_be_bytes),
    );
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

fn v6(address: IpAddr) -> [u32; 4] {
    let address = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    let bits = address.to_bits();
    [96, 64, 32, 0].map(|shift| (bits >> shift) as u32)
}

/// TCP header of `words` words, with checksum 0.
fn tcp_header(from: &End, to: &End, segment: &Segment, words: usize) -> [u32; 5] {
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
    let window = segment.window.div_ceil(1 << scale).min(u32::from(u16::MAX));
    let ack = if segment.has_ack { to.seq(segment.ack) } else { 0 };
    let offset = (words as u32) << 28;
    [halves(from.port, to.port), from.seq(segment.seq), ack, offset | u32::from(flags) << 16 | window, 0]
}

/// IPv4 header without options.
fn header_v4([source, destination]: [Ipv4Addr; 2], protocol: u8, ip: IpFields, size: u32) -> [u32; 5] {
    let class = ip.class << 2 | ip.ecn & 3;
    let fragment = if ip.divisible { 0 } else { 0x4000 };
    let mut words = [
        halves(0x4500 | u16::from(class), size as u16),
        halves(ip.id, fragment),
        u32::from(ip.ttl) << 24 | u32::from(protocol) << 16,
        source.to_bits(),
        destination.to_bits(),
    ];
    let sum = words.iter().fold(Sum::ZERO, |sum, word| sum.and_word(*word));
    words[2] |= u32::from(sum.finish());
    words
}

/// IPv6 header without extensions.
fn header_v6([source, destination]: [[u32; 4]; 2], ip: IpFields, size: u32) -> [u32; 10] {
    let class = ip.class << 2 | ip.ecn & 3;
    let length = (size as u16).saturating_sub(40);
    let first = 0x6000_0000 | u32::from(class) << 20;
    let second = halves(length, u16::from(TCP) << 8 | u16::from(ip.ttl));
    let ([a, b, c, d], [e, f, g, h]) = (source, destination);
    [first, second, a, b, c, d, e, f, g, h]
}

/// Appends the options, in the order and with the padding of most stacks; `begin` is the index of their first word.
fn options(out: &mut Headers, begin: usize, from: &End, to: &End, segment: &Segment) {
    /// Word of four bytes.
    const fn word(bytes: [u8; 4]) -> u32 {
        u32::from_be_bytes(bytes)
    }
    if segment.syn {
        let [high, low] = from.mss.to_be_bytes();
        out.put([word([option::MSS, 4, high, low])]);
        if from.permits_sack {
            out.put([word([option::NOTHING, option::NOTHING, option::SACK_PERMITTED, 2])]);
        }
        if let Some(scale) = from.scale {
            out.put([word([option::NOTHING, option::SCALE, 3, scale])]);
        }
    }
    if let Some(stamps) = segment.timestamps {
        // TSecr is 0 without an ACK (RFC 7323 section 3.2), and before any timestamp was received.
        let echo = if segment.has_ack && !stamps.echo.is_never() { to.ticks(stamps.echo) } else { 0 };
        let kind = word([option::NOTHING, option::NOTHING, option::TIMESTAMPS, 10]);
        out.put([kind, from.ticks(stamps.value), echo]);
    }
    let blocks = segment.sack.as_slice();
    if blocks.is_empty() {
        return;
    }
    let room = (OPTIONS - 4 * (out.len - begin)).saturating_sub(4) / 8;
    let blocks = blocks.get(..room).unwrap_or(blocks);
    if !blocks.is_empty() {
        out.put([word([option::NOTHING, option::NOTHING, option::SACK, 2 + 8 * blocks.len() as u8])]);
    }
    for block in blocks {
        out.put([to.seq(block.left), to.seq(block.right)]);
    }
}

/// Smallest window scale with which a window of `largest` bytes fits into the header field (RFC 7323 section
/// 2.3: at most 14).
pub fn scale_for(largest: u32) -> u8 {
    (0..14).find(|&shift| largest.div_ceil(1 << shift) <= u32::from(u16::MAX)).unwrap_or(14)
}
