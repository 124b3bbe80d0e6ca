//! Options of loss recovery that all transports share: RTO estimator, bounds, back-off and adaptation of the
//! retransmission timer, TCB sharing (RFC 9040).
//!
//! Each protocol sets these options from its own.

use base::{Span, named};

/// Retransmission timer options.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RtoConfig {
    /// Minimum RTO; the Linux estimator also applies it to the variation term.
    pub min: Span,
    /// Maximum RTO, back-off included.
    pub max: Span,
    /// RTO before the first sample.
    pub initial: Span,
    /// Clock granularity.
    pub tick: Span,
    /// K in SRTT + K RTTVAR.
    pub k: u32,
    /// RTO estimator.
    pub estimator: Estimator,
    /// Whether the minimum applies before the back-off multiplies the timeout (RFC 6298).
    pub clamp_before_backoff: bool,
    /// Event that ends the back-off.
    pub backoff_reset: BackoffReset,
    /// Adaptation after a spurious timeout.
    pub adapt: Adapt,
    /// Whether partial ACKs in recovery give RTT samples.
    pub sample_partial_acks: bool,
    /// Whether SACKed segments that were sent once give RTT samples.
    pub sample_reports: bool,
    /// Segments that give RTT samples without timestamps.
    pub timing: Timing,
    /// Start of a restarted timer's interval.
    pub restart: RtoRestart,
    /// Duplicate ACKs that restart the timer.
    pub restart_on_duplicates: DuplicateRestart,
    /// RTT that seeds the estimator.
    pub seed: RtoSeed,
    /// Timers expire at the granularity of Linux's timer wheel (`recovery::wheel`).
    pub wheel: bool,
    /// Percentage of the computed timeout that is used; other than 100 models a faulty sender.
    pub percent: u32,
}

/// Values shared with later connections to the same destination (RFC 9040 section 6).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ShareConfig {
    /// SRTT and RTTVAR.
    pub rtt: Share,
    /// Minimum RTT.
    pub min_rtt: bool,
    /// Slow-start threshold.
    pub ssthresh: Share,
    /// Congestion window.
    pub cwnd: bool,
    /// Timer state adapted after spurious timeouts ([`Adapt`]).
    pub rto: bool,
    /// Maximum age of cached values; zero: unlimited.
    pub age: Span,
}

impl ShareConfig {
    /// Whether anything is shared.
    pub fn any(&self) -> bool {
        self.rtt != Share::Off || self.min_rtt || self.ssthresh != Share::Off || self.cwnd || self.rto
    }
}

named! {
    /// Adaptation of the RTO after a spurious timeout.
    pub enum Adapt {
        /// No adaptation: RTT samples of delayed segments are used like all others.
        None = "none",
        /// The next sample, of a delayed segment, re-initialises the estimate ("Responding", RTO option 1).
        Reseed = "reseed",
        /// The back-off of the spurious timeout is kept until a genuine one ("Responding", RTO option 2).
        KeepBackoff = "keep-backoff",
        /// Each spurious timeout raises the minimum RTO by one second, until a genuine one ("Responding", RTO
        /// option 3).
        MinPlusPlus = "min++",
        /// As `min++`, but a genuine timeout halves the addition ("Responding" section III.C, which does not evaluate
        /// it).
        MinHalves = "min++-halves",
        /// The minimum RTO becomes the length of the delay, until a genuine timeout (not evaluated in
        /// "Responding").
        Delay = "delay",
        /// The minimum RTO becomes the smoothed length of the delays, each new one with weight 1/8, until a
        /// genuine timeout (not evaluated in "Responding").
        SmoothedDelay = "smoothed-delay",
    }
}

named! {
    /// Computation of SRTT, RTTVAR and RTO.
    pub enum Estimator {
        /// RFC 6298 in nanoseconds, rounded up to the tick.
        Rfc6298 = "rfc6298",
        /// Integer arithmetic of BSD: samples in ticks, shifts by 3 and 2, and SRTT added to RTTVAR after
        /// many timeouts.
        Bsd = "bsd",
        /// RFC 6298 with gains divided by the expected number of samples per window (RFC 7323 appendix G).
        Rfc7323 = "rfc7323",
        /// Linux since 2.4: uses the maximum deviation in a window, which falls slowly; a falling RTT hardly raises it.
        /// The variation term is at least `rto.min`.
        Linux = "linux",
        /// Linux 2.2: SRTT plus four deviations, plus a quarter of that sum, plus much more while cwnd is small.
        Linux22 = "linux-2.2",
        /// Predictor of the Eifel retransmission timer (Ludwig and Sklower 2000).
        Eifel = "eifel",
    }
}

named! {
    /// Event that ends the exponential back-off.
    pub enum BackoffReset {
        /// The ACK of a timed segment, that is, one first sent after the timeout: Karn, and the new
        /// measurement of RFC 2988 section 5 ("only [...] when new data has been sent and acknowledged").
        TimedSegment = "timed-segment",
        /// Any new RTT sample; with timestamps every ACK of new data gives one.
        Sample = "sample",
        /// Any ACK of new data.
        NewAck = "new-ack",
    }
}

named! {
    /// TCB sharing between connections to one destination.
    pub enum Share {
        /// No sharing.
        Off = "false" | "off",
        /// The next connection starts with the cached value; at its close the value is averaged with the
        /// cached one (RFC 9040 section 6).
        Rfc9040 = "true" | "on" | "rfc9040",
        /// As Linux: the RTT determines only the first timeout of data, and larger RTTs have more weight than
        /// smaller ones. ssthresh comes from connections with congestion.
        Linux = "linux",
    }
}

named! {
    /// Segments that give RTT samples without timestamps.
    pub enum Timing {
        /// One segment per window (RFC 6298 section 3).
        Window = "window",
        /// Every segment sent once.
        Segment = "segment",
    }
}

named! {
    /// Start of the timer's interval when an ACK of new data restarts it.
    pub enum RtoRestart {
        /// Arrival of the ACK: a whole RTO from then on (RFC 6298 section 5.3).
        Ack = "ack",
        /// The transmission of the oldest outstanding segment: the RTO less its age (the Eifel retransmission
        /// timer; stacks that omit RFC 6298 section 5.3).
        Oldest = "oldest",
        /// Transmission of the oldest outstanding segment if fewer than four segments are outstanding or unsent (RFC 7765),
        /// otherwise arrival of the ACK.
        Rfc7765 = "rfc7765",
    }
}

named! {
    /// Duplicate ACKs that restart the timer.
    pub enum DuplicateRestart {
        /// None (RFC 6298).
        None = "none",
        /// Duplicate ACKs up to the DupThresh-th.
        Below = "below",
        /// Every duplicate ACK. Combined with new segments on duplicate ACKs above DupThresh, a lost retransmission is
        /// never repaired.
        Each = "each",
    }
}

named! {
    /// RTT that seeds the estimator.
    pub enum RtoSeed {
        /// RTT of the SYN.
        Syn = "syn",
        /// RTT of the first data segment, which is longer than a SYN and takes more time on a slow link.
        Data = "data",
    }
}
