//! Merge: arrivals at a link from several links that forward ahead, taken in the order of their times.
//!
//! A packet that enters a link leaves it one propagation delay later at the earliest. So arrivals of one delay can be
//! taken together at its end.

use base::packet::Packet;
use base::{Span, Time};

/// Arrivals that are taken together at most, as far as the window can be adapted: they stay in the second cache.
const MOST: usize = 1024;

/// A packet on its way to the link.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) packet: Packet,
    /// Time of arrival.
    pub(crate) at: Time,
    /// Number of the link that forwarded it; at equal times, smaller numbers arrive first.
    pub(crate) from: u32,
}

const _: () = assert!(size_of::<Arrival>() == 64);

/// From the highest bit: time of an arrival, number of its sender, place in the list.
type Key = u128;

fn key(arrival: &Arrival, place: usize) -> Key {
    u128::from(arrival.at.as_nanos()) << 64 | u128::from(arrival.from) << 32 | place as u128
}

/// Arrivals that the link has not taken, in the order of forwarding.
pub(crate) struct Merge {
    arrivals: Vec<Arrival>,
    /// Keys of arrivals to take; reused memory.
    order: Vec<Key>,
    /// Earliest arrival; [`Time::NEVER`] without arrivals.
    first: Time,
    /// Longest time for which an arrival may wait: less than the propagation delay.
    longest: Span,
    /// Time for which the earliest arrival waits, adapted to the number of arrivals.
    window: Span,
}

impl Merge {
    /// For a link with a propagation delay of `delay`, above 0.
    pub(crate) fn new(delay: Span) -> Self {
        let longest = Span::from_nanos(delay.as_nanos().saturating_sub(1));
        Merge { arrivals: Vec::new(), order: Vec::new(), first: Time::NEVER, longest, window: longest }
    }

    /// Adds an arrival. Returns the time at which arrivals have to be taken.
    #[inline(always)]
    pub(crate) fn push(&mut self, at: Time, from: u32, packet: &Packet) -> Time {
        self.first = self.first.min(at);
        self.arrivals.push(Arrival { packet: *packet, at, from });
        self.due()
    }

    /// Time at which arrivals have to be taken.
    pub(crate) fn due(&self) -> Time {
        if self.first.is_never() { Time::NEVER } else { self.first + self.window }
    }

    /// Number of arrivals not taken.
    pub(crate) fn len(&self) -> usize {
        self.arrivals.len()
    }

    /// Sorts the arrivals before `now`, and those at `now` of links up to number `from`. Returns their number.
    pub(crate) fn sort(&mut self, now: Time, from: u32) -> usize {
        self.order.clear();
        let last = u128::from(now.as_nanos()) << 64 | u128::from(from) << 32 | u128::from(u32::MAX);
        let keys = self.arrivals.iter().enumerate().map(|(place, arrival)| key(arrival, place));
        self.order.extend(keys.filter(|key| *key <= last));
        self.order.sort_unstable();
        self.order.len()
    }

    /// The `k`-th arrival in sorted order.
    #[inline]
    pub(crate) fn sorted(&self, k: usize) -> Option<Arrival> {
        self.arrivals.get(*self.order.get(k)? as u32 as usize).copied()
    }

    /// Removes the sorted arrivals.
    pub(crate) fn clear_sorted(&mut self) {
        let taken = self.order.len();
        if taken == self.arrivals.len() {
            self.arrivals.clear();
        } else if let Some(&last) = self.order.last() {
            let last = last | u128::from(u32::MAX);
            self.arrivals.retain(|arrival| key(arrival, 0) > last);
        }
        self.first = self.arrivals.iter().map(|arrival| arrival.at).min().unwrap_or(Time::NEVER);
        if taken > MOST {
            self.window = Span::from_nanos(self.window.as_nanos() / 2);
        } else if taken < MOST / 4 {
            self.window = (self.window + self.window).min(self.longest);
        }
    }

    /// Arrivals that are not taken, in the order of forwarding.
    pub(crate) fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }
}
