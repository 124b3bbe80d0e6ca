//! Frame error process: independent errors, Gilbert-Elliott, error periods over time.
//!
//! It may come wrong: with a probability for each frame or for each bit, always the same, in bursts from frame to
//! frame (Gilbert, Elliott), or in bad times that come and go as weather (catalogue SW-35, SW-36). What follows is
//! the link's affair (SW-37 to SW-39): it passes on what is wrong, it discards it, or what arrives is late, as if
//! something below had repaired it.

use crate::gate::Gate;
use base::dist::Sampler;
use base::rng::Stream;
use base::{Span, Time};

/// How likely a frame is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Chance {
    /// This, whatever its length.
    Frame(f64),
    /// This for each of its bits, independently.
    Bit(f64),
}

impl Chance {
    /// The probability that a frame of so many bytes is wrong: 1 - (1 - b)^bits.
    pub fn of(self, bytes: u32) -> f64 {
        match self {
            Chance::Frame(p) => p,
            Chance::Bit(b) => -libm::expm1(8.0 * f64::from(bytes) * libm::log1p(-b)),
        }
    }
}

/// When which chance holds.
#[derive(Clone, Debug)]
pub enum Process {
    /// Always the same.
    Steady(Chance),
    /// Of each frame, drawn when a state is entered: from what, and the present value, at most 1.
    Drawn(Sampler, f64),
    /// A chain with a good and a bad state, moved before each frame.
    PerFrame {
        /// Probability of leaving the good state.
        leave_good: f64,
        /// Probability of leaving the bad state.
        leave_bad: f64,
        /// In the good state.
        good: Chance,
        /// In the bad state.
        bad: Chance,
    },
    /// A bad state that is weather.
    OverTime {
        /// While it is closed, the state is bad.
        gate: Gate,
        /// Otherwise.
        good: Chance,
        /// In the bad state.
        bad: Chance,
    },
}

/// What becomes of a frame that is wrong.
#[derive(Clone, Debug)]
pub enum Mode {
    /// The link notices and discards it; if the link repeats frames, it is repeated.
    Drop,
    /// The link does not notice: the packet goes on with wrong bits.
    Corrupt,
    /// It comes later by so much, nanoseconds.
    Delay(Sampler),
}

/// What happened to one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// It was discarded.
    pub lost: bool,
    /// Bits are wrong.
    pub corrupt: bool,
    /// It comes later by so much.
    pub late: Span,
}

/// A source of errors.
#[derive(Clone, Debug)]
pub struct Errors {
    process: Process,
    mode: Mode,
    stream: Stream,
    bad: bool,
}

impl Errors {
    /// Errors whose chance comes from `stream`.
    pub fn new(process: Process, mode: Mode, stream: Stream) -> Self {
        Errors { process, mode, stream, bad: false }
    }

    /// The state that they belong to is entered: a probability that is drawn is drawn anew.
    pub(crate) fn enter(&mut self) {
        if let Process::Drawn(from, share) = &mut self.process {
            *share = from.draw().min(1.0);
        }
    }

    /// Draws what becomes of a frame of so many bytes whose transmission ends `now`, and adds it.
    pub fn strike(&mut self, now: Time, bytes: u32, outcome: &mut Outcome) {
        let chance = match &mut self.process {
            Process::Steady(chance) => *chance,
            Process::Drawn(_, share) => Chance::Frame(*share),
            Process::PerFrame { leave_good, leave_bad, good, bad } => {
                let leave = if self.bad { leave_bad } else { leave_good };
                self.bad ^= self.stream.uniform() < *leave;
                if self.bad { *bad } else { *good }
            }
            Process::OverTime { gate, good, bad } => {
                if gate.open_from(now, now) > now {
                    *bad
                } else {
                    *good
                }
            }
        };
        // One draw a frame, whatever comes of it, so that variants stay paired.
        if self.stream.uniform() >= chance.of(bytes) {
            return;
        }
        match &mut self.mode {
            Mode::Drop => outcome.lost = true,
            Mode::Corrupt => outcome.corrupt = true,
            Mode::Delay(by) => outcome.late += Span::from_nanos(by.draw() as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Seed;

    const SEED: Seed = Seed { seed: 1, repetition: 0 };

    fn share(process: Process, bytes: u32) -> f64 {
        let mut errors = Errors::new(process, Mode::Drop, SEED.stream("radio.noise", "error"));
        let n = 200_000;
        let lost = (0..n).filter(|_| {
            let mut outcome = Outcome::default();
            errors.strike(Time::ZERO, bytes, &mut outcome);
            outcome.lost
        });
        lost.count() as f64 / f64::from(n)
    }

    /// SW-35, SW-36: a frame of 100 bytes at a bit error rate of 1e-3 is wrong with 1 - 0.999^800 = 0.5509.
    #[test]
    fn sw_36_bits_make_frames_wrong() {
        let good: f64 = (0..800).map(|_| 1.0 - 1e-3).product();
        assert!((Chance::Bit(1e-3).of(100) - (1.0 - good)).abs() < 1e-12);
        assert!((Chance::Bit(1e-12).of(1000) - 8e-9).abs() < 1e-15, "small rates lose no digits");
        assert!((share(Process::Steady(Chance::Bit(1e-3)), 100) - 0.5509).abs() < 0.004);
        assert!((share(Process::Steady(Chance::Frame(0.1)), 100) - 0.1).abs() < 0.003);
    }

    /// SW-36: a chain of two states has its stationary share: 1/5 of frames meet the bad state.
    #[test]
    fn sw_36_bursts_have_their_share() {
        let process = Process::PerFrame {
            leave_good: 0.05,
            leave_bad: 0.2,
            good: Chance::Bit(1e-5),
            bad: Chance::Bit(1e-3),
        };
        let expected = 0.8 * Chance::Bit(1e-5).of(50) + 0.2 * Chance::Bit(1e-3).of(50);
        assert!((share(process, 50) - expected).abs() < 0.004);
    }
}
