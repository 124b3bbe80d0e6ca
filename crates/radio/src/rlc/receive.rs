//! RLC receiver: V(R), V(Q), V(N), and the bitmap of received blocks for Ack/Nack messages (3GPP TS 44.060 sections 9.1.5
//! to 9.1.8).
//!
//! The caller decides which blocks are decoded and calls [`Receiver::take`] for each of them.

use super::bits::Bits;
use super::{Bsn, Mode, Numbering};

/// Part of an RLC block in a radio block: whole, or a half after resegmentation (SPB field).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BlockPart {
    /// Whole block.
    #[default]
    Whole,
    /// First half.
    First,
    /// Second half.
    Second,
}

impl BlockPart {
    /// Bit set of the halves: first half 1, second half 2.
    const fn bits(self) -> u8 {
        match self {
            BlockPart::Whole => 3,
            BlockPart::First => 1,
            BlockPart::Second => 2,
        }
    }
}

/// Result of a received block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AcceptedBlock {
    /// The block had no missing data.
    pub duplicate: bool,
    /// The block revealed a gap: earlier blocks that were not known to be missing.
    pub gap: bool,
    /// V(Q) after this block: all blocks before V(Q) are received.
    pub complete: Bsn,
}

/// Bitmap report of received blocks: content of a Packet Uplink or Downlink Ack/Nack.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// V(Q): all blocks before V(Q) are received.
    pub complete: Bsn,
    /// First block that the report does not cover; V(R) if the whole window fits.
    pub end: Bsn,
    /// Received blocks from V(Q) to before `end`; bits of other blocks have no meaning.
    pub received: Bits,
    /// All blocks up to the final one are received.
    pub last: bool,
}

/// Value of [`Receiver::last`] before the final block is received.
const NONE: Bsn = Bsn::MAX;

/// Receiver of a TBF direction. Fields that each block uses come first and the window last, for the cache.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    numbering: Numbering,
    /// V(R): the highest received block number plus 1.
    vr: Bsn,
    /// V(Q): the oldest missing block.
    vq: Bsn,
    /// Final block: received with the final block indicator, or with countdown value 0; [`NONE`] before.
    last: Bsn,
    /// Acknowledged mode without resegmentation: blocks never arrive in halves.
    whole: bool,
    mode: Mode,
    /// V(N): bit set of the received blocks from V(Q) to V(R).
    received: Bits,
    /// Received halves of incomplete blocks, by ring index; empty without resegmentation.
    halves: Vec<u8>,
}

impl Receiver {
    /// A receiver at the start of a TBF. `halves`: blocks may arrive in two halves (resegmentation).
    pub fn new(numbering: Numbering, mode: Mode, halves: bool) -> Self {
        let ring = numbering.ring();
        Receiver {
            numbering,
            mode,
            whole: mode == Mode::Acknowledged && !halves,
            vr: 0,
            vq: 0,
            received: Bits::new(ring),
            halves: if halves { vec![0; ring as usize] } else { Vec::new() },
            last: NONE,
        }
    }

