//! Packet printer (`Printer`): one line per frame in the format of `tcpdump -nn -tt` (4.99), with relative sequence
//! numbers; protocols can be added.
//!
//! A line has link, addresses, ports, flags, sequence numbers, options and lengths. Application data are not decoded:
//! tcpdump's text behind `length N` (HTTP, SSH) and in place of `UDP, length N` (DNS) is omitted. Of Multipath TCP
//! options only the subtype is printed. [`Printer::plug`] adds a printer by IP protocol number.

use crate::{Frame, Link};
use base::wire::{IpHead, SCTP, TCP, UDP};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

/// Packet that a protocol printer formats.
#[derive(Clone, Copy, Debug)]
pub struct Inside<'a> {
    /// IP header.
    pub ip: &'a IpHead,
    /// Captured bytes of the IP payload.
    pub bytes: &'a [u8],
    /// Length of the IP payload, bytes.
    pub length: u32,
}

/// Protocol printer: appends the text behind `IP `.
pub type Protocol = fn(&mut Conversations, Inside<'_>, &mut String);

/// Printer of frames, with the state of connections.
#[derive(Clone, Debug)]
pub struct Printer {
    conversations: Conversations,
    protocols: BTreeMap<u8, Protocol>,
}

/// Initial sequence numbers of both ends of each connection, by its sorted endpoints.
#[derive(Clone, Debug, Default)]
pub struct Conversations(BTreeMap<[(IpAddr, u16); 2], (u32, u32)>);

impl Default for Printer {
    fn default() -> Printer {
        let protocols = BTreeMap::from([(TCP, tcp as Protocol), (UDP, udp), (SCTP, sctp)]);
        Printer { conversations: Conversations::default(), protocols }
    }
}

impl Printer {
    /// Sets the printer of an IP protocol.
    pub fn plug(&mut self, protocol: u8, printer: Protocol) {
        self.protocols.insert(protocol, printer);
    }

    /// Formats a frame as one line.
    pub fn line(&mut self, frame: &Frame<'_>) -> String {
        let micros = frame.time_ns.div_euclid(1000);
        let mut out = format!("{}.{:06} ", micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
        match frame.link.network(frame.bytes) {
            Ok(place) => {
                let bytes = frame.bytes.get(place.at..).unwrap_or_default();
                let wire = frame.wire_len.saturating_sub(place.at as u32);
                self.ip(bytes, wire, &mut out);
            }
            Err(_) => link(frame, &mut out),
        }
        out
    }

    fn ip(&mut self, bytes: &[u8], wire: u32, out: &mut String) {
        let Ok(head) = IpHead::read(bytes, wire) else {
            out.push_str(if bytes.first().is_some_and(|b| b >> 4 == 6) { "IP6 [|ip6]" } else { "IP [|ip]" });
            return;
        };
        out.push_str(if head.version == 6 { "IP6 " } else { "IP " });
        if head.size > wire {
            let _ = write!(out, "truncated-ip - {} bytes missing! ", head.size - wire);
        }
        let end = (head.size as usize).min(bytes.len());
        let inside = Inside {
            ip: &head,
            bytes: bytes.get(head.header as usize..end).unwrap_or_default(),
            length: head.size - head.header,
        };
        match self.protocols.get(&head.protocol).filter(|_| head.is_first()) {
            Some(printer) => printer(&mut self.conversations, inside, out),
            None => {
                let _ = write!(
                    out,
                    "{} > {}: ip-proto-{} {}",
                    head.source, head.destination, head.protocol, inside.length
                );
            }
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Appends `from.port > to.port: ` and returns the ports.
fn ends(inside: &Inside<'_>, out: &mut String) -> Option<(u16, u16)> {
    let ports = word(inside.bytes, 0).zip(word(inside.bytes, 2));
    let IpHead { source, destination, .. } = inside.ip;
    let _ = match ports {
        Some((from, to)) => write!(out, "{source}.{from} > {destination}.{to}: "),
        None => write!(out, "{source} > {destination}: "),
    };
    ports
}

fn udp(_: &mut Conversations, inside: Inside<'_>, out: &mut String) {
    let told = ends(&inside, out).and_then(|_| word(inside.bytes, 4));
    match told {
        Some(length) if length >= 8 => {
            let _ = write!(out, "UDP, length {}", length - 8);
        }
        Some(length) => {
            let _ = write!(out, "UDP, bad length {length}");
        }
        None => out.push_str("[|udp]"),
    }
}

fn sctp(_: &mut Conversations, inside: Inside<'_>, out: &mut String) {
    match ends(&inside, out) {
        Some(_) => out.push_str("sctp"),
        None => out.push_str("[|sctp]"),
    }
}

/// TCP flags in bit order.
const FLAGS: [char; 8] = ['F', 'S', 'R', 'P', '.', 'U', 'E', 'W'];
const SYN: u8 = 2;
const RST: u8 = 4;
const FIN: u8 = 1;
const ACK: u8 = 16;
const URGENT: u8 = 32;

fn tcp(conversations: &mut Conversations, inside: Inside<'_>, out: &mut String) {
    let Some((from, to)) = ends(&inside, out) else {
        out.push_str("[|tcp]");
        return;
    };
    let bytes = inside.bytes;
    let Some((mut seq, mut ack)) = number(bytes, 4).zip(number(bytes, 8)) else {
        out.push_str("[|tcp]");
        return;
    };
    let Some((&[offset, flags], window)) =
        bytes.get(12..14).and_then(|b| b.first_chunk()).zip(word(bytes, 14))
    else {
        out.push_str("[|tcp]");
        return;
    };
    let header = usize::from(offset >> 4) * 4;
    let names: String = (0..8).filter(|bit| flags >> bit & 1 == 1).map(|bit| FLAGS[bit]).collect();
    let _ = write!(out, "Flags [{}]", if names.is_empty() { "none" } else { &names });
    if header < 20 || header as u32 > inside.length {
        let _ = write!(
            out,
            " [bad hdr length {header}, {}]",
            if header < 20 { "too short, < 20" } else { "too long" }
        );
        return;
    }
    let length = inside.length - header as u32;
    let base = conversations.relative((inside.ip, from, to), flags, (&mut seq, &mut ack));
    if length > 0 || flags & (SYN | FIN | RST) != 0 {
        let _ = write!(out, ", seq {seq}");
        if length > 0 {
            let _ = write!(out, ":{}", seq.wrapping_add(length));
        }
    }
    if flags & ACK != 0 {
        let _ = write!(out, ", ack {ack}");
    }
    let _ = write!(out, ", win {window}");
    if flags & URGENT != 0 {
        let _ = write!(out, ", urg {}", word(bytes, 18).unwrap_or(0));
    }
    if header > 20 {
        out.push_str(", options [");
        let captured = bytes.get(20..header.min(bytes.len())).unwrap_or_default();
        match options(captured, header - 20, base, out) {
            Options::Whole => out.push(']'),
            Options::Bad => {
                out.push_str("[bad opt]]");
                return;
            }
            Options::Cut => {
                out.push_str(" [|tcp]");
                return;
            }
        }
    }
    let _ = write!(out, ", length {length}");
}

impl Conversations {
    /// Makes the numbers relative; returns the base of the opposite direction's numbers, for SACK blocks.
    fn relative(
        &mut self,
        (ip, from, to): (&IpHead, u16, u16),
        flags: u8,
        numbers: (&mut u32, &mut u32),
    ) -> u32 {
        if flags & ACK == 0 {
            return 0;
        }
        let (seq, ack) = numbers;
        let (here, there) = ((ip.source, from), (ip.destination, to));
        // Endpoints are sorted by port, then by address, as in tcpdump.
        let turned = (from, ip.source) > (to, ip.destination);
        let key = if turned { [there, here] } else { [here, there] };
        let known = self.0.get(&key).copied().filter(|_| flags & SYN == 0);
        match known {
            Some((first, back)) => {
                let (mine, theirs) = if turned { (back, first) } else { (first, back) };
                *seq = seq.wrapping_sub(mine);
                *ack = ack.wrapping_sub(theirs);
                theirs
            }
            None => {
                let kept = if turned { (ack.wrapping_sub(1), *seq) } else { (*seq, ack.wrapping_sub(1)) };
                self.0.insert(key, kept);
                ack.wrapping_sub(1)
            }
        }
    }
}

/// Result of formatting an option list.
enum Options {
    Whole,
    Bad,
    Cut,
}

/// Appends the options: `length` bytes by the header, `bytes` as captured.
fn options(bytes: &[u8], length: usize, base: u32, out: &mut String) -> Options {
    let mut at = 0;
    while at < length {
        if at > 0 {
            out.push(',');
        }
        let Some(&kind) = bytes.get(at) else { return Options::Cut };
        let size = match kind {
            0 | 1 => 1,
            _ => match bytes.get(at + 1) {
                Some(&size) if size >= 2 && at + usize::from(size) <= length => usize::from(size),
                Some(_) => return Options::Bad,
                None => return Options::Cut,
            },
        };
        let Some(value) = bytes.get(at..at + size).map(|option| option.get(2..).unwrap_or_default()) else {
            return Options::Cut;
        };
        option(kind, value, base, out);
        at += size;
        if kind == 0 {
            break;
        }
    }
    Options::Whole
}

fn option(kind: u8, value: &[u8], base: u32, out: &mut String) {
    let relative = |at: usize| number(value, at).unwrap_or(0).wrapping_sub(base);
    let _ = match (kind, value.len()) {
        (0, _) => write!(out, "eol"),
        (1, _) => write!(out, "nop"),
        (2, 2) => write!(out, "mss {}", word(value, 0).unwrap_or(0)),
        (3, 1) => write!(out, "wscale {}", value[0]),
        (4, 0) => write!(out, "sackOK"),
        (5, n) if n % 8 == 0 => {
            let _ = write!(out, "sack {} ", n / 8);
            (0..n).step_by(8).try_for_each(|i| write!(out, "{{{}:{}}}", relative(i), relative(i + 4)))
        }
        (6, 4) => write!(out, "echo {}", relative(0).wrapping_add(base)),
        (7, 4) => write!(out, "echoreply {}", relative(0).wrapping_add(base)),
        (8, 8) => {
            let stamp = |at| number(value, at).unwrap_or(0);
            write!(out, "TS val {} ecr {}", stamp(0), stamp(4))
        }
        (30, n) => write!(out, "mptcp {} subtype {}", n + 2, value.first().map_or(0, |b| b >> 4)),
        (kind, _) => {
            let _ = write!(out, "unknown-{kind}");
            if !value.is_empty() {
                out.push_str(" 0x");
            }
            value.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
        }
    };
}

/// Appends a frame without an IP packet.
fn link(frame: &Frame<'_>, out: &mut String) {
    const ARP: u16 = 0x0806;
    let kind = word(frame.bytes, 12).filter(|_| frame.link == Link::ETHERNET);
    let length = frame.wire_len.saturating_sub(14);
    let told = match kind {
        Some(ARP) => arp(frame.bytes.get(14..).unwrap_or_default(), length, out),
        _ => None,
    };
    if told.is_none() {
        let _ = match kind {
            Some(kind) => write!(out, "ethertype 0x{kind:04x}, length {}", frame.wire_len),
            None => write!(out, "link {}, length {}", frame.link.0, frame.wire_len),
        };
    }
}

/// ARP for IPv4 over Ethernet (RFC 826).
fn arp(bytes: &[u8], length: u32, out: &mut String) -> Option<()> {
    let address = |at: usize| Some(Ipv4Addr::from(number(bytes, at)?));
    if bytes.get(..6)? != [0, 1, 8, 0, 6, 4] {
        return None;
    }
    let (asks, told) = (address(14)?, address(24)?);
    let hardware = |at: usize| -> Option<String> {
        let parts: Vec<String> = bytes.get(at..at + 6)?.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(parts.join(":"))
    };
    let _ = match word(bytes, 6)? {
        1 => {
            let known = hardware(18)?;
            let known = if known.bytes().all(|b| b == b'0' || b == b':') {
                String::new()
            } else {
                format!(" ({known})")
            };
            write!(out, "ARP, Request who-has {told}{known} tell {asks}, length {length}")
        }
        2 => write!(out, "ARP, Reply {asks} is-at {}, length {length}", hardware(8)?),
        _ => return None,
    };
    Some(())
}
