//! Frame errors of a link: error process (independent, Gilbert-Elliott, error periods over time) and consequence
//! (bit errors, discard, delay).
//!
//! The error probability is constant, drawn for each state of the link, or alternates between a good and a bad
//! state, from frame to frame or over time (catalogue SW-35, SW-36). The link passes a frame with errors on,
//! discards it, or delays it as if a lower layer had retransmitted it (SW-37 to SW-39).

use crate::gate::Gate;
use base::dist::Sampler;
use base::rng::Stream;
use base::{Span, Time};

/// Error probability of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorRate {
    /// Per frame, regardless of its length.
    Frame(f64),
    /// Per bit, independently.
    Bit(f64),
}

impl ErrorRate {
    /// Error probability of a frame of `bytes`: 1 - (1 - b)^bits.
    pub fn of(self, bytes: u32) -> f64 {
        match self {
            ErrorRate::Frame(p) => p,
            ErrorRate::Bit(b) => -libm::expm1(8.0 * f64::from(bytes) * libm::log1p(-b)),
        }
    }
}

/// Error process.
#[derive(Clone, Debug)]
pub enum ErrorProcess {
    /// Constant probability.
    Steady(ErrorRate),
    /// Frame error probability drawn at each entry of a state of the link: the distribution, and the present
    /// value, at most 1.
    Drawn(Sampler, f64),
    /// Gilbert-Elliott chain with one step before each frame.
    PerFrame {
        /// Probability of leaving the good state.
        leave_good: f64,
        /// Probability of leaving the bad state.
        leave_bad: f64,
        /// Error probability in the good state.
        good: ErrorRate,
        /// Error probability in the bad state.
        bad: ErrorRate,
    },
    /// Error periods over time, independent of traffic.
    OverTime {
        /// Error periods are the closed intervals of this gate.
        gate: Gate,
        /// Error probability outside of error periods.
        good: ErrorRate,
        /// Error probability in error periods.
        bad: ErrorRate,
    },
}

/// Consequence of a frame error.
#[derive(Clone, Debug)]
pub enum Mode {
    /// The link detects the error and discards the frame; with ARQ it is retransmitted.
    Drop,
    /// The error is not detected: the packet is delivered with bit errors.
    Corrupt,
    /// The frame is delayed, nanoseconds.
    Delay(Sampler),
}

/// Effect of all error sources on one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameOutcome {
    /// The frame was discarded.
    pub lost: bool,
    /// The frame has bit errors.
    pub corrupt: bool,
    /// Additional delay.
    pub late: Span,
}

/// Error source of a link.
#[derive(Clone, Debug)]
pub struct Errors {
    process: ErrorProcess,
    mode: Mode,
    stream: Stream,
    /// Whether the Gilbert-Elliott chain is in the bad state.
    bad: bool,
    /// Error probability until `lasts`, end excluded, if it does not depend on the frame.
    present: ErrorRate,
    lasts: Time,
    /// Cache for the last two frame lengths: bit error rate, bytes, error probability.
    known: [(f64, u32, f64); 2],
}

impl Errors {
    /// Error source that draws from `stream`.
    pub fn new(process: ErrorProcess, mode: Mode, stream: Stream) -> Self {
        let (present, lasts) = (ErrorRate::Frame(0.0), Time::ZERO);
        Errors { process, mode, stream, bad: false, present, lasts, known: [(0.0, 0, 0.0); 2] }
    }

    /// [`ErrorRate::of`], cached for the last two frame lengths.
    #[inline]
    fn probability(&mut self, chance: ErrorRate, bytes: u32) -> f64 {
        let ErrorRate::Bit(rate) = chance else { return chance.of(bytes) };
        for known in &self.known {
            if known.1 == bytes && known.0 == rate {
                return known.2;
            }
        }
        self.compute(rate, bytes)
    }

    #[cold]
    fn compute(&mut self, rate: f64, bytes: u32) -> f64 {
        let probability = ErrorRate::Bit(rate).of(bytes);
        self.known = [(rate, bytes, probability), self.known[0]];
        probability
    }