    /// Touches the fields of [`Receiver::take`] to load them into the cache; the returned value has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        u64::from(self.vr)
    }
    /// V(R).
    #[inline]
    pub fn vr(&self) -> Bsn {
        self.vr
    }
    /// V(Q).
    #[inline]
    pub fn vq(&self) -> Bsn {
        self.vq
    }
    /// Whether block `bsn`, inside the window, is received.
    #[inline]
    pub fn has(&self, bsn: Bsn) -> bool {
        bsn < self.vq || bsn < self.vr && self.received.get(bsn)
    }
    /// Whether all blocks up to the final one are received.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.last < self.vq
    }

    /// Absolute number of a sequence number on the wire; `None` outside of the window.
    pub fn resolve(&self, wire: u32) -> Option<Bsn> {
        let ahead = self.numbering.absolute(wire, self.vq);
        if ahead - self.vq < self.numbering.window {
            return Some(ahead);
        }
        // Below V(Q): already received.
        let behind = ahead.checked_sub(self.numbering.space)?;
        (self.vq - behind <= self.numbering.window).then_some(behind)
    }

    /// Receives a block; `last`: the block has the final block indicator or countdown value 0.
    #[inline]
    pub fn take(&mut self, bsn: Bsn, part: BlockPart, last: bool) -> AcceptedBlock {
        if last {
            self.last = bsn;
        }
        if bsn != self.vr || !self.whole || bsn >= self.vq + self.numbering.window {
            return self.take_any(bsn, part);
        }
        // The next block in order. Bits below V(Q) are never read.
        if bsn == self.vq {
            self.vq += 1;
        } else {
            self.received.set(bsn);
        }
        self.vr = bsn + 1;
        AcceptedBlock { duplicate: false, gap: false, complete: self.vq }
    }

    #[inline(never)]
    fn take_any(&mut self, bsn: Bsn, part: BlockPart) -> AcceptedBlock {
        if self.mode == Mode::Unacknowledged {
            return self.take_unacknowledged(bsn);
        }
        let outside = bsn >= self.vq + self.numbering.window;
        if bsn < self.vq || outside || bsn < self.vr && self.received.get(bsn) {
            return AcceptedBlock { duplicate: true, gap: false, complete: self.vq };
        }
        let gap = bsn > self.vr;
        if bsn >= self.vr {
            self.raise(bsn + 1);
        }
        if !self.halves.is_empty() {
            let i = self.received.index(bsn);
            let before = self.halves[i];
            let now = before | part.bits();
            self.halves[i] = now;
            if now != 3 {
                return AcceptedBlock { duplicate: now == before, gap, complete: self.vq };
            }
        }
        self.received.set(bsn);
        if bsn == self.vq {
            self.vq = self.received.first_clear(self.vq, self.vr).unwrap_or(self.vr);
        }
        AcceptedBlock { duplicate: false, gap, complete: self.vq }
    }

    /// Advances V(R) and clears the bits of the blocks that enter the window.
    #[inline]
    fn raise(&mut self, to: Bsn) {
        for b in self.vr..to {
            self.received.clear(b);
            if !self.halves.is_empty() {
                let i = self.received.index(b);
                self.halves[i] = 0;
            }
        }
        self.vr = to;
    }

    /// Receives a block in unacknowledged mode: V(Q) follows V(R) at the distance of a window (44.060 section 9.1.6).
    fn take_unacknowledged(&mut self, bsn: Bsn) -> AcceptedBlock {
        if bsn < self.vr {
            let duplicate = self.vr - bsn > self.received.length() || self.received.get(bsn);
            self.received.set(bsn);
            return AcceptedBlock { duplicate, gap: false, complete: self.vr };
        }
        let gap = bsn > self.vr;
        let from = self.vr.max((bsn + 1).saturating_sub(self.received.length()));
        (from..=bsn).for_each(|b| self.received.clear(b));
        self.vr = bsn + 1;
        self.vq = self.vr.saturating_sub(self.numbering.window);
        self.received.set(bsn);
        AcceptedBlock { duplicate: false, gap, complete: self.vr }
    }

    /// Unacknowledged mode: whether all blocks from `first` to `last` are received; `None` while a missing one can still
    /// arrive.
    pub fn has_all(&self, first: Bsn, last: Bsn) -> Option<bool> {
        if last >= self.vr {
            return None;
        }
        let known = self.vr.saturating_sub(self.received.length());
        Some(first >= known && self.received.first_clear(first, last + 1).is_none())
    }

    /// V(N).
    pub(super) fn received(&self) -> &Bits {
        &self.received
    }

    /// Report that covers the whole window.
    #[inline]
    pub fn report(&self) -> Report {
        Report { complete: self.vq, end: self.vr, received: self.received, last: self.is_complete() }
    }

    /// Report of at most `bits` blocks from V(Q): the blocks of an uncompressed bitmap in one control message.
    pub fn report_of(&self, bits: u32) -> Report {
        Report { end: self.vr.min(self.vq.saturating_add(bits)), ..self.report() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver() -> Receiver {
        Receiver::new(Numbering::GPRS, Mode::Acknowledged, false)
    }

    #[test]
    fn v_q_waits_for_the_oldest_missing_block() {
        let mut r = receiver();
        assert_eq!(r.take(0, BlockPart::Whole, false).complete, 1);
        let after_gap = r.take(3, BlockPart::Whole, false);
        assert!(after_gap.gap && after_gap.complete == 1);
        assert!(!r.take(4, BlockPart::Whole, false).gap, "no new gap");
        assert!(r.take(3, BlockPart::Whole, false).duplicate);
        r.take(2, BlockPart::Whole, false);
        assert_eq!(r.take(1, BlockPart::Whole, true).complete, 5);
        assert!(!r.take(1, BlockPart::Whole, true).gap && r.is_complete());
    }

    #[test]
    fn what_lies_outside_of_the_window_is_not_taken() {
        let mut r = receiver();
        assert!(r.take(64, BlockPart::Whole, false).duplicate);
        assert_eq!(r.vr(), 0);
        assert_eq!((r.resolve(63), r.resolve(64)), (Some(63), None));
        (0..70).for_each(|b| assert!(!r.take(b, BlockPart::Whole, false).duplicate));
        assert_eq!(
            (r.resolve(70), r.resolve(69), r.resolve(6), r.resolve(5)),
            (Some(70), Some(69), Some(6), Some(133))
        );
    }

    #[test]
    fn halves_make_a_block() {
        let mut r = Receiver::new(Numbering::egprs(64), Mode::Acknowledged, true);
        assert_eq!(
            r.take(0, BlockPart::Second, false),
            AcceptedBlock { duplicate: false, gap: false, complete: 0 }
        );
        assert!(r.take(0, BlockPart::Second, false).duplicate);
        assert_eq!(r.take(0, BlockPart::First, false).complete, 1);
        assert_eq!(r.take(1, BlockPart::Whole, false).complete, 2);
    }

    /// GP-09: unacknowledged mode distinguishes complete PDUs.
    #[test]
    fn gp_09_unacknowledged_mode() {
        let mut r = Receiver::new(Numbering::GPRS, Mode::Unacknowledged, false);
        for b in [0, 1, 3, 4, 5] {
            r.take(b, BlockPart::Whole, false);
        }
        assert_eq!(
            [(0, 1), (2, 2), (3, 5), (5, 6)].map(|(a, b)| r.has_all(a, b)),
            [Some(true), Some(false), Some(true), None]
        );
    }

    #[test]
    fn a_short_report_says_nothing_about_the_rest() {
        let mut r = receiver();
        (1..40).for_each(|b| _ = r.take(b, BlockPart::Whole, false));
        let report = r.report_of(8);
        assert_eq!((report.complete, report.end), (0, 8));
    }
}
