//! Ring buffer for the packets of a link, with sizes in powers of two.
//!
//! An index is reduced with a mask, since the size in use is a power of two. The size in use shrinks with the number of
//! items, although no memory is released: a ring with few items needs few cache lines even if it had many before.

/// FIFO queue in one reused block of memory; at most 2^31 items.
pub(crate) struct Ring<T> {
    room: Box<[T]>,
    head: u32,
    len: u32,
    /// Number of places in use, from the start of `room`: 0 before the first item, then a power of two.
    size: u32,
}

/// Minimum number of places in use, after the first item.
const LEAST: u32 = 4;

/// Places in memory, in use or not, after the first item.
const FIRST_ROOM: u32 = 16;

impl<T: Copy + Default> Ring<T> {
    /// An empty ring without memory.
    pub(crate) fn new() -> Self {
        Ring { room: Box::default(), head: 0, len: 0, size: 0 }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    fn place(&self, i: u32) -> usize {
        (self.head.wrapping_add(i) & self.size.wrapping_sub(1)) as usize
    }

    /// The `i`-th item from the front.
    #[inline(always)]
    pub(crate) fn get(&self, i: u32) -> Option<&T> {
        if i < self.len { self.room.get(self.place(i)) } else { None }
    }

    /// The `i`-th item from the front, to modify.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, i: u32) -> Option<&mut T> {
        let place = self.place(i);
        if i < self.len { self.room.get_mut(place) } else { None }
    }

    /// Adds an item at the back, which the caller writes into its place; until then it is any earlier one. Always
    /// `Some`.
    #[inline(always)]
    pub(crate) fn push_place(&mut self) -> Option<&mut T> {
        if self.len == self.size {
            self.grow();
        }
        let place = self.place(self.len);
        self.len += 1;
        self.room.get_mut(place)
    }

    /// Removes the front item. A ring that becomes empty continues with few places, which are in the cache.
    #[inline(always)]
    pub(crate) fn pop_front(&mut self) {
        if self.len > 1 {
            self.head = self.place(1) as u32;
            self.len -= 1;
            if self.head == 0 {
                self.shrink();
            }
        } else {
            (self.head, self.len, self.size) = (0, 0, self.size.min(LEAST));
        }
    }

    /// Removes `n` items from the front.
    pub(crate) fn pop_many(&mut self, n: u32) {
        let to_start = self.size - self.head;
        if n >= self.len {
            (self.head, self.len, self.size) = (0, 0, self.size.min(LEAST));
        } else if n < to_start {
            self.head += n;
            self.len -= n;
        } else {
            self.len -= to_start;
            self.head = 0;
            self.shrink();
            self.pop_many(n - to_start);
        }
    }

    /// Removes and returns the last item.
    pub(crate) fn pop_back(&mut self) -> Option<T> {
        let last = self.len.checked_sub(1)?;
        let item = *self.get(last)?;
        self.len = last;
        Some(item)
    }

    /// Removes and returns the `i`-th item from the front; later items move one place forward.
    pub(crate) fn remove(&mut self, i: u32) -> Option<T> {
        let gone = *self.get(i)?;
        for k in i + 1..self.len {
            let (from, to) = (self.place(k), self.place(k - 1));
            self.room[to] = self.room[from];
        }
        self.len -= 1;
        Some(gone)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        if let Some(used) = self.room.get_mut(..self.size as usize) {
            used.rotate_left(self.head as usize);
        }
        self.head = 0;
        self.size = (2 * self.size).max(LEAST);
        if self.size as usize > self.room.len() {
            let mut room = std::mem::take(&mut self.room).into_vec();
            room.resize(self.size.max(FIRST_ROOM) as usize, T::default());
            self.room = room.into_boxed_slice();
        }
    }

    /// Halves the places in use if items fill less than a quarter. The first item is at place 0.
    #[cold]
    #[inline(never)]
    fn shrink(&mut self) {
        if self.len < self.size / 4 && self.size > LEAST {
            self.size /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    impl<T: Copy + Default> Ring<T> {
        fn push_back(&mut self, item: T) {
            *self.push_place().unwrap() = item;
        }
    }

    #[test]
    fn places_in_use_follow_the_items() {
        let mut ring = Ring::new();
        (0..1000).for_each(|n| ring.push_back(n));
        assert_eq!(ring.size, 1024);
        // With three items for many insertions, the ring shrinks although it is never empty.
        (0..997).for_each(|_| ring.pop_front());
        for n in 1000..4000 {
            ring.push_back(n);
            assert_eq!(ring.get(0), Some(&(n - 3)));
            ring.pop_front();
        }
        assert_eq!((ring.len(), ring.size), (3, 8));
        (0..3).for_each(|_| ring.pop_front());
        assert_eq!((ring.len(), ring.size, ring.room.len()), (0, LEAST, 1024));
    }

    proptest! {
        #[test]
        fn agrees_with_the_queue_of_the_library(ops in proptest::collection::vec((0u8..9, any::<u16>()), 1..300)) {
            let mut ring = Ring::new();
            let mut queue = VecDeque::new();
            for (what, n) in ops {
                let i = u32::from(n) % 8;
                match what {
                    0 | 1 => {
                        // One item, or up to 39, so that the ring grows.
                        for k in 0..if what == 0 { 1 } else { n % 40 } {
                            ring.push_back(n ^ k);
                            queue.push_back(n ^ k);
                        }
                    }
                    2 | 3 => {
                        for _ in 0..if what == 2 { 1 } else { n % 40 } {
                            ring.pop_front();
                            queue.pop_front();
                        }
                    }
                    6 => {
                        ring.pop_many(u32::from(n % 40));
                        queue.drain(..queue.len().min(usize::from(n % 40)));
                    }
                    4 => prop_assert_eq!(ring.remove(i), queue.remove(i as usize)),
                    5 => prop_assert_eq!(ring.pop_back(), queue.pop_back()),
                    _ => {
                        if let (Some(a), Some(b)) = (ring.get_mut(i), queue.get_mut(i as usize)) {
                            *a = n;
                            *b = n;
                        }
                    }
                }
                prop_assert_eq!(ring.len() as usize, queue.len());
                for k in 0..queue.len() + 2 {
                    prop_assert_eq!(ring.get(k as u32), queue.get(k));
                }
            }
        }
    }
}
