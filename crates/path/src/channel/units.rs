//! Ring of the packets of a channel, by number.
//!
//! A packet's place is its number, reduced with a mask. An access thus needs neither the position of the first packet
//! nor a wrap.

use super::buffer::Unit;

/// Entries with consecutive numbers.
pub(super) struct Units {
    /// Places; their number is a power of two, or 0 before the first entry.
    room: Box<[Unit]>,
    /// Number of the first entry.
    base: u64,
    /// Number behind the last entry.
    end: u64,
}

/// Minimum number of places, after the first entry.
const LEAST: usize = 4;

impl Units {
    pub(super) fn new() -> Self {
        Units { room: Box::default(), base: 0, end: 0 }
    }

    /// Number of the first entry, or of the next one if there is none.
    #[inline]
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    #[inline]
    fn place(&self, number: u64) -> usize {
        number as usize & self.room.len().wrapping_sub(1)
    }

    #[inline]
    pub(super) fn get(&self, number: u64) -> Option<&Unit> {
        if number < self.base || number >= self.end {
            return None;
        }
        self.room.get(self.place(number))
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Unit> {
        if number < self.base || number >= self.end {
            return None;
        }
        let place = self.place(number);
        self.room.get_mut(place)
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&Unit> {
        self.get(self.base)
    }

    pub(super) fn back(&self) -> Option<&Unit> {
        self.get(self.end.checked_sub(1)?)
    }

    /// Entries with these numbers, as far as they exist.
    pub(super) fn range(&self, numbers: std::ops::Range<u64>) -> impl Iterator<Item = &Unit> {
        numbers.filter_map(|number| self.get(number))
    }

    /// Adds an entry, which the caller writes into its place; until then it is any earlier one. Always `Some`.
    #[inline]
    pub(super) fn push_place(&mut self) -> Option<&mut Unit> {
        if self.end - self.base == self.room.len() as u64 {
            self.grow();
        }
        let place = self.place(self.end);
        self.end += 1;
        self.room.get_mut(place)
    }

    #[cold]
    fn grow(&mut self) {
        let size = (2 * self.room.len()).max(LEAST);
        let mut room = vec![Unit::NONE; size];
        for number in self.base..self.end {
            if let Some(unit) = self.get(number) {
                room[number as usize & (size - 1)] = *unit;
            }
        }
        self.room = room.into_boxed_slice();
    }

    /// Removes the first entry.
    #[inline]
    pub(super) fn drop_front(&mut self) {
        self.base += u64::from(self.base < self.end);
    }

    pub(super) fn pop_front(&mut self) -> Option<Unit> {
        let unit = *self.front()?;
        self.base += 1;
        Some(unit)
    }

    pub(super) fn pop_back(&mut self) -> Option<Unit> {
        let unit = *self.back()?;
        self.end -= 1;
        Some(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn agrees_with_the_queue_of_the_library(ops in proptest::collection::vec(0u8..7, 1..400)) {
            let (mut units, mut queue, mut base) = (Units::new(), VecDeque::<u32>::new(), 0u64);
            for (n, op) in ops.into_iter().enumerate() {
                match op {
                    0 => {
                        let gone = queue.pop_front();
                        base += u64::from(gone.is_some());
                        prop_assert_eq!(units.pop_front().map(|unit| unit.body), gone);
                    }
                    1 => {
                        base += u64::from(queue.pop_front().is_some());
                        units.drop_front();
                    }
                    2 => prop_assert_eq!(units.pop_back().map(|unit| unit.body), queue.pop_back()),
                    _ => {
                        units.push_place().unwrap().body = n as u32;
                        queue.push_back(n as u32);
                    }
                }
                prop_assert_eq!(units.base(), base);
                let end = base + queue.len() as u64;
                let all: Vec<u32> = units.range(base.saturating_sub(2)..end + 2).map(|unit| unit.body).collect();
                prop_assert_eq!(&all, &Vec::from(queue.clone()));
                prop_assert_eq!(units.front().map(|unit| unit.body), queue.front().copied());
                prop_assert_eq!(units.back().map(|unit| unit.body), queue.back().copied());
            }
        }
    }
}
