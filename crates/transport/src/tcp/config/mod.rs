//! TCP configuration: every option on its own axis.
//!
//! Covers the options that the papers and the RFCs discuss, one word per axis ([`words`]). A profile is a
//! list of options (data in `profiles/`); a scenario changes some of them.

mod defaults;
mod duplicate_words;
mod options;
mod profile;
mod window_size;
pub mod words;

pub use super::cc::CongestionControl;
pub use super::response::Response;
pub use super::spurious::Spurious;
pub use crate::recovery::config::{
    Adapt, BackoffReset, DuplicateRestart, Estimator, RtoConfig, RtoRestart, RtoSeed, Share, ShareConfig,
    Timing,
};
pub use duplicate_words::*;
pub use options::{OptionError, OptionKind, OptionSpec};
pub use window_size::WindowSize;
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
    /// Connection opening.
    pub handshake: Handshake,
    /// How the active end acknowledges the peer's SYN.
    pub handshake_ack: HandshakeAck,
    /// Initial congestion window.
    pub initial_window: WindowSize,
    /// Initial slow-start threshold.
    pub initial_ssthresh: WindowSize,
    /// Loss recovery strategy.
    pub recovery: Recovery,
    /// Window reduction at the start of recovery.
    pub reduction: Reduction,
    /// PRR: bound on sending below the target.
    pub prr_bound: PrrBound,
    /// PRR: unit of counting.
    pub prr_unit: PrrUnit,
    /// Lifetime of data segments in the network.
    pub lifetime: Lifetime,
    /// NewReno-SACK: condition for a retransmission on every partial ACK.
    pub partial_resend: PartialResend,
    /// RACK: tail loss probe.
    pub tail_loss_probe: bool,
    /// RACK: definition of reordering.
    pub rack_order: RackOrder,
    /// RACK: which transmission the ACK of a retransmitted segment is attributed to.
    pub rack_copy: RackCopy,
    /// RACK: retransmission of the oldest segment restarts the retransmission timer.
    pub rack_restart: bool,
    /// RACK: a DSACK widens the reordering window only after reordering was seen.
    pub rack_widen_reordered: bool,
    /// RACK: a new recovery starts where one ends while a retransmission is unacknowledged.
    pub rack_again: bool,
    /// Upper bound of the probe timeout.
    pub probe_until: ProbeUntil,
    /// Allowance for the peer's delayed ACK in the probe timeout of a single segment.
    pub probe_ack_delay: Span,
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
    /// FACK: reduces the window over one RTT (rampdown).
    pub fack_rampdown: bool,
    /// FACK: reduces by three quarters after a loss in slow start (overdamping).
    pub fack_overdamping: bool,
    /// FACK: counts duplicate ACKs as SACK does once reordering was seen.
    pub fack_until_reordering: bool,
    /// Heuristic that allows a fast retransmit below the recovery point.
    pub heuristic: Heuristic,
    /// Treatment of duplicate ACKs.
    pub duplicates: DuplicatesConfig,
    /// Detection of a lost retransmission.
    pub lost_retransmission: LostRetransmission,
    /// NewReno: retransmissions on a partial ACK.
    pub partial_resends: PartialResends,
    /// NewReno: whether a partial ACK sends new segments too.
    pub partial_new_data: bool,
    /// Segments resent by a timeout.
    pub timeout_resends: TimeoutResends,
    /// Segments by which the peer's window is exceeded; models a faulty sender.
    pub window_overrun: u32,
    /// NewReno: partial window deflation.
    pub partial_deflation: bool,
    /// NewReno: partial ACKs that restart the retransmission timer.
    pub partial_timer: PartialTimer,
    /// Maximum new segments per duplicate ACK during recovery; 0: no limit.
    pub recovery_burst: u32,
    /// Whether the ACK that ends recovery opens the window like any other.
    pub grow_on_exit: bool,
    /// Whether a fast retransmit restarts the retransmission timer.
    pub restart_on_fast_retransmit: bool,
    /// Detector of spurious retransmissions.
    pub spurious: Spurious,
    /// Whether timeouts inside loss recovery are judged too.
    pub judge_in_recovery: bool,
    /// Whether a repeated timeout is judged although the first of the series, inside recovery, was not.
    pub judge_later_expirations: bool,
    /// Whether fast retransmits are judged too.
    pub judge_fast_retransmits: bool,
    /// Whether Eifel judges a timeout spurious even if all ACKs seem to be lost.
    pub judge_lost_acks: bool,
    /// Response to a spurious timeout.
    pub response: Response,
    /// Condition under which RFC 4015 adapts the retransmission timer.
    pub rfc4015_timer: Rfc4015Timer,
    /// Whether restore-4 also restores ssthresh as long as no loss was detected.
    pub threshold_before_loss: bool,
    /// Options of the staged response.
    pub staged: StagedConfig,
    /// Retransmission timer.
    pub rto: RtoConfig,
    /// TCB sharing with later connections to the same destination.
    pub share: ShareConfig,
    /// Base of the reduced ssthresh.
    pub halving: Halving,
    /// Loss window (LW of RFC 5681).
    pub loss_window: WindowSize,
    /// Congestion control.
    pub cc: CongestionControl,
    /// Slow start variant.
    pub slow_start: SlowStart,
    /// Reno: unit of counting.
    pub reno_count: RenoCount,
    /// CUBIC: variant of the curve.
    pub cubic_curve: CubicCurve,
    /// CUBIC: fast convergence.
    pub cubic_fast_convergence: bool,
    /// Pacing.
    pub pacing: Pacing,
    /// Flight size after a timeout.
    pub flight: Flight,
    /// ssthresh at a repeated timeout.
    pub repeated_timeout: RepeatedTimeout,
    /// Byte counting in slow start (RFC 3465).
    pub byte_counting: ByteCounting,
    /// Which data segments carry the flag PSH.
    pub push: Push,
    /// Deferral of a group smaller than the TSO size goal (`tcp_tso_should_defer`).
    pub defer: bool,
    /// Whether DSACK blocks count as delivered data.
    pub dsack_delivers: bool,
    /// Whether the FIN is sent with the last data.
    pub fin_with_data: bool,
    /// With `defer`: send buffer of Linux.
    pub send_buffer: SendBuffer,
    /// Congestion window validation (RFC 7661, RFC 2861).
    pub cwnd_validation: Validation,
    /// Window after an idle period.
    pub idle_restart: IdleRestart,
    /// Initial window after a retransmitted SYN.
    pub lost_syn: LostSyn,
    /// R2: time from the first timeout of the same data to the abort; zero: never.
    pub give_up: Span,
    /// R2 for the SYN.
    pub give_up_syn: Span,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Retransmits an unanswered SYN without the ECN offer.
    pub ecn_fallback: bool,
    /// Window reduction at an ECN mark.
    pub ecn_backoff: EcnBackoff,
    /// At a window of one segment, a mark stops sending until the retransmission timer expires.
    pub ecn_hold: bool,
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
        self.window_scale || self.handshake == Handshake::OneWay
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
