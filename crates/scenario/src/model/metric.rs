//! Metrics and statistics that expectations may name, with unit and direction of improvement.

use base::named;
use std::cmp::Ordering;

named! {
    /// A number measured for a flow, or for all flows together.
    pub enum Metric {
        /// From the start of the workload to the last byte delivered, seconds.
        DownloadTime = "download_time_s",
        /// From the start of the workload until its sender knows that all was delivered, seconds.
        CompletionTime = "completion_time_s",
        /// Payload delivered per second, bit/s.
        Throughput = "throughput_bps",
        /// Minimum number of segments per segment sent.
        GoodputRatio = "goodput_ratio",
        /// Minimum number of segments per segment that reached the link.
        GoodputLinkRatio = "goodput_link_ratio",
        /// Data segments sent.
        SegmentsSent = "segments_sent",
        /// Data segments delivered, each once.
        SegmentsDelivered = "segments_delivered",
        /// Data segments retransmitted.
        SegmentsRetransmitted = "segments_retransmitted",
        /// Retransmissions of data of which an earlier copy arrives.
        UnneededRetransmissions = "unneeded_retransmissions",
        /// Unneeded retransmissions per data segment that reached the link.
        UnneededLinkRatio = "unneeded_link_ratio",
        /// Timeouts whose retransmission was unneeded.
        SpuriousTimeouts = "spurious_timeouts",
        /// Timeouts whose retransmission was needed.
        GenuineTimeouts = "genuine_timeouts",
        /// Spurious timeouts; consecutive timeouts of one segment count once, as the first of them.
        SpuriousEpisodes = "spurious_episodes",
        /// Genuine timeouts, counted like spurious episodes.
        GenuineEpisodes = "genuine_episodes",
        /// Fast retransmits whose retransmission was unneeded.
        SpuriousFastRetransmits = "spurious_fast_retransmits",
        /// Timeouts that the sender's detector judged spurious; each expiry counts.
        TimeoutsJudgedSpurious = "timeouts_judged_spurious",
        /// Timeouts that the detector judged genuine; timeouts without verdict count in neither metric.
        TimeoutsJudgedGenuine = "timeouts_judged_genuine",
        /// Fast retransmits that the detector judged spurious.
        FastRetransmitsJudgedSpurious = "fast_retransmits_judged_spurious",
        /// Data segments outstanding when the retransmission timer first expired.
        OutstandingAtTimeout = "outstanding_at_timeout",
        /// Longest time without transmission of data by a sender that is not done, without gate closures,
        /// seconds. Gaps of up to 1 s are not recorded.
        LongestSilence = "longest_silence_s",
        /// Gate closures that began while the workload ran.
        GateClosures = "gate_closures",
        /// Packets dropped anywhere.
        PacketsDropped = "packets_dropped",
        /// Data segments dropped anywhere.
        SegmentsDropped = "segments_dropped",
        /// Time in queues, seconds.
        QueueDelay = "queue_delay_s",
        /// Bytes of the flow, both directions, counted by the gateway of hops with `charging`.
        BilledGateway = "billed_gateway_bytes",
        /// Bytes counted by the radio network of hops with `charging`.
        BilledRadio = "billed_radio_bytes",
        /// Bytes of transport retransmissions among the billed radio bytes.
        BilledResent = "billed_resent_bytes",
        /// Jain's fairness index between flows, 1/n to 1.
        JainIndex = "jain_index",
        /// Mean time from a request to the last byte of its reply, the opening of a connection included,
        /// seconds.
        ResponseTime = "response_time_s",
        /// Median response time, seconds.
        ResponseTimeMedian = "response_time_median_s",
        /// 90th percentile of the response time, seconds.
        ResponseTimeP90 = "response_time_p90_s",
        /// Minimum response time, seconds.
        ResponseTimeMin = "response_time_min_s",
        /// Maximum response time, seconds.
        ResponseTimeMax = "response_time_max_s",
        /// Difference between the mean of every second response and that of the others, seconds.
        ResponseTimeAlternation = "response_alternation_s",
        /// Requests with complete replies.
        Responses = "responses",
        /// Mean time from the first request of a page to the last byte of its last object, seconds.
        PageTime = "page_time_s",
        /// Median page time, seconds.
        PageTimeMedian = "page_time_median_s",
        /// 90th percentile of the page time, seconds.
        PageTimeP90 = "page_time_p90_s",
        /// Maximum page time, seconds.
        PageTimeMax = "page_time_max_s",
        /// Pages loaded completely.
        Pages = "pages",
        /// Pages, or single requests, that the user aborted.
        PagesAborted = "pages_aborted",
        /// Connections opened.
        Connections = "connections",
        /// Messages generated.
        MessagesSent = "messages_sent",
        /// Messages delivered completely.
        MessagesDelivered = "messages_delivered",
        /// Messages delivered after the end of their usefulness.
        MessagesLate = "messages_late",
        /// Mean time from the generation of a message to the arrival of its last byte, seconds.
        MessageDelay = "message_delay_s",
        /// 99th percentile of the message delay, seconds.
        MessageDelayP99 = "message_delay_p99_s",
        /// Maximum message delay, seconds.
        MessageDelayMax = "message_delay_max_s",
        /// Share of messages that were not delivered completely.
        LossRatio = "loss_ratio",
        /// Interarrival jitter at the end, seconds (RFC 3550 section 6.4.1): of datagrams, or of messages over TCP.
        Jitter = "jitter_s",
        /// Data packets that arrived after their deadline.
        PacketsLate = "packets_late",
        /// Time from the first to the last late packet, seconds; for datagrams.
        LateSpan = "late_span_s",
        /// Data packets that arrived before their deadline, or without one.
        PacketsValid = "packets_valid",
        /// Share of arrived data packets that were late or duplicates, carried by the link for nothing.
        UnneededRatio = "unneeded_ratio",
        /// ADUs that arrived complete and in time, as a share of all generated.
        UnitsInTime = "units_in_time",
        /// Data packets that acknowledgements report as lost.
        PacketsReportedLost = "packets_reported_lost",
        /// Loss events of TFRC at the receiver.
        LossEvents = "loss_events",
        /// Congestion events at the sender: reductions, or increases of the loss event rate.
        CongestionEvents = "congestion_events",
        /// Sync packets that DCCP sent.
        Synchronisations = "synchronisations",
        /// ADUs that ATP discarded because they could not arrive in time.
        UnitsInfeasible = "units_infeasible",
        /// ADUs whose lifetime ended in the send buffer or in flight.
        UnitsExpired = "units_expired",
        /// Datagrams that arrived after a later one.
        Reordered = "reordered",
        /// Messages abandoned before delivery (RFC 3758).
        MessagesAbandoned = "messages_abandoned",
        /// Duplicate data chunks or packets, as the receiver counts them.
        DuplicatesReceived = "duplicates_received",
        /// Heartbeats sent by both ends (RFC 9260 section 8.3).
        Heartbeats = "heartbeats",
        /// Changes of the network path of new data, at both ends (RFC 9260 section 6.4).
        Failovers = "failovers",
        /// RTCP reports sent by both ends (RFC 3550 section 6).
        RtcpReports = "rtcp_reports",
        /// Mean round trip measured from RTCP reports, seconds (RFC 3550 section 6.4.1).
        RtcpRoundTrip = "rtcp_round_trip_s",
        /// Interarrival jitter in the last RTCP report, seconds.
        RtcpJitter = "rtcp_jitter_s",
        /// Highest fraction of lost packets in an RTCP report.
        RtcpFractionLost = "rtcp_fraction_lost_max",
        /// From the start of a stream to its first frame played, seconds.
        PlayoutStart = "playout_start_s",
        /// Stalls of the player after which it went on.
        PlayoutStalls = "playout_stalls",
        /// Total time of the stalls after which the player went on, seconds.
        PlayoutStall = "playout_stall_s",
        /// Frames of a stream that were played.
        FramesPlayed = "frames_played",
        /// Frames that had not arrived at their playout time.
        FramesMissed = "frames_missed",
        /// Mean time from a move of the play point until play goes on, seconds.
        JumpResponse = "jump_response_s",
        /// Mean rate of the media played, bit/s.
        MediaRate = "media_rate_bps",
        /// Changes of the rate by the source.
        MediaRateChanges = "media_rate_changes",
        /// Bytes of a page or reply per second, bit/s; mean over the transfers of a population.
        TransferRate = "transfer_rate_bps",
        /// Of a population: mean delay of packets to its mobiles plus that of packets from them, seconds.
        RoundTrip = "round_trip_s",
        /// Mean number of timeslots per cell in use by packet data (Erlang).
        Erlang = "erlang",
        /// Mean number of cell changes in a transfer.
        ReselectionsPerTransfer = "reselections_per_transfer",
        /// Spurious timeouts per first cell change of a transfer.
        TimeoutsAfterFirst = "timeouts_after_first",
        /// Spurious timeouts per later cell change of a transfer.
        TimeoutsAfterLater = "timeouts_after_later",
        /// Share of RLC blocks lost in the system, downlink.
        BlockErrorRate = "block_error_rate",
        /// 10th percentile of C/I over radio blocks, dB, downlink.
        CiP10 = "ci_p10_db",
        /// Median of C/I over radio blocks, dB, downlink.
        CiMedian = "ci_median_db",
        /// Radio blocks of the mobile's bearer, both directions, for all purposes.
        RadioBlocks = "radio_blocks",
        /// Radio blocks with retransmitted data.
        RadioBlocksRepeated = "radio_blocks_repeated",
        /// Retransmitted radio blocks for lack of other blocks (idle retransmission).
        RadioBlocksIdle = "radio_blocks_idle",
        /// Radio blocks without new data for their receiver.
        RadioBlocksDuplicate = "radio_blocks_duplicate",
        /// Dummy blocks, which keep a TBF: slots scheduled to an idle mobile.
        RadioBlocksDummy = "radio_blocks_dummy",
        /// Downlink radio blocks that the mobile decoded without need.
        RadioDecodedForNothing = "radio_decoded_for_nothing",
        /// Signalling messages for TBF set-up and cell changes.
        RadioSignalling = "radio_signalling",
        /// TBFs set up.
        TbfSetups = "tbf_setups",
        /// TBFs lost.
        TbfsLost = "tbfs_lost",
        /// RLC reports sent.
        RlcReports = "rlc_reports",
        /// Stalls of the RLC window with data waiting.
        RlcStalls = "rlc_stalls",
        /// Time of RLC window stalls, seconds; neither more nor less is better by itself.
        RlcStalled = "rlc_stalled_s",
        /// Mean time from the first report of a missing block, or its first loss, to its arrival, seconds.
        RlcRepair = "rlc_repair_s",
        /// Timeslot-seconds assigned to the mobile, both directions.
        RadioSlotTime = "radio_slot_s",
        /// Radio blocks per kilobyte of packets delivered.
        RadioBlocksPerKilobyte = "radio_blocks_per_kb",
        /// LLC frames that arrived twice.
        LlcDuplicates = "llc_duplicates",
        /// LLC frames that acknowledged-mode LLC retransmitted.
        LlcRepeated = "llc_repeated",
        /// Octets of retransmitted LLC frames.
        LlcRepeatedOctets = "llc_repeated_octets",
        /// Packets lost at a cell change.
        PacketsFlushed = "packets_flushed",
        /// Cell changes; for a circuit, losses of the connection.
        CellChanges = "cell_changes",
        /// Longest time between two LLC frames around a cell change, seconds.
        LlcGap = "llc_gap_s",
        /// Octets of radio blocks, both directions, for all purposes.
        RadioOctets = "radio_octets",
        /// Octets of retransmissions, reports, signalling and dummy blocks, which volume charging omits.
        RadioOctetsUnbilled = "radio_octets_unbilled",
        /// Price of the packets that the gateway counts, by the bearer's tariff.
        BillGateway = "bill_gateway",
        /// Price of the packets delivered over the radio, with surcharges.
        BillRadio = "bill_radio",
        /// Surcharges for retransmissions, cell changes and allocations, included in the radio bill.
        BillSurcharges = "bill_surcharges",
        /// Circuit losses by failed handovers.
        DisconnectionsHandover = "disconnections_handover",
        /// Circuit losses on the air interface.
        DisconnectionsAir = "disconnections_air_interface",
        /// Circuit losses by the remote equipment.
        DisconnectionsRemote = "disconnections_remote_equipment",
        /// Voice calls that took the mobile.
        VoiceCalls = "voice_calls",
        /// Restarts of the PCU while the mobile was in use.
        RestartsPcu = "restarts_pcu",
        /// Restarts of the BSC while the mobile was in use.
        RestartsBsc = "restarts_bsc",
        /// Restarts of the SGSN while the mobile was in use.
        RestartsSgsn = "restarts_sgsn",
        /// Time for which these restarts lasted, seconds.
        RestartTime = "restart_s",
        /// Packets lost in elements that restarted.
        PacketsLostInRestarts = "packets_lost_in_restarts",
        /// Entries that the flow opened in firewalls.
        FirewallEntries = "firewall_entries",
        /// Entries of the flow that a packet of their connection found expired.
        FirewallExpired = "firewall_expired",
        /// Packets of the flow that firewalls discarded for lack of an entry.
        FirewallRefused = "firewall_refused",
        /// Of them, segments that a firewall answered by an RST.
        FirewallResets = "firewall_resets",
    }
}

