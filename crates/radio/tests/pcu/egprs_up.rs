//! Our EGPRS uplink beside a real PCU: radio blocks of our sender, and each report of the PCU compared with that of our
//! receiver, which gets the same blocks.

use super::{TLLI, WINDOW, frame};
use crate::pcu::{Pcu, Setup};
use radio::coding::Scheme;
use radio::mac::countdown;
use radio::rlc::receive::{BlockPart, Receiver, Report};
use radio::rlc::send::{SendOptions, Sender, Unit as Sent};
use radio::rlc::{Mode, Numbering};
use radio::wire::assignment::{self, Assignment, UplinkCoding};
use radio::wire::block::{self, Header, Piece, Unit};
use radio::wire::message::{self, EgprsAckNack, Message};
use std::collections::BTreeSet;

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) scheme: Scheme,
    pub(crate) frames: u32,
    /// Percent of blocks lost.
    pub(crate) loss: u32,
    /// The mobile decodes a report, by its number from 0.
    pub(crate) hears: fn(u32) -> bool,
}

#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Radio blocks sent, and repeats among them.
    pub(crate) sent: u32,
    pub(crate) repeats: u32,
    /// Reports that equal ours, and the first that does not.
    pub(crate) equal: u32,
    pub(crate) difference: Option<String>,
    /// Frames that the PCU handed up whole.
    pub(crate) frames: usize,
    /// Block periods with a closed window.
    pub(crate) stalled: u64,
    /// The PCU has acknowledged the last block as such.
    pub(crate) ended: bool,
}

struct Trial<'a> {
    case: &'a Case,
    pcu: Pcu,
    sender: Sender<usize>,
    pdus: Vec<Vec<u8>>,
    /// Our view of the PCU's end.
    network: Receiver,
    granted: Option<(u8, u8, UplinkCoding)>,
    resolved: bool,
    named: BTreeSet<u32>,
    heard: u32,
    lottery: u32,
    found: Found,
}

