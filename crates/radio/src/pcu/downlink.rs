//! Downlink TBF of a mobile with a real PCU: blocks, reports, and reassembly of LLC frames (3GPP TS 44.060
//! sections 9.1, 9.3.2).

use crate::rlc::receive::{BlockPart, Receiver};
use crate::rlc::{Bsn, Mode, Numbering};
use crate::tdma::Tick;
use crate::wire::block::Read;
use crate::wire::message::{self, AckNack};

/// A part of an LLC frame, and whether the frame ends with it.
type Piece = (Vec<u8>, bool);

/// A downlink TBF.
pub(super) struct DownTbf {
    pub(super) tfi: u8,
    /// Timeslots, timeslot 0 in the lowest bit.
    pub(super) slots: u8,
    receiver: Receiver,
    /// Content of blocks that wait for an earlier one, by number modulo 128.
    held: Vec<Option<Vec<Piece>>>,
    next: Bsn,
    partial: Vec<u8>,
    /// Time of the last block.
    pub(super) heard: Tick,
    /// Time of the final report.
    pub(super) finished: Option<Tick>,
}

impl DownTbf {
    pub(super) fn new(tfi: u8, slots: u8, now: Tick) -> DownTbf {
        DownTbf {
            tfi,
            slots,
            receiver: Receiver::new(Numbering::GPRS, Mode::Acknowledged, false),
            held: vec![None; 128],
            next: 0,
            partial: Vec::new(),
            heard: now,
            finished: None,
        }
    }

    /// Whether the TBF uses the timeslot.
    pub(super) fn listens_on(&self, slot: u8) -> bool {
        self.slots >> slot & 1 == 1
    }

    /// A block has been decoded; returns the LLC frames that it completes, in order.
    pub(super) fn take(&mut self, read: &Read, octets: &[u8], now: Tick) -> Vec<Vec<u8>> {
        self.heard = now;
        let mut frames = Vec::new();
        let Some(bsn) = self.receiver.resolve(read.bsn) else { return frames };
        if self.receiver.take(bsn, BlockPart::Whole, read.flag).duplicate {
            return frames;
        }
        let mut pieces: Vec<Piece> = read
            .segments
            .iter()
            .map(|s| (octets.get(s.octets.clone()).unwrap_or_default().to_vec(), s.ends))
            .collect();
        // The last frame of a TBF may fill its block exactly and then has no length indicator.
        if read.flag
            && let Some(last) = pieces.last_mut()
        {
            last.1 = true;
        }
        self.held[bsn as usize % 128] = Some(pieces);
        while self.next < self.receiver.vq() {
            for (part, ends) in self.held[self.next as usize % 128].take().unwrap_or_default() {
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
        if report.last {
            self.finished.get_or_insert(now);
        }
        message::downlink_ack(&AckNack::of(self.tfi, &report), wants)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::Scheme;
    use crate::wire::block::{self, Header, Unit};

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
        let mut tbf = DownTbf::new(3, 0x80, 0);
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
}
