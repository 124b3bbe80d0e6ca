//! Timeslots of a cell: allocation to TBFs, admission, and round-robin scheduling of the TBFs on each timeslot
//! (3GPP TS 44.060 section 5.5).
//!
//! TBFs have equal priority and send one radio block each in turn. The timeslots of a TBF are consecutive. The
//! position with the fewest TBFs is chosen, with ties broken by a keyed hash. If every position has a full timeslot,
//! the mobile waits until a TBF of the cell ends.

use crate::meter::AdmissionCounts;
use crate::numeric::key;
use std::collections::VecDeque;

/// Round robin of the TBFs on each timeslot of a cell in one direction. All lists are contiguous in memory, because a
/// block period reads them together.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    /// Capacity of each timeslot in `members`.
    room: usize,
    /// Mobiles with a TBF on each timeslot, `room` entries per timeslot.
    members: Vec<u32>,
    /// Length and turn of each timeslot's list.
    lists: Vec<List>,
}

/// List of the TBFs on a timeslot.
#[derive(Clone, Copy, Debug, Default)]
struct List {
    /// Number of TBFs.
    length: u32,
    /// Index of the next TBF in turn.
    turn: u32,
}

impl Turns {
    fn new(slots: u32) -> Turns {
        let room = 4;
        Turns { room, members: vec![0; room * slots as usize], lists: vec![List::default(); slots as usize] }
    }

    /// Mobiles with a TBF on a timeslot.
    #[inline]
    pub(crate) fn of(&self, slot: usize) -> &[u32] {
        let from = slot * self.room;
        &self.members[from..from + self.lists[slot].length as usize]
    }

    /// Adds a mobile at the end of a timeslot's list.
    fn join(&mut self, slot: usize, mobile: u32) {
        let length = self.lists[slot].length as usize;
        if length == self.room {
            self.widen();
        }
        self.members[slot * self.room + length] = mobile;
        self.lists[slot].length += 1;
    }

    /// Doubles the capacity of each timeslot.
    fn widen(&mut self) {
        let room = 2 * self.room;
        let mut members = vec![0; room * self.lists.len()];
        for (to, from) in members.chunks_mut(room).zip(self.members.chunks(self.room)) {
            to[..self.room].copy_from_slice(from);
        }
        (self.room, self.members) = (room, members);
    }

    /// Removes a mobile from a timeslot's list; the order of turns stays.
    fn leave(&mut self, slot: usize, mobile: u32) {
        let Some(at) = self.of(slot).iter().position(|m| *m == mobile) else { return };
        let (from, list) = (slot * self.room, &mut self.lists[slot]);
        self.members.copy_within(from + at + 1..from + list.length as usize, from + at);
        list.length -= 1;
        list.turn -= u32::from((at as u32) < list.turn);
    }

    /// Mobile whose turn is next on a timeslot, ready or not. For the prefetch only.
    #[inline]
    pub(crate) fn first(&self, slot: usize) -> Option<u32> {
        let list = self.lists.get(slot)?;
        self.members.get(slot * self.room + list.turn as usize).copied()
    }

    /// Next ready mobile in round-robin order; the turn passes to the mobile after it. `None` if no mobile is ready.
    #[inline]
    pub(crate) fn next(&mut self, slot: usize, mut ready: impl FnMut(u32) -> bool) -> Option<u32> {
        let List { length, turn } = self.lists[slot];
        let members = self.of(slot);
        let mut at = turn;
        for _ in 0..length {
            at = if at >= length { at - length } else { at };
            let mobile = members[at as usize];
            at += 1;
            if ready(mobile) {
                self.lists[slot].turn = if at == length { 0 } else { at };
                return Some(mobile);
            }
        }
        None
    }
}

/// Positions of the bits set in `set`, ascending. It processes 64-bit words, because shifts of 128 bits cost more.
#[inline(always)]
pub(crate) fn ones(set: u128) -> impl Iterator<Item = usize> {
    let (mut low, mut high) = (set as u64, (set >> 64) as u64);
    std::iter::from_fn(move || {
        if low != 0 {
            let at = low.trailing_zeros() as usize;
            low &= low - 1;
            return Some(at);
        }
        if high == 0 {
            return None;
        }
        let at = high.trailing_zeros() as usize;
        high &= high - 1;
        Some(64 + at)
    })
}

/// Timeslots of one cell.
#[derive(Clone, Debug)]
pub(crate) struct CellSlots {
    /// Round robin of downlink and uplink.
    pub(crate) turns: [Turns; 2],
    /// Mobiles waiting for timeslots, by direction.
    pub(crate) waiting: [VecDeque<u32>; 2],
    /// Timeslots with a TBF, one bit each, by direction.
    pub(crate) used: [u128; 2],
    /// Maximum number of TBFs on a timeslot, by direction.
    most: [u32; 2],
    /// Counters of admission, by direction.
    pub(crate) admission: [AdmissionCounts; 2],
}

