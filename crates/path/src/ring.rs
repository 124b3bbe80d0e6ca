//! Ring buffer of packets, sized by powers of two.
//!
//! The size is a power of two, so that an index needs a mask instead of a comparison and a subtraction.

/// Queue in one reused block of memory; at most 2^32 items.
pub(crate) struct Ring<T> {
    room: Vec<T>,
    head: u32,
    len: u32,
}

impl<T: Copy> Ring<T> {
    /// An empty ring without memory.
    pub(crate) const fn new() -> Self {
        Ring { room: Vec::new(), head: 0, len: 0 }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    fn place(&self, i: u32) -> usize {
        self.head.wrapping_add(i) as usize & self.room.len().wrapping_sub(1)
    }

    /// The `i`-th item from the front.
    #[inline(always)]
    pub(crate) fn get(&self, i: u32) -> Option<&T> {
        if i < self.len { self.room.get(self.place(i)) } else { None }
    }

    /// The `i`-th item from the front.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, i: u32) -> Option<&mut T> {
        let place = self.place(i);
        if i < self.len { self.room.get_mut(place) } else { None }
    }

    #[inline(always)]
    pub(crate) fn push_back(&mut self, item: T) {
        if self.len as usize == self.room.len() {
            self.grow(item);
        }
        let place = self.place(self.len);
        if let Some(free) = self.room.get_mut(place) {
            *free = item;
            self.len += 1;
        }
    }

    /// Removes the front item. A ring that becomes empty restarts at its first slot, which is in the cache.
    #[inline(always)]
    pub(crate) fn pop_front(&mut self) {
        if self.len > 1 {
            self.head = self.place(1) as u32;
            self.len -= 1;
        } else {
            (self.head, self.len) = (0, 0);
        }
    }

    /// Removes the `i`-th item; later ones move up.
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
    fn grow(&mut self, filling: T) {
        self.room.rotate_left(self.head as usize);
        self.head = 0;
        self.room.resize((2 * self.room.len()).max(4), filling);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn agrees_with_the_queue_of_the_library(ops in proptest::collection::vec((0u8..5, any::<u16>()), 1..300)) {
            let mut ring = Ring::new();
            let mut queue = VecDeque::new();
            for (what, n) in ops {
                let i = u32::from(n) % 8;
                match what {
                    0 | 1 => {
                        ring.push_back(n);
                        queue.push_back(n);
                    }
                    2 => {
                        ring.pop_front();
                        queue.pop_front();
                    }
                    3 => prop_assert_eq!(ring.remove(i), queue.remove(i as usize)),
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
