//! Uplink TBF of a mobile with a real PCU: segmentation into blocks, countdown, contention resolution, Packet Uplink
//! Ack/Nack (3GPP TS 44.060 sections 7.1.2.3, 9.3.1, 9.3.3).

use crate::coding::Scheme;
use crate::mac::countdown;
use crate::rlc::receive::{BlockPart, Receiver, Report};
use crate::rlc::send::{Reason, SendOptions, Sender, Unit as Sent};
use crate::rlc::{Bsn, Mode, Numbering};
use crate::tdma::Tick;
use crate::wire::assignment::UplinkCoding;
use crate::wire::block::{self, Header, Piece, Unit};
use crate::wire::message::{self, AckNack, EgprsAckNack};
use std::collections::VecDeque;

/// `BS_CV_MAX` as the base station announces it.
const BS_CV_MAX: u32 = 15;

/// An uplink TBF.
pub(super) struct UpTbf {
    pub(super) tfi: u8,
    /// USF of each timeslot.
    pub(super) usf: [Option<u8>; 8],
    coding: UplinkCoding,
    /// Scheme of blocks until contention resolution, which then carry the TLLI; `None` after it.
    contention: Option<Scheme>,
    /// By block number: scheme, and whether the block carries the TLLI.
    kept: Vec<(Scheme, bool)>,
    /// The countdown has begun: no further frames join the TBF.
    counts_down: bool,
    pub(super) begun: Tick,
    /// Time of the last granted block.
    pub(super) granted: Tick,
    /// Time of the last report, or of the start of the TBF.
    pub(super) reported: Tick,
    /// Blocks that the network has decoded.
    reached: Receiver,
    /// Blocks of the radio block on the air.
    aired: Vec<Bsn>,
}

impl UpTbf {
    /// A TBF; `contended`: its mobile requested it on the RACH, so that contention resolution is pending.
    pub(super) fn new(
        tfi: u8,
        usf: [Option<u8>; 8],
        coding: UplinkCoding,
        contended: bool,
        now: Tick,
    ) -> UpTbf {
        let lowest = if coding.scheme.is_egprs() { Scheme::Mcs1 } else { Scheme::Cs1 };
        UpTbf {
            tfi,
            usf,
            coding,
            contention: contended.then_some(if coding.tlli_coded { coding.scheme } else { lowest }),
            kept: Vec::new(),
            counts_down: false,
            begun: now,
            granted: now,
            reported: now,
            reached: Receiver::new(coding.numbering, Mode::Acknowledged, false),
            aired: Vec::new(),
        }
    }

    /// Whether contention resolution is pending.
    pub(super) fn is_contended(&self) -> bool {
        self.contention.is_some()
    }

    /// Timeslots of the TBF, timeslot 0 in the lowest bit.
    pub(super) fn slots(&self) -> u8 {
        (0..8).filter(|s| self.usf[*s as usize].is_some()).fold(0, |mask, s| mask | 1 << s)
    }

    /// Records that the network has decoded the radio block on the air; returns whether it contained duplicates only.
    pub(super) fn heard(&mut self) -> bool {
        let aired = std::mem::take(&mut self.aired);
        let reached = &mut self.reached;
        let known = |bsn: &Bsn| reached.take(*bsn, BlockPart::Whole, false).duplicate;
        !aired.is_empty() && aired.iter().map(known).filter(|known| *known).count() == aired.len()
    }

    /// Whether a block carries the TLLI.
    fn named(&self, bsn: Bsn) -> bool {
        self.kept.get(bsn as usize).is_some_and(|k| k.1)
    }
}

/// Uplink frames of a mobile, across TBFs.
pub(super) struct Uplink {
    pub(super) sender: Sender<u32>,
    /// Frames in the RLC queue.
    frames: VecDeque<Vec<u8>>,
    /// Number of the oldest frame in `frames`.
    first: u32,
    /// Frames that RLC has not taken yet.
    waiting: VecDeque<Vec<u8>>,
    /// Packet frames queued during a routing area update; `None` at other times.
    held: Option<Vec<Vec<u8>>>,
    /// Reason of the last block; `None` if it had no data.
    pub(super) reason: Option<Reason>,
    /// The last block was sent with a stalled window.
    pub(super) stalled: bool,
}

impl Uplink {
    /// An empty queue of a GPRS or EGPRS mobile (`egprs`).
    pub(super) fn new(egprs: bool) -> Uplink {
        let numbering = if egprs { Numbering::egprs(64) } else { Numbering::GPRS };
        Uplink {
            sender: Sender::new(numbering, Mode::Acknowledged, SendOptions::default()).keeping_cuts(),
            frames: VecDeque::new(),
            first: 0,
            waiting: VecDeque::new(),
            held: None,
            reason: None,
            stalled: false,
        }
    }

