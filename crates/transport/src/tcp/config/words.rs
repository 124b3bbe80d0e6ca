//! Which words does a scenario use for the choices of a TCP? One sum an axis.

use base::named;

named! {
    /// Loss recovery: what is resent on duplicate acknowledgements, and when it is over.
    pub enum Recovery {
        /// Fast retransmit, then slow start (Jacobson 1988).
        Tahoe = "tahoe",
        /// Fast recovery that ends with the first new acknowledgement (RFC 5681 section 3.2).
        Reno = "reno",
        /// Stays in recovery on partial acknowledgements (RFC 6582).
        NewReno = "newreno",
        /// The pipe-based SACK sender of the simulators of 2001 (Fall and Floyd 1996).
        Sack = "sack" | "reno-sack",
        /// Conservative SACK recovery (RFC 6675).
        Rfc6675 = "rfc6675",
    }
}
named! {
    /// Who judges whether a timeout was spurious.
    pub enum Spurious {
        /// Nobody: every timeout is a loss.
        None = "none",
        /// The echoed timestamp tells the original from the retransmission (RFC 3522).
        Eifel = "eifel",
    }
}
named! {
    /// What follows from the verdict "spurious".
    pub enum Response {
        /// Nothing but the verdict in the trace.
        None = "none",
        /// The staged response of the original Eifel algorithm (Ludwig and Katz 2000).
        Staged = "staged",
        /// RFC 4015: restore, without a burst, and adapt the timer.
        Rfc4015 = "rfc4015",
    }
}
named! {
    /// How the staged response counts subsequent timeouts.
    pub enum StagedCount {
        /// Expirations since the last acknowledgement of new data: those within one delay.
        Expirations = "expirations",
        /// Spurious timeouts in a row on the connection, until a genuine one.
        Consecutive = "consecutive",
        /// None: each spurious timeout stands alone, so that everything is always restored.
        Single = "single",
        /// As `consecutive`, but a whole window acknowledged without a timeout also ends the row.
        Window = "window",
    }
}
named! {
    /// Which window the first stage of the staged response restores. The threshold comes back as saved.
    pub enum StagedFirst {
        /// The one before the timeout, with its fraction of a segment.
        Saved = "saved",
        /// From the last segment acknowledged before the verdict to the next one to send: the full
        /// revert of ns-2 (`t_seqno_ - prev_highest_ack_`, there for F-RTO). It counts the segment about
        /// to be sent, so it is one segment more than was in flight.
        Outstanding = "outstanding",
    }
}
named! {
    /// What the second stage of the staged response restores.
    pub enum StagedSecond {
        /// ssthresh = half of the old window, cwnd = ssthresh ("Responding", option 2).
        Half = "half",
        /// ssthresh = the old window, cwnd left halved (the GPRS study, section 3).
        Threshold = "threshold",
    }
}
named! {
    /// What the third stage of the staged response leaves.
    pub enum StagedThird {
        /// ssthresh = half of the old window, cwnd = 1 segment ("Responding", option 3).
        SlowStart = "slow-start",
        /// Everything as the timeouts left it (the GPRS study, section 3).
        Nothing = "nothing",
    }
}
named! {
    /// How the retransmission timer adapts after a spurious timeout.
    pub enum Adapt {
        /// Not at all: the samples of delayed segments count as any other.
        None = "none",
    }
}
named! {
    /// How the connection opens.
    pub enum Handshake {
        /// SYN, SYN-ACK, ACK; FIN at the end.
        TwoWay = "two-way",
        /// A bare SYN packet, acknowledged like data; no FIN: the one-way models of the simulators.
        OneWay = "one-way",
    }
}
named! {
    /// Whether selective acknowledgements are used.
    pub enum Sack {
        /// If the recovery needs them.
        Auto = "auto",
        /// Yes.
        On = "true" | "on",
        /// No.
        Off = "false" | "off",
    }
}
named! {
    /// When duplicate acknowledgements after a timeout may cause a fast retransmit (RFC 2582 section 5).
    pub enum BugFix {
        /// Always: the bug fix is off.
        Off = "off",
        /// Once everything outstanding at the timeout is acknowledged.
        LessCareful = "less-careful",
        /// Once more than that is acknowledged.
        Careful = "careful",
    }
}
named! {
    /// When a partial acknowledgement restarts the timer (RFC 6582 section 4).
    pub enum PartialTimer {
        /// Only the first one does.
        Impatient = "impatient",
        /// Each one does.
        SlowButSteady = "slow-but-steady",
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
    /// Where ssthresh comes from at a loss.
    pub enum Halving {
        /// Half of what is outstanding (RFC 5681 equation 4).
        Flight = "flight",
        /// Half of the usable window, in whole segments: the simulators of 2001.
        Window = "window",
    }
}
named! {
    /// What a second expiration for the same segment does to ssthresh.
    pub enum RepeatedTimeout {
        /// Nothing more (RFC 5681 section 3.1).
        Hold = "hold",
        /// Halves again: to two segments, since one is outstanding in the window.
        Halve = "halve",
    }
}
named! {
    /// How an acknowledgement opens the window in slow start.
    pub enum ByteCounting {
        /// One segment an acknowledgement (RFC 5681 equation 2).
        None = "none",
        /// What was acknowledged, at most two segments (RFC 3465, L = 2).
        AbcL2 = "abc-l2",
        /// What was acknowledged.
        Unlimited = "unlimited",
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
    /// Which timestamp the receiver echoes.
    pub enum Echo {
        /// The latest of a segment that reaches back to the last acknowledgement; duplicates too
        /// (RFC 7323 section 4.3).
        Rfc7323 = "rfc7323",
        /// That of the segment which holds the last acknowledged byte's successor; old duplicates
        /// change nothing (RFC 1323 section 3.4).
        Rfc1323 = "rfc1323",
        /// That of the segment which caused the acknowledgement, duplicates too: the simulators of 2001.
        Latest = "latest",
    }
}
