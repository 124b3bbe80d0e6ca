//! Option table of `transport.tcp`.
//!
//! Each entry gives key, field, value type and one sentence; readers, schemas, help and documentation are
//! generated from it.

use super::Config;
use super::CongestionControl;
use super::duplicate_words::*;
use super::words::*;
use super::{Response, Spurious};
use crate::recovery::config::*;
use base::Span;
use base::units::{parse_bytes, parse_span};

/// Value type of an option, for readers, schemas and help.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionKind {
    /// `true` or `false`.
    Bool,
    /// Whole number.
    Count,
    /// Time with a unit.
    Span,
    /// Bytes with a unit.
    Bytes,
    /// A window: "20 segments", "64 kB", "rfc3390", "rfc6928", "peer" or "unlimited".
    Window,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// Why an option of TCP cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// There is no option with this key.
    #[error("`{0}` is not an option of tcp")]
    Unknown(String),
    /// The text is not a value of the option; the sentence is for the user.
    #[error("{0}")]
    Value(String),
}

impl From<OptionError> for String {
    fn from(error: OptionError) -> String {
        error.to_string()
    }
}

/// One option: its key as written under `transport.tcp`, its value type, one sentence.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// The key; a dot is a nested table (`rto.min`).
    pub key: &'static str,
    /// Value type.
    pub kind: OptionKind,
    /// Documentation sentence.
    pub doc: &'static str,
}

/// Types that an option can have.
pub(super) trait OptionValue: Sized {
    fn read(text: &str) -> Result<Self, String>;
}
impl OptionValue for bool {
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(format!("`{text}` is neither true nor false")),
        }
    }
}
impl OptionValue for Span {
    fn read(text: &str) -> Result<Self, String> {
        Ok(parse_span(text)?)
    }
}
/// Counts within bounds that keep the arithmetic sound.
fn count(text: &str, least: u32, most: u32) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(n) if (least..=most).contains(&n) => Ok(n),
        _ => Err(format!("`{text}` must be a whole number from {least} to {most}")),
    }
}

fn bytes_within(text: &str, least: u32, most: u32) -> Result<u32, String> {
    let n = match text.parse::<u64>() {
        Ok(n) => n, // a bare number of bytes, as in dialogues
        Err(_) => parse_bytes(text)?,
    };
    match u32::try_from(n) {
        Ok(n) if (least..=most).contains(&n) => Ok(n),
        _ => Err(format!("`{text}` must be from {least} to {most} bytes")),
    }
}

macro_rules! word_settings {
    ($($name:ident),+) => { $(
        impl OptionValue for $name {
            fn read(text: &str) -> Result<Self, String> {
                $name::from_name(text).ok_or_else(|| {
                    format!("`{text}` is not one of {}", $name::NAMES.join(", "))
                })
            }
        }
    )+ };
}
word_settings!(
    Recovery,
    Reduction,
    PrrBound,
    PrrUnit,
    Lifetime,
    ProbeUntil,
    RackCopy,
    RackOrder,
    PartialResend,
    Spurious,
    Response,
    StagedCount,
    StagedFirst,
    StagedSecond,
    StagedThird,
    Adapt,
    Rfc4015Timer,
    Handshake,
    HandshakeAck,
    AckRules,
    WindowGrowth,
    Sack,
    BugFix,
    PartialTimer,
    Estimator,
    BackoffReset,
    Halving,
    Heuristic,
    Share,
    RepeatedTimeout,
    Flight,
    ByteCounting,
    Timing,
    Echo,
    Validation,
    SlowStart,
    IdleRestart,
    LostSyn,
    RtoRestart,
    DuplicateRestart,
    RtoSeed,
    EcnBackoff,
    BlockedDuplicates,
    RecoveryDuplicates,
    TimeoutDuplicates,
    Evidence,
    DuplicatesSend,
    DuplicateThreshold,
    LostRetransmission,
    PartialResends,
    TimeoutResends,
    CongestionControl,
    CubicCurve,
    RenoCount,
    PathMtu,
    Push,
    Pacing
);

