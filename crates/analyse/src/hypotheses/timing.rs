//! ACK timing model: due time of an ACK from RTT and bottleneck rate, and probability density of its arrival.
//!
//! On a path without reordering, an ACK is due one RTT after its packet, or one serialisation time after the previous
//! ACK. Spread and bottleneck rate are learned outside of episodes.

use super::hmm::SentPacket;
use base::{Span, Time};

/// Bounds on the arrival of the packets sent so far, as ACK times at the capture point.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ArrivalBounds {
    /// Earliest time by RTT: one RTT after the last packet that arrived.
    floor: Time,
    /// Earliest time by bottleneck rate. ACKs come earlier only if they were delayed and then compressed.
    least: Time,
    /// Latest time by bottleneck rate, lost packets included, since they may have used the bottleneck.
    most: Time,
}

impl From<Time> for ArrivalBounds {
    fn from(t: Time) -> ArrivalBounds {
        ArrivalBounds { floor: t, least: t, most: t }
    }
}

/// Timing of the path: RTT, bottleneck rate, spread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathTiming {
    /// Shortest RTT of a full segment.
    pub(crate) trip: Span,
    /// Upper bound that the RTT seldom exceeds.
    pub(crate) usual: Span,
    /// Serialisation time at the bottleneck, ns per byte.
    pub(crate) byte_ns: f64,
    /// Spread of ACK arrivals around their due time.
    pub(crate) spread: Span,
}

/// Probability of an ACK at its due time.
const PROMPT: f64 = 0.9;
/// Probability of an ACK after its due time but within the usual RTT.
const SOON: f64 = 0.08;
/// Probability of a compressed ACK, closer to the previous one than the bottleneck spaces data.
const CLOSE: f64 = 0.03;
/// Probability of an ACK before the estimated minimum RTT.
const EARLY: f64 = 0.005;
/// Upper bound of the delayed-ACK timer (RFC 9293 section 3.8.6.3: 0.5 s) with a margin, s.
const LONGEST_WAIT: f64 = 0.55;

impl PathTiming {
    /// Bounds after packet `s`; `arrives`: the packet was not lost.
    pub(crate) fn passes(&self, front: ArrivalBounds, s: &SentPacket, arrives: bool) -> ArrivalBounds {
        let alone = s.t + self.trip;
        let each = Span::from_nanos((self.byte_ns * (s.end - s.seq + 40) as f64) as u64);
        let most = (front.most + each).max(alone);
        if !arrives {
            return ArrivalBounds { most, ..front };
        }
        ArrivalBounds { floor: front.floor.max(alone), least: (front.least + each).max(alone), most }
    }

    /// Due time of an ACK for `bytes` bytes whose last segment was sent at `t`; `before`: time of the previous ACK.
    pub(crate) fn due(&self, t: Time, before: Option<Time>, bytes: u64) -> Time {
        let behind = before.map(|b| b + Span::from_nanos((self.byte_ns * bytes as f64) as u64));
        (t + self.trip).max(behind.unwrap_or_default())
    }

    /// Probability density of the ACK time `at` on a reordering path, per second, for a segment sent at `t`.
    pub(crate) fn loose(&self, t: Time, at: Time) -> f64 {
        let usual = (self.usual.as_secs_f64() - self.trip.as_secs_f64()).clamp(0.02, 10.0);
        let x = at.since(t + self.trip).as_secs_f64();
        (PROMPT + SOON) * libm::exp(-x / usual) / usual + (1.0 - PROMPT - SOON) / (4.0 * (x + usual))
    }

    /// Probability density of the ACK time `at`, per second; `waits`: probability that the delayed-ACK timer triggered
    /// the ACK.
    pub(crate) fn density(&self, front: ArrivalBounds, at: Time, waits: f64) -> f64 {
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
