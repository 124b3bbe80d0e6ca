//! Radio taps of a capture: RLC/MAC blocks and LLC frames as GSMTAP, Gb as NS over UDP (3GPP TS 44.060, 44.064,
//! 44.065, 48.018).
//!
//! Each cell has two interfaces, `CELL air` and `CELL gb`; each of its mobiles has one, `HOP llc`. Identities
//! that the model does not need are assigned here. A mobile's number is its TFI in both directions, its USF,
//! and the low bits of its TLLI. The PCU grants an uplink block by the USF of the preceding downlink block on
//! the timeslot, if there is one.

use super::numbers::Numbers;
use super::{Capture, TTL, inner};
use ::capture::{Link, Tap};
use ::radio::cell::Cell;
use ::radio::cell::content::{Content, Entry, EntryContent, Frame, RlcBlock, TapPoint};
use ::radio::rlc::receive::Report;
use ::radio::rlc::{Numbering, send::Reason};
use ::radio::tdma;
use ::radio::wire::block::{self, Header, Piece, Unit};
use ::radio::wire::gsmtap::{self, Payload};
use ::radio::wire::{gb, llc, message};
use base::Time;
use base::wire::checksum::Sum;
use base::wire::segment::{self, IpFields};
use base::wire::{TCP, UDP};
use scenario::Model;
use scenario::build::World;
use scenario::model::radio::BearerKind;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;

/// A frame at a radio tap.
pub(super) struct Octets {
    pub(super) t: Time,
    /// Index of the tap.
    pub(super) tap: u32,
    pub(super) bytes: Vec<u8>,
    pub(super) comment: String,
}

/// Local TLLI: both high bits set (3GPP TS 23.003 section 2.6); the mobile's number is added.
const TLLI: u32 = 0xc000_0001;

/// Radio taps of all cells and their frames in time order; tap numbers start at `first`.
pub(super) fn frames(
    capture: &Capture<'_>,
    by_id: &Numbers,
    model: &Model,
    world: &World,
    first: usize,
) -> (Vec<Tap>, Vec<Octets>) {
    let (mut taps, mut all) = (Vec::new(), Vec::new());
    let mut seen = Vec::new();
    for &(id, _) in &world.bearers {
        let Some(content) = world.network.element::<Cell>(id).and_then(Cell::content) else { continue };
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        let bearers: Vec<usize> = (0..world.bearers.len()).filter(|b| world.bearers[*b].0 == id).collect();
        let name = world.names.get(id.0 as usize).map_or("cell", String::as_str);
        let mut writer = CellWriter {
            capture,
            by_id,
            content,
            cell: seen.len() as u16,
            first: (first + taps.len()) as u32,
            lifetime: None,
            hops: bearers.iter().map(|b| model.bearers[*b].name.clone()).collect(),
            frames: vec![None; content.frames().len()],
            packets: BTreeMap::new(),
            sources: Vec::new(),
            sizes: BTreeMap::new(),
        };
        for frame in content.frames() {
            let size = writer.sizes.entry(frame.packet).or_default();
            *size = (*size).max(frame.from + frame.octets);
        }
        writer.lifetime = bearers.iter().find_map(|b| match &model.bearers[*b].kind {
            BearerKind::Gprs(of) => of.user.sgsn.lifetime,
            BearerKind::Framed(_) => None,
        });
        let tap = |name: String, description: &str| Tap {
            link: Link::RAW,
            snap: 0,
            name,
            description: description.into(),
        };
        taps.push(tap(format!("{name} air"), "RLC/MAC blocks of this cell, in GSMTAP"));
        taps.push(tap(format!("{name} gb"), "BSSGP between SGSN and PCU"));
        for hop in &writer.hops {
            taps.push(tap(format!("{hop} llc"), "LLC frames of this mobile, in GSMTAP"));
        }
        writer.write(&mut all);
    }
    all.sort_by_key(|f: &Octets| f.t);
    (taps, all)
}

