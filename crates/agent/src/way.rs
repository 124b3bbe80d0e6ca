//! Encrypted datagram encapsulation of packets between hosts.
//!
//! As a datagram: eight bytes of a number that is never used twice, then, encrypted, the instant of sending and the
//! packet. The upper 24 bits of the number are the way's, the lower 40 count. Nothing is repeated and nothing put in
//! order: what a network between hosts loses or turns round is counted, and how long it took is measured.

use crate::message::Carried;
use base::Span;
use emulate::accuracy::lateness::Histogram;
use snow::StatelessTransportState;
use std::sync::Arc;

/// The bits of the number that count.
const COUNT_BITS: u32 = 40;
/// The number before a datagram.
const NUMBER: usize = 8;
/// The instant of sending.
const STAMP: usize = 8;
/// What ChaCha20-Poly1305 adds.
const TAG: usize = 16;
/// What a datagram has beside its packet, bytes.
pub const AROUND: usize = NUMBER + STAMP + TAG;
/// Larger than any datagram.
pub const BUFFER: usize = 1 << 16;

/// The number of a message on the line itself, which is way 0.
#[cfg(target_os = "linux")]
pub(crate) fn number(way: u32, count: u64) -> u64 {
    u64::from(way) << COUNT_BITS | count
}

/// The way of a datagram.
pub fn of(datagram: &[u8]) -> Option<u32> {
    let number = u64::from_be_bytes(*datagram.first_chunk::<NUMBER>()?);
    u32::try_from(number >> COUNT_BITS).ok().filter(|way| *way > 0)
}

/// Which of the last numbers have come: a window of 64 that moves on (as in RFC 4303, section 3.4.3).
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The next number beyond the greatest seen.
    next: u64,
    /// A bit for each of the 64 before it; the lowest is the greatest seen.
    bits: u64,
    /// How many have come.
    pub count: u64,
    /// How many came after a greater one.
    pub overtaken: u64,
}

impl Seen {
    /// A number has come; false if it had come already, or is too old to tell.
    pub fn add(&mut self, number: u64) -> bool {
        if number >= self.next {
            let step = number - self.next + 1;
            self.bits = if step < 64 { self.bits << step | 1 } else { 1 };
            self.next = number + 1;
        } else {
            let back = self.next - 1 - number;
            if back >= 64 || self.bits >> back & 1 == 1 {
                return false;
            }
            self.bits |= 1 << back;
            self.overtaken += 1;
        }
        self.count += 1;
        true
    }

    /// Numbers below the greatest that have not come.
    pub fn lost(&self) -> u64 {
        self.next - self.count
    }
}

/// One end of a way.
pub struct Way {
    keys: Arc<StatelessTransportState>,
    way: u32,
    next: u64,
    seen: Seen,
    took: Histogram,
    /// By how much the other end's clock is ahead of ours, and the instant of ours from which on packets count,
    /// nanoseconds.
    clock: Option<(i64, u64)>,
    clear: Vec<u8>,
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Way").field("way", &self.way).field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl Way {
    /// The way of this number (24 bits, not 0), on a line with these keys.
    pub fn new(keys: Arc<StatelessTransportState>, way: u32) -> Way {
        let clear = Vec::with_capacity(BUFFER);
        Way { keys, way, next: 0, seen: Seen::default(), took: Histogram::default(), clock: None, clear }
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.way
    }

    /// It is measured how long packets take that are sent from `since` on, by our clock.
    pub fn reckon(&mut self, ahead: i64, since: u64) {
        self.clock = Some((ahead, since));
    }

    /// Makes a datagram of a packet, at this instant of our clock; an empty packet is a call that wants an empty answer.
    /// Gives its length; none where the packet is too large, or numbers have run out.
    pub fn seal(&mut self, packet: &[u8], now: u64, out: &mut [u8]) -> Option<usize> {
        if self.next >> COUNT_BITS > 0 || packet.len() + AROUND > out.len() {
            return None;
        }
        let number = u64::from(self.way) << COUNT_BITS | self.next;
        let (head, rest) = out.split_first_chunk_mut::<NUMBER>()?;
        *head = number.to_be_bytes();
        self.clear.clear();
        self.clear.extend(now.to_be_bytes());
        self.clear.extend(packet);
        let length = self.keys.write_message(number, &self.clear, rest).ok()?;
        self.next += 1;
        Some(NUMBER + length)
    }

    /// Opens a datagram that came at this instant of our clock. None where it is not for this way, forged, or had come
    /// already.
    pub fn open(&mut self, datagram: &[u8], now: u64) -> Option<&[u8]> {
        let (head, rest) = datagram.split_first_chunk::<NUMBER>()?;
        let number = u64::from_be_bytes(*head);
        if of(datagram) != Some(self.way) {
            return None;
        }
        self.clear.resize(rest.len(), 0);
        let length = self.keys.read_message(number, rest, &mut self.clear).ok()?;
        if !self.seen.add(number & ((1 << COUNT_BITS) - 1)) {
            return None;
        }
        let (stamp, packet) = self.clear.get(..length)?.split_first_chunk::<STAMP>()?;
        if let Some((ahead, since)) = self.clock.filter(|_| !packet.is_empty()) {
            let sent = i128::from(u64::from_be_bytes(*stamp)) - i128::from(ahead);
            if sent >= i128::from(since) {
                // Less than nothing where the clocks are known less well than the way is short.
                let took = (i128::from(now) - sent).max(0);
                self.took.add(Span::from_nanos(u64::try_from(took).unwrap_or(u64::MAX)));
            }
        }
        Some(packet)
    }

    /// What was seen so far.
    pub fn carried(&self) -> Carried {
        Carried {
            took: self.took.pack(),
            lost: self.seen.lost(),
            overtaken: self.seen.overtaken,
            ..Carried::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a set that forgets nothing: what is new and near is taken, and nothing twice.
        #[test]
        fn nothing_is_taken_twice(numbers in proptest::collection::vec(0u64..200, 0..300)) {
            let (mut seen, mut all, mut greatest) = (Seen::default(), BTreeSet::new(), 0);
            for number in numbers {
                let near = number + 64 > greatest;
                let taken = seen.add(number);
                prop_assert_eq!(taken, near && !all.contains(&number));
                if taken {
                    all.insert(number);
                }
                greatest = greatest.max(number);
            }
            prop_assert_eq!(seen.count, all.len() as u64);
            prop_assert_eq!(seen.lost(), all.last().map_or(0, |last| last + 1 - all.len() as u64));
        }
    }
}
