//! Anonymised copy of a capture: prefix-preserving mapping of IP addresses (`Mapping`), headers without identifying
//! fields, no payload.
//!
//! The copy keeps the fields that the analysis of transports needs. Payloads, link headers, unknown options, comments
//! and names are removed; checksums match a payload of zeros. Ports, times, lengths, sequence numbers and timestamps
//! stay, so that an owner of the same traffic can recognise it.
//!
//! The mapping is Crypto-PAn (Xu, Fan, Ammar, Moon 2002): each bit is flipped by a keyed function of the preceding
//! bits. One key gives equal mappings in several files, and only its owner can invert them. The first four bits of
//! IPv4 and eight bits of IPv6 addresses stay, so that multicast addresses stay multicast.

use crate::packet::{Packet, Transport};
use crate::reader::Reader;
use crate::writer::{OutgoingFrame, PcapngWriter, Tap};
use base::wire::checksum::Sum;
use base::wire::{TCP, UDP, option};
use siphasher::sip::SipHasher24;
use std::collections::BTreeMap;
use std::hash::Hasher as _;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Key of an address mapping.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; 16]);

/// Upper limit of cached addresses; the cache is cleared when it is full.
const REMEMBERED: usize = 1 << 16;

/// Prefix-preserving address mapping.
pub struct Mapping {
    key: Key,
    known: BTreeMap<IpAddr, IpAddr>,
}

impl Mapping {
    /// Mapping with this key.
    pub fn new(key: Key) -> Mapping {
        Mapping { key, known: BTreeMap::new() }
    }

    /// Replacement of an address.
    pub fn map(&mut self, address: IpAddr) -> IpAddr {
        if let Some(&known) = self.known.get(&address) {
            return known;
        }
        let mapped = match address {
            // Unspecified and broadcast addresses stay.
            IpAddr::V4(Ipv4Addr::UNSPECIFIED | Ipv4Addr::BROADCAST) | IpAddr::V6(Ipv6Addr::UNSPECIFIED) => {
                address
            }
            IpAddr::V4(a) => {
                let bits = self.turn(u128::from(a.to_bits()) << 96, 4, 32);
                IpAddr::V4(Ipv4Addr::from_bits((bits >> 96) as u32))
            }
            IpAddr::V6(a) => IpAddr::V6(Ipv6Addr::from_bits(self.turn(a.to_bits(), 8, 128))),
        };
        if self.known.len() == REMEMBERED {
            self.known.clear();
        }
        self.known.insert(address, mapped);
        mapped
    }

    /// Flips the bits from `from` below `until`, counted from the highest, each by a hash of the preceding bits.
    fn turn(&self, bits: u128, from: u32, until: u32) -> u128 {
        let mut turned = bits;
        for at in from..until {
            let before = bits >> (128 - at) << (128 - at);
            let mut hasher = SipHasher24::new_with_key(&self.key.0);
            hasher.write(&before.to_be_bytes());
            // Prefixes of different length or IP version are hashed differently.
            hasher.write(&[at as u8, until as u8]);
            turned ^= u128::from(hasher.finish() & 1) << (127 - at);
        }
        turned
    }
}

/// Counters of a copy.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Packets in the copy.
    pub written: u64,
    /// Frames without a readable IP packet, which are omitted.
    pub left_out: u64,
}

/// Writes an anonymised copy of the reader's remaining frames, as pcapng of bare IP packets.
///
/// # Errors
/// Errors of either file.
pub fn copy(
    reader: &mut Reader<'_>,
    out: &mut dyn Write,
    mapping: &mut Mapping,
    application: &str,
) -> io::Result<Tally> {
    let mut writer = PcapngWriter::new(out, Vec::new(), application)?;
    let (mut tally, mut taps, mut bytes) = (Tally::default(), 0, Vec::new());
    while let Some(frame) = reader.next()? {
        let Ok(packet) = frame.decode() else {
            tally.left_out += 1;
            continue;
        };
        let kept = frame.bytes.get(packet.network..).unwrap_or_default();
        headers(&mut bytes, &packet, kept, mapping);
        while taps <= frame.interface {
            writer.add_tap(Tap::ip(&format!("interface {taps}")))?;
            taps += 1;
        }
        writer.write(&OutgoingFrame {
            time_ns: frame.time_ns.max(0) as u64,
            tap: frame.interface,
            wire_len: packet.ip.size,
            bytes: &bytes,
            comment: "",
        })?;
        tally.written += 1;
    }
    writer.finish()?;
    Ok(tally)
}

