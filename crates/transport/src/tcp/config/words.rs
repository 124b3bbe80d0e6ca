//! Option words of a TCP.

use base::named;

pub use crate::tcp::recovery::Recovery;

named! {
    /// How the window comes down when recovery begins.
    pub enum Reduction {
        /// At once to its target (RFC 5681 section 3.2, RFC 6675 section 5).
        Halving = "halving",
        /// In proportion to what is delivered (RFC 6937); for recoveries that count what is in the network:
        /// rfc3517, rfc6675, fack, rack.
        Prr = "prr",
    }
}
named! {
    /// For how long a data segment is of use to the network (Gurtov and Ludwig, "Exploiting Packet Lifetime", IV.B).
    pub enum Lifetime {
        /// For ever: routers learn of no deadline.
        Always = "always",
        /// For the retransmission timeout as it stands when the segment is sent.
        Rto = "rto",
        /// For that and a round trip more, since every acknowledgement restarts the timer.
        RtoAndRtt = "rto-and-rtt",
    }
}
named! {
    /// How fast proportional rate reduction may refill the pipe when it has run below the target.
    pub enum PrrBound {
        /// By what was delivered and a segment more: slow start (PRR-SSRB).
        Ssrb = "ssrb",
        /// By no more than what was delivered: packet conservation (PRR-CRB).
        Crb = "crb",
        /// By what was delivered, and a segment more if the acknowledgement moves on and shows no further
        /// loss (RFC 9937 section 6.2; Linux).
        SafeAck = "safe-ack",
    }
}
named! {
    /// In what proportional rate reduction counts.
    pub enum PrrUnit {
        /// In bytes (RFC 6937).
        Bytes = "bytes",
        /// In whole segments, rounded up, of the window before (Linux).
        Segments = "segments",
    }
}
named! {
    /// Below what an arrival is taken for reordering by RACK (RFC 8985 section 6.2 step 3).
    pub enum RackOrder {
        /// The highest that has arrived, what the same acknowledgement reports included.
        Any = "any",
        /// The highest that had arrived before this acknowledgement: what one says has no order among itself (Linux 6.12,
        /// net/ipv4/tcp_input.c: `tcp_clean_rtx_queue`, where `prior_fack` is compared).
        Before = "before",
    }
}
named! {
    /// When the arrival of something resent says nothing of the copy (RFC 8985 section 6.2 step 2).
    pub enum RackCopy {
        /// When it comes sooner than a round trip takes, or echoes a timestamp older than the copy. Beyond a hole every echo is old.
        Echo = "echo",
        /// The same, but what is reported beyond a hole is judged by the round trip alone (Linux 6.12, net/ipv4/tcp_input.c:
        /// `tcp_sacktag_one`, `tcp_clean_rtx_queue`).
        RoundTrip = "round-trip",
    }
}
named! {
    /// How long the probe of a tail waits at most.
    pub enum ProbeUntil {
        /// Until the retransmission timer would expire (RFC 8985 section 7.2).
        Timer = "timer",
        /// The same after an acknowledgement; after new data until that timer would expire if it had been started when the oldest
        /// outstanding segment was sent (Linux).
        Oldest = "oldest",
    }
}
named! {
    /// How the sender learns the largest packet of the path (catalogue PR-05).
    pub enum PathMtu {
        /// Not at all: routers may cut its packets up.
        Off = "off",
        /// From the ICMP errors of routers, which must not cut its packets up (RFC 1191).
        Icmp = "icmp",
        /// From those, and where routers are silent from timeouts and probes (RFC 4821).
        Probe = "probe",
    }
}
named! {
    /// Which data segments carry the flag PSH.
    pub enum Push {
        /// None: no receiver here but that of Linux looks at it.
        None = "none",
        /// The last one written, and each that ends a group of segments which leave together: two, or as many as are sent in
        /// about a millisecond (Linux, which hands them to the network card as one).
        Groups = "groups",
    }
}
named! {
    /// When `newreno-sack` resends on every partial acknowledgement.
    pub enum PartialResend {
        /// In every recovery.
        Always = "always",
        /// After a spurious timeout, until the recovery point is acknowledged.
        AfterSpurious = "after-spurious",
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
    /// When RFC 4015 adapts the estimate of the round trip (its step 11).
    pub enum Rfc4015Timer {
        /// With the first sample of data that had not been sent when the timer expired, as the RFC says: the
        /// estimate becomes what it was, or that sample if it is longer.
        NewData = "new-data",
        /// With the acknowledgement that reveals the spurious timeout: the estimate, with the sample of the
        /// delayed segment in it, becomes no less than what it was.
        AtOnce = "at-once",
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
    /// How the opening end acknowledges the peer's SYN.
    pub enum HandshakeAck {
        /// With its first data, if it has any.
        WithData = "with-data",
        /// By a segment of its own before them (Linux, whose application writes once the connection is open:
        /// `tcp_rcv_synsent_state_process` in net/ipv4/tcp_input.c, 6.12).
        Alone = "alone",
    }
}
named! {
    /// Whether selective acknowledgements are used.
    pub enum Sack {
        /// If the recovery or the detector needs them.
        Auto = "auto",
        /// Yes.
        On = "true" | "on",
        /// No.
        Off = "false" | "off",
    }
}
named! {
    /// What may show that duplicates below the recovery point mean a loss after all (RFC 6582 section 4), and not
    /// segments that were resent without need.
    pub enum Heuristic {
        /// Nothing.
        None = "none",
        /// The last acknowledgement of new data covered at most four segments: had the data after it been there,
        /// it would have covered them too (section 4.1).
        Ack = "ack",
        /// The last acknowledgement of new data echoes the timestamp of the last transmission of what it
        /// covers: that was needed (section 4.2).
        Timestamp = "timestamp",
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
    /// Where ssthresh comes from at a loss.
    pub enum Halving {
        /// Half of what is outstanding (RFC 5681 equation 4).
        Flight = "flight",
        /// Half of the usable window, in whole segments: the simulators of 2001.
        Window = "window",
    }
}
named! {
    /// How a sender that goes back after a timeout counts what is in the network.
    pub enum Flight {
        /// What lies between the oldest unacknowledged byte and the next one to send (BSD: snd_nxt - snd_una). Where a spurious
        /// timeout lets the sender go on with new data, it is whole again.
        Bsd = "bsd",
        /// By marks: what a timeout took for lost is out of it until it is resent or acknowledged. A spurious timeout leaves the
        /// marks, as Linux 2.4 would without an explicit restoration, so a restored window lets out a burst.
        Explicit = "explicit",
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
        /// What was acknowledged, at most a segment (RFC 5681 equation 2); in congestion avoidance each acknowledgement
        /// alike.
        None = "none",
        /// What was acknowledged, at most a segment (RFC 3465, L = 1); bytes in congestion avoidance too.
        AbcL1 = "abc-l1",
        /// What was acknowledged, at most two segments (RFC 3465, L = 2); bytes in congestion avoidance too.
        AbcL2 = "abc-l2",
        /// What was acknowledged.
        Unlimited = "unlimited",
    }
}
named! {
    /// When slow start ends.
    pub enum SlowStart {
        /// At the threshold.
        Standard = "standard",
        /// Sooner, when round trips grow or acknowledgements come in a long train: HyStart (Ha and Rhee 2011),
        /// as in Linux.
        HyStart = "hystart",
        /// Sooner, when round trips grow, and carefully: HyStart++ (RFC 9406).
        HyStartPlus = "hystart++",
    }
}
named! {
    /// How Reno counts in congestion avoidance.
    pub enum RenoCount {
        /// Each acknowledgement adds its part of a segment (RFC 5681 equation 3), or as `byte-counting` says.
        Fractions = "fractions",
        /// A whole segment when a window of whole segments was acknowledged (Linux 6.12, net/ipv4/tcp_cong.c: `tcp_cong_avoid_ai`).
        Segments = "segments",
    }
}
named! {
    /// Whose curve CUBIC follows.
    pub enum CubicCurve {
        /// That of RFC 9438.
        Rfc9438 = "rfc9438",
        /// The same in whole segments and ticks of a clock. It looks ahead by the least round trip, not the smoothed one,
        /// before the first loss the window grows by 5 % a round trip at least, and a mistaken reduction is forgotten
        /// rather than taken back (Linux).
        Linux = "linux",
    }
}
named! {
    /// What a mark of the network takes from the window.
    pub enum EcnBackoff {
        /// What a loss takes (RFC 3168 section 6.1.2).
        Rfc3168 = "rfc3168",
        /// Less, in congestion avoidance: 0.8 of the flight stays with Reno, 0.85 with CUBIC (RFC 8511).
        Rfc8511 = "rfc8511" | "abe",
    }
}
named! {
    /// What becomes of a window that is not used.
    pub enum Validation {
        /// It grows as if it were.
        Off = "false" | "off",
        /// It does not grow while less than half of it is used, and is halved after five minutes of that
        /// (RFC 7661).
        Rfc7661 = "true" | "on" | "rfc7661",
        /// It does not grow unless it is full, shrinks halfway to what is used once a timeout, and is halved
        /// for every timeout of a pause (RFC 2861).
        Rfc2861 = "rfc2861",
        /// In slow start it grows while it is less than twice the most that was outstanding within a round
        /// trip, afterwards while it is full, and by what was not reported before; with `idle-restart = "decay"` one that
        /// is not filled for a timeout shrinks halfway to what is used (Linux).
        Linux = "linux",
    }
}
named! {
    /// The window after a pause longer than the retransmission timeout.
    pub enum IdleRestart {
        /// As it was.
        Off = "false" | "off",
        /// At most the initial window (RFC 5681 section 4.1).
        Rfc5681 = "true" | "on" | "rfc5681",
        /// Half for every timeout that passed, at least the initial window (RFC 2861; Linux).
        Decay = "decay",
    }
}
named! {
    /// The first window after a SYN that was sent again.
    pub enum LostSyn {
        /// One segment (RFC 5681 section 3.1).
        Rfc5681 = "rfc5681",
        /// One segment if it was sent again twice or more, unless the echoed timestamp says that the first one
        /// arrived (Linux).
        Linux = "linux",
    }
}
named! {
    /// Whether segments are spread over the round trip.
    pub enum Pacing {
        /// If the congestion control asks for it.
        Auto = "auto",
        /// Yes: at the congestion control's rate, or at 2 windows a round trip in slow start and 1.2 after it.
        On = "true" | "on",
        /// No: the window alone.
        Off = "false" | "off",
    }
}
named! {
    /// When the receiver acknowledges.
    pub enum AckRules {
        /// Every so many segments and when the timer runs out, at once what is not in order (RFC 5681 section 4.2).
        Rfc5681 = "rfc5681",
        /// As Linux does: quick after a pause, after duplicates and while its window grows; what is sent twice is waited
        /// for differently by ends that answer; acknowledgements of a hole are compressed.
        Linux = "linux",
    }
}
named! {
    /// How the window that the receiver offers grows.
    pub enum WindowGrowth {
        /// It does not: the whole window from the beginning.
        None = "none",
        /// With what comes and what is read, as far as a buffer allows in which packets take more room than their data
        /// (Linux).
        Linux = "linux",
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
