//! Baseline of path and receiver, learned outside of episodes: segments per ACK, probability of a delayed ACK, ACKs
//! lost, spread of ACKs around their due time.

use base::Span;

/// Baseline of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Baseline {
    /// Number of ACKs that cover one segment, two, and more.
    answers: [u64; 3],
    /// 80th percentile of the distance of ACKs from their due time, ns.
    near: f64,
}

impl Baseline {
    /// Adds an ACK that covers `segments` segments and arrived `off` before or after its due time. Returns the number
    /// of ACKs lost before it.
    pub(crate) fn see(&mut self, segments: u64, off: Span) -> u64 {
        let off = off.as_nanos() as f64;
        if self.near <= 0.0 {
            self.near = 5e6;
        }
        self.near = (self.near * if off > self.near { 1.08 } else { 0.98 }).max(1e5);
        self.answers[segments.clamp(1, 3) as usize - 1] += 1;
        let [one, two, more] = self.answers;
        let waits = (two + more + 1) * 10 > (one + two + more + 2) * 3;
        // If stretch ACKs are usual, they do not show lost ACKs.
        match segments {
            0..=1 => 0,
            2 if waits => 0,
            _ if more * 3 > one + two + more => 0,
            _ if waits => (segments - 1) / 2,
            _ => segments - 1,
        }
    }

    /// Probability that the receiver delays an ACK for a second segment.
    pub(crate) fn delays(&self) -> f64 {
        let [one, two, more] = self.answers.map(|n| n as f64);
        (two + more + 1.0) / (one + two + more + 2.0)
    }

    /// Spread of ACKs around their due time.
    pub(crate) fn spread(&self) -> Span {
        Span::from_nanos(if self.near <= 0.0 { 5_000_000 } else { (self.near * 1.5) as u64 })
    }
}
