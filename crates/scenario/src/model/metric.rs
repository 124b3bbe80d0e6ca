//! Metric names and units.
//!
//! The list that expectations may name.

use base::named;
use std::cmp::Ordering;

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
        /// Those per data segment that reached the link.
        UnneededLinkRatio = "unneeded_link_ratio",
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
        /// Data segments dropped anywhere.
        SegmentsDropped = "segments_dropped",
        /// Time in queues, seconds.
        QueueDelay = "queue_delay_s",
        /// Bytes of the flow, both directions, that the gateway of hops with `charging` has counted.
        BilledGateway = "billed_gateway_bytes",
        /// Bytes that their radio side has counted.
        BilledRadio = "billed_radio_bytes",
        /// Of these, bytes of data that the transport had sent before.
        BilledResent = "billed_resent_bytes",
        /// Fairness between flows, 1/n to 1.
        JainIndex = "jain_index",
        /// From a request to the last byte of its answer, the opening of a connection included, seconds; the
        /// mean over a repetition.
        ResponseTime = "response_time_s",
        /// The same, half of the answers in a repetition.
        ResponseTimeMedian = "response_time_median_s",
        /// The same, nine tenths of the answers.
        ResponseTimeP90 = "response_time_p90_s",
        /// The same, the shortest.
        ResponseTimeMin = "response_time_min_s",
        /// The same, the longest.
        ResponseTimeMax = "response_time_max_s",
        /// Difference between the mean of every second response and that of the others, seconds.
        ResponseTimeAlternation = "response_alternation_s",
        /// Requests answered.
        Responses = "responses",
        /// From the first request of a page to the last byte of its last object, seconds; the mean.
        PageTime = "page_time_s",
        /// The same, half of the pages.
        PageTimeMedian = "page_time_median_s",
        /// The same, nine tenths of the pages.
        PageTimeP90 = "page_time_p90_s",
        /// The same, the longest.
        PageTimeMax = "page_time_max_s",
        /// Pages that were there whole.
        Pages = "pages",
        /// Pages, or single requests, that were given up.
        PagesAborted = "pages_aborted",
        /// Connections opened.
        Connections = "connections",
        /// Messages made.
        MessagesSent = "messages_sent",
        /// Messages that arrived whole.
        MessagesDelivered = "messages_delivered",
        /// Those of them that were of no use any more when they arrived.
        MessagesLate = "messages_late",
        /// From the making of a message to the arrival of its last byte, seconds; the mean.
        MessageDelay = "message_delay_s",
        /// The same, 99 of a hundred messages.
        MessageDelayP99 = "message_delay_p99_s",
        /// The same, the longest.
        MessageDelayMax = "message_delay_max_s",
        /// Messages that did not arrive whole, of those made.
        LossRatio = "loss_ratio",
        /// Interarrival jitter at the end, seconds (RFC 3550 section 6.4.1): of datagrams, or of messages over TCP.
        Jitter = "jitter_s",
        /// Data packets that arrived after their deadline.
        PacketsLate = "packets_late",
        /// From the first to the last of them, seconds; of datagrams.
        LateSpan = "late_span_s",
        /// Data packets that arrived before their deadline, or have none.
        PacketsValid = "packets_valid",
        /// Data packets that arrived too late or once more, of all that arrived: what the link carried in vain.
        UnneededRatio = "unneeded_ratio",
        /// Application data units that arrived whole and in time, of all that were made.
        UnitsInTime = "units_in_time",
        /// Data packets that the acknowledgements call lost.
        PacketsReportedLost = "packets_reported_lost",
        /// Loss events of TFRC at the receiver.
        LossEvents = "loss_events",
        /// Congestion events as the sender counts them: reductions, or rises of the loss event rate.
        CongestionEvents = "congestion_events",
        /// Sync packets that DCCP sent.
        Synchronisations = "synchronisations",
        /// Application data units that ATP gave up because they could not arrive in time.
        UnitsInfeasible = "units_infeasible",
        /// Those whose lifetime ended in its buffer or on the way.
        UnitsExpired = "units_expired",
        /// Datagrams that arrived behind one that was sent after them.
        Reordered = "reordered",
        /// Messages given up before they were delivered (RFC 3758).
        MessagesAbandoned = "messages_abandoned",
        /// Data chunks or packets that arrived a second time, as their receiver counts them.
        DuplicatesReceived = "duplicates_received",
        /// Heartbeats sent by both ends (RFC 9260 section 8.3).
        Heartbeats = "heartbeats",
        /// Changes of the network path of new data, at both ends (RFC 9260 section 6.4).
        Failovers = "failovers",
        /// Bytes of a page or reply over its time, bit/s; the mean over the transfers of a population.
        TransferRate = "transfer_rate_bps",
        /// Of a population: mean way of a packet to its mobile and of one back, seconds.
        RoundTrip = "round_trip_s",
        /// Timeslots in use by packet data in a cell of the system, on average (Erlang).
        Erlang = "erlang",
        /// Changes of cell in a transfer, on average.
        ReselectionsPerTransfer = "reselections_per_transfer",
        /// Spurious timeouts for each first change of cell of a transfer.
        TimeoutsAfterFirst = "timeouts_after_first",
        /// Spurious timeouts for each later change of cell of a transfer.
        TimeoutsAfterLater = "timeouts_after_later",
        /// Share of RLC blocks lost in the system, downlink.
        BlockErrorRate = "block_error_rate",
        /// A tenth of radio blocks have less C/I, dB, downlink.
        CiP10 = "ci_p10_db",
        /// Half of radio blocks have less C/I, dB, downlink.
        CiMedian = "ci_median_db",
        /// Radio blocks on the air of the mobile's bearer, both directions, all purposes.
        RadioBlocks = "radio_blocks",
        /// Radio blocks of data that had been sent before.
        RadioBlocksRepeated = "radio_blocks_repeated",
        /// Of them, those sent because nothing else could be (idle retransmission).
        RadioBlocksIdle = "radio_blocks_idle",
        /// Radio blocks that held nothing new for their receiver.
        RadioBlocksDuplicate = "radio_blocks_duplicate",
        /// Radio blocks without data that keep a TBF: slots scheduled to an idle mobile.
        RadioBlocksDummy = "radio_blocks_dummy",
        /// Downlink radio blocks that the mobile decoded for nothing.
        RadioDecodedForNothing = "radio_decoded_for_nothing",
        /// Messages of set-up of TBFs and of changes of cell.
        RadioSignalling = "radio_signalling",
        /// TBFs set up.
        TbfSetups = "tbf_setups",
        /// TBFs lost.
        TbfsLost = "tbfs_lost",
        /// RLC reports sent.
        RlcReports = "rlc_reports",
        /// Times that an RLC window closed with data waiting.
        RlcStalls = "rlc_stalls",
        /// Time in which it was closed, seconds; neither more nor less is better of itself.
        RlcStalled = "rlc_stalled_s",
        /// From the first report of a missing block, or its first loss, to its arrival, seconds; the mean.
        RlcRepair = "rlc_repair_s",
        /// Timeslots times seconds assigned to the mobile, both directions.
        RadioSlotTime = "radio_slot_s",
        /// Radio blocks for each kilobyte of packets delivered.
        RadioBlocksPerKilobyte = "radio_blocks_per_kb",
        /// LLC frames that arrived twice.
        LlcDuplicates = "llc_duplicates",
        /// LLC frames that acknowledged LLC sent again.
        LlcRepeated = "llc_repeated",
        /// Octets of them.
        LlcRepeatedOctets = "llc_repeated_octets",
        /// Packets lost with a cell.
        PacketsFlushed = "packets_flushed",
        /// Changes of cell; of a circuit, losses of the connection.
        CellChanges = "cell_changes",
        /// Longest time between two LLC frames around a change of cell, seconds.
        LlcGap = "llc_gap_s",
        /// Octets of radio blocks on the air, both directions, all purposes.
        RadioOctets = "radio_octets",
        /// Of them, those of repeats, reports, signalling and dummy blocks: what a bill by volume leaves out.
        RadioOctetsUnbilled = "radio_octets_unbilled",
        /// Price of the packets that the gateway counts, by the bearer's tariff.
        BillGateway = "bill_gateway",
        /// Price of the packets delivered over the radio, with surcharges.
        BillRadio = "bill_radio",
        /// Of it, surcharges for repeats, changes of cell and allocations.
        BillSurcharges = "bill_surcharges",
        /// Losses of a circuit by failed handovers.
        DisconnectionsHandover = "disconnections_handover",
        /// Losses of a circuit by the air interface.
        DisconnectionsAir = "disconnections_air_interface",
        /// Losses of a circuit by the remote equipment.
        DisconnectionsRemote = "disconnections_remote_equipment",
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
        /// 95 of a hundred are below.
        P95 = "p95",
        /// 99 of a hundred are below.
        P99 = "p99",
        /// The smallest.
        Min = "min",
        /// The largest.
        Max = "max",
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
    pub fn unit(self) -> Unit {
        match self {
            _ if self.name().ends_with("_s") => Unit::Seconds,
            Metric::Throughput | Metric::TransferRate => Unit::BitsPerSecond,
            Metric::Erlang
            | Metric::ReselectionsPerTransfer
            | Metric::TimeoutsAfterFirst
            | Metric::TimeoutsAfterLater
            | Metric::BlockErrorRate
            | Metric::CiP10
            | Metric::CiMedian => Unit::Ratio,
            Metric::GoodputRatio
            | Metric::GoodputLinkRatio
            | Metric::UnneededLinkRatio
            | Metric::JainIndex
            | Metric::LossRatio
            | Metric::UnneededRatio
            | Metric::UnitsInTime => Unit::Ratio,
            _ => Unit::Count,
        }
    }

    /// Which is the better side of it for who waits, pays or sends: less or more; none where neither is.
    pub fn better(self) -> Option<Ordering> {
        match self {
            Metric::Throughput
            | Metric::TransferRate
            | Metric::GoodputRatio
            | Metric::GoodputLinkRatio
            | Metric::JainIndex
            | Metric::Responses
            | Metric::Pages
            | Metric::MessagesDelivered
            | Metric::PacketsValid
            | Metric::UnitsInTime => Some(Ordering::Greater),
            Metric::SegmentsSent
            | Metric::SegmentsRetransmitted
            | Metric::UnneededRetransmissions
            | Metric::UnneededLinkRatio
            | Metric::SpuriousTimeouts
            | Metric::GenuineTimeouts
            | Metric::SpuriousEpisodes
            | Metric::GenuineEpisodes
            | Metric::SpuriousFastRetransmits
            | Metric::PacketsDropped
            | Metric::SegmentsDropped
            | Metric::PagesAborted
            | Metric::MessagesLate
            | Metric::BlockErrorRate
            | Metric::PacketsLate
            | Metric::UnneededRatio
            | Metric::LossRatio => Some(Ordering::Less),
            _ => (self.unit() == Unit::Seconds).then_some(Ordering::Less),
        }
    }
}