macro_rules! options {
    ($($key:literal => $($field:ident).+, $kind:expr, $read:expr, $doc:literal;)+) => {
        impl Config {
            /// Every option, in the order of the documentation.
            pub const OPTIONS: &'static [OptionSpec] =
                &[$(OptionSpec { key: $key, kind: $kind, doc: $doc }),+];

            /// Sets one option from its text.
            ///
            /// # Errors
            /// An unknown key, or a text that is no value of the option.
            pub fn set(&mut self, key: &str, text: &str) -> Result<(), OptionError> {
                match key {
                    $($key => { self.$($field).+ = $read(text).map_err(OptionError::Value)?; Ok(()) })+
                    _ => Err(OptionError::Unknown(key.to_owned())),
                }
            }
        }
    };
}

options! {
    "path-mtu" => path_mtu, OptionKind::Word(PathMtu::NAMES), OptionValue::read, "Path MTU discovery; with \"off\" routers fragment its packets (RFC 1191, RFC 4821).";
    "mss" => mss, OptionKind::Bytes, |t| bytes_within(t, 64, 65_000), "Largest data segment.";
    "handshake" => opening.handshake, OptionKind::Word(Handshake::NAMES), OptionValue::read, "How the connection opens: two-way, or the one-way model of the simulators.";
    "handshake-ack" => opening.ack, OptionKind::Word(HandshakeAck::NAMES), OptionValue::read, "How the opening end acknowledges the peer's SYN: with its first data, or by a segment of its own before them.";
    "initial-window" => windows.initial, OptionKind::Window, OptionValue::read, "First congestion window.";
    "initial-ssthresh" => windows.initial_ssthresh, OptionKind::Window, OptionValue::read, "First slow-start threshold.";
    "window" => receiver.window, OptionKind::Window, OptionValue::read, "Receive window advertised; with window-growth its maximum, whatever the size of the buffer.";
    "window-growth" => receiver.growth, OptionKind::Word(WindowGrowth::NAMES), OptionValue::read, "Growth of the receive window: at its full size from the start, or grown as in Linux up to `window`.";
    "receive-buffer.start" => receiver.buffer_start, OptionKind::Bytes, |t| bytes_within(t, 2048, 1 << 30).map(u64::from), "With window-growth: the buffer at the start, memory and not data (Linux: tcp_rmem, the second number).";
    "receive-buffer.most" => receiver.buffer_most, OptionKind::Bytes, |t| bytes_within(t, 2048, 1 << 30).map(u64::from), "Maximum of the receive buffer (tcp_rmem, the third number).";
    "receive-buffer.packet" => receiver.buffer_packet, OptionKind::Bytes, |t| bytes_within(t, 256, 65_536).map(u64::from), "Memory of each packet in the receive buffer, whatever its size; it depends on the network card.";
    "recovery" => recovery, OptionKind::Word(Recovery::NAMES), OptionValue::read, "Loss recovery.";
    "reduction" => reduction, OptionKind::Word(Reduction::NAMES), OptionValue::read, "How the window is reduced when recovery begins.";
    "prr.bound" => prr.bound, OptionKind::Word(PrrBound::NAMES), OptionValue::read, "How fast proportional rate reduction refills the pipe below its target.";
    "prr.unit" => prr.unit, OptionKind::Word(PrrUnit::NAMES), OptionValue::read, "Unit of proportional rate reduction: bytes, or whole segments.";
    "lifetime" => lifetime, OptionKind::Word(Lifetime::NAMES), OptionValue::read, "Lifetime of data segments in the network: unlimited, or until the timeout, as deadlines for routers with queue = deadline.";
    "newreno-sack.resend" => newreno.sack_resend, OptionKind::Word(PartialResend::NAMES), OptionValue::read, "When newreno-sack retransmits on every partial acknowledgement.";
    "fack.rampdown" => fack.rampdown, OptionKind::Bool, OptionValue::read, "With fack and fack-ns2: the window is reduced over a round trip, not at once (Mathis and Mahdavi 1996).";
    "fack.overdamping" => fack.overdamping, OptionKind::Bool, OptionValue::read, "With fack and fack-ns2: a loss in slow start reduces the window by three quarters, because it has doubled since the lost segment was sent.";
    "fack.until-reordering" => fack.until_reordering, OptionKind::Bool, OptionValue::read, "With fack: after the first reordering, a segment counts as lost only below `dupthresh` SACKed segments, as in RFC 6675 (Linux 2.4: tcp_update_reordering).";
    "tail-loss-probe" => rack.tail_loss_probe, OptionKind::Bool, OptionValue::read, "With rack: a probe when the tail of a flight is not acknowledged (RFC 8985 section 7).";
    "rack.order" => rack.order, OptionKind::Word(RackOrder::NAMES), OptionValue::read, "With rack: sequence number below which an arrival counts as reordering.";
    "rack.copy" => rack.copy, OptionKind::Word(RackCopy::NAMES), OptionValue::read, "With rack: when the acknowledgement of a retransmitted segment is attributed to its first transmission.";
    "rack.widen-reordered" => rack.widen_reordered, OptionKind::Bool, OptionValue::read, "With rack: a DSACK widens the reordering window (RFC 8985 section 6.2 step 4) only after reordering was observed.";
    "rack.again" => rack.again, OptionKind::Bool, OptionValue::read, "With rack: if a recovery ends while a retransmission is unacknowledged, another recovery begins at once.";
    "rack.restart" => rack.restart, OptionKind::Bool, OptionValue::read, "With rack: the retransmission timer restarts at each retransmission of the oldest segment, and at SACKs of segments sent before.";
    "tail-loss-probe-until" => rack.probe_until, OptionKind::Word(ProbeUntil::NAMES), OptionValue::read, "Upper limit of the probe timer.";
    "tail-loss-probe-ack-delay" => rack.probe_ack_delay, OptionKind::Span, OptionValue::read, "Allowance for a delayed acknowledgement in the probe timer of a single segment.";
    "sack" => sack, OptionKind::Word(Sack::NAMES), OptionValue::read, "Selective acknowledgements; auto: if the recovery or the detector needs them.";
    "timestamps" => timestamps, OptionKind::Bool, OptionValue::read, "Timestamps option (RFC 7323).";
    "dupthresh" => dupthresh, OptionKind::Count, |t| count(t, 1, 1000), "Duplicate acknowledgements that cause a fast retransmit.";
    "limited-transmit" => limited_transmit, OptionKind::Bool, OptionValue::read, "A new segment on each of the first duplicates (RFC 3042).";
    "bug-fix" => bug_fix, OptionKind::Word(BugFix::NAMES), OptionValue::read, "When duplicates after a timeout may cause a fast retransmit (RFC 2582 section 5).";
    "heuristic" => heuristic, OptionKind::Word(Heuristic::NAMES), OptionValue::read, "Evidence that allows a fast retransmit below the recovery point (RFC 6582 section 4).";
    "inflate-always" => duplicates.blocked, OptionKind::Bool, inflate_always, "Older spelling: true is `duplicates.blocked = \"inflate\"`, false is \"ignore\".";
    "duplicates.blocked" => duplicates.blocked, OptionKind::Word(BlockedDuplicates::NAMES), OptionValue::read, "Effect of duplicate acknowledgements while they must not cause a fast retransmit.";
    "duplicates.in-recovery" => duplicates.in_recovery, OptionKind::Word(RecoveryDuplicates::NAMES), OptionValue::read, "Effect of duplicate acknowledgements above the threshold in the fast recovery of Reno and NewReno.";
    "duplicates.after-timeout" => duplicates.after_timeout, OptionKind::Word(TimeoutDuplicates::NAMES), OptionValue::read, "Effect of duplicate acknowledgements between a timeout and the first new acknowledgement; `clock` is a fault.";
    "duplicates.evidence" => duplicates.evidence, OptionKind::Word(Evidence::NAMES), OptionValue::read, "Which duplicates count towards a fast retransmit where SACK is in use.";
    "duplicates.send" => duplicates.send, OptionKind::Word(DuplicatesSend::NAMES), OptionValue::read, "Data that duplicate acknowledgements may trigger.";
    "duplicates.threshold" => duplicates.threshold, OptionKind::Word(DuplicateThreshold::NAMES), OptionValue::read, "Effect of a spurious fast retransmit on `dupthresh`.";
    "lost-retransmission" => lost_retransmission, OptionKind::Word(LostRetransmission::NAMES), OptionValue::read, "How Reno and NewReno detect the loss of a retransmission.";
    "timeout-resends" => timeout_resends, OptionKind::Word(TimeoutResends::NAMES), OptionValue::read, "Segments retransmitted at a timeout before any acknowledgement; `outstanding` is a fault.";
    "window-overrun" => window_overrun, OptionKind::Count, |t| count(t, 0, 1000), "Segments by which the sender exceeds the peer's window; more than 0 is a fault.";
    "newreno.partial-deflation" => newreno.partial_deflation, OptionKind::Bool, OptionValue::read, "Partial acknowledgements deflate the window (RFC 6582 section 3.2).";
    "newreno.partial-resend" => newreno.partial_resends, OptionKind::Word(PartialResends::NAMES), OptionValue::read, "Segments retransmitted on a partial acknowledgement; `outstanding` is a fault.";
    "newreno.new-data" => newreno.partial_new_data, OptionKind::Bool, OptionValue::read, "A partial acknowledgement allows new data in addition to the retransmission.";
    "newreno.timer" => newreno.partial_timer, OptionKind::Word(PartialTimer::NAMES), OptionValue::read, "Which partial acknowledgements restart the timer.";
    "recovery-burst" => recovery_burst, OptionKind::Count, |t| count(t, 0, 1000), "Most new segments per duplicate during recovery; 0: no limit.";
    "grow-on-exit" => grow_on_exit, OptionKind::Bool, OptionValue::read, "The acknowledgement that ends recovery opens the window too.";
    "restart-on-fast-retransmit" => restart_on_fast_retransmit, OptionKind::Bool, OptionValue::read, "A fast retransmit restarts the timer.";
    "spurious" => spurious, OptionKind::Word(Spurious::NAMES), OptionValue::read, "Detector of spurious timeouts and fast retransmits.";
    "judge-in-recovery" => judgement.in_recovery, OptionKind::Bool, OptionValue::read, "Timeouts inside loss recovery are judged too.";
    "judge-later-expirations" => judgement.later_expirations, OptionKind::Bool, OptionValue::read, "The second timeout of a segment is judged although the first, inside loss recovery, was not (RFC 3522 forbids it).";
    "judge-fast-retransmits" => judgement.fast_retransmits, OptionKind::Bool, OptionValue::read, "Detectors that can (Eifel, DSACK, the retransmit flag) judge fast retransmits too; \"linux\" always does.";
    "judge-lost-acks" => judgement.lost_acks, OptionKind::Bool, OptionValue::read, "Eifel calls a timeout spurious even if all acknowledgements seem to be lost: without step 5 of RFC 3522.";
    "response" => response, OptionKind::Word(Response::NAMES), OptionValue::read, "Response to a spurious timeout or fast retransmit.";
    "rfc4015.timer" => restoration.rfc4015_timer, OptionKind::Word(Rfc4015Timer::NAMES), OptionValue::read, "When the response of RFC 4015 adapts the round-trip estimate.";
    "restore-4.threshold-before-loss" => restoration.threshold_before_loss, OptionKind::Bool, OptionValue::read, "The response restore-4 restores the threshold too as long as no loss was detected.";
    "staged.count" => restoration.staged.count, OptionKind::Word(StagedCount::NAMES), OptionValue::read, "How the staged response counts subsequent timeouts.";
    "staged.first" => restoration.staged.first, OptionKind::Word(StagedFirst::NAMES), OptionValue::read, "Values that the first stage of the staged response restores.";
    "staged.second" => restoration.staged.second, OptionKind::Word(StagedSecond::NAMES), OptionValue::read, "Values that the second stage of the staged response restores.";
    "staged.third" => restoration.staged.third, OptionKind::Word(StagedThird::NAMES), OptionValue::read, "Effect of the third stage of the staged response.";
    "rto.min" => rto.min, OptionKind::Span, OptionValue::read, "Minimum retransmission timeout.";
    "rto.max" => rto.max, OptionKind::Span, OptionValue::read, "Maximum retransmission timeout, back-off included.";
    "rto.initial" => rto.initial, OptionKind::Span, OptionValue::read, "Timeout before the first sample.";
    "rto.tick" => rto.tick, OptionKind::Span, tick, "Clock granularity.";
    "rto.k" => rto.k, OptionKind::Count, |t| count(t, 1, 16), "K in SRTT + K RTTVAR.";
    "rto.estimator" => rto.estimator, OptionKind::Word(Estimator::NAMES), OptionValue::read, "How the timeout is computed.";
    "rto.clamp-before-backoff" => rto.clamp_before_backoff, OptionKind::Bool, OptionValue::read, "The minimum bounds the timeout before back-off (RFC 6298).";
    "rto.backoff-reset" => rto.backoff_reset, OptionKind::Word(BackoffReset::NAMES), OptionValue::read, "Event that ends the exponential back-off.";
    "rto.adapt" => rto.adapt, OptionKind::Word(Adapt::NAMES), OptionValue::read, "How the timer adapts after a spurious timeout.";
    "rto.sample-partial-acks" => rto.sample_partial_acks, OptionKind::Bool, OptionValue::read, "Partial acknowledgements in recovery give round-trip samples.";
    "rto.sample-reports" => rto.sample_reports, OptionKind::Bool, OptionValue::read, "Segments SACKed beyond a hole that were sent once give round-trip samples; so do acknowledged segments, in preference to the timestamp.";
    "rto.timing" => rto.timing, OptionKind::Word(Timing::NAMES), OptionValue::read, "Which segments are timed without timestamps.";
    "rto.restart" => rto.restart, OptionKind::Word(RtoRestart::NAMES), OptionValue::read, "Start time of the timer that an acknowledgement of new data restarts.";
    "rto.restart-on-duplicates" => rto.restart_on_duplicates, OptionKind::Word(DuplicateRestart::NAMES), OptionValue::read, "Which duplicate acknowledgements restart the timer.";
    "rto.seed" => rto.seed, OptionKind::Word(RtoSeed::NAMES), OptionValue::read, "Round trip of the first sample.";
    "rto.wheel" => rto.wheel, OptionKind::Bool, OptionValue::read, "The sender's retransmission, probe and reordering timers expire in the slots of Linux' timer wheel at 250 Hz: never early, and late by up to an eighth.";
    "rto.percent" => rto.percent, OptionKind::Count, |t| count(t, 1, 1000), "Percent of the computed timeout that the timer is set to; below 100 it expires early, which is a fault.";
    "share.rtt" => share.rtt, OptionKind::Word(Share::NAMES), OptionValue::read, "Connections to one destination begin with the round-trip estimate of earlier ones.";
    "share.min-rtt" => share.min_rtt, OptionKind::Bool, OptionValue::read, "They begin with the minimum round trip of earlier ones, which spurious = \"min-rtt\" uses.";
    "share.ssthresh" => share.ssthresh, OptionKind::Word(Share::NAMES), OptionValue::read, "They begin with the slow-start threshold of earlier ones.";
    "share.cwnd" => share.cwnd, OptionKind::Bool, OptionValue::read, "They begin with the congestion window of earlier ones (RFC 9040 section 6).";
    "share.rto" => share.rto, OptionKind::Bool, OptionValue::read, "They begin with the adaptation of `rto.adapt` to the spurious timeouts of earlier ones (Gurtov and Ludwig, section IV.B).";
    "share.age" => share.age, OptionKind::Span, OptionValue::read, "Maximum age of cached values; 0 s disables expiry.";
    "halving" => halving, OptionKind::Word(Halving::NAMES), OptionValue::read, "Quantity of which ssthresh is half.";
    "loss-window" => windows.after_loss, OptionKind::Window, OptionValue::read, "Congestion window after a timeout (RFC 5681 section 3.1, LW); at least a segment.";
    "flight" => flight, OptionKind::Word(Flight::NAMES), OptionValue::read, "With recoveries that use go-back-N after a timeout: how data in flight are counted; `explicit` is not restored by a spurious timeout (Gurtov and Ludwig 2003, section III.B).";
    "repeated-timeout" => repeated_timeout, OptionKind::Word(RepeatedTimeout::NAMES), OptionValue::read, "Effect of a repeated timeout on ssthresh.";
    "cc" => cc, OptionKind::Word(CongestionControl::NAMES), OptionValue::read, "Congestion control.";
    "slow-start" => slow_start, OptionKind::Word(SlowStart::NAMES), OptionValue::read, "When slow start ends, of Reno and CUBIC.";
    "reno.count" => reno_count, OptionKind::Word(RenoCount::NAMES), OptionValue::read, "Reno: how congestion avoidance counts towards the next segment.";
    "cubic.curve" => cubic.curve, OptionKind::Word(CubicCurve::NAMES), OptionValue::read, "CUBIC: how its curve is computed.";
    "cubic.fast-convergence" => cubic.fast_convergence, OptionKind::Bool, OptionValue::read, "CUBIC: a loss below the last maximum lowers it further (RFC 9438 section 4.7).";
    "pacing" => pacing, OptionKind::Word(Pacing::NAMES), OptionValue::read, "Segments are spread over the round trip; auto: if the congestion control requests it.";
    "byte-counting" => byte_counting, OptionKind::Word(ByteCounting::NAMES), OptionValue::read, "How acknowledgements open the window: per acknowledgement (in slow start by the bytes acknowledged, at most a segment), or by bytes (RFC 3465).";
    "defer" => segmentation.defer, OptionKind::Bool, OptionValue::read, "Less than a group of segments waits for the next acknowledgement if that is due within a millisecond (Linux: tcp_tso_should_defer).";
    "send-buffer.portion" => segmentation.send_buffer.portion, OptionKind::Bytes, |t| bytes_within(t, 0, 65_536).map(u64::from), "With defer: overhead of each portion of unsent data in the send buffer; it depends on the configuration of the kernel.";
    "send-buffer.segment" => segmentation.send_buffer.segment, OptionKind::Bytes, |t| bytes_within(t, 256, 65_536).map(u64::from), "Size that a segment counts when the send buffer grows to twice the window (Linux: tcp_sndbuf_expand); it depends on the configuration of the kernel, too.";
    "send-buffer.most" => segmentation.send_buffer.most, OptionKind::Bytes, |t| bytes_within(t, 4096, 1 << 30).map(u64::from), "Maximum of the send buffer (Linux: tcp_wmem, the third number).";
    "dsack-delivers" => dsack_delivers, OptionKind::Bool, OptionValue::read, "Data reported as duplicates (DSACK, RFC 2883) count as delivered: the window grows by them.";
    "fin-with-data" => segmentation.fin_with_data, OptionKind::Bool, OptionValue::read, "The FIN is sent with the last data, if the connection is closed by the time they are sent.";
    "push" => segmentation.push, OptionKind::Word(Push::NAMES), OptionValue::read, "Which data segments carry the flag PSH, after which a receiver with the rules of Linux acknowledges at once.";
    "cwnd-validation" => windows.validation, OptionKind::Word(Validation::NAMES), OptionValue::read, "A window that is not used does not grow; true: RFC 7661.";
    "idle-restart" => windows.idle_restart, OptionKind::Word(IdleRestart::NAMES), OptionValue::read, "The window after a pause longer than the timeout; true: at most the initial window (RFC 5681 section 4.1).";
    "lost-syn" => opening.lost_syn, OptionKind::Word(LostSyn::NAMES), OptionValue::read, "The initial window after a retransmitted SYN.";
    "give-up" => give_up, OptionKind::Span, OptionValue::read, "Time from the first timeout of a segment until the connection is aborted (RFC 1122 section 4.2.3.5, R2); 0 s: never.";
    "give-up-syn" => opening.give_up, OptionKind::Span, OptionValue::read, "Time from the first timeout of the SYN until the connection is aborted; 0 s: never.";
    "ecn" => ecn.offer, OptionKind::Bool, OptionValue::read, "Explicit congestion notification, if the peer wants it too (RFC 3168).";
    "ecn-fallback" => ecn.fallback, OptionKind::Bool, OptionValue::read, "A SYN that is not answered in time is retransmitted without the offer of ECN (RFC 3168 section 6.1.1.1).";
    "ecn-backoff" => ecn.backoff, OptionKind::Word(EcnBackoff::NAMES), OptionValue::read, "Window reduction of Reno and CUBIC at a mark.";
    "ecn-hold" => ecn.hold, OptionKind::Bool, OptionValue::read, "A mark echoed at a window of one segment silences the sender until its timer expires (RFC 3168 section 6.1.2).";
    "window-scale" => window_scale, OptionKind::Bool, OptionValue::read, "Windows may be larger than 65535 bytes (RFC 7323 section 2).";
    "delayed-ack.rules" => receiver.ack_rules, OptionKind::Word(AckRules::NAMES), OptionValue::read, "When the receiver acknowledges.";
    "delayed-ack.timer" => receiver.ack_delay, OptionKind::Span, OptionValue::read, "Maximum delay of an acknowledgement; 0 s: none is delayed.";
    "delayed-ack.least" => receiver.ack_delay_min, OptionKind::Span, OptionValue::read, "Minimum delay of an acknowledgement, from which it adapts to the arrival rate of data, as in Linux; 0 s: it does not adapt.";
    "delayed-ack.quick" => receiver.quick_acks, OptionKind::Count, |t| count(t, 0, 1_000_000), "Number of segments at the start that are acknowledged at once; with the rules of Linux their maximum in a row.";
    "delayed-ack.every" => receiver.ack_every, OptionKind::Count, |t| count(t, 1, 1000), "Segments one acknowledgement may cover.";
    "delayed-ack.syn" => receiver.delay_syn_ack, OptionKind::Bool, OptionValue::read, "The acknowledgement of a one-way SYN is delayed too.";
    "delayed-ack.duplicates" => receiver.delay_duplicates, OptionKind::Bool, OptionValue::read, "The acknowledgement of a duplicate of the last in-order segment may be delayed.";
    "dsack" => receiver.dsack, OptionKind::Bool, OptionValue::read, "The receiver reports duplicates (RFC 2883).";
    "paws" => receiver.paws, OptionKind::Bool, OptionValue::read, "Data with a timestamp older than the one to echo are answered and discarded (RFC 7323 section 5); not with `echo = \"latest\"`.";
    "echo" => receiver.echo, OptionKind::Word(Echo::NAMES), OptionValue::read, "Which timestamp the receiver echoes.";
    "sack-blocks" => receiver.sack_blocks, OptionKind::Count, |t| count(t, 0, 4), "Maximum number of SACK blocks in one acknowledgement; 0, where SACK was agreed on, is a fault.";
    "accept-beyond-window" => receiver.accept_beyond, OptionKind::Bool, OptionValue::read, "Data beyond the advertised window are accepted, not discarded.";
    "wire.header" => wire.header, OptionKind::Bytes, |t| bytes_within(t, 0, 1000), "IP and TCP headers without options.";
    "wire.timestamps" => wire.timestamps, OptionKind::Bytes, |t| bytes_within(t, 0, 100), "The timestamps option on the wire.";
    "wire.timestamps-on-acks" => wire.timestamps_on_acks, OptionKind::Bool, OptionValue::read, "Pure acknowledgements carry the timestamps option too.";
    "wire.sack" => wire.sack, OptionKind::Bytes, |t| bytes_within(t, 0, 100), "The SACK option's header on the wire; each block adds 8 bytes.";
    "wire.syn" => wire.syn, OptionKind::Bytes, |t| bytes_within(t, 0, 40), "Options of a SYN on the wire except timestamps: maximum segment size, window scale and SACK.";
}

/// Reads true and false, the older spelling of `duplicates.blocked`.
fn inflate_always(text: &str) -> Result<BlockedDuplicates, String> {
    Ok(if bool::read(text)? { BlockedDuplicates::Inflate } else { BlockedDuplicates::Ignore })
}

fn tick(text: &str) -> Result<Span, String> {
    let span = parse_span(text)?;
    if span.is_zero() || span > Span::from_secs(10) {
        return Err(format!("`{text}`: a clock tick is more than nothing and at most 10 s"));
    }
    Ok(span)
}