    /// Draws the probability of [`ErrorProcess::Drawn`] anew, at the entry of its state.
    pub(crate) fn enter(&mut self) {
        if let ErrorProcess::Drawn(from, share) = &mut self.process {
            *share = from.draw().min(1.0);
        }
    }

    /// Draws whether a frame of `bytes` bytes whose transmission ends `now` has an error, and adds the
    /// consequence to `outcome`.
    pub fn strike(&mut self, now: Time, bytes: u32, outcome: &mut FrameOutcome) {
        if self.hits(now, bytes) {
            self.affect(outcome);
        }
    }

    /// Adds the consequence of an error to `outcome`.
    #[cold]
    pub(crate) fn affect(&mut self, outcome: &mut FrameOutcome) {
        match &mut self.mode {
            Mode::Drop => outcome.lost = true,
            Mode::Corrupt => outcome.corrupt = true,
            Mode::Delay(by) => outcome.late += Span::from_nanos(by.draw() as u64),
        }
    }

    /// Error probability of a frame whose transmission ends `now`; steps the Gilbert-Elliott chain.
    fn step(&mut self, now: Time) -> ErrorRate {
        let chance = match &mut self.process {
            ErrorProcess::Steady(chance) => {
                self.lasts = Time::NEVER;
                *chance
            }
            ErrorProcess::Drawn(_, share) => ErrorRate::Frame(*share),
            ErrorProcess::PerFrame { leave_good, leave_bad, good, bad } => {
                let leave = if self.bad { leave_bad } else { leave_good };
                self.bad ^= self.stream.uniform() < *leave;
                if self.bad { *bad } else { *good }
            }
            ErrorProcess::OverTime { gate, good, bad } => {
                let (closed, until) = gate.phase(now, now);
                self.lasts = until;
                if closed { *bad } else { *good }
            }
        };
        self.present = chance;
        chance
    }

    /// Draws whether a frame of `bytes` bytes whose transmission ends `now` has an error.
    #[inline]
    pub(crate) fn hits(&mut self, now: Time, bytes: u32) -> bool {
        let chance = if now < self.lasts { self.present } else { self.step(now) };
        // One draw per frame at any probability, so that compared scenarios use the same random numbers.
        let probability = self.probability(chance, bytes);
        self.stream.uniform() < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Seed;

    const SEED: Seed = Seed { seed: 1, repetition: 0 };

    fn share(process: ErrorProcess, bytes: u32) -> f64 {
        let mut errors = Errors::new(process, Mode::Drop, SEED.stream("radio.noise", "error"));
        let n = 200_000;
        let lost = (0..n).filter(|_| {
            let mut outcome = FrameOutcome::default();
            errors.strike(Time::ZERO, bytes, &mut outcome);
            outcome.lost
        });
        lost.count() as f64 / f64::from(n)
    }

    /// SW-35, SW-36: a frame of 100 bytes at a bit error rate of 1e-3 has an error with probability
    /// 1 - 0.999^800 = 0.5509.
    #[test]
    fn sw_36_bits_make_frames_wrong() {
        let good: f64 = (0..800).map(|_| 1.0 - 1e-3).product();
        assert!((ErrorRate::Bit(1e-3).of(100) - (1.0 - good)).abs() < 1e-12);
        assert!((ErrorRate::Bit(1e-12).of(1000) - 8e-9).abs() < 1e-15, "small rates lose no digits");
        assert!((share(ErrorProcess::Steady(ErrorRate::Bit(1e-3)), 100) - 0.5509).abs() < 0.004);
        assert!((share(ErrorProcess::Steady(ErrorRate::Frame(0.1)), 100) - 0.1).abs() < 0.003);
    }

    /// SW-36: a chain of two states has its stationary distribution: 1/5 of the frames are sent in the bad state.
    #[test]
    fn sw_36_bursts_have_their_share() {
        let process = ErrorProcess::PerFrame {
            leave_good: 0.05,
            leave_bad: 0.2,
            good: ErrorRate::Bit(1e-5),
            bad: ErrorRate::Bit(1e-3),
        };
        let expected = 0.8 * ErrorRate::Bit(1e-5).of(50) + 0.2 * ErrorRate::Bit(1e-3).of(50);
        assert!((share(process, 50) - expected).abs() < 0.004);
    }
}
