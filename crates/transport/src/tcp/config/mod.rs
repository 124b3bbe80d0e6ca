//! TCP configuration: every option on its own axis.
//!
//! Covers the options that the papers and the RFCs discuss, one word per axis ([`words`]). A profile is a
//! list of options (data in `profiles/`); a scenario changes some of them.

mod cubic;
mod defaults;
mod duplicate_words;
mod ecn;
mod fack;
mod judgement;
mod newreno;
mod opening;
mod options;
mod profile;
mod prr;
mod rack;
mod restoration;
mod segmentation;
mod window_size;
mod windows;
pub mod words;

pub use super::cc::CongestionControl;
pub use super::response::Response;
pub use super::spurious::Spurious;
pub use crate::recovery::config::{
    Adapt, BackoffReset, DuplicateRestart, Estimator, RtoConfig, RtoRestart, RtoSeed, Share, ShareConfig,
    Timing,
};
pub use cubic::CubicConfig;
pub use duplicate_words::*;
pub use ecn::EcnConfig;
pub use fack::FackConfig;
pub use judgement::JudgementConfig;
pub use newreno::NewRenoConfig;
pub use opening::OpeningConfig;
pub use options::{OptionError, OptionKind, OptionSpec};
pub use prr::PrrConfig;
pub use rack::RackConfig;
pub use restoration::RestorationConfig;
pub use segmentation::SegmentationConfig;
pub use window_size::WindowSize;
pub use windows::WindowsConfig;
pub use words::*;

use super::cc::{CongestionAlgorithm, Controller};
use base::Span;

/// Header sizes, bytes on the wire.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HeaderSizes {
    /// IP and TCP headers without options.
    pub header: u32,
    /// The timestamps option with its padding.
    pub timestamps: u32,
    /// Whether pure ACKs (and SYNs) carry the timestamps option.
    pub timestamps_on_acks: bool,
    /// SACK option without blocks, with padding; each block adds 8 bytes.
    pub sack: u32,
    /// Further options of a SYN: MSS, window scale, SACK permitted.
    pub syn: u32,
}

/// Treatment of duplicate ACKs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DuplicatesConfig {
    /// While a fast retransmit is blocked below the recovery point.
    pub blocked: BlockedDuplicates,
    /// In fast recovery.
    pub in_recovery: RecoveryDuplicates,
    /// Between a timeout and the first ACK of new data.
    pub after_timeout: TimeoutDuplicates,
    /// Evidence that a duplicate ACK needs to count.
    pub evidence: Evidence,
    /// Segments that duplicate ACKs may send.
    pub send: DuplicatesSend,
    /// Whether DupThresh adapts after a spurious fast retransmit.
    pub threshold: DuplicateThreshold,
}

/// Receiver options.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReceiverConfig {
    /// Maximum ACK delay; zero: no delayed ACKs.
    pub ack_delay: Span,
    /// Minimum ACK delay where it adapts to the arrival rate; zero: it does not adapt.
    pub ack_delay_min: Span,
    /// Number of segments at the start that are acknowledged at once (quick ACKs).
    pub quick_acks: u32,
    /// Rules for ACK generation.
    pub ack_rules: AckRules,
    /// Growth of the receive window.
    pub growth: WindowGrowth,
    /// Initial receive buffer for a growing window, bytes of memory.
    pub buffer_start: u64,
    /// Maximum receive buffer, bytes of memory.
    pub buffer_most: u64,
    /// Memory per packet, bytes.
    pub buffer_packet: u64,
    /// Whether segments beyond the offered window are accepted.
    pub accept_beyond: bool,
    /// Maximum number of segments per ACK.
    pub ack_every: u32,
    /// Whether the ACK of a one-way SYN is delayed too.
    pub delay_syn_ack: bool,
    /// Whether the ACK of a duplicate of the last in-order segment may be delayed too.
    pub delay_duplicates: bool,
    /// Sends DSACK (RFC 2883).
    pub dsack: bool,
    /// PAWS: discards data with a timestamp older than TS.Recent (RFC 7323 section 5).
    pub paws: bool,
    /// Choice of the echoed timestamp.
    pub echo: Echo,
    /// Maximum SACK blocks per ACK.
    pub sack_blocks: u32,
    /// Offered receive window.
    pub window: WindowSize,
}

/// Send buffer, bytes of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendBuffer {
    /// Overhead of a portion (skb) beside its data.
    pub portion: u64,
    /// Memory per segment in the autotuned size: twice the window, counted in such segments.
    pub segment: u64,
    /// Maximum size.
    pub most: u64,
}

/// Options of the staged Eifel response.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StagedConfig {
    /// Counting of subsequent timeouts.
    pub count: StagedCount,
    /// State restored in the first stage.
    pub first: StagedFirst,
    /// State restored in the second stage.
    pub second: StagedSecond,
    /// State left in the third stage.
    pub third: StagedThird,
}