named! {
    /// A statistic over repetitions.
    pub enum Statistic {
        /// Arithmetic mean.
        Mean = "mean",
        /// Standard deviation of the sample.
        Stddev = "stddev",
        /// Median.
        Median = "median" | "p50",
        /// 10th percentile.
        P10 = "p10",
        /// 90th percentile.
        P90 = "p90",
        /// 95th percentile.
        P95 = "p95",
        /// 99th percentile.
        P99 = "p99",
        /// Minimum.
        Min = "min",
        /// Maximum.
        Max = "max",
        /// Number of repetitions with a value.
        N = "n",
    }
}

/// Unit of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// bit/s.
    BitsPerSecond,
    /// Dimensionless, from 0 to 1.
    Ratio,
    /// Count.
    Count,
}

impl Metric {
    /// Unit of the metric.
    pub fn unit(self) -> Unit {
        match self {
            _ if self.name().ends_with("_s") => Unit::Seconds,
            Metric::Throughput | Metric::TransferRate | Metric::MediaRate => Unit::BitsPerSecond,
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
            | Metric::RtcpFractionLost
            | Metric::UnneededRatio
            | Metric::UnitsInTime => Unit::Ratio,
            _ => Unit::Count,
        }
    }

    /// Direction in which the metric improves for users, payers or senders: less or more. `None` if neither
    /// is better.
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
            | Metric::FramesPlayed
            | Metric::MediaRate
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
            | Metric::PlayoutStalls
            | Metric::FramesMissed
            | Metric::BlockErrorRate
            | Metric::PacketsLate
            | Metric::UnneededRatio
            | Metric::RtcpFractionLost
            | Metric::LossRatio => Some(Ordering::Less),
            _ => (self.unit() == Unit::Seconds).then_some(Ordering::Less),
        }
    }
}