impl Trial<'_> {
    fn pieces(&self, bsn: u32) -> Vec<Piece<'_>> {
        let cut = self.sender.cut_of(bsn).unwrap_or_default();
        let (mut left, mut from, mut number) = (usize::from(cut.octets), cut.offset as usize, cut.pdu);
        let mut pieces = Vec::new();
        while left > 0 {
            let pdu = self.sender.feed.pdu(number).expect("it is held until it is acknowledged");
            let n = left.min(pdu.size as usize - from);
            let ends = pieces.len() < usize::from(cut.ends);
            pieces.push(Piece { octets: &self.pdus[pdu.token][from..from + n], ends });
            (left, from, number) = (left - n, 0, number + 1);
        }
        pieces
    }

    /// The block of a granted period; none where nothing is left.
    fn block(&mut self, tfi: u8, coding: UplinkCoding) -> Option<Vec<u8>> {
        let stalled = self.sender.is_stalled();
        self.sender.set_prefix(if self.resolved { 0 } else { 4 });
        let block = self.sender.next(self.pcu.tick, coding.scheme, true)?;
        let mut sent: Vec<Sent> = block.units().collect();
        sent.sort_by_key(|unit| unit.bsn);
        if !self.resolved {
            self.named.extend(sent.iter().map(|unit| unit.bsn));
        }
        self.found.sent += 1;
        self.found.repeats += u32::from(block.first.attempt > 0);
        let last = sent.last().map_or(0, |unit| unit.bsn);
        let behind = self.sender.vs() - last - 1;
        let left = self.sender.feed.blocks_left(coding.scheme.payload()) + behind;
        let cv = countdown::value(left, if block.scheme.is_dual() { 2 } else { 1 }, 15);
        let pieces: Vec<Vec<Piece<'_>>> = sent.iter().map(|unit| self.pieces(unit.bsn)).collect();
        let units: Vec<Unit<'_>> = sent
            .iter()
            .zip(&pieces)
            .map(|(unit, pieces)| Unit {
                bsn: unit.bsn % 2048,
                part: unit.part,
                first_scheme: unit.first_scheme,
                attempt: unit.attempt,
                flag: self.named.contains(&unit.bsn),
                tlli: self.named.contains(&unit.bsn).then_some(TLLI),
                zero: self.sender.cut_of(unit.bsn).unwrap_or_default().zero,
                pieces,
            })
            .collect();
        let octets = block::egprs(block.scheme, &Header { stalled, ..Header::up(tfi, cv as u8) }, &units);
        self.lottery = self.lottery.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // The first block arrives, so that both sides know the mobile.
        if self.found.sent > 1 && (self.lottery >> 8) % 100 < self.case.loss {
            return Some(Vec::new());
        }
        for unit in &sent {
            self.network.take(unit.bsn, BlockPart::Whole, cv == 0 && unit.bsn == last);
        }
        Some(octets)
    }

    /// A report beside ours.
    fn report(&mut self, ack: &EgprsAckNack) {
        self.resolved |= ack.tlli == Some(TLLI);
        let ours = self.network.report();
        let bits = ours.end.saturating_sub(ours.complete + 1);
        let received =
            (0..bits).fold(0u128, |all, i| all | u128::from(ours.received.get(ours.complete + 1 + i)) << i);
        let same = (u32::from(ack.complete), u32::from(ack.length), ack.received, ack.last)
            == (ours.complete % 2048, bits, received, ours.last);
        if same {
            self.found.equal += 1;
        } else if self.found.difference.is_none() {
            self.found.difference = Some(format!("PCU {ack:?}, ours {ours:?}"));
        }
        self.found.ended |= ack.last;
        self.heard += 1;
        if (self.case.hears)(self.heard - 1) {
            // The equal report of our own receiver, in the form of the sender.
            let report = Report { last: ack.last, ..ours };
            self.sender.on_report(&report, self.pcu.tick);
        }
    }

    fn run(mut self) -> Found {
        // One phase, class 1, priority 1, random bits 5.
        self.pcu.rach_egprs(5);
        let (mut next, mut reserved) = (false, Vec::new());
        for _ in 0..600 {
            let tick = self.pcu.tick;
            let octets = self.pcu.block(7).unwrap_or_default();
            for octets in std::mem::take(&mut self.pcu.common) {
                if let Some(Assignment::Access { tfi, usf, coding, .. }) = assignment::read_immediate(&octets)
                {
                    self.granted = Some((tfi, usf, coding));
                }
            }
            if let Some((poll, _, Message::EgprsUplinkAck(ack))) = message::read_down(&octets) {
                self.report(&ack);
                reserved.extend(poll.map(|rrbp| tick + 3 + u32::from(rrbp)));
            }
            let (granted, usf) = (next, octets.first().map(|o| o & 7));
            next = self.granted.is_some_and(|(_, mine, _)| usf == Some(mine)) && !self.found.ended;
            let octets = match self.granted {
                _ if reserved.contains(&tick) => message::control_ack(TLLI),
                Some((tfi, _, coding)) if granted => self.block(tfi, coding).unwrap_or_default(),
                _ => Vec::new(),
            };
            self.pcu.uplink(7, &octets);
            self.pcu.step();
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
        self.pcu.listen();
        self.found.stalled = self.sender.counts().stalled;
        self.found.frames = self.pcu.frames.iter().filter(|(_, f)| self.pdus.contains(f)).count();
        self.found
    }
}

/// Compares one case; none without the program.
pub(crate) fn found(case: &Case) -> Option<Found> {
    let number = case.scheme.number();
    let (initial, most) = (format!("mcs 1 {number}"), format!("mcs max 1 {number}"));
    // The quality that the base station reports, 20 dB, would lower MCS-9.
    let ranges = "mcs link-quality-ranges mcs1 6 mcs2 5 8 mcs3 7 13 mcs4 12 14 mcs5 13 15 mcs6 14 16 mcs7 15 17 mcs8 16 18 mcs9 17";
    let lines = ["flow-control-interval 10", "gamma 0", "alloc-algorithm a", ranges, &initial, &most];
    let pcu = Pcu::start(&Setup { lines: &lines, slots: 0x80, egprs: true })?;
    let numbering = Numbering::egprs(WINDOW);
    let mut sender = Sender::new(numbering, Mode::Acknowledged, SendOptions::default()).keeping_cuts();
    let pdus: Vec<Vec<u8>> = (0..case.frames).map(frame).collect();
    pdus.iter().enumerate().for_each(|(i, pdu)| sender.feed.push(pdu.len() as u32, i));
    let network = Receiver::new(numbering, Mode::Acknowledged, false);
    let trial = Trial {
        case,
        pcu,
        sender,
        pdus,
        network,
        granted: None,
        resolved: false,
        named: BTreeSet::new(),
        heard: 0,
        lottery: 12_345,
        found: Found::default(),
    };
    Some(trial.run())
}
