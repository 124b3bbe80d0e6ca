//! ACK timing model: expected arrival of an ACK, learned from undisturbed parts of the connection.
//!
//! A path that keeps its order lets one packet through after the other: an answer comes a round trip after its packet
//! was sent, or right behind the answer before it, and seldom later. How precisely this holds is learned from the
//! connection while nothing is amiss.

use super::hmm::Sent;
use base::{Span, Time};

/// When the path is through with what was sent so far, as seen from the capture.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Front {
    /// No sooner than this.
    floor: Time,
    /// No sooner than this unless answers were held up and came close together.
    least: Time,
    /// No later than this unless something is held up: what was lost may have taken its time.
    most: Time,
}

impl From<Time> for Front {
    fn from(t: Time) -> Front {
        Front { floor: t, least: t, most: t }
    }
}

/// How long things take on a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The shortest round trip of a full segment.
    pub(crate) trip: Span,
    /// What a round trip seldom exceeds.
    pub(crate) usual: Span,
    /// How long the bottleneck takes for a byte, ns.
    pub(crate) byte_ns: f64,
    /// How far answers come from when they should.
    pub(crate) spread: Span,
}

/// How often an answer comes when it should, and how often within what is usual.
const PROMPT: f64 = 0.9;
const SOON: f64 = 0.08;
/// How often right behind the one before, closer than data can follow each other.
const CLOSE: f64 = 0.03;
/// How often sooner than the path is believed to allow.
const EARLY: f64 = 0.005;
/// Acknowledgements wait no longer for a second segment (RFC 9293 section 3.8.6.3).
const LONGEST_WAIT: f64 = 0.55;

impl Pace {
    /// Where the front is once this packet was sent.
    pub(crate) fn passes(&self, front: Front, s: &Sent, arrives: bool) -> Front {
        let alone = s.t + self.trip;
        let each = Span::from_nanos((self.byte_ns * (s.end - s.seq + 40) as f64) as u64);
        let most = (front.most + each).max(alone);
        if !arrives {
            return Front { most, ..front };
        }
        Front { floor: front.floor.max(alone), least: (front.least + each).max(alone), most }
    }

    /// When an answer to so many segments should come, the last of which was sent at `t`.
    pub(crate) fn due(&self, t: Time, before: Option<Time>, bytes: u64) -> Time {
        let behind = before.map(|b| b + Span::from_nanos((self.byte_ns * bytes as f64) as u64));
        (t + self.trip).max(behind.unwrap_or_default())
    }

    /// The same where packets overtake each other, for what was sent at `t`.
    pub(crate) fn loose(&self, t: Time, at: Time) -> f64 {
        let usual = (self.usual.as_secs_f64() - self.trip.as_secs_f64()).clamp(0.02, 10.0);
        let x = at.since(t + self.trip).as_secs_f64();
        (PROMPT + SOON) * libm::exp(-x / usual) / usual + (1.0 - PROMPT - SOON) / (4.0 * (x + usual))
    }

    /// How likely it is that an answer comes at this instant, per second.
    pub(crate) fn density(&self, front: Front, at: Time, waits: f64) -> f64 {
        let j = self.spread;
        let early = front.floor.since(at + j).as_secs_f64();
        let wide = (front.most.since(front.least) + j + j).as_secs_f64();
        let usual = (self.usual.as_secs_f64() - self.trip.as_secs_f64()).clamp(0.02, 10.0);
        if early > 0.0 {
            return EARLY / (wide + early);
        }
        if at + j < front.least {
            return CLOSE / (front.least.since(front.floor) + j + j).as_secs_f64();
        }
        let x = at.since(front.most + j).as_secs_f64();
        let timer = if x < LONGEST_WAIT { 1.0 / (LONGEST_WAIT + wide) } else { 0.0 };
        let prompt = if x > 0.0 { 0.0 } else { PROMPT / wide };
        let soon = SOON * libm::exp(-x / usual) / (usual + wide);
        let late = (1.0 - PROMPT - SOON) / (4.0 * (x + usual + wide));
        (1.0 - waits) * (prompt + soon + late) + waits * timer
    }
}
