//! Option words for timers, duplicate ACKs and stack faults (catalogue RB, FB).
//!
//! One sum an axis, as in `words` (catalogue RB, FB).

use base::named;

named! {
    /// What duplicates do while the bug fix forbids a fast retransmit. Those that bring no evidence of a
    /// loss, where that is asked for, count for nothing, but for the last of these words.
    pub enum BlockedDuplicates {
        /// Nothing is sent and no state changes.
        Ignore = "ignore",
        /// From the threshold on each inflates the window by a segment until something new is
        /// acknowledged: Reno in the simulators.
        Inflate = "inflate",
        /// The same, but the window stays as it was inflated.
        Keep = "keep",
        /// Every second one lets out one new segment.
        EverySecond = "every-second",
    }
}
named! {
    /// What duplicates above the threshold do in the fast recovery of Reno and NewReno.
    pub enum RecoveryDuplicates {
        /// Each inflates the window by a segment (RFC 5681 section 3.2 step 4).
        Inflate = "inflate",
        /// Nothing: recovery waits for the retransmission's acknowledgement.
        Ignore = "ignore",
        /// Every second one lets out one new segment, as rate halving does.
        EverySecond = "every-second",
    }
}
named! {
    /// What duplicates do between a timeout and the first new acknowledgement.
    pub enum TimeoutDuplicates {
        /// They count as any other.
        Count = "count",
        /// They are ignored: nothing is sent, no state changes, no timer restarts.
        Ignore = "ignore",
        /// Each lets out the next segment, which is a retransmission: a fault.
        Clock = "clock",
    }
}
named! {
    /// Which duplicates count towards a fast retransmit where SACK is in use. The recoveries that read
    /// SACK blocks ask for them whatever this says.
    pub enum Evidence {
        /// Any duplicate.
        Any = "any",
        /// One that reports bytes above the acknowledgement which were not reported before.
        Sack = "sack",
    }
}
named! {
    /// What becomes of the number of duplicates that convince.
    pub enum DuplicateThreshold {
        /// It stays what `dupthresh` says.
        Fixed = "fixed",
        /// Each fast retransmit found spurious makes it one more, until a timeout (Blanton and Allman 2002): segments
        /// were out of order, not lost. Below the threshold each duplicate lets out a new segment where limited
        /// transmit is on.
        Grows = "grows",
    }
}
named! {
    /// What duplicates may let out.
    pub enum DuplicatesSend {
        /// Whatever is next; after a timeout that is a retransmission.
        Any = "any",
        /// New segments only: the duplicates are for the highest segment sent.
        Highest = "highest",
    }
}
named! {
    /// How Reno and NewReno notice that a retransmission was lost.
    pub enum LostRetransmission {
        /// By the timer.
        Timeout = "timeout",
        /// By more duplicates than the segments sent before it can have caused.
        Count = "count",
    }
}
named! {
    /// What NewReno resends on a partial acknowledgement.
    pub enum PartialResends {
        /// The segment that is missing next.
        One = "one",
        /// That one, and then everything outstanding as the window allows: a fault.
        Outstanding = "outstanding",
    }
}
named! {
    /// What a timeout resends before anything is acknowledged.
    pub enum TimeoutResends {
        /// The oldest segment.
        Oldest = "oldest",
        /// Everything outstanding: a fault.
        Outstanding = "outstanding",
    }
}