impl CellSlots {
    pub(crate) fn new(slots: u32, most: [u32; 2]) -> CellSlots {
        CellSlots {
            turns: [Turns::new(slots), Turns::new(slots)],
            waiting: Default::default(),
            used: [0; 2],
            most,
            admission: Default::default(),
        }
    }

    /// Allocates `count` consecutive timeslots and returns the first; `None` if every position has a full timeslot.
    /// `near`: first timeslot and number of timeslots of the mobile's other direction; if it has at least `count`,
    /// positions are restricted to them.
    pub(crate) fn allocate(
        &mut self,
        way: usize,
        mobile: u32,
        count: u32,
        near: Option<(u32, u32)>,
        hash: u64,
    ) -> Option<u32> {
        let turns = &self.turns[way];
        let last = (turns.lists.len() as u32).checked_sub(count)?;
        let (from, to) = match near {
            Some((first, slots)) if slots >= count => (first, (first + slots - count).min(last)),
            _ => (0, last),
        };
        let load = |p: u32| {
            let on = turns.lists[p as usize..(p + count) as usize].iter().map(|list| list.length);
            let full = on.clone().any(|n| n >= self.most[way]);
            (!full).then(|| on.sum::<u32>())
        };
        let (_, _, first) = (from..=to).filter_map(|p| Some((load(p)?, key(hash, u64::from(p)), p))).min()?;
        for slot in first..first + count {
            self.turns[way].join(slot as usize, mobile);
            self.used[way] |= 1 << slot;
        }
        Some(first)
    }

    /// Releases the `count` timeslots of a mobile from timeslot `first`.
    pub(crate) fn release(&mut self, way: usize, mobile: u32, first: u32, count: u32) {
        for slot in first..first + count {
            let turns = &mut self.turns[way];
            turns.leave(slot as usize, mobile);
            if turns.of(slot as usize).is_empty() {
                self.used[way] &= !(1 << slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_come_in_order() {
        let found = |set: u128| ones(set).collect::<Vec<usize>>();
        assert_eq!(found(0), []);
        assert_eq!(found(0b1011), [0, 1, 3]);
        assert_eq!(found(1 << 127 | 1 << 64 | 1 << 63 | 1), [0, 63, 64, 127]);
    }

    /// EG-11, EG-15: three consecutive timeslots with the fewest TBFs are allocated; TBFs send in turn.
    #[test]
    fn eg_11_eg_15_allocation_and_turns() {
        let mut cell = CellSlots::new(7, [2, 7]);
        let firsts: Vec<u32> = (0..2).filter_map(|m| cell.allocate(0, m, 3, None, 5)).collect();
        assert!(firsts[0].abs_diff(firsts[1]) >= 3, "two mobiles do not share: {firsts:?}");
        let all: Vec<u32> = (2..20).map_while(|m| cell.allocate(0, m, 3, None, 5)).collect();
        assert!(all.len() <= 2, "two TBFs a slot at most: {all:?}");
        assert!((0..7).all(|slot| cell.turns[0].of(slot).len() <= 2));
        cell.release(0, 0, firsts[0], 3);
        assert!(cell.allocate(0, 30, 3, None, 5).is_some(), "room again");
        assert_eq!(cell.allocate(1, 5, 1, Some((2, 3)), 1).map(|p| (2..5).contains(&p)), Some(true));

        let mut turns = Turns::new(2);
        [4, 5, 6].into_iter().for_each(|m| turns.join(1, m));
        let order: Vec<u32> = (0..6).filter_map(|_| turns.next(1, |_| true)).collect();
        assert_eq!(order, [4, 5, 6, 4, 5, 6]);
        assert_eq!(turns.next(1, |m| m == 6), Some(6));
        turns.leave(1, 4);
        assert_eq!((turns.next(1, |_| true), turns.next(1, |_| true)), (Some(5), Some(6)));
        assert_eq!((turns.next(1, |_| false), turns.next(0, |_| true)), (None, None));
        (7..30).for_each(|m| turns.join(1, m));
        assert_eq!(turns.of(1), [5, 6].into_iter().chain(7..30).collect::<Vec<u32>>(), "room for any number");
        let order: Vec<u32> = (0..25).filter_map(|_| turns.next(1, |_| true)).collect();
        assert_eq!(order, [5, 6].into_iter().chain(7..30).collect::<Vec<u32>>());
        turns.join(0, 9);
        assert_eq!([turns.first(0), turns.first(1), turns.first(2)], [Some(9), Some(5), None]);
    }
}
