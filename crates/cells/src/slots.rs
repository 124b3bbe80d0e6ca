//! Timeslots of the cells: allocation, round robin, admission (3GPP TS 44.060 section 5.5; radio-facts of the
//! study: equal priority, one block each in turn).
//!
//! A mobile's downlink timeslots are consecutive. The position with the fewest TBFs is chosen, with ties
//! broken by a keyed hash. If every position has a full timeslot, the mobile waits until a TBF of the cell
//! ends.

use crate::numeric::key;
use std::collections::VecDeque;

/// TBFs on one timeslot in one direction, and the next one in turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundRobin {
    pub(crate) members: Vec<u32>,
    turn: usize,
}

impl RoundRobin {
    fn join(&mut self, mobile: u32) {
        self.members.push(mobile);
    }

    fn leave(&mut self, mobile: u32) {
        if let Some(at) = self.members.iter().position(|m| *m == mobile) {
            self.members.remove(at);
            if at < self.turn {
                self.turn -= 1;
            }
        }
    }

    /// The member whose turn it is.
    #[inline]
    pub(crate) fn first(&self) -> Option<u32> {
        self.members.get(self.turn).copied()
    }

    /// Next ready member, in turn.
    #[inline]
    pub(crate) fn next(&mut self, mut ready: impl FnMut(u32) -> bool) -> Option<u32> {
        let n = self.members.len();
        for i in 0..n {
            let at = self.turn + i;
            let at = if at >= n { at - n } else { at };
            let mobile = self.members[at];
            if ready(mobile) {
                self.turn = if at + 1 == n { 0 } else { at + 1 };
                return Some(mobile);
            }
        }
        None
    }
}

/// Timeslots of one cell.
#[derive(Clone, Debug)]
pub(crate) struct CellSlots {
    /// Downlink and uplink.
    pub(crate) turns: [Vec<RoundRobin>; 2],
    /// Mobiles waiting for timeslots, by direction.
    pub(crate) waiting: [VecDeque<u32>; 2],
    /// Timeslots with a TBF, a bit each, by direction.
    pub(crate) used: [u128; 2],
    most: [u32; 2],
}

impl CellSlots {
    pub(crate) fn new(slots: u32, most: [u32; 2]) -> CellSlots {
        let turns = || vec![RoundRobin::default(); slots as usize];
        CellSlots { turns: [turns(), turns()], waiting: Default::default(), used: [0; 2], most }
    }

    /// Allocates `count` consecutive timeslots and returns the first; `None` if every position has a full
    /// timeslot. `near`: the mobile's timeslots in the other direction, to which positions are restricted.
    pub(crate) fn allocate(
        &mut self,
        way: usize,
        mobile: u32,
        count: u32,
        near: Option<(u32, u32)>,
        hash: u64,
    ) -> Option<u32> {
        let turns = &self.turns[way];
        let last = (turns.len() as u32).checked_sub(count)?;
        let (from, to) = match near {
            Some((first, slots)) if slots >= count => (first, (first + slots - count).min(last)),
            _ => (0, last),
        };
        let load = |p: u32| {
            let on = turns[p as usize..(p + count) as usize].iter().map(|t| t.members.len() as u32);
            let full = on.clone().any(|n| n >= self.most[way]);
            (!full).then(|| on.sum::<u32>())
        };
        let (_, _, first) = (from..=to).filter_map(|p| Some((load(p)?, key(hash, u64::from(p)), p))).min()?;
        for slot in first..first + count {
            self.turns[way][slot as usize].join(mobile);
            self.used[way] |= 1 << slot;
        }
        Some(first)
    }

    /// Releases timeslots.
    pub(crate) fn release(&mut self, way: usize, mobile: u32, first: u32, count: u32) {
        for slot in first..first + count {
            let turns = &mut self.turns[way][slot as usize];
            turns.leave(mobile);
            if turns.members.is_empty() {
                self.used[way] &= !(1 << slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EG-11, EG-15: three consecutive timeslots with the fewest TBFs; equal turns.
    #[test]
    fn eg_11_eg_15_allocation_and_turns() {
        let mut cell = CellSlots::new(7, [2, 7]);
        let firsts: Vec<u32> = (0..2).filter_map(|m| cell.allocate(0, m, 3, None, 5)).collect();
        assert!(firsts[0].abs_diff(firsts[1]) >= 3, "two mobiles do not share: {firsts:?}");
        let all: Vec<u32> = (2..20).map_while(|m| cell.allocate(0, m, 3, None, 5)).collect();
        assert!(all.len() <= 2, "two TBFs a slot at most: {all:?}");
        assert!(cell.turns[0].iter().all(|t| t.members.len() <= 2));
        cell.release(0, 0, firsts[0], 3);
        assert!(cell.allocate(0, 30, 3, None, 5).is_some(), "room again");
        assert_eq!(cell.allocate(1, 5, 1, Some((2, 3)), 1).map(|p| (2..5).contains(&p)), Some(true));

        let mut turns = RoundRobin::default();
        [4, 5, 6].into_iter().for_each(|m| turns.join(m));
        let order: Vec<u32> = (0..6).filter_map(|_| turns.next(|_| true)).collect();
        assert_eq!(order, [4, 5, 6, 4, 5, 6]);
        assert_eq!(turns.next(|m| m == 6), Some(6));
        turns.leave(4);
        assert_eq!((turns.next(|_| true), turns.next(|_| true)), (Some(5), Some(6)));
    }
}
