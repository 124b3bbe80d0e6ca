//! TCP configuration: every option on its own axis.
//!
//! Every one that the papers and the RFCs discuss, each one word on its own axis ([`words`]). A profile is a list of
//! such choices (data in `profiles/`), a scenario changes some.

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
pub use options::{Kind, OptionSpec};
pub use window_size::WindowSize;
pub use words::*;

use super::cc::{Control, Controller};
use base::Span;

/// Bytes on the wire beside the data.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wire {
    /// IP and TCP headers without options.
    pub header: u32,
    /// The timestamps option with its padding.
    pub timestamps: u32,
    /// Whether pure acknowledgements (and SYNs) carry the timestamps option's bytes.
    pub timestamps_on_acks: bool,
    /// The SACK option's head with padding; each block adds 8.
    pub sack: u32,
    /// What a SYN carries beside: options for the segment size, the scale of windows, the use of SACK.
    pub syn: u32,
}

/// How a series of duplicate acknowledgements is treated.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DuplicatesConfig {
    /// While a fast retransmit is blocked.
    pub blocked: BlockedDuplicates,
    /// In fast recovery.
    pub in_recovery: RecoveryDuplicates,
    /// Between a timeout and the first new acknowledgement.
    pub after_timeout: TimeoutDuplicates,
    /// Which of them count.
    pub evidence: Evidence,
    /// What they may let out.
    pub send: DuplicatesSend,
    /// Whether it takes more of them where they were wrong.
    pub threshold: DuplicateThreshold,
}

/// The receiving side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReceiverConfig {
    /// Longest delay of an acknowledgement; zero: none is delayed.
    pub ack_delay: Span,
    /// Shortest such delay, for one that adapts to how fast data come; zero: it does not adapt.
    pub ack_delay_min: Span,
    /// So many segments at the start are acknowledged at once.
    pub quick_acks: u32,
    /// When it acknowledges.
    pub ack_rules: AckRules,
    /// How the window grows.
    pub growth: WindowGrowth,
    /// The buffer of a window that grows, bytes of memory: at the start, and at most.
    pub buffer_start: u64,
    /// At most.
    pub buffer_most: u64,
    /// What a packet occupies of it, bytes.
    pub buffer_packet: u64,
    /// Whether segments beyond the window offered are taken in.
    pub accept_beyond: bool,
    /// How many segments one acknowledgement may cover.
    pub ack_every: u32,
    /// Whether the acknowledgement of a one-way SYN is delayed too.
    pub delay_syn_ack: bool,
    /// Whether a repeat of the very last in-order segment may wait for its acknowledgement too.
    pub delay_duplicates: bool,
    /// Report duplicate segments (RFC 2883).
    pub dsack: bool,
    /// Data with a timestamp older than the one to echo are discarded (RFC 7323 section 5).
    pub paws: bool,
    /// Which timestamp is echoed.
    pub echo: Echo,
    /// Most SACK blocks in one acknowledgement.
    pub sack_blocks: u32,
    /// Receive window offered.
    pub window: WindowSize,
}

/// The memory of a sender, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendBuffer {
    /// What a portion takes beside its data.
    pub portion: u64,
    /// What the buffer has room for is twice the window, a segment taken for so much.
    pub segment: u64,
    /// At most so much.
    pub most: u64,
}

/// The staged Eifel response.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StagedConfig {
    /// How subsequent timeouts are counted.
    pub count: StagedCount,
    /// What the first stage restores.
    pub first: StagedFirst,
    /// What the second stage restores.
    pub second: StagedSecond,
    /// What the third stage leaves.
    pub third: StagedThird,
}

