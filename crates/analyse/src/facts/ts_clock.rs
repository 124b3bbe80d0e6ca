//! Timestamp clock of the receiver (RFC 7323): tick length and offset, from TSval and capture time of its ACKs.
//!
//! The tick length follows from the TSval rate. The offset follows from the ACKs with the shortest transit.

use base::{Span, Time};

/// Timestamp clock of the receiver, seen from the capture point.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimestampClock {
    first: Option<(Time, u32)>,
    last: Option<(Time, u32)>,
    /// Smallest excess of capture time over TSval time, ns, relative to the first ACK.
    fastest: i64,
    /// Tick length, ns; 0 while unknown.
    tick: u64,
}

/// Tick lengths of stacks in use, ns.
const TICKS: [u64; 6] = [1_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000, 500_000_000];
/// Time between first and last ACK that the tick estimate needs.
const ENOUGH: Span = Span::from_millis(500);

impl TimestampClock {
    /// Adds the TSval of an ACK.
    pub(crate) fn see(&mut self, t: Time, stamp: u32) {
        let Some((t0, s0)) = self.first else {
            self.first = Some((t, stamp));
            return;
        };
        self.last = Some((t, stamp));
        let (span, ticks) = (t.since(t0), u64::from(stamp.wrapping_sub(s0)));
        if self.tick == 0 && span >= ENOUGH && ticks > 0 && ticks < 1 << 31 {
            let each = span.as_nanos() / ticks;
            let near = |tick: &&u64| each / 4 * 5 >= **tick && each / 5 * 4 <= **tick;
            self.tick = TICKS.iter().find(near).copied().unwrap_or(0);
        }
        if self.tick > 0 {
            self.fastest = self.fastest.min(self.behind(t, stamp));
        }
    }

    fn behind(&self, t: Time, stamp: u32) -> i64 {
        let Some((t0, s0)) = self.first else { return 0 };
        let ticks = i64::from(stamp.wrapping_sub(s0) as i32);
        let at = ticks.saturating_mul(self.tick as i64);
        (t.as_nanos() as i64).saturating_sub(t0.as_nanos() as i64).saturating_sub(at)
    }

    /// Departure time of an ACK captured at `t`, on the capture clock, within one tick. The fastest ACK
    /// counts as having no transit time.
    pub(crate) fn left(&self, t: Time, stamp: u32) -> Option<Time> {
        (self.tick > 0).then(|| {
            let late = self.behind(t, stamp).saturating_sub(self.fastest).max(0);
            t - Span::from_nanos(late as u64)
        })
    }

    /// Length of a tick, if it is known.
    pub(crate) fn tick(&self) -> Option<Span> {
        (self.tick > 0).then(|| Span::from_nanos(self.tick))
    }
}
