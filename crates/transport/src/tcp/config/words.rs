//! Values of TCP options that are words: one enum for each option of recovery, windows, ECN, pacing, handshake and
//! path MTU.

use base::named;

pub use crate::tcp::recovery::Recovery;

named! {
    /// Window reduction at the start of recovery.
    pub enum Reduction {
        /// At once to the target (RFC 5681 section 3.2, RFC 6675 section 5).
        Halving = "halving",
        /// In proportion to the delivered data (RFC 6937); for recoveries with an estimate of the bytes in
        /// flight: rfc3517, rfc6675, fack, rack.
        Prr = "prr",
    }
}
named! {
    /// Lifetime of a data segment in the network (Gurtov and Ludwig, "Exploiting Packet Lifetime", IV.B).
    pub enum Lifetime {
        /// Unlimited: routers see no deadline.
        Always = "always",
        /// The RTO at the transmission of the segment.
        Rto = "rto",
        /// The RTO plus one RTT, since every ACK restarts the timer.
        RtoAndRtt = "rto-and-rtt",
    }
}
named! {
    /// Bound of proportional rate reduction on refilling the pipe below the target.
    pub enum PrrBound {
        /// The delivered bytes plus a segment: slow start (PRR-SSRB).
        Ssrb = "ssrb",
        /// The delivered bytes: packet conservation (PRR-CRB).
        Crb = "crb",
        /// The delivered bytes, plus a segment if the ACK advances SND.UNA and reveals no further loss (RFC
        /// 9937 section 6.2; Linux).
        SafeAck = "safe-ack",
    }
}
named! {
    /// Unit of proportional rate reduction.
    pub enum PrrUnit {
        /// Bytes (RFC 6937).
        Bytes = "bytes",
        /// Whole segments, rounded up, relative to the window before the recovery (Linux).
        Segments = "segments",
    }
}
named! {
    /// Reference of RACK's reordering detection (RFC 8985 section 6.2 step 3).
    pub enum RackOrder {
        /// The highest byte that has arrived, this ACK included.
        Any = "any",
        /// The highest byte that had arrived before this ACK: segments reported by one ACK have no order
        /// among themselves (Linux 6.12, net/ipv4/tcp_input.c: `tcp_clean_rtx_queue`, where `prior_fack` is
        /// compared).
        Before = "before",
    }
}
named! {
    /// When the ACK of a retransmitted segment is attributed to its original (RFC 8985 section 6.2 step 2).
    pub enum RackCopy {
        /// If it arrives within less than the minimum RTT, or echoes a timestamp older than the
        /// retransmission. Beyond a hole every echo is old.
        Echo = "echo",
        /// As `echo`, but segments SACKed beyond a hole are judged by the RTT alone (Linux 6.12,
        /// net/ipv4/tcp_input.c: `tcp_sacktag_one`, `tcp_clean_rtx_queue`).
        RoundTrip = "round-trip",
    }
}
named! {
    /// Upper bound of the probe timeout of the tail loss probe.
    pub enum ProbeUntil {
        /// Expiry of the retransmission timer (RFC 8985 section 7.2).
        Timer = "timer",
        /// After an ACK the same; after new data the expiry of a timer started when the oldest outstanding
        /// segment was sent (Linux).
        Oldest = "oldest",
    }
}
named! {
    /// Path MTU discovery (catalogue PR-05).
    pub enum PathMtu {
        /// Off: routers may fragment the packets.
        Off = "off",
        /// From ICMP errors of routers, which must not fragment the packets (RFC 1191).
        Icmp = "icmp",
        /// From ICMP errors, and where routers are silent from timeouts and probes (RFC 4821).
        Probe = "probe",
    }
}
named! {
    /// Data segments with the PSH flag.
    pub enum Push {
        /// None: only the Linux receiver evaluates the flag here.
        None = "none",
        /// The last segment written, and the last one of each group sent together: two segments, or those of
        /// about a millisecond (Linux, which passes a group to the network card as one).
        Groups = "groups",
    }
}
named! {
    /// When `newreno-sack` retransmits on every partial ACK.
    pub enum PartialResend {
        /// In every recovery.
        Always = "always",
        /// After a spurious timeout, until the recovery point is acknowledged.
        AfterSpurious = "after-spurious",
    }
}
named! {
    /// Counting of subsequent timeouts in the staged response.
    pub enum StagedCount {
        /// Timeouts since the last ACK of new data, that is, within one delay.
        Expirations = "expirations",
        /// Consecutive spurious timeouts on the connection, until a genuine one.
        Consecutive = "consecutive",
        /// Each spurious timeout counts alone, so that everything is always restored.
        Single = "single",
        /// As `consecutive`, but a window acknowledged without a timeout also resets the count.
        Window = "window",
    }
}
named! {
    /// Window restored in the first stage of the staged response. ssthresh is restored as saved.
    pub enum StagedFirst {
        /// The window before the timeout, with its fraction of a segment.
        Saved = "saved",
        /// From the last segment acknowledged before the verdict to the next one to send: the full revert of
        /// ns-2 (`t_seqno_ - prev_highest_ack_`, there for F-RTO). It includes the segment about to be sent,
        /// so it is one segment more than the flight.
        Outstanding = "outstanding",
    }
}
named! {
    /// State restored in the second stage of the staged response.
    pub enum StagedSecond {
        /// ssthresh = half of the old window, cwnd = ssthresh ("Responding", option 2).
        Half = "half",
        /// ssthresh = the old window, cwnd left halved (the GPRS study, section 3).
        Threshold = "threshold",
    }
}
named! {
    /// State left in the third stage of the staged response.
    pub enum StagedThird {
        /// ssthresh = half of the old window, cwnd = 1 segment ("Responding", option 3).
        SlowStart = "slow-start",
        /// No change after the timeouts (the GPRS study, section 3).
        Nothing = "nothing",
    }
}
named! {
    /// When RFC 4015 adapts the RTT estimate (its step 11).
    pub enum Rfc4015Timer {
        /// With the first sample of data sent after the timeout, as in the RFC: the estimate becomes the
        /// saved one, or that sample if it is larger.
        NewData = "new-data",
        /// With the ACK that reveals the spurious timeout: the estimate, which includes the sample of the
        /// delayed segment, becomes at least the saved one.
        AtOnce = "at-once",
    }
}
named! {
    /// Connection opening.
    pub enum Handshake {
        /// SYN, SYN-ACK, ACK; FIN at the end.
        TwoWay = "two-way",
        /// A bare SYN packet, acknowledged like data; no FIN: the one-way models of the simulators.
        OneWay = "one-way",
    }
}
named! {
    /// How the active end acknowledges the peer's SYN.
    pub enum HandshakeAck {
        /// With its first data, if there are any.
        WithData = "with-data",
        /// With a separate ACK before the data (Linux, whose application writes once the connection is open:
        /// `tcp_rcv_synsent_state_process` in net/ipv4/tcp_input.c, 6.12).
        Alone = "alone",
    }
}
named! {
    /// Use of selective acknowledgements.
    pub enum Sack {
        /// If the recovery or the detector needs them.
        Auto = "auto",
        /// Always.
        On = "true" | "on",
        /// Never.
        Off = "false" | "off",
    }
}
named! {
    /// Heuristic that attributes duplicate ACKs below the recovery point to a loss and not to needless
    /// retransmissions (RFC 6582 section 4).
    pub enum Heuristic {
        /// No heuristic.
        None = "none",
        /// The last ACK of new data covered at most four segments: had the following data arrived, it would
        /// have covered them too (section 4.1).
        Ack = "ack",
        /// The last ACK of new data echoes the timestamp of the last transmission of the data that it covers:
        /// that transmission was needed (section 4.2).
        Timestamp = "timestamp",
    }
}
named! {
    /// When duplicate ACKs after a timeout may cause a fast retransmit (RFC 2582 section 5).
    pub enum BugFix {
        /// Always: the bug fix is off.
        Off = "off",
        /// Once everything outstanding at the timeout is acknowledged.
        LessCareful = "less-careful",
        /// Once data sent after the timeout are acknowledged.
        Careful = "careful",
    }
}
named! {
    /// Partial ACKs that restart the retransmission timer (RFC 6582 section 4).
    pub enum PartialTimer {
        /// The first one only.
        Impatient = "impatient",
        /// Every one.
        SlowButSteady = "slow-but-steady",
    }
}
named! {
    /// Base of ssthresh at a loss.
    pub enum Halving {
        /// Half of the outstanding data (RFC 5681 equation 4).
        Flight = "flight",
        /// Half of the usable window, in whole segments: the simulators of 2001.
        Window = "window",
    }
}
named! {
    /// Flight size of a go-back-N sender after a timeout.
    pub enum Flight {
        /// From the oldest unacknowledged byte to the next one to send (BSD: snd_nxt - snd_una). It is
        /// complete again when a spurious timeout lets the sender continue with new data.
        Bsd = "bsd",
        /// From loss marks: segments marked lost by a timeout do not count until they are resent or
        /// acknowledged. A spurious timeout leaves the marks, as Linux 2.4 would without an explicit
        /// restoration, so a restored window sends a burst.
        Explicit = "explicit",
    }
}
named! {
    /// Effect of a repeated timeout of one segment on ssthresh.
    pub enum RepeatedTimeout {
        /// None (RFC 5681 section 3.1).
        Hold = "hold",
        /// Halved again: to two segments, since one is outstanding.
        Halve = "halve",
    }
}
named! {
    /// Increase of the window per ACK in slow start.
    pub enum ByteCounting {
        /// The acknowledged bytes, at most a segment (RFC 5681 equation 2); in congestion avoidance a
        /// constant per ACK.
        None = "none",
        /// The acknowledged bytes, at most a segment (RFC 3465, L = 1); bytes in congestion avoidance too.
        AbcL1 = "abc-l1",
        /// The acknowledged bytes, at most two segments (RFC 3465, L = 2); bytes in congestion avoidance too.
        AbcL2 = "abc-l2",
        /// The acknowledged bytes.
        Unlimited = "unlimited",
    }
}
named! {
    /// End of slow start.
    pub enum SlowStart {
        /// At ssthresh.
        Standard = "standard",
        /// Earlier, when the RTT grows or ACKs form a long train: HyStart (Ha and Rhee 2011), as in Linux.
        HyStart = "hystart",
        /// Earlier, when the RTT grows, after a phase of slower growth: HyStart++ (RFC 9406).
        HyStartPlus = "hystart++",
    }
}
named! {
    /// Window increase of Reno in congestion avoidance.
    pub enum RenoCount {
        /// Each ACK adds a fraction of a segment (RFC 5681 equation 3), or as `byte-counting` sets.
        Fractions = "fractions",
        /// A whole segment per window of acknowledged segments (Linux 6.12, net/ipv4/tcp_cong.c:
        /// `tcp_cong_avoid_ai`).
        Segments = "segments",
    }
}
named! {
    /// Variant of CUBIC's curve.
    pub enum CubicCurve {
        /// RFC 9438.
        Rfc9438 = "rfc9438",
        /// In whole segments and clock ticks (Linux). It looks ahead by the minimum RTT instead of SRTT, and
        /// grows by at least 5 % per RTT before the first loss. After a spurious reduction the state is
        /// cleared and not restored.
        Linux = "linux",
    }
}
named! {
    /// Window reduction at an ECN mark.
    pub enum EcnBackoff {
        /// As at a loss (RFC 3168 section 6.1.2).
        Rfc3168 = "rfc3168",
        /// Less, in congestion avoidance: to 0.8 of the flight with Reno, 0.85 with CUBIC (RFC 8511).
        Rfc8511 = "rfc8511" | "abe",
    }
}
named! {
    /// Congestion window validation.
    pub enum Validation {
        /// Off: an unused window grows like a used one.
        Off = "false" | "off",
        /// The window does not grow while less than half of it is used, and is halved after five minutes of
        /// that (RFC 7661).
        Rfc7661 = "true" | "on" | "rfc7661",
        /// The window grows only while it is full, shrinks halfway to its use after an RTO, and is halved for
        /// every RTO of idle time (RFC 2861).
        Rfc2861 = "rfc2861",
        /// In slow start the window grows while it is below twice the maximum outstanding within an RTT,
        /// later while it is full; newly delivered bytes count. With `idle-restart = "decay"`, a window not
        /// filled for an RTO shrinks halfway to its use (Linux).
        Linux = "linux",
    }
}
named! {
    /// Window after an idle period longer than the RTO.
    pub enum IdleRestart {
        /// Unchanged.
        Off = "false" | "off",
        /// At most the initial window (RFC 5681 section 4.1).
        Rfc5681 = "true" | "on" | "rfc5681",
        /// Halved for every RTO that passed, at least the initial window (RFC 2861; Linux).
        Decay = "decay",
    }
}
named! {
    /// Initial window after a retransmitted SYN.
    pub enum LostSyn {
        /// One segment (RFC 5681 section 3.1).
        Rfc5681 = "rfc5681",
        /// One segment if it was retransmitted at least twice, unless the echoed timestamp shows that the
        /// first SYN arrived (Linux).
        Linux = "linux",
    }
}
named! {
    /// Pacing of segments.
    pub enum Pacing {
        /// If the congestion control requires it.
        Auto = "auto",
        /// On: at the congestion control's rate, or at 2 windows per RTT in slow start and 1.2 later.
        On = "true" | "on",
        /// Off: only the window limits sending.
        Off = "false" | "off",
    }
}
named! {
    /// Rules for ACK generation.
    pub enum AckRules {
        /// After a number of segments or at the timer; at once for out-of-order data (RFC 5681 section 4.2).
        Rfc5681 = "rfc5681",
        /// As Linux: quick ACKs after an idle period, after duplicates and while the window grows; longer
        /// delays in interactive sessions; compressed ACKs of a hole.
        Linux = "linux",
    }
}
named! {
    /// Growth of the offered window.
    pub enum WindowGrowth {
        /// None: the whole window from the beginning.
        None = "none",
        /// With the data received and read, within a buffer that accounts for packet overhead (Linux).
        Linux = "linux",
    }
}
named! {
    /// Choice of the echoed timestamp.
    pub enum Echo {
        /// The latest one of a segment that reaches back to the last ACK, duplicates included (RFC 7323
        /// section 4.3).
        Rfc7323 = "rfc7323",
        /// That of the segment that contains the byte after the last ACK; old duplicates change nothing (RFC
        /// 1323 section 3.4).
        Rfc1323 = "rfc1323",
        /// That of the segment that caused the ACK, duplicates included: the simulators of 2001.
        Latest = "latest",
    }
}
