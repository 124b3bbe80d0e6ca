//! Values of TCP options for retransmission timers, duplicate ACKs and stack faults: one enum each (catalogue RB,
//! FB).
//!
//! One enum per axis, as in `words` (catalogue RB, FB).

use base::named;

named! {
    /// Duplicate ACKs while the bug fix forbids a fast retransmit. With `Evidence::Sack`, those without new
    /// SACK information do not count, except for `every-second`.
    pub enum BlockedDuplicates {
        /// No transmission and no state change.
        Ignore = "ignore",
        /// From DupThresh on each one inflates the window by a segment until new data are acknowledged: Reno
        /// in the simulators.
        Inflate = "inflate",
        /// As `inflate`, but the window keeps its inflated size.
        Keep = "keep",
        /// Every second one sends one new segment.
        EverySecond = "every-second",
    }
}
named! {
    /// Duplicate ACKs above DupThresh in the fast recovery of Reno and NewReno.
    pub enum RecoveryDuplicates {
        /// Each inflates the window by a segment (RFC 5681 section 3.2 step 4).
        Inflate = "inflate",
        /// No effect: recovery waits for the ACK of the retransmission.
        Ignore = "ignore",
        /// Every second one sends one new segment, as in rate halving.
        EverySecond = "every-second",
    }
}
named! {
    /// Duplicate ACKs between a timeout and the first ACK of new data.
    pub enum TimeoutDuplicates {
        /// They count like any other.
        Count = "count",
        /// Ignored: no transmission, no state change, no timer restart.
        Ignore = "ignore",
        /// Each one sends the next segment, a retransmission; models a faulty sender.
        Clock = "clock",
    }
}
named! {
    /// Duplicate ACKs that count towards a fast retransmit where SACK is in use. SACK-based recoveries need
    /// SACK blocks in any case.
    pub enum Evidence {
        /// Any duplicate ACK.
        Any = "any",
        /// One that SACKs bytes above the cumulative ACK for the first time.
        Sack = "sack",
    }
}
named! {
    /// Adaptation of DupThresh.
    pub enum DuplicateThreshold {
        /// Fixed at `dupthresh`.
        Fixed = "fixed",
        /// Each spurious fast retransmit raises it by one, until a timeout (Blanton and Allman 2002): the
        /// segments were reordered, not lost. Below the threshold each duplicate ACK sends a new segment if
        /// limited transmit is on.
        Grows = "grows",
    }
}
named! {
    /// Segments that duplicate ACKs may send.
    pub enum DuplicatesSend {
        /// The next segment; after a timeout that is a retransmission.
        Any = "any",
        /// New segments only.
        Highest = "highest",
    }
}
named! {
    /// Detection of a lost retransmission in Reno and NewReno.
    pub enum LostRetransmission {
        /// By the retransmission timer.
        Timeout = "timeout",
        /// By more duplicate ACKs than the segments sent before it can have caused.
        Count = "count",
    }
}
named! {
    /// Retransmissions of NewReno on a partial ACK.
    pub enum PartialResends {
        /// The next missing segment.
        One = "one",
        /// That segment, then everything outstanding as the window allows; models a faulty sender.
        Outstanding = "outstanding",
    }
}
named! {
    /// Retransmissions at a timeout, before any ACK.
    pub enum TimeoutResends {
        /// The oldest segment.
        Oldest = "oldest",
        /// Everything outstanding; models a faulty sender.
        Outstanding = "outstanding",
    }
}
