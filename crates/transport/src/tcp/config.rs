//! Which choices does a TCP offer? Every one that the papers and the RFCs discuss, each one word on
//! its own axis. A profile is a list of such choices (data in `profiles/`), a scenario changes some.

use base::units::{parse_bytes, parse_span};
use base::{Span, named};

named! {
    /// Loss recovery: what is resent on duplicate acknowledgements, and when it is over.
    pub enum Recovery {
        /// Fast retransmit, then slow start (Jacobson 1988).
        Tahoe = "tahoe",
        /// Fast recovery that ends with the first new acknowledgement (RFC 5681 section 3.2).
        Reno = "reno",
        /// Stays in recovery on partial acknowledgements (RFC 6582).
        NewReno = "newreno",
        /// The pipe-based SACK sender of the simulators of 2001 (Fall and Floyd 1996).
        Sack = "sack" | "reno-sack",
        /// Conservative SACK recovery (RFC 6675).
        Rfc6675 = "rfc6675",
    }
}
named! {
    /// Who judges whether a timeout was spurious.
    pub enum Spurious {
        /// Nobody: every timeout is a loss.
        None = "none",
        /// The echoed timestamp tells the original from the retransmission (RFC 3522).
        Eifel = "eifel",
    }
}
named! {
    /// What follows from the verdict "spurious".
    pub enum Response {
        /// Nothing but the verdict in the trace.
        None = "none",
        /// The staged response of the original Eifel algorithm (Ludwig and Katz 2000).
        Staged = "staged",
        /// RFC 4015: restore, without a burst, and adapt the timer.
        Rfc4015 = "rfc4015",
    }
}
named! {
    /// How the staged response counts subsequent timeouts.
    pub enum StagedCount {
        /// Expirations since the last acknowledgement of new data: those within one delay.
        Expirations = "expirations",
        /// Spurious timeouts in a row on the connection, until a genuine one.
        Consecutive = "consecutive",
        /// None: each spurious timeout stands alone, so that everything is always restored.
        Single = "single",
        /// As `consecutive`, but a whole window acknowledged without a timeout also ends the row.
        Window = "window",
    }
}
named! {
    /// Which window the first stage of the staged response restores. The threshold comes back as saved.
    pub enum StagedFirst {
        /// The one before the timeout, with its fraction of a segment.
        Saved = "saved",
        /// From the last segment acknowledged before the verdict to the next one to send: the full
        /// revert of ns-2 (`t_seqno_ - prev_highest_ack_`, there for F-RTO). It counts the segment about
        /// to be sent, so it is one segment more than was in flight.
        Outstanding = "outstanding",
    }
}
named! {
    /// What the second stage of the staged response restores.
    pub enum StagedSecond {
        /// ssthresh = half of the old window, cwnd = ssthresh ("Responding", option 2).
        Half = "half",
        /// ssthresh = the old window, cwnd left halved (the GPRS study, section 3).
        Threshold = "threshold",
    }
}
named! {
    /// What the third stage of the staged response leaves.
    pub enum StagedThird {
        /// ssthresh = half of the old window, cwnd = 1 segment ("Responding", option 3).
        SlowStart = "slow-start",
        /// Everything as the timeouts left it (the GPRS study, section 3).
        Nothing = "nothing",
    }
}
named! {
    /// How the retransmission timer adapts after a spurious timeout.
    pub enum Adapt {
        /// Not at all: the samples of delayed segments count as any other.
        None = "none",
    }
}
named! {
    /// How the connection opens.
    pub enum Handshake {
        /// SYN, SYN-ACK, ACK; FIN at the end.
        TwoWay = "two-way",
        /// A bare SYN packet, acknowledged like data; no FIN: the one-way models of the simulators.
        OneWay = "one-way",
    }
}
named! {
    /// Whether selective acknowledgements are used.
    pub enum Sack {
        /// If the recovery needs them.
        Auto = "auto",
        /// Yes.
        On = "true" | "on",
        /// No.
        Off = "false" | "off",
    }
}
named! {
    /// When duplicate acknowledgements after a timeout may cause a fast retransmit (RFC 2582 section 5).
    pub enum BugFix {
        /// Always: the bug fix is off.
        Off = "off",
        /// Once everything outstanding at the timeout is acknowledged.
        LessCareful = "less-careful",
        /// Once more than that is acknowledged.
        Careful = "careful",
    }
}
named! {
    /// When a partial acknowledgement restarts the timer (RFC 6582 section 4).
    pub enum PartialTimer {
        /// Only the first one does.
        Impatient = "impatient",
        /// Each one does.
        SlowButSteady = "slow-but-steady",
    }
}
named! {
    /// How SRTT, RTTVAR and the timeout are computed.
    pub enum Estimator {
        /// RFC 6298 in nanoseconds, rounded up to the tick.
        Rfc6298 = "rfc6298",
        /// The integer arithmetic of BSD: samples in ticks, shifts by 3 and 2, and a smoothed time
        /// folded into the variance after many expirations.
        Bsd = "bsd",
    }
}
named! {
    /// What ends the exponential back-off.
    pub enum BackoffReset {
        /// The acknowledgement of a segment that was timed, that is, first sent after the timeout: Karn, and
        /// what RFC 2988 section 5 calls a new measurement ("only [...] when new data has been sent and
        /// acknowledged").
        TimedSegment = "timed-segment",
        /// Any new round-trip sample; with timestamps every new acknowledgement gives one.
        Sample = "sample",
        /// Any acknowledgement of new data.
        NewAck = "new-ack",
    }
}
named! {
    /// Where ssthresh comes from at a loss.
    pub enum Halving {
        /// Half of what is outstanding (RFC 5681 equation 4).
        Flight = "flight",
        /// Half of the usable window, in whole segments: the simulators of 2001.
        Window = "window",
    }
}
named! {
    /// What a second expiration for the same segment does to ssthresh.
    pub enum RepeatedTimeout {
        /// Nothing more (RFC 5681 section 3.1).
        Hold = "hold",
        /// Halves again: to two segments, since one is outstanding in the window.
        Halve = "halve",
    }
}
named! {
    /// How an acknowledgement opens the window in slow start.
    pub enum ByteCounting {
        /// One segment an acknowledgement (RFC 5681 equation 2).
        None = "none",
        /// What was acknowledged, at most two segments (RFC 3465, L = 2).
        AbcL2 = "abc-l2",
        /// What was acknowledged.
        Unlimited = "unlimited",
    }
}
named! {
    /// Which round trips are timed when there are no timestamps.
    pub enum Timing {
        /// One segment per window (RFC 6298 section 3).
        Window = "window",
        /// Every segment that was sent once.
        Segment = "segment",
    }
}
named! {
    /// Which timestamp the receiver echoes.
    pub enum Echo {
        /// The latest of a segment that reaches back to the last acknowledgement; duplicates too
        /// (RFC 7323 section 4.3).
        Rfc7323 = "rfc7323",
        /// That of the segment which holds the last acknowledged byte's successor; old duplicates
        /// change nothing (RFC 1323 section 3.4).
        Rfc1323 = "rfc1323",
        /// That of the segment which caused the acknowledgement, duplicates too: the simulators of 2001.
        Latest = "latest",
    }
}

