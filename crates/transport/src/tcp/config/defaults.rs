//! Default TCP configuration (`Config::default`): a conformant sender and receiver of today.
//!
//! RFC 5681, 6298, 6582, 6675, 6928 and 7323. Profiles and scenarios change single options of it.

use super::*;

impl Default for Config {
    /// A conformant sender of today: RFC 5681, 6298, 6582, 6675, 6928, 7323.
    fn default() -> Self {
        Config {
            mss: 1460,
            announced: None,
            path_mtu: PathMtu::Icmp,
            opening: OpeningConfig::default(),
            windows: WindowsConfig::default(),
            recovery: Recovery::Rfc6675,
            reduction: Reduction::Halving,
            prr: PrrConfig::default(),
            lifetime: Lifetime::Always,
            newreno: NewRenoConfig::default(),
            rack: RackConfig::default(),
            sack: Sack::Auto,
            timestamps: true,
            dupthresh: 3,
            limited_transmit: true,
            bug_fix: BugFix::Careful,
            fack: FackConfig::default(),
            heuristic: Heuristic::None,
            duplicates: DuplicatesConfig::default(),
            lost_retransmission: LostRetransmission::Timeout,
            timeout_resends: TimeoutResends::Oldest,
            window_overrun: 0,
            recovery_burst: 0,
            grow_on_exit: false,
            restart_on_fast_retransmit: true,
            spurious: Spurious::None,
            judgement: JudgementConfig::default(),
            response: Response::Rfc4015,
            restoration: RestorationConfig::default(),
            rto: rto(),
            share: share(),
            halving: Halving::Flight,
            cc: CongestionControl::Reno,
            slow_start: SlowStart::Standard,
            reno_count: RenoCount::Fractions,
            cubic: CubicConfig::default(),
            pacing: Pacing::Auto,
            flight: Flight::Bsd,
            repeated_timeout: RepeatedTimeout::Hold,
            byte_counting: ByteCounting::None,
            segmentation: SegmentationConfig::default(),
            dsack_delivers: false,
            give_up: Span::default(),
            ecn: EcnConfig::default(),
            window_scale: true,
            receiver: ReceiverConfig::default(),
            wire: HeaderSizes { header: 40, timestamps: 12, timestamps_on_acks: true, sack: 4, syn: 0 },
        }
    }
}

impl Default for DuplicatesConfig {
    /// Every duplicate ACK counts towards a fixed threshold and inflates the window in fast recovery.
    fn default() -> Self {
        DuplicatesConfig {
            blocked: BlockedDuplicates::Ignore,
            in_recovery: RecoveryDuplicates::Inflate,
            after_timeout: TimeoutDuplicates::Count,
            evidence: Evidence::Any,
            send: DuplicatesSend::Any,
            threshold: DuplicateThreshold::Fixed,
        }
    }
}

impl Default for StagedConfig {
    /// The published stages: saved window, half of it, slow start.
    fn default() -> Self {
        StagedConfig {
            count: StagedCount::Expirations,
            first: StagedFirst::Saved,
            second: StagedSecond::Half,
            third: StagedThird::SlowStart,
        }
    }
}

impl Default for ReceiverConfig {
    /// RFC 5681 acknowledgements of every second segment, timestamps, SACK and DSACK; a fixed window.
    fn default() -> Self {
        ReceiverConfig {
            ack_delay: Span::from_millis(200),
            ack_delay_min: Span::ZERO,
            quick_acks: 0,
            ack_rules: AckRules::Rfc5681,
            growth: WindowGrowth::None,
            buffer_start: 131_072,
            buffer_most: 6_291_456,
            buffer_packet: 2304,
            accept_beyond: false,
            ack_every: 2,
            delay_syn_ack: false,
            delay_duplicates: false,
            dsack: true,
            paws: true,
            echo: Echo::Rfc7323,
            sack_blocks: 4,
            window: WindowSize::Bytes(65_535),
        }
    }
}

/// Retransmission timer of RFC 6298, without wheel or adaptation.
fn rto() -> RtoConfig {
    RtoConfig {
        min: Span::from_secs(1),
        max: Span::from_secs(60),
        initial: Span::from_secs(1),
        tick: Span::from_millis(1),
        k: 4,
        estimator: Estimator::Rfc6298,
        clamp_before_backoff: true,
        backoff_reset: BackoffReset::Sample,
        adapt: Adapt::None,
        sample_partial_acks: true,
        sample_reports: false,
        timing: Timing::Window,
        restart: RtoRestart::Ack,
        restart_on_duplicates: DuplicateRestart::None,
        seed: RtoSeed::Syn,
        wheel: false,
        percent: 100,
    }
}

/// No TCB sharing; where a scenario turns it on, values live for an hour.
fn share() -> ShareConfig {
    ShareConfig {
        rtt: Share::Off,
        min_rtt: false,
        ssthresh: Share::Off,
        cwnd: false,
        rto: false,
        age: Span::from_secs(3600),
    }
}