    pub(super) fn push(&mut self, frame: Vec<u8>) {
        match &mut self.held {
            Some(held) if is_of_packet(&frame) => held.push(frame),
            _ => self.waiting.push_back(frame),
        }
    }

    /// Moves undelivered packet frames to `held`, also those segmented by RLC, and discards other frames. Later packet
    /// frames join `held` too. Must be called without a TBF.
    pub(super) fn hold(&mut self) {
        let mut all = self.held.take().unwrap_or_default();
        let Uplink { sender, frames, first, waiting, .. } = self;
        sender.feed.clear(|token, delivered| {
            let frame = token.checked_sub(*first).and_then(|i| frames.get_mut(i as usize));
            all.extend(frame.filter(|_| !delivered).map(std::mem::take));
        });
        *first += frames.len() as u32;
        frames.clear();
        all.extend(waiting.drain(..));
        all.retain(|frame| is_of_packet(frame));
        self.held = Some(all);
    }

    /// Whether packet frames are queued during a routing area update.
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Ends the queueing of [`Uplink::hold`]: the frames wait for a TBF.
    pub(super) fn resume(&mut self) {
        self.waiting.extend(self.held.take().into_iter().flatten());
    }

    /// Adds a frame if no data are queued.
    pub(super) fn say(&mut self, frame: Vec<u8>) {
        if self.wants().is_none() {
            self.push(frame);
        }
    }

    /// Octets queued, limited to the range of a channel request (1 to 65535); `None` if nothing is queued.
    pub(super) fn wants(&self) -> Option<u16> {
        let octets: usize = self.waiting.iter().map(Vec::len).sum::<usize>()
            + if self.sender.feed.is_empty() { 0 } else { self.sender.feed.waiting() as usize };
        (octets > 0 || !self.sender.feed.is_empty()).then(|| octets.clamp(1, 65_535) as u16)
    }

    /// Starts a TBF: unacknowledged frames are segmented again.
    pub(super) fn begin(&mut self, tbf: &UpTbf) {
        self.sender.restart(tbf.coding.numbering, |_| {});
        self.sender.set_resegment(tbf.coding.resegment);
        self.join();
    }

    fn join(&mut self) {
        for frame in self.waiting.drain(..) {
            let number = self.first + self.frames.len() as u32;
            self.sender.feed.push(frame.len() as u32, number);
            self.frames.push_back(frame);
        }
    }

    /// Removes frames that RLC has delivered.
    fn forget(&mut self) {
        let oldest = self.sender.feed.pdus().next().map(|pdu| pdu.token);
        let keep = oldest.unwrap_or(self.first + self.frames.len() as u32);
        while self.first < keep {
            self.frames.pop_front();
            self.first += 1;
        }
    }

    /// Block for a granted block period: data, or a Packet Uplink Dummy Control Block.
    pub(super) fn block(&mut self, tbf: &mut UpTbf, tlli: u32, now: Tick) -> Vec<u8> {
        tbf.granted = now;
        if !tbf.counts_down {
            self.join();
        }
        let stalled = self.sender.is_stalled();
        (self.stalled, self.reason) = (stalled, None);
        let (scheme, named) = match tbf.contention {
            Some(scheme) => (scheme, true),
            None => (tbf.coding.scheme, false),
        };
        self.sender.set_prefix(if named { 4 } else { 0 });
        let Some(block) = self.sender.next(now, scheme, true) else {
            return message::uplink_dummy(tlli);
        };
        self.reason = Some(block.first.reason);
        let mut units: Vec<Sent> = block.units().collect();
        tbf.aired = units.iter().map(|unit| unit.bsn).collect();
        // The BSNs of two RLC blocks in a radio block ascend.
        units.sort_by_key(|unit| unit.bsn);
        for unit in &units {
            if unit.bsn as usize == tbf.kept.len() {
                tbf.kept.push((unit.first_scheme, named));
            }
        }
        let last = units.last().map_or(0, |unit| unit.bsn);
        // RLC blocks in a block period: one for each timeslot, two with MCS-7 to MCS-9 (K of section 9.3.1).
        let each = tbf.usf.iter().flatten().count() as u32 * if block.scheme.is_dual() { 2 } else { 1 };
        let behind = self.sender.vs() - last - 1;
        let left = self.sender.feed.blocks_left(tbf.coding.scheme.payload()) + behind;
        let cv = countdown::value(left, each, BS_CV_MAX);
        tbf.counts_down |= cv < countdown::MANY;
        let header = Header { stalled, ..Header::up(tbf.tfi, cv as u8) };
        let content: Vec<Vec<Piece<'_>>> = units.iter().map(|unit| self.pieces(unit.bsn)).collect();
        let units: Vec<Unit<'_>> = units
            .iter()
            .zip(&content)
            .map(|(unit, pieces)| {
                let named = tbf.named(unit.bsn);
                Unit {
                    bsn: tbf.coding.numbering.wire(unit.bsn),
                    part: unit.part,
                    first_scheme: unit.first_scheme,
                    attempt: unit.attempt,
                    // In the uplink the flag is TI: the block contains a TLLI.
                    flag: named,
                    tlli: named.then_some(tlli),
                    zero: self.sender.cut_of(unit.bsn).unwrap_or_default().zero,
                    pieces,
                }
            })
            .collect();
        match units.first() {
            Some(unit) if !block.scheme.is_egprs() => block::gprs(block.scheme, &header, unit),
            _ => block::egprs(block.scheme, &header, &units),
        }
    }

