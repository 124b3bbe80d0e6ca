//! Trigger of a retransmission (`Reason`): timeout, fast retransmit, recovery, go-back-N or tail loss probe.
//!
//! Inferred from the preceding ACKs, the time that the sender waited, and its recovery phase.

use super::rtt::age;
use base::{Span, Time};

base::named! {
    /// Trigger of a retransmission, inferred from the capture.
    pub enum Reason {
        /// The retransmission timer expired.
        Timeout = "timeout",
        /// First retransmission of a recovery, after duplicate ACKs or SACK blocks.
        Fast = "fast-retransmit",
        /// Further retransmission of the same recovery.
        Recovery = "recovery",
        /// Old segments resent in order after a timeout.
        GoBackN = "go-back-n",
        /// Tail loss probe: retransmission of the last segment before the RTO expires (RFC 8985 section 7).
        Probe = "tail-loss-probe",
        /// Capture point away from the sender, with more than one possible trigger.
        Unknown = "unknown",
    }
}

/// Recovery phase of the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Phase {
    /// No recovery.
    #[default]
    Open,
    /// Loss recovery until this byte is acknowledged.
    Recovery(u64),
    /// Recovery after a timeout until this byte is acknowledged.
    Timeout(u64),
    /// The timer may have expired unseen. Until this byte is acknowledged, a retransmission may be due to that timeout.
    Unsure(u64),
}

/// Facts about a retransmission from which its trigger is inferred.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResendContext {
    pub(crate) t: Time,
    pub(crate) seq: u64,
    pub(crate) end: u64,
    /// Lowest unacknowledged byte.
    pub(crate) una: u64,
    /// One past the highest byte sent.
    pub(crate) max: u64,
    /// Time of the peer's last packet.
    pub(crate) heard: Option<Time>,
    /// Time of the last ACK of new data.
    pub(crate) advanced: Option<Time>,
    /// Time when the oldest outstanding segment was last sent.
    pub(crate) oldest_sent: Option<Time>,
    /// Duplicate ACKs since the last ACK of new data.
    pub(crate) duplicates: u64,
    /// SACK has reported data beyond the oldest segment.
    pub(crate) holes: bool,
    /// RTO of RFC 6298 without its minimum.
    pub(crate) timeout: Option<Span>,
    /// Send time of the highest SACKed segment minus that of the oldest outstanding segment.
    pub(crate) overtaken_by: Span,
    /// The oldest segment was retransmitted before.
    pub(crate) resent_before: bool,
    /// Usual time between an ACK and the data that it releases.
    pub(crate) reacts: Span,
    /// Minimum RTT.
    pub(crate) least: Option<Span>,
    /// Time of the last timer expiry.
    pub(crate) expired: Option<Time>,
    pub(crate) phase: Phase,
    /// Facts for a capture away from the sender.
    pub(crate) far: Option<AwayFromSender>,
}

/// Facts about a retransmission at a capture point away from the sender. ACKs reach the sender after they
/// pass here, and its reaction passes here later still.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AwayFromSender {
    /// Minimum RTT from the capture to the sender, if known.
    pub(crate) back: Option<Span>,
    /// Time when all bytes of the segment last passed the capture point, and number of passes of its first byte.
    pub(crate) passed: Option<(Time, usize)>,
    /// Duplicate ACKs or SACK blocks that passed the capture point may have triggered the retransmission.
    pub(crate) signs: bool,
    /// The segment lies below the gap reported by these ACKs, so only a report of an older gap can be the trigger.
    pub(crate) below: bool,
    /// The sender may send tail loss probes, since SACK is not known to be off (RFC 8985 section 7).
    pub(crate) probes: bool,
}

impl AwayFromSender {
    /// Lower bound of the sender's retransmission timer.
    pub(crate) fn timer(&self) -> Span {
        shortest_timer(self.back)
    }
}

/// Lower bound of the retransmission timer, given the RTT from the capture point to the sender.
pub(crate) fn shortest_timer(back: Option<Span>) -> Span {
    back.unwrap_or(LONGEST_BACK).max(SHORTEST)
}

/// Assumed upper bound of RTT and minimum timer where the RTT to the sender is unknown.
const LONGEST_BACK: Span = Span::from_secs(1);

/// Usual time at the capture point from an ACK to the data that it releases.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReactionTime(Span);

impl ReactionTime {
    /// Adds a sample: new data followed an ACK after this time.
    pub(crate) fn see(&mut self, after: Span) {
        if after > AT_ONCE {
            return;
        }
        let ReactionTime(usual) = self;
        // Tracks about the 90th percentile.
        *usual = if after > *usual {
            *usual + Span::from_nanos((after - *usual).as_nanos() / 2)
        } else {
            *usual - Span::from_nanos((*usual - after).as_nanos() / 16)
        };
    }
    /// Estimate, with a floor of 50 us.
    pub(crate) fn usual(self) -> Span {
        self.0.max(Span::from_nanos(50_000))
    }
}

/// Longest time from an ACK to the data that it releases.
const AT_ONCE: Span = Span::from_millis(4);
/// Shortest retransmission timer of stacks in use (Linux: 200 ms).
const SHORTEST: Span = Span::from_millis(190);

