//! Uplink TBF of a mobile with a real PCU: segmentation into blocks, countdown, contention resolution (3GPP
//! TS 44.060 sections 7.1.2.3, 9.3.1, 9.3.3).

use crate::coding::Scheme;
use crate::mac::countdown;
use crate::rlc::receive::{BlockPart, Receiver, Report};
use crate::rlc::send::{SendOptions, Sender};
use crate::rlc::{Mode, Numbering};
use crate::tdma::Tick;
use crate::wire::block::{self, Header, Piece, Unit};
use crate::wire::message::{self, AckNack};
use std::collections::VecDeque;

/// `BS_CV_MAX` as the base station announces it.
const BS_CV_MAX: u32 = 15;

/// An uplink TBF.
pub(super) struct UpTbf {
    pub(super) tfi: u8,
    /// USF of each timeslot.
    pub(super) usf: [Option<u8>; 8],
    scheme: Scheme,
    /// Until contention is resolved, blocks carry the TLLI and use this scheme.
    contention: Option<Scheme>,
    /// Scheme of each block, and whether it carries the TLLI.
    kept: Vec<(Scheme, bool)>,
    /// The countdown has begun: no further frames join.
    counts_down: bool,
    pub(super) begun: Tick,
    /// Time of the last granted block; below, of the last report, or of the first data after it.
    pub(super) granted: Tick,
    pub(super) reported: Tick,
}

impl UpTbf {
    pub(super) fn new(
        tfi: u8,
        usf: [Option<u8>; 8],
        scheme: u8,
        contention: Option<bool>,
        now: Tick,
    ) -> UpTbf {
        let scheme = Scheme::numbered(false, scheme).unwrap_or(Scheme::Cs1);
        UpTbf {
            tfi,
            usf,
            scheme,
            contention: contention.map(|coded| if coded { scheme } else { Scheme::Cs1 }),
            kept: Vec::new(),
            counts_down: false,
            begun: now,
            granted: now,
            reported: now,
        }
    }

    /// Whether contention resolution is pending.
    pub(super) fn is_contended(&self) -> bool {
        self.contention.is_some()
    }

    /// Its timeslots, timeslot 0 in the lowest bit.
    pub(super) fn slots(&self) -> u8 {
        (0..8).filter(|s| self.usf[*s as usize].is_some()).fold(0, |mask, s| mask | 1 << s)
    }
}

/// Uplink frames of a mobile, across TBFs.
pub(super) struct Uplink {
    pub(super) sender: Sender<u32>,
    /// Frames that RLC holds; `first` is the number of the oldest.
    frames: VecDeque<Vec<u8>>,
    first: u32,
    /// Frames that wait for a TBF.
    waiting: VecDeque<Vec<u8>>,
}

impl Uplink {
    pub(super) fn new() -> Uplink {
        Uplink {
            sender: Sender::new(Numbering::GPRS, Mode::Acknowledged, SendOptions::default()).keeping_cuts(),
            frames: VecDeque::new(),
            first: 0,
            waiting: VecDeque::new(),
        }
    }

    pub(super) fn push(&mut self, frame: Vec<u8>) {
        self.waiting.push_back(frame);
    }

    /// Octets waiting for a TBF, limited to the range of a channel request; `None` if nothing waits.
    pub(super) fn wants(&self) -> Option<u16> {
        let octets: usize = self.waiting.iter().map(Vec::len).sum::<usize>()
            + if self.sender.feed.is_empty() { 0 } else { self.sender.feed.waiting() as usize };
        (octets > 0 || !self.sender.feed.is_empty()).then(|| octets.clamp(1, 65_535) as u16)
    }

    /// A TBF begins: unacknowledged frames are segmented again.
    pub(super) fn begin(&mut self) {
        self.sender.restart(Numbering::GPRS, |_| {});
        self.join();
    }

    fn join(&mut self) {
        for frame in self.waiting.drain(..) {
            let number = self.first + self.frames.len() as u32;
            self.sender.feed.push(frame.len() as u32, number);
            self.frames.push_back(frame);
        }
    }

