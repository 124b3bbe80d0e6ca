//! Capture log of a cell: content of radio blocks, LLC frames and FLUSH-LL (3GPP TS 44.060, 44.064, 44.065, 48.018).
//!
//! The model transfers sizes and tokens. With this log and the octets of the packets, a capture can encode each
//! block and frame as transmitted on the radio interface, on Gb and at the mobile. [`Content::frames`] maps octets of
//! packets to LLC frames, [`Content::entries`] maps octets of frames to blocks.

use super::frames::{FrameId, Frames};
use crate::coding::Scheme;
use crate::llc::Segmentation;
use crate::rlc::Bsn;
use crate::rlc::receive::{BlockPart, Report};
use crate::rlc::send::{RadioBlock, Reason, Sender, Unit};
use crate::tdma::{self, Tick};
use crate::wire::llc::Numbers;
use base::Time;
use base::packet::Packet;

/// An LLC frame with its octet range in the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Index of the mobile.
    pub user: u8,
    /// Packet number in the run.
    pub packet: u64,
    /// Offset of the frame's first octet in the packet.
    pub from: u32,
    /// Number of octets of the packet in the frame.
    pub octets: u32,
    /// Header fields of the frame and its SNDCP segment.
    pub numbers: Numbers,
}

/// Octet range of an LLC frame in an RLC block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Index of the frame in [`Content::frames`].
    pub frame: u32,
    /// Offset of the first octet in the frame.
    pub from: u32,
    /// Number of octets.
    pub octets: u32,
    /// True if the frame ends with these octets.
    pub ends: bool,
}

/// An RLC block of a radio block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RlcBlock {
    /// Absolute block sequence number, from the start of the TBF.
    pub bsn: Bsn,
    /// Whole block or half.
    pub part: BlockPart,
    /// Reason of the transmission.
    pub reason: Reason,
    /// Coding scheme of the block's first transmission, which determines its content.
    pub first_scheme: Scheme,
    /// Number of earlier transmissions of the block.
    pub attempt: u8,
    /// The block has the final block indicator.
    pub last: bool,
    /// The block has a length indicator of value 0.
    pub zero: bool,
    /// Octets of LLC frames in the block.
    pub pieces: Vec<Piece>,
}

/// Observation point of an LLC frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TapPoint {
    /// At the PCU's end of Gb.
    Gb,
    /// At the mobile, between LLC and RLC.
    Mobile,
}

/// Content of a log entry.
#[derive(Clone, Debug)]
pub enum EntryContent {
    /// A data block.
    Data {
        /// Coding scheme of the radio block.
        scheme: Scheme,
        /// One or two RLC blocks.
        blocks: Vec<RlcBlock>,
        /// Uplink: countdown value.
        cv: u8,
    },
    /// A dummy block.
    Dummy,
    /// A report (Packet Downlink or Uplink Ack/Nack).
    Report {
        /// Whether the report is about EGPRS blocks.
        egprs: bool,
        /// Coding scheme of the reported data.
        scheme: Scheme,
        /// Content of the report.
        report: Box<Report>,
        /// Channel request in a downlink report: octets waiting for the uplink.
        wants: Option<u16>,
    },
    /// An LLC frame: observation point, index in [`Content::frames`].
    Frame(TapPoint, u32),
    /// FLUSH-LL and its acknowledgement: number of octets that the PCU deleted.
    Flush(u32),
}

/// Log entry: a block on the radio interface, a frame on Gb or at a mobile, or a flush.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Time; for blocks, the start of the block period.
    pub t: Time,
    /// Index of the mobile.
    pub user: u8,
    /// True for uplink.
    pub up: bool,
    /// Timeslot, for blocks.
    pub slot: u8,
    /// Whether the receiver decoded the block.
    pub arrived: bool,
    /// Downlink block with a poll: block periods until the reserved uplink block; `None` without a poll.
    pub poll: Option<u32>,
    /// Content of the block or frame.
    pub what: EntryContent,
}

/// Transmission of a block: mobile, direction, timeslot, tick, and whether it is decoded.
#[derive(Clone, Copy)]
pub(super) struct BlockSent {
    pub(super) user: u8,
    pub(super) up: bool,
    pub(super) slot: usize,
    pub(super) tick: Tick,
    pub(super) arrived: bool,
}

/// Next N(U) or N(S) and next N-PDU number in one direction of a mobile.
#[derive(Clone, Copy, Default, Debug)]
struct LastNumbers {
    frames: u32,
    packets: u32,
}

