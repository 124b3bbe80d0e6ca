//! Receiver timestamp clock: tick and offset, from the TSval of its ACKs.
//!
//! Its timestamp counts ticks of the receiver's clock. The tick is found from how fast they count, the offset from
//! the acknowledgements that travelled fastest.

use base::{Span, Time};

/// The receiver's clock as seen from here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clockwork {
    first: Option<(Time, u32)>,
    last: Option<(Time, u32)>,
    /// The least by which arrival exceeds the stamp, ns, counted from the first; with the tick it was made with.
    fastest: i64,
    tick: u64,
}

/// Ticks in use, ns.
const TICKS: [u64; 6] = [1_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000, 500_000_000];
/// The tick is looked for when so much time has passed.
const ENOUGH: Span = Span::from_millis(500);

impl Clockwork {
    /// An acknowledgement with this stamp was seen.
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

    /// When what was seen at `t` with this stamp left, on the clock of the capture and as if the fastest had needed no
    /// time; within a tick.
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