    /// Parts of LLC frames in a block.
    fn pieces(&self, bsn: Bsn) -> Vec<Piece<'_>> {
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
        pieces
    }

    /// Handles a Packet Uplink Ack/Nack; false if it carries the TLLI of another mobile, which has won the contention.
    pub(super) fn receive(&mut self, tbf: &mut UpTbf, ack: &UplinkReport, tlli: u32, now: Tick) -> bool {
        tbf.reported = now;
        match ack.tlli() {
            Some(named) if named == tlli => tbf.contention = None,
            Some(_) if tbf.contention.is_some() => return false,
            _ => {}
        }
        let report = match ack {
            UplinkReport::Gprs(ack, _, scheme) => {
                tbf.coding.scheme = Scheme::numbered(false, *scheme).unwrap_or(tbf.coding.scheme);
                self.report(ack)
            }
            UplinkReport::Egprs(ack) => {
                tbf.coding.scheme = Scheme::numbered(true, ack.scheme).unwrap_or(tbf.coding.scheme);
                self.sender.set_resegment(ack.resegment);
                self.egprs_report(ack)
            }
        };
        self.sender.on_report(&report, now);
        self.sender.feed.deliver(self.sender.va(), |_| {});
        self.sender.feed.release(self.sender.va());
        self.forget();
        true
    }

    /// Converts a GPRS report on the wire into the form that the sender processes.
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

    /// Converts an EGPRS report on the wire into the form that the sender processes.
    fn egprs_report(&self, ack: &EgprsAckNack) -> Report {
        let (numbering, vs) = (self.sender.numbering(), self.sender.vs());
        // A report with the final ack indicator acknowledges all blocks; V(Q) of an old report is below V(A).
        let complete = if ack.last { vs } else { numbering.absolute(ack.complete.into(), self.sender.va()) };
        let complete = if complete > vs { self.sender.va() } else { complete };
        let mut receiver = Receiver::new(numbering, Mode::Acknowledged, false);
        (0..complete).for_each(|bsn| _ = receiver.take(bsn, BlockPart::Whole, false));
        let end = match ack.length {
            0 => complete,
            n => (complete + 1 + u32::from(n)).min(vs),
        };
        for bsn in complete + 1..end {
            if ack.received >> (bsn - complete - 1) & 1 == 1 {
                receiver.take(bsn, BlockPart::Whole, false);
            }
        }
        Report { end, last: ack.last, ..receiver.report() }
    }
}

/// Whether an LLC frame carries a segment of a packet.
fn is_of_packet(frame: &[u8]) -> bool {
    frame.first().is_some_and(|address| address & 15 == crate::wire::llc::SAPI)
}

/// A Packet Uplink Ack/Nack.
pub(super) enum UplinkReport {
    /// GPRS, with the TLLI of contention resolution and the commanded scheme.
    Gprs(AckNack, Option<u32>, u8),
    /// EGPRS.
    Egprs(EgprsAckNack),
}

impl UplinkReport {
    /// TFI of the TBF.
    pub(super) fn tfi(&self) -> u8 {
        match self {
            UplinkReport::Gprs(ack, ..) => ack.tfi,
            UplinkReport::Egprs(ack) => ack.tfi,
        }
    }
    /// All blocks up to the final one are received.
    pub(super) fn last(&self) -> bool {
        match self {
            UplinkReport::Gprs(ack, ..) => ack.last,
            UplinkReport::Egprs(ack) => ack.last,
        }
    }
    /// TLLI of contention resolution.
    fn tlli(&self) -> Option<u32> {
        match self {
            UplinkReport::Gprs(_, tlli, _) => *tlli,
            UplinkReport::Egprs(ack) => ack.tlli,
        }
    }
}
