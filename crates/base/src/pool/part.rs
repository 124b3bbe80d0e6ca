//! Parts of packet bodies: contents of IP fragments (RFC 791 section 3.2; catalogue NS-21), with a reference
//! count of the whole body.
//!
//! The body stays whole in its slot. Each part refers to the body, which is freed with its last part.

use super::{BodyRef, FREE, Holds, NOWHERE, Pool, Slot};

/// Range of a packet's payload in a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Number of the packet that was fragmented first; identification of its fragments.
    pub packet: u64,
    /// Offset of this part in the payload, bytes.
    pub from: u32,
    /// Length of this part, bytes.
    pub len: u32,
    /// More fragments flag.
    pub more: bool,
}

/// Slot number of a part without a body.
const BODILESS: u32 = NOWHERE - 1;

impl Pool {
    /// Stores a part of a body, which its parts own from then on. If `of` is itself a part, the new part
    /// refers to the whole body, and the caller discards `of` afterwards.
    pub fn put_part(&mut self, of: BodyRef, part: Part) -> BodyRef {
        let whole = match self.slots.get(of.0 as usize) {
            Some(slot) if slot.holds == Holds::Part => slot.blocks,
            Some(_) => of.0,
            None => BODILESS,
        };
        self.refer(whole);
        let at = self.place();
        self.slots[at as usize] = Slot {
            seq: u64::from(part.from),
            ack: part.packet,
            len: part.len,
            push: part.more,
            blocks: whole,
            next: NOWHERE,
            holds: Holds::Part,
            ..FREE
        };
        BodyRef(at)
    }

    /// The part's range; `None` for a whole body.
    pub fn part(&self, at: BodyRef) -> Option<Part> {
        let slot = self.slots.get(at.0 as usize).filter(|slot| slot.holds == Holds::Part)?;
        Some(Part { packet: slot.ack, from: slot.seq as u32, len: slot.len, more: slot.push })
    }

    /// Takes a part out and returns the whole body: the original if no other part is left, otherwise a copy.
    pub fn join_part(&mut self, at: BodyRef) -> BodyRef {
        let Some(whole) = self.whole(at) else { return BodyRef::NONE };
        self.refer(whole);
        self.discard(at);
        match self.slots.get_mut(whole as usize) {
            None => BodyRef::NONE,
            Some(slot) if slot.next == 1 => {
                slot.next = NOWHERE;
                self.live += 1;
                BodyRef(whole)
            }
            Some(slot) => {
                slot.next -= 1;
                self.copy(BodyRef(whole))
            }
        }
    }

    /// Slot of the body to which a part belongs.
    pub(super) fn whole(&self, at: BodyRef) -> Option<u32> {
        let slot = self.slots.get(at.0 as usize)?;
        (slot.holds == Holds::Part).then_some(slot.blocks)
    }

    /// Counts one more part of a body, in the `next` field of the body's slot.
    pub(super) fn refer(&mut self, whole: u32) {
        let Some(slot) = self.slots.get_mut(whole as usize) else { return };
        if slot.next == NOWHERE {
            // `live` counts the parts instead of the body.
            self.live -= 1;
            slot.next = 0;
        }
        slot.next += 1;
    }

    /// Releases a part; frees the body with its last part.
    #[cold]
    pub(super) fn forget_part(&mut self, whole: u32) {
        let Some(slot) = self.slots.get_mut(whole as usize) else { return };
        slot.next = slot.next.saturating_sub(1);
        if slot.next == 0 {
            slot.next = NOWHERE;
            self.live += 1;
            self.discard(BodyRef(whole));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Segment;

    fn part(from: u32, more: bool) -> Part {
        Part { packet: 7, from, len: 8, more }
    }

    #[test]
    fn the_last_part_takes_the_body_along() {
        let mut pool = Pool::new();
        let body = pool.put(&Segment { seq: 9, len: 16, ..Segment::default() });
        let parts = [pool.put_part(body, part(0, true)), pool.put_part(body, part(8, false))];
        assert_eq!((pool.live(), pool.part(parts[1]), pool.part(body)), (2, Some(part(8, false)), None));
        parts.iter().for_each(|&at| pool.discard(at));
        assert_eq!(pool.live(), 0);
    }

    #[test]
    fn what_is_joined_is_whole_and_a_copy_while_others_refer_to_it() {
        let mut pool = Pool::new();
        let segment = Segment { seq: 9, len: 16, ..Segment::default() };
        let body = pool.put(&segment);
        let [a, b] = [part(0, true), part(8, false)].map(|p| pool.put_part(body, p));
        // The network duplicates one fragment, and a router fragments the other one again.
        let twin = pool.copy(a);
        let inner = pool.put_part(b, part(8, false));
        pool.discard(b);
        pool.discard(a);
        let joined = pool.join_part(twin);
        assert_eq!(pool.take(joined), Some(segment));
        let last = pool.join_part(inner);
        assert_eq!((pool.take(last), pool.live()), (Some(segment), 0));
    }

    #[test]
    fn bytes_and_bodies_of_other_protocols_are_joined_and_nothing_stays_nothing() {
        let mut pool = Pool::new();
        for body in [pool.put_bytes(b"abc"), pool.store((3u8, 'x'))] {
            let at = pool.put_part(body, part(0, false));
            assert_eq!(pool.join_part(at), body);
            pool.discard(body);
        }
        let none = pool.put_part(BodyRef::NONE, part(0, false));
        assert_eq!((pool.join_part(none), pool.live()), (BodyRef::NONE, 0));
        // A part taken as another type is discarded.
        let body = pool.put(&Segment::default());
        let at = pool.put_part(body, part(0, false));
        assert!(pool.take(at).is_none() && pool.live() == 0);
    }
}
