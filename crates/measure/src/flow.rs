//! Byte flow of both ends: amount, chunk size, pause detection.
//!
//! What they want to be sent, how large a chunk is that may be sent without knowing the link, and when nothing came
//! for so long that it is called a pause.

use base::{Span, Time};
use serde::{Deserialize, Serialize};

/// What an end wants to be sent next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out {
    /// These.
    Bytes(Vec<u8>),
    /// So many measured bytes, whatever they are.
    Payload(u64),
}

/// The sizes of chunks where time ends a transfer and not a count: small enough that the last one is not seconds
/// long on a slow link, large enough that a fast one does not wait for this program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunks {
    bytes: u32,
    last: Option<Time>,
}

const SMALLEST: u32 = 1 << 11;
const GREATEST: u32 = 1 << 20;

impl Chunks {
    pub(crate) fn new() -> Chunks {
        Chunks { bytes: SMALLEST, last: None }
    }
    /// The size of the chunk that is sent now: twice the last if that took less than 20 ms, half of it if it took
    /// more than 100 ms.
    pub(crate) fn next(&mut self, now: Time) -> u32 {
        if let Some(last) = self.last.replace(now) {
            let took = now.since(last);
            if took < Span::from_millis(20) {
                self.bytes = (self.bytes * 2).min(GREATEST);
            } else if took > Span::from_millis(100) {
                self.bytes = (self.bytes / 2).max(SMALLEST);
            }
        }
        self.bytes
    }
}

/// A stretch without a byte, in seconds on the clock of who tells it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    /// The last byte before it.
    pub t: f64,
    /// The first byte after it.
    pub until: f64,
}

/// The bytes that come, and the gaps between them.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    pub(crate) bytes: u64,
    pub(crate) first: Option<Time>,
    pub(crate) last: Option<Time>,
    pub(crate) pauses: Vec<(Time, Time)>,
    threshold: Span,
}

/// More pauses than this in one job are not told.
const MOST: usize = 1000;

impl Arrivals {
    pub(crate) fn new(threshold: Span) -> Arrivals {
        Arrivals { bytes: 0, first: None, last: None, pauses: Vec::new(), threshold }
    }
    pub(crate) fn came(&mut self, now: Time, bytes: u64) {
        self.bytes += bytes;
        self.first.get_or_insert(now);
        if let Some(last) = self.last.replace(now)
            && now.since(last) > self.threshold
            && self.pauses.len() < MOST
        {
            self.pauses.push((last, now));
        }
    }
    /// The pauses, counted from `origin`.
    pub(crate) fn pauses_since(&self, origin: Time) -> Vec<Pause> {
        let s = |t: Time| t.since(origin).as_secs_f64();
        self.pauses.iter().map(|&(from, to)| Pause { t: s(from), until: s(to) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_follow_the_link() {
        let ms = |n| Time::ZERO + Span::from_millis(n);
        let mut chunks = Chunks::new();
        assert_eq!(chunks.next(ms(0)), 2048);
        assert_eq!(chunks.next(ms(1)), 4096);
        assert_eq!(chunks.next(ms(2)), 8192);
        assert_eq!(chunks.next(ms(52)), 8192);
        assert_eq!(chunks.next(ms(452)), 4096);
        for n in 0..40 {
            assert!(chunks.next(ms(453 + n)) <= GREATEST);
        }
    }

    #[test]
    fn a_gap_is_a_pause_when_it_is_long() {
        let s = |n| Time::ZERO + Span::from_secs(n);
        let mut arrivals = Arrivals::new(Span::from_secs(2));
        for t in [1, 2, 4, 9, 10] {
            arrivals.came(s(t), 10);
        }
        assert_eq!(arrivals.bytes, 50);
        assert_eq!(arrivals.pauses_since(s(1)), [Pause { t: 3.0, until: 8.0 }]);
    }
}