/// Copies the header fields that cannot identify a host or user.
fn headers(out: &mut Vec<u8>, packet: &Packet<'_>, kept: &[u8], mapping: &mut Mapping) {
    let ip = &packet.ip;
    let header = ip.header as usize;
    out.clear();
    out.extend_from_slice(kept.get(..header).unwrap_or(kept));
    let (source, destination) = (mapping.map(ip.source), mapping.map(ip.destination));
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            out[12..16].copy_from_slice(&source.octets());
            out[16..20].copy_from_slice(&destination.octets());
            // A length from the link layer is not in the copy. (A length field of 0 stands for a longer packet.)
            if u32::from(u16::from_be_bytes([out[2], out[3]])) > ip.size {
                out[2..4].copy_from_slice(&(ip.size as u16).to_be_bytes());
            }
            // Options may contain routes.
            out[20..].fill(option::NOTHING);
            out[10..12].fill(0);
            if out.len() == header {
                let sum = Sum::ZERO.and(out).finish();
                out[10..12].copy_from_slice(&sum.to_be_bytes());
            }
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            out[8..24].copy_from_slice(&source.octets());
            out[24..40].copy_from_slice(&destination.octets());
            if 40 + u32::from(u16::from_be_bytes([out[4], out[5]])) > ip.size {
                out[4..6].copy_from_slice(&((ip.size - 40) as u16).to_be_bytes());
            }
            blank_extensions(out);
        }
        // Both addresses have one IP version.
        _ => {}
    }
    if out.len() < header {
        return;
    }
    let inner = kept.get(header..).unwrap_or_default();
    let checksum = match packet.transport {
        Transport::Tcp(_) => {
            tcp_header(out, inner);
            16
        }
        Transport::Udp { .. } => {
            out.extend_from_slice(inner.get(..8).unwrap_or(inner));
            6
        }
        // The checksum covers the removed chunks.
        Transport::Sctp { .. } => {
            out.extend_from_slice(inner.get(..8).unwrap_or(inner));
            return;
        }
        _ => return,
    };
    let length = ip.size - ip.header;
    let Some(place) = out.get(header + checksum..header + checksum + 2) else { return };
    // UDP checksums are optional (RFC 768).
    if packet.transport_is_udp() && place == [0, 0] {
        return;
    }
    out[header + checksum..header + checksum + 2].fill(0);
    let protocol = if packet.transport_is_udp() { UDP } else { TCP };
    let sum = Sum::ZERO.and_pseudo(source, destination, protocol, length).and(&out[header..]).finish();
    let sum = if sum == 0 && packet.transport_is_udp() { 0xffff } else { sum };
    out[header + checksum..header + checksum + 2].copy_from_slice(&sum.to_be_bytes());
}

impl Packet<'_> {
    fn transport_is_udp(&self) -> bool {
        matches!(self.transport, Transport::Udp { .. })
    }
}

/// Blanks IPv6 extension headers: type and length stay, and of fragments offset and identification.
fn blank_extensions(out: &mut [u8]) {
    let (mut kind, mut at) = (out[6], 40);
    while at + 2 <= out.len() {
        let (next, told) = (out[at], usize::from(out[at + 1]));
        let length = match kind {
            44 => 8,
            51 => 4 * (told + 2),
            _ => 8 * (told + 1),
        };
        let end = (at + length).min(out.len());
        match kind {
            44 => {}
            // Options are replaced by PadN (RFC 8200 section 4.2) where there is space.
            0 | 60 => {
                let mut from = at + 2;
                while from < end {
                    let fill = (end - from - 1).min(256);
                    out[from..end].fill(0);
                    if fill > 0 {
                        (out[from], out[from + 1]) = (1, (fill - 1) as u8);
                    }
                    from += fill + 1;
                }
            }
            _ => out[at + 2..end].fill(0),
        }
        (kind, at) = (next, at + length);
    }
}

/// Copies a TCP header; options that the analysis does not use become padding.
fn tcp_header(out: &mut Vec<u8>, segment: &[u8]) {
    let start = out.len();
    let header = segment.get(12).map_or(20, |b| usize::from(b >> 4) * 4);
    out.extend_from_slice(segment.get(..header).unwrap_or(segment));
    // Three reserved bits.
    if let Some(reserved) = out.get_mut(start + 12) {
        *reserved &= 0xf1;
    }
    let mut at = start + 20;
    while let Some(&kind) = out.get(at) {
        let length = match kind {
            option::END => break,
            option::NOTHING => 1,
            _ => out.get(at + 1).map_or(0, |length| usize::from(*length)),
        };
        if length == 0 || kind != option::NOTHING && length < 2 || at + length > out.len() {
            break;
        }
        let known = matches!(
            (kind, length),
            (option::NOTHING, _)
                | (option::MSS, 4)
                | (option::SCALE, 3)
                | (option::SACK_PERMITTED, 2)
                | (option::SACK, 10 | 18 | 26 | 34)
                | (option::TIMESTAMPS, 10)
        );
        if !known {
            out[at..at + length].fill(option::NOTHING);
        }
        at += length;
    }
    // Bytes after the end of options, or after an invalid option, are arbitrary.
    if let Some(rest) = out.get_mut(at..) {
        rest.fill(option::END);
    }
}
