//! Frame errors of a link: error process (independent, Gilbert-Elliott, error periods over time) and consequence
//! (bit errors, discard, delay).
//!
//! The error probability is constant, drawn for each state of the link, or alternates between a good and a bad
//! state, from frame to frame or over time (catalogue SW-35, SW-36). The link passes a frame with errors on,
//! discards it, or delays it as if a lower layer had retransmitted it (SW-37 to SW-39).

use crate::gate::Gate;
use base::dist::Sampler;
use base::rng::{Chance, Stream};
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
    /// Whether the process is in its bad state.
    bad: bool,
    /// Time until which the state stays, end excluded; [`Time::ZERO`] if each frame steps it.
    lasts: Time,
    /// For the good and the bad state, the last two frame lengths in bytes, each with its chance of an error.
    known: [[(u32, Chance); 2]; 2],
    /// `stream` before the frames of [`Errors::passes`].
    before: Stream,
}

impl Errors {
    /// Error source that draws from `stream`.
    pub fn new(process: ErrorProcess, mode: Mode, stream: Stream) -> Self {
        let before = stream.clone();
        let known = [[(0, Chance::of(0.0)); 2]; 2];
        let mut errors = Errors { process, mode, stream, bad: false, lasts: Time::ZERO, known, before };
        errors.forget();
        errors
    }

    /// Error rate of the present state.
    fn rate(&self) -> ErrorRate {
        match &self.process {
            ErrorProcess::Steady(rate) => *rate,
            ErrorProcess::Drawn(_, share) => ErrorRate::Frame(*share),
            ErrorProcess::PerFrame { good, bad, .. } | ErrorProcess::OverTime { good, bad, .. } => {
                if self.bad { *bad } else { *good }
            }
        }
    }

    /// Computes all chances anew, for frames of no bytes.
    fn forget(&mut self) {
        let present = self.bad;
        for state in [false, true] {
            self.bad = state;
            self.known[usize::from(state)] = [(0, Chance::of(self.rate().of(0))); 2];
        }
        self.bad = present;
    }

    /// Chance of an error in the present state, cached for the last two frame lengths.
    #[inline]
    fn chance(&mut self, bytes: u32) -> Chance {
        let [one, other] = self.known[usize::from(self.bad)];
        if one.0 == bytes {
            one.1
        } else if other.0 == bytes {
            other.1
        } else {
            self.compute(bytes)
        }
    }

    #[cold]
    fn compute(&mut self, bytes: u32) -> Chance {
        let chance = Chance::of(self.rate().of(bytes));
        let known = &mut self.known[usize::from(self.bad)];
        *known = [(bytes, chance), known[0]];
        chance
    }

    /// Draws the probability of [`ErrorProcess::Drawn`] anew, at the entry of its state.
    pub(crate) fn enter(&mut self) {
        if let ErrorProcess::Drawn(from, share) = &mut self.process {
            *share = from.draw().min(1.0);
            self.forget();
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

    /// Steps the process for a frame whose transmission ends `now`.
    fn step(&mut self, now: Time) {
        match &mut self.process {
            ErrorProcess::Steady(_) | ErrorProcess::Drawn(..) => self.lasts = Time::NEVER,
            ErrorProcess::PerFrame { leave_good, leave_bad, .. } => {
                let leave = if self.bad { leave_bad } else { leave_good };
                self.bad ^= self.stream.uniform() < *leave;
            }
            ErrorProcess::OverTime { gate, .. } => (self.bad, self.lasts) = gate.phase(now, now),
        }
    }

    /// Draws whether a frame of `bytes` bytes whose transmission ends `now` has an error.
    #[inline]
    pub(crate) fn hits(&mut self, now: Time, bytes: u32) -> bool {
        if now >= self.lasts {
            self.step(now);
        }
        // One draw per frame at any probability, so that compared scenarios use the same random numbers.
        let chance = self.chance(bytes);
        self.stream.occurs(chance)
    }

    /// Draws for `full.1` frames of `full.0` bytes and a last one of `last` bytes, which ends at `end`. False if one has
    /// an error or the process steps in between; [`Errors::undo`] then takes the draws back.
    #[inline]
    pub(crate) fn passes(&mut self, full: (u32, u32), last: u32, end: Time) -> bool {
        self.before = self.stream.clone();
        if end >= self.lasts {
            return false;
        }
        let (chance, at_last) = (self.chance(full.0), self.chance(last));
        (0..full.1).all(|_| !self.stream.occurs(chance)) && !self.stream.occurs(at_last)
    }

    /// Takes back the draws of the last [`Errors::passes`].
    pub(crate) fn undo(&mut self) {
        self.stream = self.before.clone();
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