    /// Drops frames that RLC has delivered.
    fn forget(&mut self) {
        let oldest = self.sender.feed.pdus().next().map(|pdu| pdu.token);
        let keep = oldest.unwrap_or(self.first + self.frames.len() as u32);
        while self.first < keep {
            self.frames.pop_front();
            self.first += 1;
        }
    }

    /// Block for a granted block period.
    pub(super) fn block(&mut self, tbf: &mut UpTbf, tlli: u32, now: Tick) -> Vec<u8> {
        tbf.granted = now;
        if !tbf.counts_down {
            self.join();
        }
        let (scheme, named) = match tbf.contention {
            Some(scheme) => (scheme, true),
            None => (tbf.scheme, false),
        };
        let room = scheme.payload() - if named { 4 } else { 0 };
        let Some(unit) = self.sender.next_octets(now, Scheme::Cs1, room, true) else {
            return message::uplink_dummy(tlli);
        };
        if unit.bsn as usize == tbf.kept.len() {
            tbf.kept.push((scheme, named));
        }
        let (scheme, named) = tbf.kept.get(unit.bsn as usize).copied().unwrap_or((scheme, named));
        let slots = tbf.usf.iter().flatten().count() as u32;
        let behind = self.sender.vs() - unit.bsn - 1;
        let left = self.sender.feed.blocks_left(tbf.scheme.payload()) + behind;
        let cv = countdown::value(left, slots, BS_CV_MAX);
        tbf.counts_down |= cv < countdown::MANY;
        self.octets(scheme, unit.bsn, &Header::up(tbf.tfi, cv as u8), named.then_some(tlli))
    }

    fn octets(&self, scheme: Scheme, bsn: u32, header: &Header, tlli: Option<u32>) -> Vec<u8> {
        let cut = self.sender.cut_of(bsn).unwrap_or_default();
        let (mut left, mut from, mut number) = (usize::from(cut.octets), cut.offset as usize, cut.pdu);
        let mut pieces = Vec::new();
        while left > 0 {
            let Some(pdu) = self.sender.feed.pdu(number) else { break };
            let frame = pdu.token.checked_sub(self.first).and_then(|i| self.frames.get(i as usize));
            let n = left.min((pdu.size as usize).saturating_sub(from));
            let octets = frame.and_then(|f| f.get(from..from + n)).unwrap_or_default();
            pieces.push(Piece { octets, ends: pieces.len() < usize::from(cut.ends) });
            if n == 0 {
                break;
            }
            (left, from, number) = (left - n, 0, number + 1);
        }
        let unit = Unit {
            bsn: Numbering::GPRS.wire(bsn),
            part: BlockPart::Whole,
            first_scheme: scheme,
            attempt: 0,
            flag: tlli.is_some(),
            tlli,
            zero: cut.zero,
            pieces: &pieces,
        };
        // In the uplink the flag is TI: a TLLI is in the block.
        block::gprs(scheme, header, &unit)
    }

    /// Handles a report of the network; false if it names another mobile, which has won the contention.
    pub(super) fn receive(
        &mut self,
        tbf: &mut UpTbf,
        ack: &AckNack,
        named: Option<u32>,
        tlli: u32,
        now: Tick,
    ) -> bool {
        tbf.reported = now;
        match named {
            Some(named) if named == tlli => tbf.contention = None,
            Some(_) if tbf.contention.is_some() => return false,
            _ => {}
        }
        let report = self.report(ack);
        self.sender.on_report(&report, now);
        self.sender.feed.deliver(self.sender.va(), |_| {});
        self.sender.feed.release(self.sender.va());
        self.forget();
        true
    }

    /// Converts a report on the wire into the sender's form.
    fn report(&self, ack: &AckNack) -> Report {
        let (from, end) = (self.sender.va(), Numbering::GPRS.absolute(u32::from(ack.ssn), self.sender.va()));
        let mut receiver = Receiver::new(Numbering::GPRS, Mode::Acknowledged, false);
        for bsn in 0..end.min(self.sender.vs()) {
            if bsn < from || ack.has(Numbering::GPRS.wire(bsn)) == Some(true) {
                receiver.take(bsn, BlockPart::Whole, false);
            }
        }
        Report { end, last: ack.last, ..receiver.report() }
    }
}
