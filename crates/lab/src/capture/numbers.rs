//! Index tables of the capture collector: positions of open packets by packet number, taps and ledgers by
//! element.
//!
//! A network counts its packets, so that the numbers of open packets lie close together: the index is a
//! window of entries, which starts at the oldest open packet.

use std::collections::VecDeque;

/// Number by element; at most 2^32 - 2.
#[derive(Clone, Debug, Default)]
pub(super) struct ByElement(Vec<u32>);

impl ByElement {
    /// Number of an element.
    pub(super) fn get(&self, element: u32) -> Option<u32> {
        self.0.get(element as usize).copied().filter(|&number| number != NOWHERE)
    }

    /// Sets the number of an element.
    pub(super) fn insert(&mut self, element: u32, number: u32) {
        if element as usize >= self.0.len() {
            self.0.resize(element as usize + 1, NOWHERE);
        }
        self.0[element as usize] = number;
    }
}

/// Position by packet number; at most 2^32 - 1 positions.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    /// Packet number of the first entry.
    first: u64,
    places: VecDeque<u32>,
}

/// Entry of a packet number without a position.
const NOWHERE: u32 = u32::MAX;

impl Numbers {
    fn entry(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }

    /// Position of a packet.
    pub(super) fn get(&self, number: u64) -> Option<u32> {
        let place = *self.places.get(self.entry(number)?)?;
        (place != NOWHERE).then_some(place)
    }

    /// Sets the position of a packet.
    pub(super) fn insert(&mut self, number: u64, place: u32) {
        if self.places.is_empty() {
            self.first = number;
        }
        while number < self.first {
            self.places.push_front(NOWHERE);
            self.first -= 1;
        }
        let Some(at) = self.entry(number) else { return };
        if at == self.places.len() {
            self.places.push_back(place); // the usual case
            return;
        }
        if at > self.places.len() {
            self.places.resize(at + 1, NOWHERE);
        }
        self.places[at] = place;
    }

    /// Removes a packet.
    pub(super) fn remove(&mut self, number: u64) {
        if let Some(place) = self.entry(number).and_then(|at| self.places.get_mut(at)) {
            *place = NOWHERE;
        }
        while self.places.front() == Some(&NOWHERE) {
            self.places.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn agrees_with_a_map(steps in proptest::collection::vec((0u8..3, 0u64..60), 1..200)) {
            let (mut numbers, mut map) = (Numbers::default(), BTreeMap::new());
            for (i, (what, number)) in steps.into_iter().enumerate() {
                if what < 2 {
                    numbers.insert(number, i as u32);
                    map.insert(number, i as u32);
                } else {
                    numbers.remove(number);
                    map.remove(&number);
                }
                for number in 0..60 {
                    prop_assert_eq!(numbers.get(number), map.get(&number).copied());
                }
            }
        }
    }
}
