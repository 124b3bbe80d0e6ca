//! Which numbers does a run give, and in which unit? The list that expectations may name.

use base::named;

named! {
    /// A number measured for a flow, or for all flows together.
    pub enum Metric {
        /// From the start of the workload to the last byte delivered, seconds.
        DownloadTime = "download_time_s",
        /// From the start of the workload until its sender knows that all was delivered, seconds.
        CompletionTime = "completion_time_s",
        /// Payload delivered per time, bit/s.
        Throughput = "throughput_bps",
        /// Minimum segments per segment sent.
        GoodputRatio = "goodput_ratio",
        /// Minimum segments per segment that reached the link.
        GoodputLinkRatio = "goodput_link_ratio",
        /// Data segments sent.
        SegmentsSent = "segments_sent",
        /// Data segments delivered, each once.
        SegmentsDelivered = "segments_delivered",
        /// Data segments sent again.
        SegmentsRetransmitted = "segments_retransmitted",
        /// Those of which an earlier copy arrives.
        UnneededRetransmissions = "unneeded_retransmissions",
        /// Timeouts that resent what arrives anyway.
        SpuriousTimeouts = "spurious_timeouts",
        /// All other timeouts.
        GenuineTimeouts = "genuine_timeouts",
        /// Spurious timeouts; expirations in a row for the same segment count once, as the first of them.
        SpuriousEpisodes = "spurious_episodes",
        /// All other timeouts, counted likewise.
        GenuineEpisodes = "genuine_episodes",
        /// Fast retransmits that resent what arrives anyway.
        SpuriousFastRetransmits = "spurious_fast_retransmits",
        /// Timeouts that the sender's own detector took for spurious; each expiration counts.
        TimeoutsJudgedSpurious = "timeouts_judged_spurious",
        /// Timeouts that it took for genuine; the two leave out those that it did not judge.
        TimeoutsJudgedGenuine = "timeouts_judged_genuine",
        /// Fast retransmits that it took for spurious.
        FastRetransmitsJudgedSpurious = "fast_retransmits_judged_spurious",
        /// Data segments outstanding when the retransmission timer first expired.
        OutstandingAtTimeout = "outstanding_at_timeout",
        /// Longest time in which the sender sent no data although it was not done, closed gates not
        /// counted, seconds; silences of up to a second are not looked at.
        LongestSilence = "longest_silence_s",
        /// Gate closures that began while the workload ran.
        GateClosures = "gate_closures",
        /// Packets dropped anywhere.
        PacketsDropped = "packets_dropped",
        /// Time in queues, seconds.
        QueueDelay = "queue_delay_s",
        /// Fairness between flows, 1/n to 1.
        JainIndex = "jain_index",
    }
}

named! {
    /// A statistic over repetitions.
    pub enum Statistic {
        /// Arithmetic mean.
        Mean = "mean",
        /// Standard deviation of the sample.
        Stddev = "stddev",
        /// Half of them are below.
        Median = "median" | "p50",
        /// A tenth of them are below.
        P10 = "p10",
        /// Nine tenths of them are below.
        P90 = "p90",
        /// How many repetitions gave the number.
        N = "n",
    }
}

/// What a metric is measured in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// bit/s.
    BitsPerSecond,
    /// A share from 0 to 1.
    Ratio,
    /// A number of things.
    Count,
}

impl Metric {
    /// Its unit.
    pub const fn unit(self) -> Unit {
        match self {
            Metric::DownloadTime | Metric::CompletionTime | Metric::LongestSilence | Metric::QueueDelay => {
                Unit::Seconds
            }
            Metric::Throughput => Unit::BitsPerSecond,
            Metric::GoodputRatio | Metric::GoodputLinkRatio | Metric::JainIndex => Unit::Ratio,
            _ => Unit::Count,
        }
    }
}
