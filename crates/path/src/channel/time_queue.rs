//! Priority queue by time, first in first out among equal times.
//!
//! Items with ascending times, the common case of a constant delay, go to a plain queue in constant time. Other
//! items go to a heap in logarithmic time.

use base::Time;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// Items ordered by time.
#[derive(Clone, Debug)]
pub(crate) struct TimeQueue<T> {
    /// Items inserted in ascending order of time.
    ordered: VecDeque<Entry<T>>,
    /// Items inserted with an earlier time than the last one of `ordered`.
    others: BinaryHeap<Entry<T>>,
    inserted: u64,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    time: Time,
    number: u64,
    item: T,
}

impl<T> Entry<T> {
    fn key(&self) -> (Time, u64) {
        (self.time, self.number)
    }
}

// Reversed, since the heap returns its greatest entry first.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Entry<T> {}

impl<T> TimeQueue<T> {
    pub(crate) fn new() -> Self {
        TimeQueue { ordered: VecDeque::new(), others: BinaryHeap::new(), inserted: 0 }
    }

    pub(crate) fn insert(&mut self, time: Time, item: T) {
        let entry = Entry { time, number: self.inserted, item };
        self.inserted += 1;
        if self.ordered.back().is_none_or(|last| last.time <= time) {
            self.ordered.push_back(entry);
        } else {
            self.others.push(entry);
        }
    }

    /// Whether the earliest item is in the heap.
    fn is_heaped(&self) -> bool {
        match (self.ordered.front(), self.others.peek()) {
            (Some(ordered), Some(other)) => other.key() < ordered.key(),
            (None, other) => other.is_some(),
            (Some(_), None) => false,
        }
    }

    /// The earliest item and its time.
    pub(crate) fn first(&self) -> Option<(Time, &T)> {
        let entry = if self.is_heaped() { self.others.peek() } else { self.ordered.front() };
        entry.map(|entry| (entry.time, &entry.item))
    }

    /// The earliest time.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        if self.others.is_empty() {
            return self.ordered.front().map_or(Time::NEVER, |entry| entry.time);
        }
        self.first().map_or(Time::NEVER, |(time, _)| time)
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let entry = if self.is_heaped() { self.others.pop() } else { self.ordered.pop_front() };
        entry.map(|entry| entry.item)
    }

    pub(crate) fn clear(&mut self) {
        self.ordered.clear();
        self.others.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Agrees with a list in which each item is inserted behind all items that are not later.
        #[test]
        fn order_is_that_of_a_stable_sort(times in proptest::collection::vec((0u64..20, any::<bool>()), 0..200)) {
            let (mut timed, mut list) = (TimeQueue::new(), Vec::<(Time, usize)>::new());
            for (i, (time, pop)) in times.into_iter().enumerate() {
                let time = Time::from_nanos(time);
                let place = list.iter().rposition(|(t, _)| *t <= time).map_or(0, |i| i + 1);
                list.insert(place, (time, i));
                timed.insert(time, i);
                prop_assert_eq!(timed.first().map(|(t, i)| (t, *i)), list.first().copied());
                if pop {
                    prop_assert_eq!(timed.pop(), Some(list.remove(0).1));
                }
            }
            for (_, i) in list {
                prop_assert_eq!(timed.pop(), Some(i));
            }
            prop_assert!(timed.next().is_never());
        }
    }
}
