//! Downlink TBF of a mobile with a real PCU: blocks, reports, and reassembly of LLC frames (3GPP TS 44.060
//! sections 9.1, 9.3.2).

use crate::rlc::receive::{BlockPart, Receiver, Report};
use crate::rlc::{Bsn, Mode, Numbering};
use crate::tdma::Tick;
use crate::wire::block::{self, Aligned, Read, Segment};
use crate::wire::message::{self, AckNack};

/// A part of an LLC frame, and whether the frame ends with it.
type Piece = (Vec<u8>, bool);

/// Content of an RLC block that waits for an earlier one.
#[derive(Clone, Default)]
struct Held {
    /// An LLC frame ended with the preceding block.
    zero: bool,
    pieces: Vec<Piece>,
    /// EGPRS: the halves received, and whether there is no length indicator.
    halves: [Option<Vec<u8>>; 2],
    none: bool,
}

/// A downlink TBF.
pub(super) struct DownTbf {
    pub(super) tfi: u8,
    /// Timeslots, timeslot 0 in the lowest bit.
    pub(super) slots: u8,
    numbering: Numbering,
    pub(super) receiver: Receiver,
    /// One after the highest block seen on the air.
    pub(super) sent: Bsn,
    /// The last report that the network received, and the one on the air.
    pub(super) told: Option<Report>,
    telling: Option<Report>,
    /// The last block taken had data that were missing.
    pub(super) fresh: bool,
    /// Blocks from V(Q) on, by number modulo a power of two that is no less than the window.
    held: Vec<Held>,
    next: Bsn,
    partial: Vec<u8>,
    /// Time of the last block.
    pub(super) last: Tick,
    /// Time of the final report.
    pub(super) finished: Option<Tick>,
}

/// Bits in steps of which an EGPRS report covers the window: osmo-pcu 1.1.0 misreads a bitmap whose length is no
/// whole number of octets (docs/pcu-agreement.md).
const BITMAP_STEP: usize = 8;

impl DownTbf {
    pub(super) fn new(tfi: u8, slots: u8, numbering: Numbering, now: Tick) -> DownTbf {
        DownTbf {
            tfi,
            slots,
            numbering,
            receiver: Receiver::new(numbering, Mode::Acknowledged, numbering != Numbering::GPRS),
            sent: 0,
            told: None,
            telling: None,
            fresh: false,
            held: vec![Held::default(); numbering.window.next_power_of_two() as usize],
            next: 0,
            partial: Vec::new(),
            last: now,
            finished: None,
        }
    }

    /// Whether it is an EGPRS TBF.
    pub(super) fn is_egprs(&self) -> bool {
        self.numbering != Numbering::GPRS
    }

    /// Whether the TBF uses the timeslot.
    pub(super) fn listens_on(&self, slot: u8) -> bool {
        self.slots >> slot & 1 == 1
    }

    /// The network has received the report on the air.
    pub(super) fn heard(&mut self) {
        self.told = self.telling.take().or(self.told);
    }

    fn at(&self, bsn: Bsn) -> usize {
        bsn as usize & (self.held.len() - 1)
    }

    /// A GPRS block has been decoded; returns the LLC frames that it completes, in order.
    pub(super) fn take(&mut self, read: &Read, octets: &[u8], now: Tick) -> Vec<Vec<u8>> {
        self.last = now;
        let Some(bsn) = self.receiver.resolve(read.bsn) else { return Vec::new() };
        self.fresh = !self.receiver.take(bsn, BlockPart::Whole, read.flag).duplicate;
        if !self.fresh {
            return Vec::new();
        }
        let at = self.at(bsn);
        self.held[at] = Held { pieces: pieces(octets, &read.segments, read.flag), ..Held::default() };
        self.frames()
    }

    /// An EGPRS RLC block, or half of one, has been decoded.
    pub(super) fn take_egprs(&mut self, unit: &Aligned, now: Tick) -> Vec<Vec<u8>> {
        self.last = now;
        let Some(bsn) = self.receiver.resolve(unit.bsn) else { return Vec::new() };
        // With halves the final one of the TBF is known when both are there, from the flag of either.
        if self.receiver.take(bsn, unit.part, unit.flag).duplicate {
            return Vec::new();
        }
        self.fresh = true;
        let at = self.at(bsn);
        let held = &mut self.held[at];
        let octets = match unit.part {
            BlockPart::Whole => unit.octets.clone(),
            BlockPart::First | BlockPart::Second => {
                let first = unit.part == BlockPart::First;
                if first {
                    held.none = unit.none;
                }
                held.halves[usize::from(!first)] = Some(unit.octets.clone());
                let [Some(first), Some(second)] = &held.halves else { return Vec::new() };
                [first.as_slice(), second].concat()
            }
        };
        let none = if unit.part == BlockPart::Whole { unit.none } else { held.none };
        let Some((zero, segments)) = block::read_egprs_body(none, &octets) else { return Vec::new() };
        *held = Held { zero, pieces: pieces(&octets, &segments, unit.flag), ..Held::default() };
        self.frames()
    }