/// A window given in segments, in bytes, or by an RFC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowSize {
    /// So many full segments.
    Segments(u32),
    /// So many bytes.
    Bytes(u64),
    /// RFC 3390: min(4 MSS, max(2 MSS, 4380 B)).
    Rfc3390,
    /// RFC 6928: min(10 MSS, max(2 MSS, 14600 B)).
    Rfc6928,
    /// As large as the peer's window.
    Peer,
    /// No limit.
    Unlimited,
}

impl WindowSize {
    /// In bytes, with this segment size and this peer's window.
    pub fn bytes(self, mss: u32, peer: u64) -> u64 {
        let mss = u64::from(mss);
        match self {
            WindowSize::Segments(n) => u64::from(n) * mss,
            WindowSize::Bytes(n) => n,
            WindowSize::Rfc3390 => (4 * mss).min((2 * mss).max(4380)),
            WindowSize::Rfc6928 => (10 * mss).min((2 * mss).max(14600)),
            WindowSize::Peer => peer,
            WindowSize::Unlimited => u64::MAX,
        }
    }
}

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

/// What an option takes, for readers, schemas and help.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// true or false.
    Bool,
    /// A whole number.
    Count,
    /// A time with its unit.
    Span,
    /// Bytes with their unit.
    Bytes,
    /// A window: "20 segments", "64 kB", "rfc3390", "rfc6928", "peer" or "unlimited".
    Window,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// One option: its key as written under `transport.tcp`, what it takes, one sentence.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// The key; a dot is a nested table (`rto.min`).
    pub key: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it means.
    pub doc: &'static str,
}

