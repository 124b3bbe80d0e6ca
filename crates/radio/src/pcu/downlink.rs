//! Downlink TBF of a mobile with a real PCU: blocks, reports, and reassembly of LLC frames (3GPP TS 44.060
//! sections 9.1, 9.3.2).

use crate::rlc::receive::{BlockPart, Receiver, Report};
use crate::rlc::{Bsn, Mode, Numbering};
use crate::tdma::Tick;
use crate::wire::block::{self, Aligned, Read, Segment};
use crate::wire::message::{self, AckNack};

/// Octets of an LLC frame in one block, and whether the frame ends with them.
type Piece = (Vec<u8>, bool);

/// Content of a received RLC block that waits for an earlier block.
#[derive(Clone, Default)]
struct Held {
    /// An LLC frame ended with the preceding block.
    zero: bool,
    pieces: Vec<Piece>,
    /// EGPRS: the received halves.
    halves: [Option<Vec<u8>>; 2],
    /// EGPRS: the block has no length indicator.
    none: bool,
}

/// A downlink TBF.
pub(super) struct DownTbf {
    pub(super) tfi: u8,
    /// Timeslots, timeslot 0 in the lowest bit.
    pub(super) slots: u8,
    numbering: Numbering,
    pub(super) receiver: Receiver,
    /// Highest block number seen on the air plus 1.
    pub(super) sent: Bsn,
    /// Latest report that the network has received.
    pub(super) told: Option<Report>,
    /// Report sent and not yet received by the network.
    telling: Option<Report>,
    /// The last received block had missing data.
    pub(super) fresh: bool,
    /// Received blocks from V(Q) on, by block number modulo the length, a power of two not below the window.
    held: Vec<Held>,
    next: Bsn,
    partial: Vec<u8>,
    /// Time of the last received block.
    pub(super) last: Tick,
    /// Time at which the final report was sent.
    pub(super) finished: Option<Tick>,
}

/// The bitmap of an EGPRS report has a multiple of this number of bits: osmo-pcu 1.1.0 misreads a bitmap whose length
/// is not a whole number of octets (docs/pcu-agreement.md).
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

    /// Whether the TBF is an EGPRS TBF.
    pub(super) fn is_egprs(&self) -> bool {
        self.numbering != Numbering::GPRS
    }

    /// Whether the TBF uses the timeslot.
    pub(super) fn listens_on(&self, slot: u8) -> bool {
        self.slots >> slot & 1 == 1
    }

    /// Records that the network has received the last report.
    pub(super) fn heard(&mut self) {
        self.told = self.telling.take().or(self.told);
    }

    fn at(&self, bsn: Bsn) -> usize {
        bsn as usize & (self.held.len() - 1)
    }

    /// Takes a decoded GPRS block; returns the LLC frames that it completes, in order.
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

    /// Takes a decoded EGPRS RLC block, or half of one; returns the LLC frames that it completes.
    pub(super) fn take_egprs(&mut self, unit: &Aligned, now: Tick) -> Vec<Vec<u8>> {
        self.last = now;
        let Some(bsn) = self.receiver.resolve(unit.bsn) else { return Vec::new() };
        // In halves, the final block of the TBF is known when both halves have arrived; either half may have the flag.
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

    /// LLC frames completed by the blocks before V(Q).
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

    /// Packet Downlink Ack/Nack. `wants`: octets in the uplink queue, for a channel request in the report.
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

/// Parts of LLC frames in a block; `last`: final block of the TBF, whose last frame may fill it exactly without a
/// length indicator.
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

    /// EG-10: two halves in either order give the block of MCS-6 or padded MCS-8 that was first sent whole; a length
    /// indicator of 0 ends the frame that filled the previous block.
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
        // First the second block as a whole, then both halves of the first block, with MCS-8 content.
        assert!(take(whole, unit(1, whole, BlockPart::Whole, true, true, &last)).is_empty());
        assert!(take(small, unit(0, Scheme::Mcs8, BlockPart::Second, false, false, &first)).is_empty());
        let frames = take(small, unit(0, Scheme::Mcs8, BlockPart::First, false, false, &first));
        assert_eq!(frames, [vec![1; 68], vec![2; 40]]);
        assert!(tbf.report(None, 5).len() == 23 && tbf.finished == Some(5));
    }
}
