//! Reassembly of a TCP receiver: bytes in order, out-of-order ranges, and the blocks that SACK reports (RFC 2018, RFC 2883).

use super::Receiver;
use super::buffer::BufferOccupancy;
use base::tcp::Block;

/// Maximum number of out-of-order ranges; data beyond are discarded.
const MAX_HELD: usize = 4096;

impl Receiver {
    /// Records the first contiguous duplicate range of a segment as the DSACK block to send.
    #[cold]
    pub(super) fn note_repeated(&mut self, seq: u64, end: u64) {
        let repeated = if seq < self.next {
            //= RFC 2883 section 4.2.1: of a partly new segment, the duplicate part
            Some(Block { left: seq, right: end.min(self.next) })
        } else {
            //= RFC 2883 section 4.2.2: of several duplicate parts, the first
            let i = self.held.partition_point(|b| b.right <= seq);
            let held = self.held.get(i).filter(|b| b.left < end);
            held.map(|b| Block { left: b.left.max(seq), right: b.right.min(end) })
        };
        if repeated.is_some() {
            //= RFC 2883 section 4: the first block reports the duplicate
            self.dsack = repeated;
        }
    }

    /// Whether the whole range has been received.
    #[inline(always)]
    pub(in crate::tcp) fn has(&self, seq: u64, end: u64) -> bool {
        end <= self.next || self.holds(seq, end)
    }

    fn holds(&self, seq: u64, end: u64) -> bool {
        self.held.iter().any(|b| b.left <= seq && end <= b.right)
    }

    /// Merges a range into the out-of-order ranges and makes the result the first SACK block.
    pub(super) fn hold(&mut self, seq: u64, end: u64) {
        if self.held.len() >= MAX_HELD {
            return; // discarded: a receiver may discard out-of-order data
        }
        let from = self.held.partition_point(|b| b.right < seq);
        let to = self.held.partition_point(|b| b.left <= end);
        let mut merged = Block { left: seq, right: end };
        if from < to {
            merged.left = seq.min(self.held[from].left);
            merged.right = end.max(self.held[to - 1].right);
        }
        self.held.splice(from..to, [merged]);
        self.report(merged);
    }

    /// For a duplicate of out-of-order data, makes the range that contains it the first SACK block.
    pub(super) fn touch(&mut self, seq: u64, end: u64) {
        if let Some(&b) = self.held.iter().find(|b| b.left <= seq && end <= b.right) {
            self.report(b);
        }
    }

    /// RFC 2018 section 4: the most recent block first, then those reported before it.
    fn report(&mut self, block: Block) {
        if self.sack {
            self.reported.retain(|b| b.left < block.left || b.right > block.right);
            self.reported.insert(0, block);
            self.reported.truncate(base::tcp::MAX_SACK_BLOCKS);
        }
    }

    #[cold]
    pub(super) fn absorb_held(&mut self) {
        while let Some(first) = self.held.first().copied() {
            if first.left > self.next {
                break;
            }
            self.next = self.next.max(first.right);
            self.held.remove(0);
        }
        let next = self.next;
        self.reported.retain(|b| b.right > next);
    }

    /// Occupancy of the receive buffer. Out-of-order data count only under the Linux rules.
    #[inline]
    pub(super) fn kept(&self) -> BufferOccupancy {
        let unread = self.unread.unwrap_or(0);
        if self.held.is_empty() { BufferOccupancy::in_order(unread) } else { self.kept_with_gaps(unread) }
    }

    #[cold]
    fn kept_with_gaps(&self, unread: u64) -> BufferOccupancy {
        if self.linux.is_none() {
            return BufferOccupancy::in_order(unread);
        }
        let bytes = self.held.iter().map(|b| b.right - b.left).sum();
        BufferOccupancy { unread, held: bytes, ranges: self.held.len() as u64 }
    }
}