/// A type that an option can have.
trait Setting: Sized {
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
        parse_span(text)
    }
}
impl Setting for WindowSize {
    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            "rfc3390" => return Ok(WindowSize::Rfc3390),
            "rfc6928" => return Ok(WindowSize::Rfc6928),
            "peer" => return Ok(WindowSize::Peer),
            "unlimited" => return Ok(WindowSize::Unlimited),
            _ => {}
        }
        let words = ["segments", "segment"];
        if let Some(number) = words.iter().find_map(|w| text.trim().strip_suffix(w)) {
            return match number.trim().parse() {
                Ok(n) if n > 0 => Ok(WindowSize::Segments(n)),
                _ => Err(format!("`{text}` must be a whole number of segments, at least 1")),
            };
        }
        match parse_bytes(text) {
            Ok(0) => Err(format!("`{text}` is no window at all")),
            Ok(n) => Ok(WindowSize::Bytes(n)),
            Err(_) => Err(format!(
                "`{text}` is not a window; write \"20 segments\", \"64 kB\", \"rfc3390\", \"rfc6928\", \"peer\" or \"unlimited\""
            )),
        }
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
        Ok(n) => n, // a bare number of bytes is what dialogues write
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
    Spurious,
    Response,
    StagedCount,
    StagedFirst,
    StagedSecond,
    StagedThird,
    Adapt,
    Handshake,
    Sack,
    BugFix,
    PartialTimer,
    Estimator,
    BackoffReset,
    Halving,
    RepeatedTimeout,
    ByteCounting,
    Timing,
    Echo
);

macro_rules! options {
    ($($key:literal => $($field:ident).+, $kind:expr, $read:expr, $doc:literal;)+) => {
        impl Config {
            /// Every option, in the order of the documentation.
            pub const OPTIONS: &'static [OptionSpec] =
                &[$(OptionSpec { key: $key, kind: $kind, doc: $doc }),+];

            /// Sets one option from its text. The error is a sentence for the user.
            pub fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
                match key {
                    $($key => { self.$($field).+ = $read(text)?; Ok(()) })+
                    _ => Err(format!("`{key}` is not an option of tcp")),
                }
            }
        }
    };
}

options! {
    "mss" => mss, Kind::Bytes, |t| bytes_within(t, 64, 65_000), "Largest data segment.";
    "handshake" => handshake, Kind::Word(Handshake::NAMES), Setting::read, "How the connection opens: two-way, or the one-way model of the simulators.";
    "initial-window" => initial_window, Kind::Window, Setting::read, "First congestion window.";
    "initial-ssthresh" => initial_ssthresh, Kind::Window, Setting::read, "First slow-start threshold.";
    "window" => receiver.window, Kind::Window, Setting::read, "Receive window offered.";
    "recovery" => recovery, Kind::Word(Recovery::NAMES), Setting::read, "Loss recovery.";
    "sack" => sack, Kind::Word(Sack::NAMES), Setting::read, "Selective acknowledgements; auto: if the recovery needs them.";
    "timestamps" => timestamps, Kind::Bool, Setting::read, "Timestamps option (RFC 7323).";
    "dupthresh" => dupthresh, Kind::Count, |t| count(t, 1, 1000), "Duplicate acknowledgements that cause a fast retransmit.";
    "limited-transmit" => limited_transmit, Kind::Bool, Setting::read, "A new segment on each of the first duplicates (RFC 3042).";
    "bug-fix" => bug_fix, Kind::Word(BugFix::NAMES), Setting::read, "When duplicates after a timeout may cause a fast retransmit (RFC 2582 section 5).";
    "inflate-always" => inflate_always, Kind::Bool, Setting::read, "Duplicates inflate the window even when fast retransmit is blocked.";
    "newreno.partial-deflation" => partial_deflation, Kind::Bool, Setting::read, "Partial acknowledgements deflate the window (RFC 6582 section 3.2).";
    "newreno.timer" => partial_timer, Kind::Word(PartialTimer::NAMES), Setting::read, "Which partial acknowledgements restart the timer.";
    "recovery-burst" => recovery_burst, Kind::Count, |t| count(t, 0, 1000), "Most new segments per duplicate during recovery; 0: no limit.";
    "grow-on-exit" => grow_on_exit, Kind::Bool, Setting::read, "The acknowledgement that ends recovery opens the window too.";
    "restart-on-fast-retransmit" => restart_on_fast_retransmit, Kind::Bool, Setting::read, "A fast retransmit restarts the timer.";
    "spurious" => spurious, Kind::Word(Spurious::NAMES), Setting::read, "Who judges whether a timeout was spurious.";
    "judge-in-recovery" => judge_in_recovery, Kind::Bool, Setting::read, "Timeouts inside loss recovery are judged too.";
    "response" => response, Kind::Word(Response::NAMES), Setting::read, "What follows from that verdict.";
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
    "rto.timing" => rto.timing, Kind::Word(Timing::NAMES), Setting::read, "Which segments are timed without timestamps.";
    "halving" => halving, Kind::Word(Halving::NAMES), Setting::read, "What ssthresh is half of.";
    "repeated-timeout" => repeated_timeout, Kind::Word(RepeatedTimeout::NAMES), Setting::read, "What a repeated timeout does to ssthresh.";
    "byte-counting" => byte_counting, Kind::Word(ByteCounting::NAMES), Setting::read, "How acknowledgements open the window in slow start.";
    "cwnd-validation" => cwnd_validation, Kind::Bool, Setting::read, "A window that is not used does not grow.";
    "delayed-ack.timer" => receiver.ack_delay, Kind::Span, Setting::read, "Longest delay of an acknowledgement; 0 s: none is delayed.";
    "delayed-ack.every" => receiver.ack_every, Kind::Count, |t| count(t, 1, 1000), "Segments one acknowledgement may cover.";
    "delayed-ack.syn" => receiver.delay_syn_ack, Kind::Bool, Setting::read, "The acknowledgement of a one-way SYN is delayed too.";
    "delayed-ack.duplicates" => receiver.delay_duplicates, Kind::Bool, Setting::read, "A repeat of the last in-order segment may wait for its acknowledgement.";
    "dsack" => receiver.dsack, Kind::Bool, Setting::read, "The receiver reports duplicates (RFC 2883).";
    "echo" => receiver.echo, Kind::Word(Echo::NAMES), Setting::read, "Which timestamp the receiver echoes.";
    "sack-blocks" => receiver.sack_blocks, Kind::Count, |t| count(t, 1, 4), "Most SACK blocks in one acknowledgement.";
    "wire.header" => wire.header, Kind::Bytes, |t| bytes_within(t, 0, 1000), "IP and TCP headers without options.";
    "wire.timestamps" => wire.timestamps, Kind::Bytes, |t| bytes_within(t, 0, 100), "The timestamps option on the wire.";
    "wire.timestamps-on-acks" => wire.timestamps_on_acks, Kind::Bool, Setting::read, "Pure acknowledgements carry those bytes too.";
    "wire.sack" => wire.sack, Kind::Bytes, |t| bytes_within(t, 0, 100), "The SACK option's head on the wire; each block adds 8 bytes.";
}

