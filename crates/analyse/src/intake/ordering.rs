//! Reorder buffer of a capture: packets in order of capture time although the file has them slightly out of order.
//!
//! Several interfaces, queues and processors write one file, each with its own delay. A packet is moved before packets
//! captured up to [`LATE`] after it, within [`DEPTH`] packets. A larger step back is a step of the clock.

use super::observation::Observation;
use base::Span;
use std::collections::VecDeque;

/// Largest step back in capture time that counts as late writing.
const LATE: Span = Span::from_millis(3);
/// Number of packets buffered.
const DEPTH: usize = 32;

/// Buffered packets in order of capture time; packets of equal time in file order.
#[derive(Debug, Default)]
pub(crate) struct Ordering {
    held: VecDeque<Observation>,
}

impl Ordering {
    /// Whether the clock was set back before this packet. Buffered packets are then released first.
    pub(crate) fn steps_back(&self, o: &Observation) -> bool {
        self.held.back().is_some_and(|last| last.t.since(o.t) > LATE)
    }

    /// Adds a packet; returns the earliest one once more than [`DEPTH`] are buffered.
    pub(crate) fn push(&mut self, o: &Observation) -> Option<Observation> {
        let later = self.held.iter().rev().take_while(|held| held.t > o.t).count();
        match later {
            0 => self.held.push_back(*o),
            n => self.held.insert(self.held.len() - n, *o),
        }
        if self.held.len() > DEPTH { self.held.pop_front() } else { None }
    }

    /// Removes the earliest buffered packet.
    pub(crate) fn next(&mut self) -> Option<Observation> {
        self.held.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Time;
    use base::wire::TcpHead;
    use std::net::{IpAddr, Ipv4Addr};

    fn ordered(micros: &[u64]) -> Vec<u64> {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let packet = |us: &u64| Observation {
            t: Time::from_nanos(us * 1000),
            interface: 0,
            source: address,
            destination: address,
            id: None,
            size: 40,
            payload: 0,
            ecn: 0,
            ttl: 64,
            head: TcpHead::default(),
        };
        let (mut ordering, mut out) = (Ordering::default(), Vec::new());
        for o in micros.iter().map(packet) {
            if ordering.steps_back(&o) {
                out.extend(std::iter::from_fn(|| ordering.next()));
            }
            out.extend(ordering.push(&o));
        }
        out.extend(std::iter::from_fn(|| ordering.next()));
        out.iter().map(|o| o.t.as_nanos() / 1000).collect()
    }

    #[test]
    fn late_packets_are_moved_and_steps_of_the_clock_are_not() {
        assert_eq!(ordered(&[10, 30, 20, 3000, 40]), [10, 20, 30, 40, 3000]);
        assert_eq!(ordered(&[5000, 6000, 1000, 2000]), [5000, 6000, 1000, 2000]);
        let many: Vec<u64> = (0..200).map(|i| i ^ 1).collect();
        assert_eq!(ordered(&many), (0..200).collect::<Vec<_>>());
    }
}