/// Encoder for the frames of one cell.
struct CellWriter<'a> {
    capture: &'a Capture<'a>,
    by_id: &'a Numbers,
    content: &'a Content,
    /// Cell number, from 1.
    cell: u16,
    /// Index of the cell's first tap.
    first: u32,
    /// Lifetime of packets at the SGSN.
    lifetime: Option<base::Span>,
    /// Hop name of each mobile.
    hops: Vec<String>,
    /// Bytes of LLC frames already encoded, by serial number.
    frames: Vec<Option<Vec<u8>>>,
    /// Bytes of IP packets already encoded, by packet number.
    packets: BTreeMap<u64, Vec<u8>>,
    /// Packet size in octets, by packet number.
    sizes: BTreeMap<u64, u32>,
    /// Last IP identification of each pair of addresses.
    sources: Vec<((Ipv4Addr, Ipv4Addr), u16)>,
}

impl CellWriter<'_> {
    fn write(&mut self, all: &mut Vec<Octets>) {
        let content = self.content;
        // Number (USF) of the mobile that sends an uplink block, by block period and timeslot.
        let mut granted = BTreeMap::new();
        for entry in content.entries().iter().filter(|e| e.up) {
            if matches!(entry.what, EntryContent::Data { .. } | EntryContent::Dummy) {
                granted.insert((tdma::tick_of(entry.t), entry.slot), entry.user % block::FREE_USF);
            }
        }
        for entry in content.entries() {
            let next = (tdma::tick_of(entry.t) + 1, entry.slot);
            let usf = granted.get(&next).copied().unwrap_or(block::FREE_USF);
            self.entry(entry, usf, all);
        }
    }

    fn entry(&mut self, entry: &Entry, usf: u8, all: &mut Vec<Octets>) {
        let hop = self.hops.get(usize::from(entry.user)).cloned().unwrap_or_default();
        let mut comment = format!("hop={hop}");
        let tlli = TLLI + u32::from(entry.user);
        let (tap, bytes) = match &entry.what {
            EntryContent::Frame(TapPoint::Gb, serial) => {
                self.tell_frame(*serial, &mut comment);
                let frame = self.frame(*serial);
                let datagram = if entry.up {
                    gb::up(tlli, self.cell, &frame)
                } else {
                    gb::down(tlli, self.lifetime, &frame)
                };
                (1, self.on_gb(entry.up, &datagram))
            }
            EntryContent::Frame(TapPoint::Mobile, serial) => {
                self.tell_frame(*serial, &mut comment);
                let frame = self.frame(*serial);
                let bytes = self.datagram(entry.up, &gsmtap::wrap(Payload::Llc { up: entry.up }, &frame));
                (2 + u32::from(entry.user), bytes)
            }
            EntryContent::Flush(octets) => {
                let command = self.on_gb(false, &gb::flush(tlli));
                all.push(self.octets(entry.t, 1, command, comment.clone()));
                (1, self.on_gb(true, &gb::flush_ack(tlli, *octets)))
            }
            EntryContent::Data { .. } | EntryContent::Dummy | EntryContent::Report { .. } => {
                let octets = self.block(entry, usf, tlli, &mut comment);
                if !entry.arrived {
                    comment.push_str(" arrived=no");
                }
                let control = !matches!(entry.what, EntryContent::Data { .. });
                let frame = tdma::frame_of(tdma::tick_of(entry.t));
                let payload = Payload::Block { up: entry.up, slot: entry.slot, frame, control };
                (0, self.datagram(entry.up, &gsmtap::wrap(payload, &octets)))
            }
        };
        all.push(self.octets(entry.t, tap, bytes, comment));
    }

    fn octets(&self, t: Time, tap: u32, bytes: Vec<u8>, comment: String) -> Octets {
        Octets { t, tap: self.first + tap, bytes, comment }
    }

    fn tell_frame(&self, serial: u32, comment: &mut String) {
        if let Some(frame) = self.content.frames().get(serial as usize) {
            let _ = write!(comment, " packet={}", frame.packet);
        }
    }

    /// Octets of a radio block.
    fn block(&mut self, entry: &Entry, usf: u8, tlli: u32, comment: &mut String) -> Vec<u8> {
        let tfi = entry.user % 32;
        // The reply to a poll is sent 3 to 6 block periods later (RRBP 0 to 3).
        let poll = entry.poll.and_then(|after| after.checked_sub(3)).map(|code| code as u8 & 3);
        match &entry.what {
            EntryContent::Data { scheme, blocks, cv } => {
                tell_blocks(blocks, comment);
                if let Some(piece) = blocks.first().and_then(|b| b.pieces.first()) {
                    self.tell_frame(piece.frame, comment);
                }
                let header =
                    if entry.up { Header::up(tfi, *cv) } else { Header { usf, poll, ..Header::down(tfi) } };
                self.data(*scheme, &header, blocks)
            }
            EntryContent::Report { egprs, scheme, report, wants } => {
                report_words(report, comment);
                let ack = message::AckNack::of(tfi, report);
                let command = scheme.number();
                match (entry.up, *egprs) {
                    (true, false) => message::downlink_ack(&ack, *wants),
                    (true, true) => message::egprs_downlink_ack(tfi, report, *wants),
                    (false, false) => message::uplink_ack(&ack, command, poll, usf),
                    (false, true) => message::egprs_uplink_ack(tfi, report, command, poll, usf),
                }
            }
            _ if entry.up => message::uplink_dummy(tlli),
            _ => message::downlink_dummy(poll, usf),
        }
    }

    /// Octets of a data block.
    fn data(&mut self, scheme: ::radio::coding::Scheme, header: &Header, blocks: &[RlcBlock]) -> Vec<u8> {
        let space = if scheme.is_egprs() { 2048 } else { Numbering::GPRS.space };
        let carried: Vec<Vec<(Vec<u8>, bool)>> = blocks
            .iter()
            .map(|b| {
                b.pieces
                    .iter()
                    .map(|p| {
                        let frame = self.frame(p.frame);
                        let range = p.from as usize..(p.from + p.octets) as usize;
                        (frame.get(range).unwrap_or_default().to_vec(), p.ends)
                    })
                    .collect()
            })
            .collect();
        let pieces: Vec<Vec<Piece<'_>>> = carried
            .iter()
            .map(|all| all.iter().map(|(octets, ends)| Piece { octets, ends: *ends }).collect())
            .collect();
        let units: Vec<Unit<'_>> = blocks
            .iter()
            .zip(&pieces)
            .map(|(b, pieces)| Unit {
                bsn: b.bsn % space,
                part: b.part,
                first_scheme: b.first_scheme,
                attempt: b.attempt,
                flag: b.last,
                tlli: None,
                zero: b.zero,
                pieces,
            })
            .collect();
        match units.first() {
            Some(unit) if !scheme.is_egprs() => block::gprs(scheme, header, unit),
            _ => block::egprs(scheme, header, &units),
        }
    }

    /// Octets of an LLC frame.
    fn frame(&mut self, serial: u32) -> Vec<u8> {
        let Some(frame) = self.content.frames().get(serial as usize).copied() else { return Vec::new() };
        if let Some(known) = self.frames.get(serial as usize).and_then(Option::as_ref) {
            return known.clone();
        }
        let bytes = llc::frame(&frame.numbers, &self.segment(&frame));
        self.frames[serial as usize] = Some(bytes.clone());
        bytes
    }

    /// Octets of the IP packet in a frame; zeros for a packet outside of the capture.
    fn segment(&mut self, frame: &Frame) -> Vec<u8> {
        let capture = self.capture;
        let size = self.sizes.get(&frame.packet).copied().unwrap_or(0) as usize;
        let at = self.by_id.get(frame.packet);
        let packet = self.packets.entry(frame.packet).or_insert_with(|| {
            let mut bytes = Vec::new();
            if let Some(sent) = at.and_then(|at| capture.packets.get(at as usize)) {
                capture.bytes_of(sent, sent.ecn, None, usize::MAX, &mut bytes);
            }
            if let Some(from) = inner(&bytes, capture.framing) {
                bytes.drain(..from.min(bytes.len()));
            }
            fit(&mut bytes, size);
            bytes
        });
        let from = (frame.from as usize).min(packet.len());
        let to = (from + frame.octets as usize).min(packet.len());
        let mut segment = packet[from..to].to_vec();
        segment.resize(frame.octets as usize, 0);
        segment
    }

    /// IP datagram on Gb, uplink or downlink.
    fn on_gb(&mut self, up: bool, datagram: &[u8]) -> Vec<u8> {
        let sgsn = Ipv4Addr::new(10, 254, 0, 1);
        let pcu = Ipv4Addr::new(10, 254, 1, self.cell as u8);
        let (from, to) = if up { (pcu, sgsn) } else { (sgsn, pcu) };
        self.udp(from, to, gb::PORT, datagram)
    }

    /// GSMTAP datagram from the PCU or the mobile.
    fn datagram(&mut self, up: bool, payload: &[u8]) -> Vec<u8> {
        let pcu = Ipv4Addr::new(10, 254, 1, self.cell as u8);
        let mobiles = Ipv4Addr::new(10, 254, 2, self.cell as u8);
        let (from, to) = if up { (mobiles, pcu) } else { (pcu, mobiles) };
        self.udp(from, to, gsmtap::PORT, payload)
    }

    fn udp(&mut self, from: Ipv4Addr, to: Ipv4Addr, port: u16, payload: &[u8]) -> Vec<u8> {
        let at = self.sources.iter().position(|(pair, _)| *pair == (from, to)).unwrap_or_else(|| {
            self.sources.push(((from, to), 0));
            self.sources.len() - 1
        });
        let id = &mut self.sources[at].1;
        *id = *id % u16::MAX + 1;
        let mut inside = Vec::with_capacity(8 + payload.len());
        inside.extend(port.to_be_bytes());
        inside.extend(port.to_be_bytes());
        inside.extend((8 + payload.len() as u16).to_be_bytes());
        inside.extend([0, 0]);
        inside.extend_from_slice(payload);
        let mut out = Vec::new();
        segment::around(
            &mut out,
            from,
            to,
            UDP,
            &inside,
            IpFields { id: *id, ecn: 0, class: 0, ttl: TTL, divisible: false },
        );
        out
    }
}

