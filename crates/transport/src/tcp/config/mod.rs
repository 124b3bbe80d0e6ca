//! Which choices does a TCP offer? Every one that the papers and the RFCs discuss, each one word on
//! its own axis ([`words`]). A profile is a list of such choices (data in `profiles/`), a scenario changes some.

mod options;
mod profile;
mod window_size;
pub mod words;

pub use options::{Kind, OptionSpec};
pub use window_size::WindowSize;
pub use words::*;

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
}

/// The retransmission timer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RtoConfig {
    /// Least value.
    pub min: Span,
    /// Greatest value, back-off included.
    pub max: Span,
    /// Before the first sample.
    pub initial: Span,
    /// Clock granularity.
    pub tick: Span,
    /// K in SRTT + K RTTVAR.
    pub k: u32,
    /// How it is computed.
    pub estimator: Estimator,
    /// Whether the least value bounds the timeout before the back-off multiplies it (RFC 6298).
    pub clamp_before_backoff: bool,
    /// What ends the back-off.
    pub backoff_reset: BackoffReset,
    /// Adaptation after a spurious timeout.
    pub adapt: Adapt,
    /// Whether partial acknowledgements in recovery give samples.
    pub sample_partial_acks: bool,
    /// Which segments are timed without timestamps.
    pub timing: Timing,
}

/// The receiving side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReceiverConfig {
    /// Longest delay of an acknowledgement; zero: none is delayed.
    pub ack_delay: Span,
    /// How many segments one acknowledgement may cover.
    pub ack_every: u32,
    /// Whether the acknowledgement of a one-way SYN is delayed too.
    pub delay_syn_ack: bool,
    /// Whether a repeat of the very last in-order segment may wait for its acknowledgement too.
    pub delay_duplicates: bool,
    /// Report duplicate segments (RFC 2883).
    pub dsack: bool,
    /// Which timestamp is echoed.
    pub echo: Echo,
    /// Most SACK blocks in one acknowledgement.
    pub sack_blocks: u32,
    /// Receive window offered.
    pub window: WindowSize,
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
    /// How the connection opens.
    pub handshake: Handshake,
    /// First congestion window.
    pub initial_window: WindowSize,
    /// First slow-start threshold.
    pub initial_ssthresh: WindowSize,
    /// Loss recovery.
    pub recovery: Recovery,
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
    /// Whether duplicates inflate the window even while a fast retransmit is blocked.
    pub inflate_always: bool,
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
    /// What follows.
    pub response: Response,
    /// The staged response's readings.
    pub staged: StagedConfig,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// Where ssthresh comes from.
    pub halving: Halving,
    /// ssthresh at a repeated timeout.
    pub repeated_timeout: RepeatedTimeout,
    /// Slow-start growth.
    pub byte_counting: ByteCounting,
    /// Do not open a window that is not used (RFC 7661, RFC 2861).
    pub cwnd_validation: bool,
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
            Sack::Auto => self.recovery_wants_sack(),
        }
    }
    /// Whether the chosen recovery needs selective acknowledgements.
    pub fn recovery_wants_sack(&self) -> bool {
        matches!(self.recovery, Recovery::Sack | Recovery::Rfc6675)
    }
}

impl Default for Config {
    /// A conformant sender of today: RFC 5681, 6298, 6582, 6675, 6928, 7323.
    fn default() -> Self {
        Config {
            mss: 1460,
            handshake: Handshake::TwoWay,
            initial_window: WindowSize::Rfc6928,
            initial_ssthresh: WindowSize::Unlimited,
            recovery: Recovery::Rfc6675,
            sack: Sack::Auto,
            timestamps: true,
            dupthresh: 3,
            limited_transmit: true,
            bug_fix: BugFix::Careful,
            inflate_always: false,
            partial_deflation: true,
            partial_timer: PartialTimer::Impatient,
            recovery_burst: 0,
            grow_on_exit: false,
            restart_on_fast_retransmit: true,
            spurious: Spurious::None,
            judge_in_recovery: false,
            response: Response::Rfc4015,
            staged: StagedConfig {
                count: StagedCount::Expirations,
                first: StagedFirst::Saved,
                second: StagedSecond::Half,
                third: StagedThird::SlowStart,
            },
            rto: RtoConfig {
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
                timing: Timing::Window,
            },
            halving: Halving::Flight,
            repeated_timeout: RepeatedTimeout::Hold,
            byte_counting: ByteCounting::None,
            cwnd_validation: false,
            receiver: ReceiverConfig {
                ack_delay: Span::from_millis(200),
                ack_every: 2,
                delay_syn_ack: false,
                delay_duplicates: false,
                dsack: true,
                echo: Echo::Rfc7323,
                sack_blocks: 4,
                window: WindowSize::Bytes(65_535),
            },
            wire: Wire { header: 40, timestamps: 12, timestamps_on_acks: true, sack: 4 },
        }
    }
}