fn tick(text: &str) -> Result<Span, String> {
    let span = parse_span(text)?;
    if span.is_zero() || span > Span::from_secs(10) {
        return Err(format!("`{text}`: a clock tick is more than nothing and at most 10 s"));
    }
    Ok(span)
}

/// The profiles: name, one sentence, and the choices as `key = value` lines.
const PROFILES: &[(&str, &str)] =
    &[("rfc", include_str!("profiles/rfc.toml")), ("ns2-2001", include_str!("profiles/ns2-2001.toml"))];

impl Config {
    /// The names of all profiles.
    pub fn profiles() -> impl Iterator<Item = &'static str> {
        PROFILES.iter().map(|(name, _)| *name)
    }
    /// The text of a profile: comments that explain it and its choices.
    pub fn profile_text(name: &str) -> Option<&'static str> {
        PROFILES.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
    }
    /// A profile by name: today's RFCs (`rfc`, the default), changed by the profile's choices.
    pub fn profile(name: &str) -> Option<Config> {
        let mut config = Config::default();
        for (key, value) in choices(Config::profile_text(name)?) {
            config.set(key, value).ok()?;
        }
        Some(config)
    }
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

/// The `key = value` lines of a profile (a subset of TOML: dotted keys, one line each).
fn choices(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.lines().filter_map(|line| {
        let line = line.split('#').next().unwrap_or_default();
        let (key, value) = line.split_once('=')?;
        Some((key.trim(), value.trim().trim_matches('"')))
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_made_of_options_that_exist() {
        for name in Config::profiles() {
            let mut config = Config::default();
            for (key, value) in choices(Config::profile_text(name).unwrap()) {
                config.set(key, value).unwrap_or_else(|e| panic!("{name}: {key}: {e}"));
            }
        }
    }

    #[test]
    fn the_default_profile_is_the_default() {
        assert_eq!(Config::profile("rfc"), Some(Config::default()));
    }

    /// PR-02: RFC 3390's window for the three cases of the profile paper (claim C110).
    #[test]
    fn initial_windows_of_rfc_3390() {
        for (mss, bytes) in [(536, 2144), (1460, 4380), (2190, 4380)] {
            assert_eq!(WindowSize::Rfc3390.bytes(mss, 0), bytes);
        }
    }
}
