//! Probes for RTT and loss (`Probing`): UDP datagrams at even intervals, echoed by the server; their format, and
//! jitter.
//!
//! Probes are not retransmitted, so RTT and loss are those of the path, not of a transport.

use base::{Span, Time};
use std::collections::BTreeMap;

/// Size of the smallest probe, bytes: magic number, key, number.
pub const SMALLEST: usize = 16;
/// Magic number of a probe.
const MARK: [u8; 4] = *b"wwlp";

/// Serialises a probe of at least [`SMALLEST`] bytes.
pub fn write(key: u64, number: u32, size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(size.max(SMALLEST));
    out.extend(MARK);
    out.extend(key.to_be_bytes());
    out.extend(number.to_be_bytes());
    out.resize(size.max(SMALLEST), 0);
    out
}

/// Parses key and number of a probe.
pub fn read(bytes: &[u8]) -> Option<(u64, u32)> {
    let (mark, rest) = bytes.split_first_chunk::<4>()?;
    let (key, rest) = rest.split_first_chunk::<8>()?;
    let (number, _) = rest.split_first_chunk::<4>()?;
    (*mark == MARK).then_some((u64::from_be_bytes(*key), u32::from_be_bytes(*number)))
}

/// Periodic probes with their echoes.
#[derive(Clone, Debug)]
pub struct Probing {
    key: u64,
    size: usize,
    interval: Span,
    /// Number of probes; None: unlimited.
    count: Option<u32>,
    next: Time,
    sent: u32,
    /// Send times of probes without echo.
    open: BTreeMap<u32, Time>,
    times: Vec<(Time, Span)>,
    twice: u32,
}

impl Probing {
    /// Probes from the time `from` on.
    pub fn new(key: u64, size: usize, interval: Span, count: Option<u32>, from: Time) -> Probing {
        Probing {
            key,
            size,
            interval,
            count,
            next: from,
            sent: 0,
            open: BTreeMap::new(),
            times: Vec::new(),
            twice: 0,
        }
    }

    /// Next probe, if due. Missed intervals are not caught up.
    pub fn next_out(&mut self, now: Time) -> Option<Vec<u8>> {
        if now < self.next || self.all_sent() {
            return None;
        }
        let number = self.sent;
        self.sent += 1;
        self.open.insert(number, now);
        self.next = (self.next + self.interval).max(now);
        Some(write(self.key, number, self.size))
    }

    /// Due time of the next probe.
    pub fn next_wake(&self) -> Time {
        if self.all_sent() { Time::NEVER } else { self.next }
    }

    /// Processes a datagram; returns true for the first echo of a probe.
    pub fn on_datagram(&mut self, now: Time, bytes: &[u8]) -> bool {
        let Some((key, number)) = read(bytes) else { return false };
        if key != self.key {
            return false;
        }
        match self.open.remove(&number) {
            Some(sent) => {
                self.times.push((sent, now.since(sent)));
                true
            }
            None => {
                self.twice += u32::from(number < self.sent);
                false
            }
        }
    }

    fn all_sent(&self) -> bool {
        self.count.is_some_and(|count| self.sent >= count)
    }
    /// Whether all probes were sent and echoed.
    pub fn is_done(&self) -> bool {
        self.all_sent() && self.open.is_empty()
    }
    /// Number of probes sent.
    pub fn sent(&self) -> u32 {
        self.sent
    }
    /// Number of duplicate echoes.
    pub fn twice(&self) -> u32 {
        self.twice
    }
    /// Send time and RTT of each echoed probe, in order of arrival.
    pub fn times(&self) -> &[(Time, Span)] {
        &self.times
    }
}

/// Jitter: mean absolute difference between successive RTTs, s. None with fewer than two.
pub fn jitter(times: &[f64]) -> Option<f64> {
    let steps = times.windows(2).map(|w| (w[1] - w[0]).abs());
    (times.len() > 1).then(|| steps.sum::<f64>() / (times.len() - 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn probes_are_counted_lost_and_doubled() {
        let ms = |n| Time::ZERO + Span::from_millis(n);
        let mut probing = Probing::new(9, 32, Span::from_millis(100), Some(3), ms(0));
        let first = probing.next_out(ms(0)).unwrap();
        assert_eq!((first.len(), read(&first)), (32, Some((9, 0))));
        assert_eq!(probing.next_out(ms(50)), None);
        assert!(probing.on_datagram(ms(70), &first));
        assert!(!probing.on_datagram(ms(71), &first));
        // At 250 ms late, one probe is sent at once, and the next one interval after its due time.
        assert!(probing.next_out(ms(350)).is_some());
        assert_eq!(probing.next_wake(), ms(350));
        let third = probing.next_out(ms(400)).unwrap();
        assert!(probing.on_datagram(ms(440), &third));
        assert!(!probing.is_done());
        assert_eq!((probing.sent(), probing.twice(), probing.times().len()), (3, 1, 2));
        assert!(!probing.on_datagram(ms(500), &write(8, 1, 32)), "somebody else's");
        assert_eq!(jitter(&[0.07, 0.04]), Some(0.030000000000000006));
    }

    proptest! {
        #[test]
        fn any_datagram_will_do(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut probing = Probing::new(1, 0, Span::from_secs(1), None, Time::ZERO);
            let sent = probing.next_out(Time::ZERO).unwrap();
            prop_assert_eq!(probing.on_datagram(Time::ZERO, &bytes), bytes.starts_with(&sent));
        }
    }
}
