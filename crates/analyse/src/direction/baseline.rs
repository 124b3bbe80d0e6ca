//! Baseline of path and receiver: segments per ACK, ACK loss and ACK delay without trouble.
//!
//! How many segments an acknowledgement answers, how many answers are missing, how precisely they come when they
//! should.

use base::Span;

/// What was learned.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    /// Acknowledgements of one segment, of two, of more.
    answers: [u64; 3],
    /// Four of five answers come no further from when they should, ns.
    near: f64,
}

impl Habits {
    /// An acknowledgement answered so many segments, this long before or after it should have come. How many
    /// answers before it are missing.
    pub(crate) fn see(&mut self, segments: u64, off: Span) -> u64 {
        let off = off.as_nanos() as f64;
        if self.near <= 0.0 {
            self.near = 5e6;
        }
        self.near = (self.near * if off > self.near { 1.08 } else { 0.98 }).max(1e5);
        self.answers[segments.clamp(1, 3) as usize - 1] += 1;
        let [one, two, more] = self.answers;
        let waits = (two + more + 1) * 10 > (one + two + more + 2) * 3;
        // Whoever answers many at once by habit loses nothing.
        match segments {
            0..=1 => 0,
            2 if waits => 0,
            _ if more * 3 > one + two + more => 0,
            _ if waits => (segments - 1) / 2,
            _ => segments - 1,
        }
    }

    /// How often the receiver waits for a second segment before it answers.
    pub(crate) fn delays(&self) -> f64 {
        let [one, two, more] = self.answers.map(|n| n as f64);
        (two + more + 1.0) / (one + two + more + 2.0)
    }

    /// How far answers come from when they should.
    pub(crate) fn spread(&self) -> Span {
        Span::from_nanos(if self.near <= 0.0 { 5_000_000 } else { (self.near * 1.5) as u64 })
    }
}
