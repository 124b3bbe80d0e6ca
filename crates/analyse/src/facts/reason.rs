//! Trigger of a retransmission: timeout, fast retransmit, go-back-N or recovery.
//!
//! From outside one sees what came just before it, how long the sender had waited, and what it was doing since.

use super::rtt::age;
use base::{Span, Time};

base::named! {
    /// Why a segment was sent again, as far as can be seen.
    pub enum Reason {
        /// The retransmission timer expired.
        Timeout = "timeout",
        /// Duplicates, or a hole that SACK shows: the first of a recovery.
        Fast = "fast-retransmit",
        /// The same recovery goes on.
        Recovery = "recovery",
        /// What follows a timeout: old segments in order.
        GoBackN = "go-back-n",
        /// The last segment again, before the timer would expire (RFC 8985 section 7).
        Probe = "tail-loss-probe",
        /// The capture does not tell: it stands away from the sender, and more than one reason fits.
        Unknown = "unknown",
    }
}

/// What a sender is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Phase {
    /// Nothing special.
    #[default]
    Open,
    /// Repairs a loss, until this is acknowledged.
    Recovery(u64),
    /// Goes on after a timeout, until this is acknowledged.
    Timeout(u64),
    /// A timer may have expired unseen: until this is acknowledged, what is sent again may follow from it.
    Unsure(u64),
}

/// What is seen when a segment is sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene {
    pub(crate) t: Time,
    pub(crate) seq: u64,
    pub(crate) end: u64,
    /// All below is acknowledged.
    pub(crate) una: u64,
    /// Sent up to here.
    pub(crate) max: u64,
    /// When anything last came from the peer.
    pub(crate) heard: Option<Time>,
    /// When new data were last acknowledged.
    pub(crate) advanced: Option<Time>,
    /// When the oldest segment was last sent.
    pub(crate) oldest_sent: Option<Time>,
    /// Acknowledgements without news since then.
    pub(crate) duplicates: u64,
    /// Something beyond the oldest segment was reported by SACK.
    pub(crate) holes: bool,
    /// The timeout by RFC 6298.
    pub(crate) timeout: Option<Span>,
    /// How long after the oldest segment that was sent which SACK reports last.
    pub(crate) overtaken_by: Span,
    /// The oldest segment was sent again before.
    pub(crate) twice: bool,
    /// How long this sender takes to answer what it hears.
    pub(crate) reacts: Span,
    /// The shortest round trip.
    pub(crate) least: Option<Span>,
    /// Last time that the timer expired.
    pub(crate) expired: Option<Time>,
    pub(crate) phase: Phase,
    /// What is seen of it away from the sender.
    pub(crate) far: Option<Far>,
}

/// What a capture away from the sender shows of a segment that was sent again: what the sender hears it hears later, what it
/// answers passes here later still.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Far {
    /// Shortest time from the capture to the sender and back, if known.
    pub(crate) back: Option<Span>,
    /// When all of its bytes had last passed here, and how often they had.
    pub(crate) passed: Option<(Time, usize)>,
    /// Duplicates or SACK blocks that passed here may have let it out.
    pub(crate) signs: bool,
    /// It lies below the hole that those report: they let it out only if the sender heard of an older one.
    pub(crate) below: bool,
    /// The sender may send tail loss probes: it is not known to do without SACK (RFC 8985 section 7).
    pub(crate) probes: bool,
}

impl Far {
    /// No timer of the sender is shorter than a round trip.
    pub(crate) fn timer(&self) -> Span {
        shortest_timer(self.back)
    }
}

/// The shortest timer of a sender that is so far away.
pub(crate) fn shortest_timer(back: Option<Span>) -> Span {
    back.unwrap_or(LONGEST_BACK).max(SHORTEST)
}

/// Without the round trip to the sender, this is taken for longer than it and its timer.
const LONGEST_BACK: Span = Span::from_secs(1);

/// How long a sender takes to answer what it hears, as seen from the capture.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reacts(Span);

impl Reacts {
    /// New data followed an acknowledgement after this time.
    pub(crate) fn see(&mut self, after: Span) {
        if after > AT_ONCE {
            return;
        }
        let Reacts(usual) = self;
        // Nine of ten are quicker, about.
        *usual = if after > *usual {
            *usual + Span::from_nanos((after - *usual).as_nanos() / 2)
        } else {
            *usual - Span::from_nanos((*usual - after).as_nanos() / 16)
        };
    }
    /// What it seldom exceeds.
    pub(crate) fn usual(self) -> Span {
        self.0.max(Span::from_nanos(50_000))
    }
}

/// A sender answers an acknowledgement within this.
const AT_ONCE: Span = Span::from_millis(4);
/// No timer in use is shorter.
const SHORTEST: Span = Span::from_millis(190);

impl Scene {
    /// How long the timer can have run.
    pub(crate) fn waited(&self) -> Span {
        age(self.t, self.advanced.max(self.oldest_sent))
    }

    /// How long the timer can have run; away from the sender, how long nothing of the segment passed.
    pub(crate) fn idle(&self) -> Span {
        match self.far.and_then(|far| far.passed) {
            Some((last, _)) => self.t.since(last),
            None => self.waited(),
        }
    }

    /// Why, as far as a capture away from the sender shows. A timeout is told only where the silence and the absence of
    /// duplicates leave no other cause.
    fn seen_from(&self, far: Far) -> Reason {
        let Far { back, passed, signs, below, probes } = far;
        // Nothing of the answers is seen, so neither are duplicates.
        if self.heard.is_none() {
            return Reason::Unknown;
        }
        let timer = far.timer();
        let in_turn = |until: u64| self.seq < until;
        if signs && below {
            return Reason::Unknown;
        }
        if signs {
            // The timer has run since the last news reached the sender: before that has passed, it was not the timer.
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

    /// Why.
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
                // A timer for what may be out of order (RFC 8985 section 6.2) runs for a quarter of a round trip longer
                // than what was delivered last took: it has expired before if that was sent much later.
                let runs = heard.as_nanos().saturating_add(self.overtaken_by.as_nanos());
                let early = self.least.is_some_and(|l| runs < l.as_nanos() / 8 * 3);
                let soon = self.holes && (early || waited < SHORTEST);
                match self.phase {
                    Phase::Open if last => return Reason::Probe,
                    Phase::Open if soon => return Reason::Fast,
                    Phase::Recovery(_) if soon && !self.twice => return Reason::Recovery,
                    // After a timeout that was spurious the sender goes on with new data: its next repair is by SACK.
                    Phase::Timeout(_) if soon && !self.twice => return Reason::Fast,
                    _ => {}
                }
            }
            return Reason::Timeout;
        }
        match self.phase {
            // What was resent in this recovery already is resent on no duplicate, but by those who hear of a lost
            // retransmission: they do it at once.
            Phase::Recovery(_)
                if oldest
                    && self.twice
                    && self.advanced < self.heard
                    && heard > self.reacts + self.reacts =>
            {
                Reason::Timeout
            }
            // The timer of a retransmission that is lost expires in the middle of answers.
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