    /// LLC frames of the blocks up to V(Q).
    fn frames(&mut self) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        while self.next < self.receiver.vq() {
            let at = self.at(self.next);
            let held = std::mem::take(&mut self.held[at]);
            if held.zero && !self.partial.is_empty() {
                frames.push(std::mem::take(&mut self.partial));
            }
            for (part, ends) in held.pieces {
                self.partial.extend(part);
                if ends {
                    frames.push(std::mem::take(&mut self.partial));
                }
            }
            self.next += 1;
        }
        frames
    }

    /// Packet Downlink Ack/Nack. `wants`: octets waiting, with which the mobile requests an uplink TBF.
    pub(super) fn report(&mut self, wants: Option<u16>, now: Tick) -> Vec<u8> {
        let report = self.receiver.report();
        self.telling = Some(report);
        if report.last {
            self.finished.get_or_insert(now);
        }
        if self.is_egprs() {
            return message::egprs_downlink_ack_in_steps(self.tfi, &report, wants, BITMAP_STEP);
        }
        message::downlink_ack(&AckNack::of(self.tfi, &report), wants)
    }
}

/// The parts of LLC frames in a block. The last frame of a TBF may fill its block exactly and then has no length
/// indicator.
fn pieces(octets: &[u8], segments: &[Segment], last: bool) -> Vec<Piece> {
    let part = |s: &Segment| (octets.get(s.octets.clone()).unwrap_or_default().to_vec(), s.ends);
    let mut pieces: Vec<Piece> = segments.iter().map(part).collect();
    if last && let Some(piece) = pieces.last_mut() {
        piece.1 = true;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::Scheme;
    use crate::wire::block::{Header, Unit};

    fn block(bsn: u32, flag: bool, pieces: &[block::Piece<'_>]) -> Vec<u8> {
        let unit = Unit {
            bsn,
            part: BlockPart::Whole,
            first_scheme: Scheme::Cs1,
            attempt: 0,
            flag,
            tlli: None,
            zero: false,
            pieces,
        };
        block::gprs(Scheme::Cs1, &Header::down(3), &unit)
    }

    /// GP-08: frames are delivered in order for any order of blocks, and the report names missing blocks.
    #[test]
    fn gp_08_frames_are_put_together_in_order() {
        let mut tbf = DownTbf::new(3, 0x80, Numbering::GPRS, 0);
        let piece = |octets, ends| block::Piece { octets, ends };
        let blocks = [
            block(0, false, &[piece(&[1; 20][..], false)]),
            block(1, false, &[piece(&[1; 5][..], true), piece(&[2; 14][..], false)]),
            block(2, true, &[piece(&[2; 20][..], true)]),
        ];
        let mut take = |i: usize| {
            let read = block::read_gprs(false, &blocks[i]).unwrap();
            tbf.take(&read, &blocks[i], 9)
        };
        assert!(take(2).is_empty() && take(0).is_empty() && take(0).is_empty());
        let frames = take(1);
        assert_eq!(frames, [vec![1; 25], vec![2; 34]]);
        let report = message::read_up(&tbf.report(None, 11));
        let expected = message::AckNack { tfi: 3, last: true, ssn: 3, received: u64::MAX };
        assert_eq!(report, Some(message::Message::DownlinkAck(expected, None)));
        assert_eq!(tbf.finished, Some(11));
    }

    /// EG-10: two halves in either order make the block of MCS-6 or padded MCS-8 that was first sent whole; an
    /// indicator of length 0 ends the frame that filled the block before.
    #[test]
    fn eg_10_halves_and_exact_fits_are_put_together() {
        let unit = |bsn, first_scheme, part, flag, zero, pieces| Unit {
            bsn,
            part,
            first_scheme,
            attempt: 1,
            flag,
            tlli: None,
            zero,
            pieces,
        };
        let piece = |octets, ends| block::Piece { octets, ends };
        let (one, two) = ([1; 68], [2; 40]);
        let first = [piece(&one[..], true)];
        let last = [piece(&two[..], true)];
        let mut tbf = DownTbf::new(3, 0x80, Numbering::egprs(64), 0);
        let mut take = |scheme, unit: Unit<'_>| {
            let octets = block::egprs(scheme, &Header::down(3), &[unit]);
            let (_, units) = block::read_egprs(false, &octets).expect("a block");
            units.iter().flat_map(|unit| tbf.take_egprs(unit, 9)).collect::<Vec<_>>()
        };
        let (small, whole) = (Scheme::Mcs3, Scheme::Mcs6);
        // The second block in whole, then the halves of the first one, of MCS-8.
        assert!(take(whole, unit(1, whole, BlockPart::Whole, true, true, &last)).is_empty());
        assert!(take(small, unit(0, Scheme::Mcs8, BlockPart::Second, false, false, &first)).is_empty());
        let frames = take(small, unit(0, Scheme::Mcs8, BlockPart::First, false, false, &first));
        assert_eq!(frames, [vec![1; 68], vec![2; 40]]);
        assert!(tbf.report(None, 5).len() == 23 && tbf.finished == Some(5));
    }
}
