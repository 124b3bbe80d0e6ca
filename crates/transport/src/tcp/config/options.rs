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
pub enum Kind {
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
    pub kind: Kind,
    /// Documentation sentence.
    pub doc: &'static str,
}

/// Types that an option can have.
pub(super) trait Setting: Sized {
    fn read(text: &str) -> Result<Self, String>;
}
impl Setting for bool {
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(format!("`{text}` is neither true nor false")),
        }
    }
}
impl Setting for Span {
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
        impl Setting for $name {
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
    "path-mtu" => path_mtu, Kind::Word(PathMtu::NAMES), Setting::read, "How it learns the largest packet of the path; with \"off\" routers cut its packets up (RFC 1191, RFC 4821).";
    "mss" => mss, Kind::Bytes, |t| bytes_within(t, 64, 65_000), "Largest data segment.";
    "handshake" => handshake, Kind::Word(Handshake::NAMES), Setting::read, "How the connection opens: two-way, or the one-way model of the simulators.";
    "handshake-ack" => handshake_ack, Kind::Word(HandshakeAck::NAMES), Setting::read, "How the opening end acknowledges the peer's SYN: with its first data, or by a segment of its own before them.";
    "initial-window" => initial_window, Kind::Window, Setting::read, "First congestion window.";
    "initial-ssthresh" => initial_ssthresh, Kind::Window, Setting::read, "First slow-start threshold.";
    "window" => receiver.window, Kind::Window, Setting::read, "Receive window offered; with window-growth the most that is ever offered, whatever the buffer holds.";
    "window-growth" => receiver.growth, Kind::Word(WindowGrowth::NAMES), Setting::read, "How that window comes to be: whole at once, or grown as Linux grows it, up to `window`.";
    "receive-buffer.start" => receiver.buffer_start, Kind::Bytes, |t| bytes_within(t, 2048, 1 << 30).map(u64::from), "With window-growth: the buffer at the start, memory and not data (Linux: tcp_rmem, the second number).";
    "receive-buffer.most" => receiver.buffer_most, Kind::Bytes, |t| bytes_within(t, 2048, 1 << 30).map(u64::from), "What it may grow to (the third number).";
    "receive-buffer.packet" => receiver.buffer_packet, Kind::Bytes, |t| bytes_within(t, 256, 65_536).map(u64::from), "What a packet of any size takes of it; that depends on the network card.";
    "recovery" => recovery, Kind::Word(Recovery::NAMES), Setting::read, "Loss recovery.";
    "reduction" => reduction, Kind::Word(Reduction::NAMES), Setting::read, "How the window comes down when recovery begins.";
    "prr.bound" => prr_bound, Kind::Word(PrrBound::NAMES), Setting::read, "How fast proportional rate reduction refills the pipe below its target.";
    "prr.unit" => prr_unit, Kind::Word(PrrUnit::NAMES), Setting::read, "In what it counts: bytes, or whole segments.";
    "lifetime" => lifetime, Kind::Word(Lifetime::NAMES), Setting::read, "For how long data segments are of use to the network: always, or until the timeout, as deadlines for routers with queue = deadline.";
    "newreno-sack.resend" => partial_resend, Kind::Word(PartialResend::NAMES), Setting::read, "When newreno-sack resends on every partial acknowledgement.";
    "fack.rampdown" => fack_rampdown, Kind::Bool, Setting::read, "With fack and fack-ns2: the window comes down over a round trip, not at once (Mathis and Mahdavi 1996).";
    "fack.overdamping" => fack_overdamping, Kind::Bool, Setting::read, "With fack and fack-ns2: a loss in slow start takes three quarters of the window, which has doubled since the lost segment was sent.";
    "fack.until-reordering" => fack_until_reordering, Kind::Bool, Setting::read, "With fack: once something overtaken arrives that was not resent, a segment counts as lost only below `dupthresh` segments that are reported, as in RFC 6675 (Linux 2.4: tcp_update_reordering).";
    "tail-loss-probe" => tail_loss_probe, Kind::Bool, Setting::read, "With rack: a probe when the tail of a flight is not acknowledged (RFC 8985 section 7).";
    "rack.order" => rack_order, Kind::Word(RackOrder::NAMES), Setting::read, "With rack: below what an arrival is taken for reordering.";
    "rack.copy" => rack_copy, Kind::Word(RackCopy::NAMES), Setting::read, "With rack: when the arrival of something resent is taken for that of the original.";
    "rack.widen-reordered" => rack_widen_reordered, Kind::Bool, Setting::read, "With rack: a duplicate that is reported widens the wait for reordering (RFC 8985 section 6.2 step 4) only where reordering was seen.";
    "rack.again" => rack_again, Kind::Bool, Setting::read, "With rack: where a recovery ends while something that was resent is not acknowledged, another begins at once.";
    "rack.restart" => rack_restart, Kind::Bool, Setting::read, "With rack: whenever the oldest segment is resent the retransmission timer begins anew, and with reports of what was sent before.";
    "tail-loss-probe-until" => probe_until, Kind::Word(ProbeUntil::NAMES), Setting::read, "How long the probe waits at most.";
    "tail-loss-probe-ack-delay" => probe_ack_delay, Kind::Span, Setting::read, "What the probe of a single segment allows for a delayed acknowledgement.";
    "sack" => sack, Kind::Word(Sack::NAMES), Setting::read, "Selective acknowledgements; auto: if the recovery or the detector needs them.";
    "timestamps" => timestamps, Kind::Bool, Setting::read, "Timestamps option (RFC 7323).";
    "dupthresh" => dupthresh, Kind::Count, |t| count(t, 1, 1000), "Duplicate acknowledgements that cause a fast retransmit.";
    "limited-transmit" => limited_transmit, Kind::Bool, Setting::read, "A new segment on each of the first duplicates (RFC 3042).";
    "bug-fix" => bug_fix, Kind::Word(BugFix::NAMES), Setting::read, "When duplicates after a timeout may cause a fast retransmit (RFC 2582 section 5).";
    "heuristic" => heuristic, Kind::Word(Heuristic::NAMES), Setting::read, "What may allow a fast retransmit below the recovery point all the same (RFC 6582 section 4).";
    "inflate-always" => duplicates.blocked, Kind::Bool, inflate_always, "Older spelling: true is `duplicates.blocked = \"inflate\"`, false is \"ignore\".";
    "duplicates.blocked" => duplicates.blocked, Kind::Word(BlockedDuplicates::NAMES), Setting::read, "What duplicates do while they may not cause a fast retransmit.";
    "duplicates.in-recovery" => duplicates.in_recovery, Kind::Word(RecoveryDuplicates::NAMES), Setting::read, "What duplicates above the threshold do in the fast recovery of Reno and NewReno.";
    "duplicates.after-timeout" => duplicates.after_timeout, Kind::Word(TimeoutDuplicates::NAMES), Setting::read, "What duplicates do between a timeout and the first new acknowledgement; `clock` is a fault.";
    "duplicates.evidence" => duplicates.evidence, Kind::Word(Evidence::NAMES), Setting::read, "Which duplicates count towards a fast retransmit where SACK is in use.";
    "duplicates.send" => duplicates.send, Kind::Word(DuplicatesSend::NAMES), Setting::read, "What duplicates may let out.";
    "duplicates.threshold" => duplicates.threshold, Kind::Word(DuplicateThreshold::NAMES), Setting::read, "What a fast retransmit found spurious does to `dupthresh`.";
    "lost-retransmission" => lost_retransmission, Kind::Word(LostRetransmission::NAMES), Setting::read, "How Reno and NewReno notice that a retransmission was lost.";
    "timeout-resends" => timeout_resends, Kind::Word(TimeoutResends::NAMES), Setting::read, "What a timeout resends before anything is acknowledged; `outstanding` is a fault.";
    "window-overrun" => window_overrun, Kind::Count, |t| count(t, 0, 1000), "Segments by which the sender exceeds the peer's window; more than 0 is a fault.";
    "newreno.partial-deflation" => partial_deflation, Kind::Bool, Setting::read, "Partial acknowledgements deflate the window (RFC 6582 section 3.2).";
    "newreno.partial-resend" => partial_resends, Kind::Word(PartialResends::NAMES), Setting::read, "What a partial acknowledgement resends; `outstanding` is a fault.";
    "newreno.new-data" => partial_new_data, Kind::Bool, Setting::read, "A partial acknowledgement lets out new data beside the retransmission.";
    "newreno.timer" => partial_timer, Kind::Word(PartialTimer::NAMES), Setting::read, "Which partial acknowledgements restart the timer.";
    "recovery-burst" => recovery_burst, Kind::Count, |t| count(t, 0, 1000), "Most new segments per duplicate during recovery; 0: no limit.";
    "grow-on-exit" => grow_on_exit, Kind::Bool, Setting::read, "The acknowledgement that ends recovery opens the window too.";
    "restart-on-fast-retransmit" => restart_on_fast_retransmit, Kind::Bool, Setting::read, "A fast retransmit restarts the timer.";
    "spurious" => spurious, Kind::Word(Spurious::NAMES), Setting::read, "Who judges whether a timeout or fast retransmit was spurious.";
    "judge-in-recovery" => judge_in_recovery, Kind::Bool, Setting::read, "Timeouts inside loss recovery are judged too.";
    "judge-later-expirations" => judge_later_expirations, Kind::Bool, Setting::read, "The second timeout of a segment is judged although the first, inside loss recovery, was not (RFC 3522 forbids it).";
    "judge-fast-retransmits" => judge_fast_retransmits, Kind::Bool, Setting::read, "Detectors that can (Eifel, DSACK, the retransmit flag) judge fast retransmits too; \"linux\" always does.";
    "judge-lost-acks" => judge_lost_acks, Kind::Bool, Setting::read, "Eifel calls a timeout spurious even if all acknowledgements seem to be lost: without step 5 of RFC 3522.";
    "response" => response, Kind::Word(Response::NAMES), Setting::read, "What follows from that verdict.";
    "rfc4015.timer" => rfc4015_timer, Kind::Word(Rfc4015Timer::NAMES), Setting::read, "When that response adapts the estimate of the round trip.";
    "restore-4.threshold-before-loss" => threshold_before_loss, Kind::Bool, Setting::read, "That response restores the threshold too as long as no loss was detected.";
    "staged.count" => staged.count, Kind::Word(StagedCount::NAMES), Setting::read, "How the staged response counts subsequent timeouts.";
    "staged.first" => staged.first, Kind::Word(StagedFirst::NAMES), Setting::read, "What its first stage restores.";
    "staged.second" => staged.second, Kind::Word(StagedSecond::NAMES), Setting::read, "What its second stage restores.";
    "staged.third" => staged.third, Kind::Word(StagedThird::NAMES), Setting::read, "What its third stage leaves.";
    "rto.min" => rto.min, Kind::Span, Setting::read, "Least retransmission timeout.";
    "rto.max" => rto.max, Kind::Span, Setting::read, "Greatest retransmission timeout, back-off included.";
    "rto.initial" => rto.initial, Kind::Span, Setting::read, "Timeout before the first sample.";
    "rto.tick" => rto.tick, Kind::Span, tick, "Clock granularity.";
    "rto.k" => rto.k, Kind::Count, |t| count(t, 1, 16), "K in SRTT + K RTTVAR.";
    "rto.estimator" => rto.estimator, Kind::Word(Estimator::NAMES), Setting::read, "How the timeout is computed.";
    "rto.clamp-before-backoff" => rto.clamp_before_backoff, Kind::Bool, Setting::read, "The least value bounds the timeout before it is backed off (RFC 6298).";
    "rto.backoff-reset" => rto.backoff_reset, Kind::Word(BackoffReset::NAMES), Setting::read, "What ends the exponential back-off.";
    "rto.adapt" => rto.adapt, Kind::Word(Adapt::NAMES), Setting::read, "How the timer adapts after a spurious timeout.";
    "rto.sample-partial-acks" => rto.sample_partial_acks, Kind::Bool, Setting::read, "Partial acknowledgements in recovery give round-trip samples.";
    "rto.sample-reports" => rto.sample_reports, Kind::Bool, Setting::read, "What is reported beyond a hole and was sent once gives a round-trip sample, and so does what is acknowledged, ahead of its timestamp.";
    "rto.timing" => rto.timing, Kind::Word(Timing::NAMES), Setting::read, "Which segments are timed without timestamps.";
    "rto.restart" => rto.restart, Kind::Word(RtoRestart::NAMES), Setting::read, "From when the timer runs that an acknowledgement of new data restarts.";
    "rto.restart-on-duplicates" => rto.restart_on_duplicates, Kind::Word(DuplicateRestart::NAMES), Setting::read, "Which duplicate acknowledgements restart the timer.";
    "rto.seed" => rto.seed, Kind::Word(RtoSeed::NAMES), Setting::read, "Which round trip is the first sample.";
    "rto.wheel" => rto.wheel, Kind::Bool, Setting::read, "The sender's timers, this one, the probe's and that of reordering, expire in the slots of Linux' timer wheel at 250 Hz: never early, and late by up to an eighth.";
    "rto.percent" => rto.percent, Kind::Count, |t| count(t, 1, 1000), "Percent of the computed timeout that the timer is set to; below 100 it expires early, which is a fault.";
    "share.rtt" => share.rtt, Kind::Word(Share::NAMES), Setting::read, "Connections to one destination begin with the round-trip estimate of those before them.";
    "share.min-rtt" => share.min_rtt, Kind::Bool, Setting::read, "They begin with the least round trip of those before them, which spurious = \"min-rtt\" goes by.";
    "share.ssthresh" => share.ssthresh, Kind::Word(Share::NAMES), Setting::read, "They begin with the slow-start threshold of those before them.";
    "share.cwnd" => share.cwnd, Kind::Bool, Setting::read, "They begin with the congestion window of those before them (RFC 9040 section 6).";
    "share.rto" => share.rto, Kind::Bool, Setting::read, "They begin with what `rto.adapt` learned from the spurious timeouts of those before them (Gurtov and Ludwig, section IV.B).";
    "share.age" => share.age, Kind::Span, Setting::read, "Older than this, nothing is taken over; 0 s: however old it is.";
    "halving" => halving, Kind::Word(Halving::NAMES), Setting::read, "What ssthresh is half of.";
    "loss-window" => loss_window, Kind::Window, Setting::read, "Congestion window after a timeout (RFC 5681 section 3.1, LW); at least a segment.";
    "flight" => flight, Kind::Word(Flight::NAMES), Setting::read, "With recoveries that go back after a timeout: how what is in the network is counted; `explicit` is not restored by a spurious timeout (Gurtov and Ludwig 2003, section III.B).";
    "repeated-timeout" => repeated_timeout, Kind::Word(RepeatedTimeout::NAMES), Setting::read, "What a repeated timeout does to ssthresh.";
    "cc" => cc, Kind::Word(CongestionControl::NAMES), Setting::read, "Congestion control.";
    "slow-start" => slow_start, Kind::Word(SlowStart::NAMES), Setting::read, "When slow start ends, of Reno and CUBIC.";
    "reno.count" => reno_count, Kind::Word(RenoCount::NAMES), Setting::read, "Reno: how congestion avoidance counts towards a segment more.";
    "cubic.curve" => cubic_curve, Kind::Word(CubicCurve::NAMES), Setting::read, "CUBIC: how its curve is computed.";
    "cubic.fast-convergence" => cubic_fast_convergence, Kind::Bool, Setting::read, "CUBIC: a loss below the last maximum lowers it further (RFC 9438 section 4.7).";
    "pacing" => pacing, Kind::Word(Pacing::NAMES), Setting::read, "Segments are spread over the round trip; auto: if the congestion control asks.";
    "byte-counting" => byte_counting, Kind::Word(ByteCounting::NAMES), Setting::read, "How acknowledgements open the window: each alike (by what it covers, at most a segment, in slow start), or by their bytes (RFC 3465).";
    "defer" => defer, Kind::Bool, Setting::read, "What is less than a group waits for the next acknowledgement, if that is due within a millisecond (Linux: tcp_tso_should_defer).";
    "send-buffer.portion" => send_buffer.portion, Kind::Bytes, |t| bytes_within(t, 0, 65_536).map(u64::from), "With defer: what a portion of data that wait to be sent takes of the send buffer beside the data; that depends on how the kernel was built.";
    "send-buffer.segment" => send_buffer.segment, Kind::Bytes, |t| bytes_within(t, 256, 65_536).map(u64::from), "What a segment counts when the buffer grows to twice the window (Linux: tcp_sndbuf_expand); that depends on it, too.";
    "send-buffer.most" => send_buffer.most, Kind::Bytes, |t| bytes_within(t, 4096, 1 << 30).map(u64::from), "What it may grow to (Linux: tcp_wmem, the third number).";
    "dsack-delivers" => dsack_delivers, Kind::Bool, Setting::read, "What the receiver reports as a duplicate (RFC 2883) counts as delivered: the window grows by it.";
    "fin-with-data" => fin_with_data, Kind::Bool, Setting::read, "The FIN goes with the last data, if the connection is closed by the time they leave.";
    "push" => push, Kind::Word(Push::NAMES), Setting::read, "Which data segments carry the flag PSH, after which a receiver with the rules of Linux acknowledges at once.";
    "cwnd-validation" => cwnd_validation, Kind::Word(Validation::NAMES), Setting::read, "A window that is not used does not grow; true: RFC 7661.";
    "idle-restart" => idle_restart, Kind::Word(IdleRestart::NAMES), Setting::read, "The window after a pause longer than the timeout; true: at most the initial window (RFC 5681 section 4.1).";
    "lost-syn" => lost_syn, Kind::Word(LostSyn::NAMES), Setting::read, "The first window after a SYN that was sent again.";
    "give-up" => give_up, Kind::Span, Setting::read, "How long after the first timeout of the same data the connection is given up (RFC 1122 section 4.2.3.5, R2); 0 s: never.";
    "give-up-syn" => give_up_syn, Kind::Span, Setting::read, "The same for the SYN.";
    "ecn" => ecn, Kind::Bool, Setting::read, "Explicit congestion notification, if the peer wants it too (RFC 3168).";
    "ecn-fallback" => ecn_fallback, Kind::Bool, Setting::read, "A SYN that gets no answer in time is repeated without the offer of congestion notification (RFC 3168 section 6.1.1.1).";
    "ecn-backoff" => ecn_backoff, Kind::Word(EcnBackoff::NAMES), Setting::read, "What a mark takes from the window of Reno and CUBIC.";
    "ecn-hold" => ecn_hold, Kind::Bool, Setting::read, "A mark echoed at a window of one segment silences the sender until its timer expires (RFC 3168 section 6.1.2).";
    "window-scale" => window_scale, Kind::Bool, Setting::read, "Windows may be larger than 65535 bytes (RFC 7323 section 2).";
    "delayed-ack.rules" => receiver.ack_rules, Kind::Word(AckRules::NAMES), Setting::read, "When the receiver acknowledges.";
    "delayed-ack.timer" => receiver.ack_delay, Kind::Span, Setting::read, "Longest delay of an acknowledgement; 0 s: none is delayed.";
    "delayed-ack.least" => receiver.ack_delay_min, Kind::Span, Setting::read, "Shortest delay of an acknowledgement, from which it adapts to how fast data come, as Linux does; 0 s: it does not adapt.";
    "delayed-ack.quick" => receiver.quick_acks, Kind::Count, |t| count(t, 0, 1_000_000), "So many segments at the start are acknowledged at once; with the rules of Linux at most so many at a time.";
    "delayed-ack.every" => receiver.ack_every, Kind::Count, |t| count(t, 1, 1000), "Segments one acknowledgement may cover.";
    "delayed-ack.syn" => receiver.delay_syn_ack, Kind::Bool, Setting::read, "The acknowledgement of a one-way SYN is delayed too.";
    "delayed-ack.duplicates" => receiver.delay_duplicates, Kind::Bool, Setting::read, "A repeat of the last in-order segment may wait for its acknowledgement.";
    "dsack" => receiver.dsack, Kind::Bool, Setting::read, "The receiver reports duplicates (RFC 2883).";
    "paws" => receiver.paws, Kind::Bool, Setting::read, "Data with a timestamp older than the one to echo are answered and discarded (RFC 7323 section 5); not with `echo = \"latest\"`.";
    "echo" => receiver.echo, Kind::Word(Echo::NAMES), Setting::read, "Which timestamp the receiver echoes.";
    "sack-blocks" => receiver.sack_blocks, Kind::Count, |t| count(t, 0, 4), "Most SACK blocks in one acknowledgement; 0, where SACK was agreed on, is a fault.";
    "accept-beyond-window" => receiver.accept_beyond, Kind::Bool, Setting::read, "Data beyond the window offered are taken in, not discarded.";
    "wire.header" => wire.header, Kind::Bytes, |t| bytes_within(t, 0, 1000), "IP and TCP headers without options.";
    "wire.timestamps" => wire.timestamps, Kind::Bytes, |t| bytes_within(t, 0, 100), "The timestamps option on the wire.";
    "wire.timestamps-on-acks" => wire.timestamps_on_acks, Kind::Bool, Setting::read, "Pure acknowledgements carry those bytes too.";
    "wire.sack" => wire.sack, Kind::Bytes, |t| bytes_within(t, 0, 100), "The SACK option's head on the wire; each block adds 8 bytes.";
    "wire.syn" => wire.syn, Kind::Bytes, |t| bytes_within(t, 0, 40), "What a SYN carries on the wire beside its timestamps: the options for segment size, scale and SACK.";
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