impl ResendContext {
    /// Longest time that the retransmission timer can have run.
    pub(crate) fn waited(&self) -> Span {
        age(self.t, self.advanced.max(self.oldest_sent))
    }

    /// Longest time that the timer can have run; away from the sender, time since the segment passed last.
    pub(crate) fn idle(&self) -> Span {
        match self.far.and_then(|far| far.passed) {
            Some((last, _)) => self.t.since(last),
            None => self.waited(),
        }
    }

    /// Trigger at a capture point away from the sender. A timeout requires a pause, and no duplicate ACKs that allow
    /// another trigger.
    fn seen_from(&self, far: AwayFromSender) -> Reason {
        let AwayFromSender { back, passed, signs, below, probes } = far;
        // No ACKs were captured, so duplicate ACKs are unknown.
        if self.heard.is_none() {
            return Reason::Unknown;
        }
        let timer = far.timer();
        let in_turn = |until: u64| self.seq < until;
        if signs && below {
            return Reason::Unknown;
        }
        if signs {
            // The timer restarted when the last ACK of new data reached the sender; it cannot expire before its minimum
            // has passed since.
            let early = back.is_some_and(|back| age(self.t, self.advanced) < back + timer);
            return match self.phase {
                _ if !early => Reason::Unknown,
                Phase::Open => Reason::Fast,
                Phase::Recovery(until) if in_turn(until) => Reason::Recovery,
                Phase::Recovery(_) => Reason::Fast,
                Phase::Timeout(until) | Phase::Unsure(until) if in_turn(until) => Reason::Unknown,
                Phase::Timeout(_) | Phase::Unsure(_) => Reason::Fast,
            };
        }
        let Some((last, times)) = passed else { return Reason::Unknown };
        let long = self.t.since(last) >= timer;
        match self.phase {
            Phase::Timeout(until) if in_turn(until) && times == 1 => Reason::GoBackN,
            Phase::Timeout(until) | Phase::Unsure(until) if in_turn(until) => Reason::Unknown,
            _ if probes && times == 1 && self.end >= self.max => Reason::Unknown,
            _ if long => Reason::Timeout,
            _ => Reason::Unknown,
        }
    }

    /// Trigger of the retransmission.
    pub(crate) fn reason(&self) -> Reason {
        if let Some(far) = self.far {
            return self.seen_from(far);
        }
        let oldest = self.seq <= self.una && self.una < self.end;
        let heard = age(self.t, self.heard);
        let clocked = heard <= AT_ONCE;
        if let Phase::Unsure(until) = self.phase
            && self.seq < until
        {
            return Reason::Unknown;
        }
        let waited = self.waited();
        let due = self.timeout.map_or(SHORTEST, |t| Span::from_nanos(t.as_nanos() / 10 * 8)).max(SHORTEST);
        if let Phase::Timeout(until) = self.phase
            && self.seq < until
            && age(self.t, self.expired) <= AT_ONCE
            && !oldest
        {
            return Reason::GoBackN;
        }
        if !clocked {
            let last =
                self.end >= self.max && !self.holes && self.duplicates == 0 && self.phase == Phase::Open;
            if !oldest {
                return match self.phase {
                    _ if last => Reason::Probe,
                    Phase::Open => Reason::Fast,
                    Phase::Recovery(_) => Reason::Recovery,
                    Phase::Timeout(_) => Reason::GoBackN,
                    Phase::Unsure(_) => Reason::Unknown,
                };
            }
            if waited < due {
                // RACK's reordering timer (RFC 8985 section 6.2): RTT of the last delivered segment plus a quarter of
                // the RTT. It expires earlier if that segment was sent much later.
                let runs = heard.as_nanos().saturating_add(self.overtaken_by.as_nanos());
                let early = self.least.is_some_and(|l| runs < l.as_nanos() / 8 * 3);
                let soon = self.holes && (early || waited < SHORTEST);
                match self.phase {
                    Phase::Open if last => return Reason::Probe,
                    Phase::Open if soon => return Reason::Fast,
                    Phase::Recovery(_) if soon && !self.resent_before => return Reason::Recovery,
                    // After a spurious timeout the sender continues with new data; its next repair is
                    // triggered by SACK.
                    Phase::Timeout(_) if soon && !self.resent_before => return Reason::Fast,
                    _ => {}
                }
            }
            return Reason::Timeout;
        }
        match self.phase {
            // Duplicate ACKs do not trigger a second retransmission within one recovery. Senders that detect
            // lost retransmissions resend at once.
            Phase::Recovery(_)
                if oldest
                    && self.resent_before
                    && self.advanced < self.heard
                    && heard > self.reacts + self.reacts =>
            {
                Reason::Timeout
            }
            // The timer of a lost retransmission expires while ACKs still arrive.
            Phase::Recovery(_) | Phase::Timeout(_)
                if oldest && clocked && waited >= due && heard > Span::ZERO =>
            {
                Reason::Timeout
            }
            Phase::Timeout(_) if oldest && self.duplicates >= 3 => Reason::Fast,
            Phase::Timeout(until) if self.seq < until => Reason::GoBackN,
            Phase::Recovery(until) if self.seq < until => Reason::Recovery,
            _ => Reason::Fast,
        }
    }
}
