//! Byte flow of both measurement ends: output items, chunk sizes of timed transfers, received bytes with pauses
//! between them.

use base::{Span, Time};
use serde::{Deserialize, Serialize};

/// Next output of a protocol state machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Protocol bytes.
    Bytes(Vec<u8>),
    /// Number of measured bytes of any content.
    Payload(u64),
}

/// Chunk size of a timed transfer. The last chunk takes no seconds on a slow link, and a fast link does not wait for
/// this program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunks {
    bytes: u32,
    last: Option<Time>,
}

/// Least chunk size, bytes.
const SMALLEST: u32 = 1 << 11;
/// Largest chunk size, bytes.
const GREATEST: u32 = 1 << 20;

impl Chunks {
    pub(crate) fn new() -> Chunks {
        Chunks { bytes: SMALLEST, last: None }
    }
    /// Size of the next chunk: doubled if the last chunk took less than 20 ms, halved if it took more than 100 ms.
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

/// Time without bytes, in seconds on the reporter's clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    /// Time of the last byte before the pause.
    pub t: f64,
    /// Time of the first byte after the pause.
    pub until: f64,
}

/// Received bytes and the pauses between them.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    pub(crate) bytes: u64,
    pub(crate) first: Option<Time>,
    pub(crate) last: Option<Time>,
    pub(crate) pauses: Vec<(Time, Time)>,
    threshold: Span,
}

/// Upper limit of recorded pauses of one job.
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
    /// Pauses in seconds since `origin`.
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
