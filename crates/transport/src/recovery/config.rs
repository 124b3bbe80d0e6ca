//! Options of the shared floor: RTO estimator, back-off and adaptation, TCB sharing (RFC 9040).
//!
//! A protocol fills them from its own options; this module is independent of any protocol.

use base::{Span, named};

/// Retransmission timer options.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RtoConfig {
    /// Minimum RTO.
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
    /// Segments that are timed without timestamps.
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
    /// State that the timer adapted after spurious timeouts.
    pub rto: bool,
    /// Maximum age; zero: unlimited.
    pub age: Span,
}

impl ShareConfig {
    /// Whether anything is shared.
    pub fn any(&self) -> bool {
        self.rtt != Share::Off || self.min_rtt || self.ssthresh != Share::Off || self.cwnd || self.rto
    }
}

named! {
    /// How the retransmission timer adapts after a spurious timeout.
    pub enum Adapt {
        /// Not at all: the samples of delayed segments count as any other.
        None = "none",
        /// The next sample, that of a delayed segment, starts the estimate anew ("Responding", RTO option 1).
        Reseed = "reseed",
        /// The back-off stays where the spurious timeout left it until a genuine one ("Responding", RTO option 2).
        KeepBackoff = "keep-backoff",
        /// Each makes the least timeout a second longer, until a genuine one ("Responding", RTO option 3).
        MinPlusPlus = "min++",
        /// The same, but a genuine timeout halves what was added ("Responding" section III.C, not evaluated there).
        MinHalves = "min++-halves",
        /// The least timeout becomes as long as the delay was, until a genuine one (likewise).
        Delay = "delay",
        /// It becomes the smoothed length of the delays, each new one with a weight of 1/8, until a genuine
        /// timeout (likewise).
        SmoothedDelay = "smoothed-delay",
    }
}

named! {
    /// How SRTT, RTTVAR and the timeout are computed.
    pub enum Estimator {
        /// RFC 6298 in nanoseconds, rounded up to the tick.
        Rfc6298 = "rfc6298",
        /// The integer arithmetic of BSD: samples in ticks, shifts by 3 and 2, and a smoothed time
        /// folded into the variance after many expirations.
        Bsd = "bsd",
        /// RFC 6298 with its gains divided by the samples that a window gives (RFC 7323 appendix G).
        Rfc7323 = "rfc7323",
        /// Linux since 2.4: the variation is the greatest of a window, falls slowly, grows only as the
        /// round trip grows, and K times it is never less than `rto.min`.
        Linux = "linux",
        /// Linux 2.2: a quarter is added, and much more while the window is small.
        Linux22 = "linux-2.2",
        /// The Eifel retransmission timer's predictor (Ludwig and Sklower 2000).
        Eifel = "eifel",
    }
}

named! {
    /// What ends the exponential back-off.
    pub enum BackoffReset {
        /// The acknowledgement of a segment that was timed, that is, first sent after the timeout: Karn, and
        /// what RFC 2988 section 5 calls a new measurement ("only [...] when new data has been sent and
        /// acknowledged").
        TimedSegment = "timed-segment",
        /// Any new round-trip sample; with timestamps every new acknowledgement gives one.
        Sample = "sample",
        /// Any acknowledgement of new data.
        NewAck = "new-ack",
    }
}

named! {
    /// How connections to one destination share what they learn about the path.
    pub enum Share {
        /// Not at all.
        Off = "false" | "off",
        /// The next one begins with it; when one closes, its value is averaged with the one before
        /// (RFC 9040 section 6).
        Rfc9040 = "true" | "on" | "rfc9040",
        /// As Linux: round trips give the first timeout of data only, and longer ones count more than shorter
        /// ones; the threshold is that of a connection which knew congestion.
        Linux = "linux",
    }
}

named! {
    /// Which round trips are timed when there are no timestamps.
    pub enum Timing {
        /// One segment per window (RFC 6298 section 3).
        Window = "window",
        /// Every segment that was sent once.
        Segment = "segment",
    }
}

named! {
    /// From when the timer runs that an acknowledgement of new data restarts.
    pub enum RtoRestart {
        /// From the acknowledgement on: a whole timeout more (RFC 6298 section 5.3).
        Ack = "ack",
        /// From when the oldest outstanding segment was sent: the timeout less its age, as if nothing had
        /// restarted it (the Eifel retransmission timer; stacks that leave out RFC 6298 section 5.3).
        Oldest = "oldest",
        /// From when that segment was sent if fewer than four segments are outstanding or waiting
        /// (RFC 7765), else from the acknowledgement on.
        Rfc7765 = "rfc7765",
    }
}

named! {
    /// Which duplicate acknowledgements restart the timer.
    pub enum DuplicateRestart {
        /// None (RFC 6298).
        None = "none",
        /// Those up to the threshold of a fast retransmit.
        Below = "below",
        /// Each one. Together with new segments on duplicates above the threshold a lost retransmission
        /// is never repaired.
        Each = "each",
    }
}

named! {
    /// Which round trip is the first sample.
    pub enum RtoSeed {
        /// That of the SYN.
        Syn = "syn",
        /// That of the first data, which are longer than a SYN and take longer on a slow link.
        Data = "data",
    }
}