/// Every choice of one TCP.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Largest data segment, bytes.
    pub mss: u32,
    /// The segment size that its SYN tells, bytes, options counted, where the peer's smaller one holds.
    pub announced: Option<u32>,
    /// How the largest packet of the path is learned.
    pub path_mtu: PathMtu,
    /// How the connection opens.
    pub handshake: Handshake,
    /// How the opening end acknowledges the peer's SYN.
    pub handshake_ack: HandshakeAck,
    /// First congestion window.
    pub initial_window: WindowSize,
    /// First slow-start threshold.
    pub initial_ssthresh: WindowSize,
    /// Loss recovery.
    pub recovery: Recovery,
    /// How the window comes down when recovery begins.
    pub reduction: Reduction,
    /// PRR: how fast the pipe is refilled below the target.
    pub prr_bound: PrrBound,
    /// PRR: in what it counts.
    pub prr_unit: PrrUnit,
    /// Lifetime of data segments in the network.
    pub lifetime: Lifetime,
    /// NewReno-SACK: when every partial acknowledgement resends.
    pub partial_resend: PartialResend,
    /// RACK: probe the tail of a flight.
    pub tail_loss_probe: bool,
    /// RACK: what reordering is.
    pub rack_order: RackOrder,
    /// RACK: whose arrival the arrival of something resent is.
    pub rack_copy: RackCopy,
    /// RACK: resending the oldest segment restarts the retransmission timer.
    pub rack_restart: bool,
    /// A duplicate that is reported widens the wait for reordering only where reordering was seen.
    pub rack_widen_reordered: bool,
    /// A recovery begins where one ends while something that was resent is not acknowledged.
    pub rack_again: bool,
    /// How long the probe waits at most.
    pub probe_until: ProbeUntil,
    /// What the probe of a single segment allows for a delayed acknowledgement.
    pub probe_ack_delay: Span,
    /// Selective acknowledgements.
    pub sack: Sack,
    /// Timestamps option.
    pub timestamps: bool,
    /// Duplicate acknowledgements that convince.
    pub dupthresh: u32,
    /// New segments on the first duplicates (RFC 3042).
    pub limited_transmit: bool,
    /// Fast retransmit after a timeout.
    pub bug_fix: BugFix,
    /// FACK lets its window down over a round trip.
    pub fack_rampdown: bool,
    /// FACK takes three quarters of it at a loss in slow start.
    pub fack_overdamping: bool,
    /// FACK counts duplicates as SACK does once reordering was seen.
    pub fack_until_reordering: bool,
    /// What may allow a fast retransmit all the same.
    pub heuristic: Heuristic,
    /// How duplicates are treated.
    pub duplicates: DuplicatesConfig,
    /// How a lost retransmission is noticed.
    pub lost_retransmission: LostRetransmission,
    /// NewReno: what a partial acknowledgement resends.
    pub partial_resends: PartialResends,
    /// NewReno: whether a partial acknowledgement lets out new segments too.
    pub partial_new_data: bool,
    /// What a timeout resends at once.
    pub timeout_resends: TimeoutResends,
    /// Segments by which the peer's window is exceeded: a fault.
    pub window_overrun: u32,
    /// NewReno: take from the window what a partial acknowledgement acknowledges.
    pub partial_deflation: bool,
    /// NewReno: which partial acknowledgements restart the timer.
    pub partial_timer: PartialTimer,
    /// Most new segments one duplicate acknowledgement lets out during recovery; 0: no limit.
    pub recovery_burst: u32,
    /// Whether the acknowledgement that ends recovery opens the window as any other.
    pub grow_on_exit: bool,
    /// Whether a fast retransmit restarts the timer.
    pub restart_on_fast_retransmit: bool,
    /// Who judges timeouts.
    pub spurious: Spurious,
    /// Whether timeouts inside loss recovery are judged too.
    pub judge_in_recovery: bool,
    /// Whether a later expiration is judged although the first of the row, inside recovery, was not.
    pub judge_later_expirations: bool,
    /// Whether fast retransmits are judged too.
    pub judge_fast_retransmits: bool,
    /// Whether Eifel calls a timeout spurious even if all acknowledgements seem to be lost.
    pub judge_lost_acks: bool,
    /// What follows.
    pub response: Response,
    /// When RFC 4015 adapts the timer.
    pub rfc4015_timer: Rfc4015Timer,
    /// Whether restore-4 restores the threshold too as long as no loss was detected.
    pub threshold_before_loss: bool,
    /// The staged response's readings.
    pub staged: StagedConfig,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// What is shared with the next connections to the same destination.
    pub share: ShareConfig,
    /// Where ssthresh comes from.
    pub halving: Halving,
    /// The window after a timeout (LW of RFC 5681).
    pub loss_window: WindowSize,
    /// Congestion control.
    pub cc: CongestionControl,
    /// When slow start ends.
    pub slow_start: SlowStart,
    /// Reno: how it counts.
    pub reno_count: RenoCount,
    /// CUBIC: whose curve.
    pub cubic_curve: CubicCurve,
    /// CUBIC: a loss below the last maximum lowers it further.
    pub cubic_fast_convergence: bool,
    /// Segments spread over the round trip.
    pub pacing: Pacing,
    /// What counts as outstanding after a timeout.
    pub flight: Flight,
    /// ssthresh at a repeated timeout.
    pub repeated_timeout: RepeatedTimeout,
    /// Slow-start growth.
    pub byte_counting: ByteCounting,
    /// Which data segments carry the flag PSH.
    pub push: Push,
    /// What is less than a group waits for an acknowledgement that is due.
    pub defer: bool,
    /// What the receiver reports as a duplicate counts as delivered.
    pub dsack_delivers: bool,
    /// The FIN goes with the last data.
    pub fin_with_data: bool,
    /// With `defer`: the memory in which data wait to be sent.
    pub send_buffer: SendBuffer,
    /// Do not open a window that is not used (RFC 7661, RFC 2861).
    pub cwnd_validation: Validation,
    /// The window after a pause.
    pub idle_restart: IdleRestart,
    /// The first window after a SYN that was sent again.
    pub lost_syn: LostSyn,
    /// How long after the first timeout of the same data the connection is given up; zero: never.
    pub give_up: Span,
    /// The same for the SYN.
    pub give_up_syn: Span,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// A SYN that gets no answer is repeated without the offer.
    pub ecn_fallback: bool,
    /// What a mark takes from the window.
    pub ecn_backoff: EcnBackoff,
    /// A mark at a window of one segment silences the sender until its timer expires.
    pub ecn_hold: bool,
    /// Windows above 65535 bytes (RFC 7323).
    pub window_scale: bool,
    /// The receiving side.
    pub receiver: ReceiverConfig,
    /// Bytes on the wire.
    pub wire: Wire,
}

impl Config {
    /// Whether selective acknowledgements are sent and read.
    pub fn uses_sack(&self) -> bool {
        match self.sack {
            Sack::On => true,
            Sack::Off => false,
            // Reports of duplicates are SACK blocks.
            Sack::Auto => self.recovery_wants_sack() || self.spurious == Spurious::Dsack,
        }
    }
    /// Whether windows above 65535 bytes can be offered and understood. The one-way model has no wire.
    pub fn scales_windows(&self) -> bool {
        self.window_scale || self.handshake == Handshake::OneWay
    }
    /// Whether somebody needs to know what was sent when (`recovery::sent`).
    pub fn keeps_record(&self) -> bool {
        self.recovery.keeps_record() && self.uses_sack()
            || Controller::new(self).wants_rates()
            || self.rto.restart != RtoRestart::Ack
            || self.heuristic == Heuristic::Timestamp
    }
    /// Whether the chosen recovery needs selective acknowledgements.
    pub fn recovery_wants_sack(&self) -> bool {
        self.recovery.needs_sack()
    }
}