/// Capture log of a cell.
#[derive(Clone, Debug)]
pub struct Content {
    frames: Vec<Frame>,
    entries: Vec<Entry>,
    given: Vec<[LastNumbers; 2]>,
}

impl Content {
    pub(super) fn new(users: usize) -> Content {
        Content { frames: Vec::new(), entries: Vec::new(), given: vec![[LastNumbers::default(); 2]; users] }
    }

    /// All LLC frames in the order of creation.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }
    /// Log entries in the order of execution; times of LLC frames can be later than those of following entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn describe(&mut self, user: u8, up: bool, packet: &Packet, by: Segmentation) -> u32 {
        let serial = self.frames.len() as u32;
        let Some(pair) = self.given.get_mut(usize::from(user)) else { return serial };
        let other = pair[usize::from(!up)].frames;
        let given = &mut pair[usize::from(up)];
        let (mut from, all) = (0, by.segments(packet.size).count());
        for (i, octets) in by.segments(packet.size).enumerate() {
            let numbers = Numbers {
                mode: by.mode,
                up,
                frame: given.frames,
                expected: other,
                packet: given.packets,
                segment: i as u8,
                more: i + 1 < all,
            };
            self.frames.push(Frame { user, packet: packet.id, from, octets, numbers });
            from += octets;
            given.frames += 1;
        }
        given.packets += 1;
        serial
    }

    fn push(&mut self, sent: BlockSent, what: EntryContent) {
        let BlockSent { user, up, slot, tick, arrived } = sent;
        let t = tdma::start_of(tick);
        self.entries.push(Entry { t, user, up, slot: slot as u8, arrived, poll: None, what });
    }

    /// Logs a data block. `keeps`: the TBF continues after its last data (no final block indicator).
    pub(super) fn block(
        &mut self,
        sent: BlockSent,
        sender: &Sender<FrameId>,
        frames: &Frames,
        block: &RadioBlock,
        cv: u8,
        keeps: bool,
    ) {
        let blocks = block.units().map(|unit| rlc_block(sender, frames, unit, keeps)).collect();
        self.push(sent, EntryContent::Data { scheme: block.scheme, blocks, cv });
    }

    pub(super) fn dummy(&mut self, sent: BlockSent) {
        self.push(sent, EntryContent::Dummy);
    }

    pub(super) fn report(&mut self, sent: BlockSent, scheme: Scheme, report: &Report, wants: Option<u16>) {
        let egprs = scheme.is_egprs();
        self.push(sent, EntryContent::Report { egprs, scheme, report: Box::new(*report), wants });
    }

    /// Adds a poll to the last logged block.
    pub(super) fn polled(&mut self, after: Option<u32>) {
        if let Some(entry) = self.entries.last_mut() {
            entry.poll = after;
        }
    }

    pub(super) fn frame(&mut self, t: Time, place: TapPoint, serial: u32) {
        let Some(frame) = self.frames.get(serial as usize) else { return };
        let (user, up) = (frame.user, frame.numbers.up);
        let what = EntryContent::Frame(place, serial);
        self.entries.push(Entry { t, user, up, slot: 0, arrived: true, poll: None, what });
    }

    pub(super) fn flush(&mut self, t: Time, user: u8, octets: u32) {
        let what = EntryContent::Flush(octets);
        self.entries.push(Entry { t, user, up: false, slot: 0, arrived: true, poll: None, what });
    }
}

fn rlc_block(sender: &Sender<FrameId>, frames: &Frames, unit: Unit, keeps: bool) -> RlcBlock {
    let cut = sender.cut_of(unit.bsn).unwrap_or_default();
    let (mut left, mut from, mut number) = (u32::from(cut.octets), cut.offset, cut.pdu);
    let mut pieces = Vec::new();
    while left > 0 {
        let Some(pdu) = sender.feed.pdu(number) else { break };
        let octets = left.min(pdu.size.saturating_sub(from));
        let ends = pieces.len() < usize::from(cut.ends);
        pieces.push(Piece { frame: frames.get(pdu.token).serial, from, octets, ends });
        (left, from, number) = (left - octets, 0, number + 1);
    }
    RlcBlock {
        bsn: unit.bsn,
        part: unit.part,
        reason: unit.reason,
        first_scheme: unit.first_scheme,
        attempt: unit.attempt,
        last: unit.last && !keeps,
        zero: cut.zero,
        pieces,
    }
}
