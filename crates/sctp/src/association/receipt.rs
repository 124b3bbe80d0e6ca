//! Received TSNs (RFC 9260 sections 6.2, 6.7): gap ranges, duplicates, delayed SACK, content of the next
//! SACK.

use crate::chunk::Sack;
use crate::config::Config;
use base::Time;

/// Maximum number of duplicates that a SACK lists; further ones are only counted.
const MOST_DUPLICATES: usize = 20;

/// Receive state of DATA chunks.
#[derive(Clone, Debug)]
pub(crate) struct Receipt {
    /// All TSNs below this one were received.
    pub(crate) next: u64,
    /// Received ranges `[from, to)` above `next`, ascending and disjoint.
    ranges: Vec<(u64, u64)>,
    /// Duplicate TSNs received since the last SACK, at most [`MOST_DUPLICATES`].
    duplicates: Vec<u64>,
    /// Number of packets with data since the last SACK.
    packets: u32,
    /// Whether a SACK must be sent at once.
    pub(crate) due: bool,
    /// Latest time at which the SACK must be sent.
    pub(crate) deadline: Time,
    /// Path of the last packet with data.
    pub(crate) path: u8,
    /// Lowest marked TSN for which no CWR was received (RFC 4960 appendix A).
    pub(crate) marked: Option<u64>,
    /// Total number of duplicates received.
    pub(crate) copies: u64,
    /// Whether no packet with data was received yet.
    first: bool,
}

/// Maximum distance of an accepted TSN above the cumulative one; no window is so large.
const MOST_AHEAD: u64 = 60_000;

impl Receipt {
    pub(crate) fn new() -> Receipt {
        Receipt {
            next: 0,
            ranges: Vec::new(),
            duplicates: Vec::new(),
            packets: 0,
            due: false,
            deadline: Time::NEVER,
            path: 0,
            marked: None,
            copies: 0,
            first: true,
        }
    }

    /// Records a TSN; true if it is new and close enough to be accepted.
    pub(crate) fn note(&mut self, tsn: u64) -> bool {
        if tsn.saturating_sub(self.next) > MOST_AHEAD {
            return false;
        }
        let at = self.ranges.partition_point(|(_, to)| *to < tsn);
        let inside = self.ranges.get(at).is_some_and(|(from, to)| *from <= tsn && tsn < *to);
        if tsn < self.next || inside {
            self.copies += 1;
            if self.duplicates.len() < MOST_DUPLICATES {
                self.duplicates.push(tsn);
            }
            return false;
        }
        match self.ranges.get_mut(at) {
            Some(range) if range.1 == tsn => range.1 = tsn + 1,
            Some(range) if range.0 == tsn + 1 => range.0 = tsn,
            _ => self.ranges.insert(at, (tsn, tsn + 1)),
        }
        if let [left, right, ..] = self.ranges.get(at..).unwrap_or_default()
            && left.1 == right.0
        {
            self.ranges[at].1 = right.1;
            self.ranges.remove(at + 1);
        }
        self.advance();
        true
    }

    /// Advances `next` over the received ranges adjacent to it.
    fn advance(&mut self) {
        while let Some(&(from, to)) = self.ranges.first()
            && from <= self.next
        {
            self.next = self.next.max(to);
            self.ranges.remove(0);
        }
    }

    /// Processes a FORWARD TSN: all TSNs below `cumulative` count as received.
    pub(crate) fn forward(&mut self, cumulative: u64) {
        if cumulative > self.next && cumulative - self.next <= MOST_AHEAD {
            self.next = cumulative;
            self.advance();
        }
    }

    /// Whether TSNs above a missing one were received.
    pub(crate) fn has_gaps(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Records a received packet with data, and decides when to send a SACK.
    pub(crate) fn packet(&mut self, config: &Config, now: Time, duplicate: bool, at_once: bool) {
        self.packets += 1;
        //= RFC 9260 section 6.2: at least every second packet, within 200 ms; duplicates and gaps at once
        let first = config.sacks_first && std::mem::take(&mut self.first);
        if self.packets >= config.sack_every || duplicate || at_once || self.has_gaps() {
            self.due = true;
        } else if first {
            // sctp_association_init of Linux: peer.sack_needed is 1.
            self.due = true;
        } else {
            self.deadline = self.deadline.min(now + config.sack_delay);
        }
    }

    /// Whether a SACK must be sent, at once or by a deadline.
    pub(crate) fn owes(&self) -> bool {
        self.due || !self.deadline.is_never()
    }

    /// Length of the next SACK chunk, bytes.
    pub(crate) fn sack_size(&self, config: &Config) -> u32 {
        let gaps = self.ranges.len().min(config.gap_blocks as usize);
        16 + 4 * (gaps + self.duplicates.len()) as u32
    }

    /// Returns the SACK and resets the delayed acknowledgement.
    pub(crate) fn sack(&mut self, config: &Config, window: u64) -> Sack {
        (self.packets, self.due, self.deadline) = (0, false, Time::NEVER);
        let duplicates = std::mem::take(&mut self.duplicates);
        Sack {
            cumulative: self.next,
            window: u32::try_from(window).unwrap_or(u32::MAX),
            gaps: self.ranges.iter().take(config.gap_blocks as usize).copied().collect(),
            duplicates: if config.reports_duplicates { duplicates } else { Vec::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Comparison with a set of numbers.
        #[test]
        fn ranges_are_what_a_set_would_be(tsns in proptest::collection::vec(0..60u64, 1..200)) {
            let mut receipt = Receipt::new();
            let mut set = BTreeSet::new();
            for tsn in tsns {
                prop_assert_eq!(receipt.note(tsn), set.insert(tsn));
                let next = (0..).find(|n| !set.contains(n)).unwrap();
                prop_assert_eq!(receipt.next, next);
                let above: Vec<u64> = set.iter().copied().filter(|n| *n > next).collect();
                let told: Vec<u64> = receipt.ranges.iter().flat_map(|(a, b)| *a..*b).collect();
                prop_assert_eq!(told, above);
                prop_assert!(receipt.ranges.windows(2).all(|w| w[0].1 < w[1].0));
            }
        }
    }

    #[test]
    fn every_second_packet_is_acknowledged_and_a_gap_at_once() {
        let config = Config::default();
        let mut receipt = Receipt::new();
        receipt.note(0);
        receipt.packet(&config, Time::ZERO, false, false);
        assert!(!receipt.due && receipt.deadline == Time::ZERO + config.sack_delay);
        receipt.note(1);
        receipt.packet(&config, Time::ZERO, false, false);
        assert!(receipt.due);
        assert_eq!(receipt.sack(&config, 10).cumulative, 2);
        receipt.note(3);
        receipt.packet(&config, Time::ZERO, false, false);
        assert!(receipt.due);
        assert_eq!(receipt.sack(&config, 10).gaps, [(3, 4)]);
    }
}