/// All options of one TCP endpoint.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Largest data segment, bytes.
    pub mss: u32,
    /// MSS announced in the SYN, bytes, options counted; the smaller of both ends' values is used.
    pub announced: Option<u32>,
    /// Path MTU discovery.
    pub path_mtu: PathMtu,
    /// Connection establishment.
    pub opening: OpeningConfig,
    /// Congestion window: initial values, after a loss, after idle time.
    pub windows: WindowsConfig,
    /// Loss recovery strategy.
    pub recovery: Recovery,
    /// Window reduction at the start of recovery.
    pub reduction: Reduction,
    /// Proportional rate reduction.
    pub prr: PrrConfig,
    /// Lifetime of data segments in the network.
    pub lifetime: Lifetime,
    /// NewReno and NewReno-SACK: partial ACKs.
    pub newreno: NewRenoConfig,
    /// RACK and the tail loss probe.
    pub rack: RackConfig,
    /// Selective acknowledgements (RFC 2018).
    pub sack: Sack,
    /// Timestamps option (RFC 7323).
    pub timestamps: bool,
    /// Duplicate-ACK threshold for fast retransmit (DupThresh).
    pub dupthresh: u32,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Fast retransmit below the recovery point after a timeout (RFC 2582 section 5).
    pub bug_fix: BugFix,
    /// Forward acknowledgement.
    pub fack: FackConfig,
    /// Heuristic that allows a fast retransmit below the recovery point.
    pub heuristic: Heuristic,
    /// Treatment of duplicate ACKs.
    pub duplicates: DuplicatesConfig,
    /// Detection of a lost retransmission.
    pub lost_retransmission: LostRetransmission,
    /// Segments resent by a timeout.
    pub timeout_resends: TimeoutResends,
    /// Segments by which the peer's window is exceeded; models a faulty sender.
    pub window_overrun: u32,
    /// Maximum new segments per duplicate ACK during recovery; 0: no limit.
    pub recovery_burst: u32,
    /// Whether the ACK that ends recovery opens the window like any other.
    pub grow_on_exit: bool,
    /// Whether a fast retransmit restarts the retransmission timer.
    pub restart_on_fast_retransmit: bool,
    /// Detector of spurious retransmissions.
    pub spurious: Spurious,
    /// Events that the detector judges.
    pub judgement: JudgementConfig,
    /// Response to a spurious timeout.
    pub response: Response,
    /// Options of single responses.
    pub restoration: RestorationConfig,
    /// Retransmission timer.
    pub rto: RtoConfig,
    /// TCB sharing with later connections to the same destination.
    pub share: ShareConfig,
    /// Base of the reduced ssthresh.
    pub halving: Halving,
    /// Congestion control.
    pub cc: CongestionControl,
    /// Slow start variant.
    pub slow_start: SlowStart,
    /// Reno: unit of counting.
    pub reno_count: RenoCount,
    /// CUBIC.
    pub cubic: CubicConfig,
    /// Pacing.
    pub pacing: Pacing,
    /// Flight size after a timeout.
    pub flight: Flight,
    /// ssthresh at a repeated timeout.
    pub repeated_timeout: RepeatedTimeout,
    /// Byte counting in slow start (RFC 3465).
    pub byte_counting: ByteCounting,
    /// Segmentation: flag PSH, deferral, FIN, send buffer.
    pub segmentation: SegmentationConfig,
    /// Whether DSACK blocks count as delivered data.
    pub dsack_delivers: bool,
    /// R2: time from the first timeout of the same data to the abort; zero: never.
    pub give_up: Span,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: EcnConfig,
    /// Window scale option (RFC 7323).
    pub window_scale: bool,
    /// Receiver options.
    pub receiver: ReceiverConfig,
    /// Header sizes on the wire.
    pub wire: HeaderSizes,
}

impl Config {
    /// Whether SACK is sent and processed.
    pub fn uses_sack(&self) -> bool {
        match self.sack {
            Sack::On => true,
            Sack::Off => false,
            // DSACK needs SACK blocks.
            Sack::Auto => self.recovery_wants_sack() || self.spurious == Spurious::Dsack,
        }
    }
    /// Whether window scaling is in use. The one-way model has no wire format.
    pub fn scales_windows(&self) -> bool {
        self.window_scale || self.opening.handshake == Handshake::OneWay
    }
    /// Whether an option needs the record of transmissions (`recovery::sent`).
    pub fn keeps_record(&self) -> bool {
        self.recovery.keeps_record() && self.uses_sack()
            || Controller::new(self).wants_rates()
            || self.rto.restart != RtoRestart::Ack
            || self.heuristic == Heuristic::Timestamp
    }
    /// Whether the chosen recovery needs SACK.
    pub fn recovery_wants_sack(&self) -> bool {
        self.recovery.needs_sack()
    }
}