/// Comment of a data block: its RLC blocks.
fn tell_blocks(blocks: &[RlcBlock], comment: &mut String) {
    let Some(first) = blocks.first() else { return };
    let _ = write!(comment, " block={}", first.bsn);
    if let Some(second) = blocks.get(1) {
        let _ = write!(comment, ",{}", second.bsn);
    }
    let _ = write!(comment, " sent={}", first.reason);
    if first.reason != Reason::New {
        let _ = write!(comment, " attempt={}", first.attempt + 1);
    }
}

/// Comment of an Ack/Nack report.
fn report_words(report: &Report, comment: &mut String) {
    let _ = write!(comment, " complete={} end={}", report.complete, report.end);
}

/// Cuts a packet to its size in the model. If the model counts fewer header octets than the encoded TCP options need,
/// the last options are removed first.
fn fit(bytes: &mut Vec<u8>, size: usize) {
    let head = usize::from(bytes.first().map_or(0, |b| b & 15)) * 4;
    if bytes.len() <= size || bytes.first().is_none_or(|b| b >> 4 != 4) || size < head {
        return;
    }
    let protocol = bytes.get(9).copied();
    let excess = bytes.len() - size;
    let options = bytes.get(head + 12).map_or(0, |b| usize::from(b >> 4) * 4).saturating_sub(20);
    let cut = excess.next_multiple_of(4);
    if protocol == Some(TCP) && cut <= options {
        let from = head + 20;
        let room = options - cut;
        let whole = whole_options(&bytes[from..from + options], room);
        bytes.drain(from + room..from + options);
        bytes[from + whole..from + room].fill(1);
        bytes[head + 12] = ((20 + room) as u8) << 2 | bytes[head + 12] & 15;
        bytes[head + 16..head + 18].fill(0);
        let addresses: Option<[u8; 8]> = bytes.get(12..20).and_then(|a| a.try_into().ok());
        let [a, b, c, d, e, f, g, h] = addresses.unwrap_or_default();
        let (source, target) = (Ipv4Addr::new(a, b, c, d), Ipv4Addr::new(e, f, g, h));
        let inside = (bytes.len() - head) as u32;
        let sum = Sum::ZERO.and_pseudo(source.into(), target.into(), TCP, inside).and(&bytes[head..]);
        let sum = sum.finish();
        bytes[head + 16..head + 18].copy_from_slice(&sum.to_be_bytes());
    }
    bytes.truncate(size.max(head));
    let length = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    bytes[10..12].fill(0);
    let sum = Sum::ZERO.and(&bytes[..head]).finish();
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Length in octets of the leading options that fit whole into `room`.
fn whole_options(options: &[u8], room: usize) -> usize {
    let mut at = 0;
    while let Some(kind) = options.get(at) {
        let length = if *kind < 2 { 1 } else { options.get(at + 1).map_or(1, |l| usize::from(*l).max(2)) };
        if at + length > room {
            break;
        }
        at += length;
    }
    at.min(room)
}
