//! LLC queue of a TBF direction and its segmentation into RLC data blocks by byte offset (3GPP TS 44.060 sections
//! 9.1.11, 10.4.14, annex B).
//!
//! Blocks carry byte ranges; a PDU is never split in memory. Each PDU that ends inside a block costs one octet of
//! length indicator in that block. If a PDU fills its block exactly, GPRS uses a length indicator of 0 and moves the
//! PDU's last octet to the next block, except in the last block of the TBF. EGPRS puts the length indicator of 0 into
//! the next block.

use super::Bsn;
use std::collections::VecDeque;

/// An LLC PDU in the queue of a TBF direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu<T> {
    /// Size in octets, LLC header and FCS included.
    pub size: u32,
    /// Identifier of the PDU, chosen by the caller.
    pub token: T,
    /// First block of the PDU, once segmentation has begun.
    pub first: Bsn,
    /// Last block of the PDU, once fully segmented; [`UNCUT`] before.
    pub last: Bsn,
    /// True if the receiver has delivered the PDU, in this TBF or in an earlier one.
    pub delivered: bool,
}

/// [`Pdu::last`] of a PDU that is not fully segmented.
pub const UNCUT: Bsn = Bsn::MAX;

/// Content of one block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cut {
    /// Number of the block's first PDU, counted from the first PDU of the queue.
    pub pdu: u64,
    /// Offset of the first octet in that PDU.
    pub offset: u32,
    /// LLC octets in the block, without length indicators and padding.
    pub octets: u16,
    /// Number of PDUs that end in the block.
    pub ends: u8,
    /// The block has a length indicator of value 0: the first one in EGPRS, the last one in GPRS.
    pub zero: bool,
}

/// LLC queue of one TBF direction, with the position of segmentation. Fields that each block uses come first and the
/// queue last, so that they share a cache line.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Feed<T> {
    /// Octets not yet segmented.
    waiting: u64,
    /// Segmented octets of the PDU under segmentation.
    offset: u32,
    /// Octets left in the PDU under segmentation; 0 before its first octet is segmented.
    rest: u32,
    /// Number of the first PDU in `pdus`.
    front: u32,
    /// Index in `pdus` of the PDU under segmentation.
    at: u32,
    /// Last block of the oldest undelivered PDU; [`UNCUT`] while that PDU is not fully segmented.
    due: Bsn,
    /// Number of leading PDUs in `pdus` that are delivered, or settled as lost.
    delivered: u32,
    /// EGPRS: the previous PDU filled its block exactly.
    exact: bool,
    egprs: bool,
    pdus: VecDeque<Pdu<T>>,
}

impl<T: Copy> Feed<T> {
    /// An empty queue.
    pub fn new(egprs: bool) -> Self {
        Feed {
            pdus: VecDeque::new(),
            front: 0,
            at: 0,
            offset: 0,
            rest: 0,
            due: UNCUT,
            delivered: 0,
            waiting: 0,
            exact: false,
            egprs,
        }
    }

    /// Adds a PDU at the end.
    pub fn push(&mut self, size: u32, token: T) {
        let size = size.max(1);
        self.pdus.push_back(Pdu { size, token, first: 0, last: UNCUT, delivered: false });
        self.waiting += u64::from(size);
    }

    /// Touches the fields of [`Feed::cut`] to load them into the cache; the returned value has no meaning.
    #[inline]
    pub(super) fn prefetch(&self) -> u64 {
        self.waiting
    }
    /// Reads what [`Feed::release`] uses, so that it is in the cache; the value has no meaning.
    #[inline]
    pub(super) fn prefetch_front(&self) -> u64 {
        self.pdus.front().map_or(0, |pdu| u64::from(pdu.last))
    }
    /// Octets not yet segmented.
    #[inline]
    pub fn waiting(&self) -> u64 {
        self.waiting
    }
    /// Whether octets are left to segment.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.waiting > 0
    }
    /// Number of PDUs in the queue: unsegmented, segmented, and not acknowledged.
    pub fn len(&self) -> usize {
        self.pdus.len()
    }
    /// Whether the queue has no PDU.
    pub fn is_empty(&self) -> bool {
        self.pdus.is_empty()
    }
    /// PDUs in the queue, oldest first.
    pub fn pdus(&self) -> impl Iterator<Item = &Pdu<T>> {
        self.pdus.iter()
    }
    /// PDU by number ([`Cut::pdu`]); `None` if the PDU has left the queue.
    pub fn pdu(&self, number: u64) -> Option<&Pdu<T>> {
        self.pdus.get(number.checked_sub(u64::from(self.front))? as usize)
    }
    /// Number of PDUs with at least one segmented octet.
    fn begun(&self) -> usize {
        self.at as usize + usize::from(self.offset > 0)
    }
    /// PDUs with octets in block `bsn`, oldest first.
    pub fn in_block(&self, bsn: Bsn) -> impl Iterator<Item = &Pdu<T>> {
        let begun = self.begun();
        self.pdus.iter().take(begun).filter(move |p| p.first <= bsn && bsn <= p.last)
    }
    /// Number of PDUs without a segmented octet.
    pub fn untouched(&self) -> usize {
        self.pdus.len().saturating_sub(self.begun())
    }

    /// Segments one block of `room` octets (more than 0) with the number `bsn`; `None` if no octets are left.
    #[inline]
    pub fn cut(&mut self, room: u32, bsn: Bsn) -> Option<Cut> {
        // Most blocks carry the middle of a PDU and nothing else.
        if self.rest > room {
            let pdu = u64::from(self.front + self.at);
            let cut = Cut { pdu, offset: self.offset, octets: room as u16, ..Cut::default() };
            self.waiting -= u64::from(room);
            (self.offset, self.rest) = (self.offset + room, self.rest - room);
            return Some(cut);
        }
        self.cut_ends(room, bsn)
    }

    /// Segments a block in which a PDU begins or ends, or whose first octet is a length indicator.
    #[inline(never)]
    fn cut_ends(&mut self, room: u32, bsn: Bsn) -> Option<Cut> {
        if self.waiting == 0 {
            return None;
        }
        let mut cut = Cut { pdu: u64::from(self.front + self.at), offset: self.offset, ..Cut::default() };
        let mut room = room;
        if std::mem::take(&mut self.exact) {
            (cut.zero, room) = (true, room - 1);
        }
        while room > 0 {
            let Some(pdu) = self.pdus.get_mut(self.at as usize) else { break };
            if self.offset == 0 {
                pdu.first = bsn;
            }
            let left = pdu.size - self.offset;
            let is_last = self.waiting == u64::from(left);
            // GPRS, exact fit before further data: a length indicator of 0 replaces the PDU's last octet.
            let zero = left == room && !is_last && !self.egprs;
            let taken = if zero { room - 1 } else { left.min(room) };
            cut.octets += taken as u16;
            self.waiting -= u64::from(taken);
            if taken < left {
                cut.zero |= zero;
                self.offset += taken;
                // A PDU whose first octet does not fit into this block begins in the next block.
                self.rest = if self.offset > 0 { left - taken } else { 0 };
                break;
            }
            pdu.last = bsn;
            if self.at == self.delivered {
                self.due = bsn;
            }
            (self.at, self.offset, self.rest) = (self.at + 1, 0, 0);
            cut.ends += 1;
            if left == room {
                self.exact = self.egprs && !is_last;
                break;
            }
            room -= left + 1;
        }
        Some(cut)
    }

    /// Whether [`Feed::deliver`] with the same `all` would deliver a PDU.
    #[inline]
    pub fn is_due(&self, all: Bsn) -> bool {
        self.due < all
    }

    /// Updates `due` after the oldest undelivered PDU has changed.
    fn note_due(&mut self) {
        self.due = self.pdus.get(self.delivered as usize).map_or(UNCUT, |p| p.last);
    }

    /// Delivers, in order, PDUs whose blocks are all below `all`; calls `deliver` for each PDU that was not delivered
    /// in an earlier TBF.
    pub fn deliver(&mut self, all: Bsn, mut deliver: impl FnMut(T)) {
        while let Some(pdu) = self.pdus.get_mut(self.delivered as usize).filter(|p| p.last < all) {
            if !pdu.delivered {
                pdu.delivered = true;
                deliver(pdu.token);
            }
            self.delivered += 1;
        }
        self.note_due();
    }

    /// Oldest undelivered PDU if it is fully segmented, else `None`; for unacknowledged mode.
    pub fn undelivered(&self) -> Option<&Pdu<T>> {
        self.pdus.get(self.delivered as usize).filter(|p| p.last != UNCUT)
    }
    /// Marks the PDU of [`Feed::undelivered`] as delivered, or as lost with its blocks; returns its token.
    pub fn settle(&mut self) -> Option<T> {
        let pdu = self.pdus.get_mut(self.delivered as usize).filter(|p| p.last != UNCUT)?;
        pdu.delivered = true;
        let token = pdu.token;
        self.delivered += 1;
        self.note_due();
        Some(token)
    }

    /// Removes delivered PDUs whose blocks are all below `acknowledged`.
    #[inline]
    pub fn release(&mut self, acknowledged: Bsn) {
        while self.delivered > 0 && self.pdus.front().is_some_and(|p| p.last < acknowledged) {
            self.pdus.pop_front();
            (self.front, self.at, self.delivered) = (self.front + 1, self.at - 1, self.delivered - 1);
        }
    }

    /// End of a TBF: segmentation restarts at the oldest unacknowledged PDU (44.060 section 9.4.2). Calls `again` for
    /// each PDU that was delivered before and will arrive a second time.
    pub fn rewind(&mut self, mut again: impl FnMut(T)) {
        (self.at, self.offset, self.rest, self.exact, self.delivered) = (0, 0, 0, false, 0);
        (self.waiting, self.due) = (0, UNCUT);
        for pdu in &mut self.pdus {
            if pdu.delivered {
                again(pdu.token);
            }
            (pdu.first, pdu.last) = (0, UNCUT);
            self.waiting += u64::from(pdu.size);
        }
    }

    /// Removes all PDUs without a segmented octet; calls `gone` for each.
    pub fn take_untouched(&mut self, mut gone: impl FnMut(T)) {
        let from = self.begun();
        for pdu in self.pdus.drain(from.min(self.pdus.len())..) {
            self.waiting -= u64::from(pdu.size);
            gone(pdu.token);
        }
    }

    /// Removes the oldest PDUs without a segmented octet as long as `late` is true; calls `gone` for each.
    pub fn expire(&mut self, mut late: impl FnMut(&Pdu<T>) -> bool, mut gone: impl FnMut(T)) {
        let from = self.begun();
        while self.pdus.get(from).is_some_and(&mut late) {
            if let Some(pdu) = self.pdus.remove(from) {
                self.waiting -= u64::from(pdu.size);
                gone(pdu.token);
            }
        }
    }

    /// Removes all PDUs for which `bad` is true; calls `gone` with token and delivery state of each. Permitted only
    /// between TBFs, when no PDU is segmented.
    pub fn discard(&mut self, mut bad: impl FnMut(&Pdu<T>) -> bool, mut gone: impl FnMut(T, bool)) {
        debug_assert!(self.at == 0 && self.offset == 0, "a TBF is under way");
        let before = self.pdus.len();
        let mut octets = 0;
        self.pdus.retain(|p| {
            let out = bad(p);
            if out {
                octets += u64::from(p.size);
                gone(p.token, p.delivered);
            }
            !out
        });
        self.front += (before - self.pdus.len()) as u32;
        self.waiting -= octets;
    }

    /// Empties the queue; calls `gone` for each PDU with its token and whether it was delivered.
    pub fn clear(&mut self, mut gone: impl FnMut(T, bool)) {
        self.front += self.pdus.len() as u32;
        self.pdus.drain(..).for_each(|p| gone(p.token, p.delivered));
        (self.at, self.offset, self.rest, self.exact) = (0, 0, 0, false);
        (self.delivered, self.waiting, self.due) = (0, 0, UNCUT);
    }

    /// Number of blocks of `room` octets for the octets not yet segmented, with one length indicator per PDU.
    pub fn blocks_left(&self, room: u32) -> u32 {
        let indicators = (self.pdus.len() - self.at as usize) as u64;
        (self.waiting + indicators.saturating_sub(1)).div_ceil(u64::from(room.max(1))) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks(sizes: &[u32], room: u32, egprs: bool) -> Vec<Cut> {
        let mut feed = Feed::new(egprs);
        sizes.iter().enumerate().for_each(|(i, s)| feed.push(*s, i));
        (0..).map_while(|n| feed.cut(room, n)).collect()
    }

    /// GP-07: 1500 octets of IP in one LLC frame are 1510 octets and a length indicator: 51 blocks of CS-2.
    #[test]
    fn gp_07_blocks_of_a_packet() {
        assert_eq!(blocks(&[1510], 30, false).len(), 51);
        assert_eq!(blocks(&[1510], 148, true).len(), 11, "MCS-9, two RLC blocks at once");
    }

    #[test]
    fn a_pdu_that_fits_exactly() {
        assert_eq!(blocks(&[60], 30, false).len(), 2, "the last of the TBF needs no length indicator");
        let gprs = blocks(&[60, 10], 30, false);
        assert_eq!(
            gprs.iter().map(|c| (c.octets, c.ends, c.zero)).collect::<Vec<_>>(),
            [(30, 0, false), (29, 0, true), (11, 2, false)]
        );
        let egprs = blocks(&[60, 10], 30, true);
        assert_eq!(
            egprs.iter().map(|c| (c.octets, c.ends, c.zero)).collect::<Vec<_>>(),
            [(30, 0, false), (30, 1, false), (10, 1, true)]
        );
    }

    #[test]
    fn a_tbf_that_ends_starts_its_pdus_anew() {
        let mut feed = Feed::new(false);
        feed.push(45, 'a');
        feed.push(45, 'b');
        (0..3).for_each(|n| assert!(feed.cut(30, n).is_some()));
        let mut got = Vec::new();
        feed.deliver(2, |t| got.push(t));
        assert_eq!(got, ['a']);
        let mut twice = Vec::new();
        feed.rewind(|t| twice.push(t));
        assert_eq!((twice, feed.waiting()), (vec!['a'], 90));
        (0..4).for_each(|n| assert_eq!(feed.cut(30, n).is_some(), n < 4));
        feed.deliver(4, |t| got.push(t));
        assert_eq!(got, ['a', 'b'], "what was handed over is not handed over again");
        feed.release(4);
        assert!(feed.is_empty() && !feed.has_data());
    }

    proptest! {
        /// `due` agrees with the queue after any sequence of operations.
        #[test]
        fn the_next_delivery_is_known(steps in proptest::collection::vec((0u8..7, 1u32..400), 1..200)) {
            let mut feed = Feed::new(true);
            let (mut bsn, mut acknowledged) = (0, 0);
            for (what, n) in steps {
                match what {
                    0 => feed.push(n, n),
                    1 | 2 if feed.cut(20 + n % 60, bsn).is_some() => bsn += 1,
                    3 => feed.deliver(bsn.min(n % 64), |_| ()),
                    4 => {
                        acknowledged = bsn.min(acknowledged.max(n % 64));
                        feed.deliver(acknowledged, |_| ());
                        feed.release(acknowledged);
                    }
                    5 if n % 8 == 0 => {
                        feed.rewind(|_| ());
                        (bsn, acknowledged) = (0, 0);
                    }
                    6 if n % 16 == 0 => feed.take_untouched(|_| ()),
                    6 if n % 16 == 1 => feed.clear(|_, _| ()),
                    6 => _ = feed.undelivered().is_some().then(|| feed.settle()),
                    _ => {}
                }
                let due = feed.undelivered().map_or(UNCUT, |p| p.last);
                prop_assert_eq!(feed.due, due);
                prop_assert_eq!(feed.is_due(bsn), due < bsn);
            }
        }

        /// GP-07: every octet is in exactly one block, and every PDU ends once, in order.
        #[test]
        fn gp_07_octets_add_up(sizes in proptest::collection::vec(1u32..1600, 1..20), room in 20u32..75, egprs in any::<bool>()) {
            let cuts = blocks(&sizes, room, egprs);
            prop_assert_eq!(cuts.iter().map(|c| u32::from(c.octets)).sum::<u32>(), sizes.iter().sum::<u32>());
            prop_assert_eq!(cuts.iter().map(|c| u32::from(c.ends)).sum::<u32>() as usize, sizes.len());
            for c in &cuts {
                prop_assert!(u32::from(c.octets) + u32::from(c.zero) <= room);
            }
            let total: u32 = sizes.iter().sum();
            let least = total.div_ceil(room) as usize;
            prop_assert!(cuts.len() >= least && cuts.len() <= (total as usize + 2 * sizes.len()).div_ceil(room as usize) + 1);
        }
    }
}
