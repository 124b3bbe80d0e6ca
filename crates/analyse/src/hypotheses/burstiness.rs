//! Burstiness of losses: loss probability conditioned on the preceding packets.
//!
//! Losses of either direction come in runs: how often something is lost hangs on what became of what was sent just
//! before it, and on how long ago that was.

use base::Span;

/// What became of a packet and its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Became {
    Lost,
    /// It arrived, and its answer waits.
    Waits,
    /// It arrived, and its answer was lost.
    Deaf,
    /// It arrived, and its answer came.
    Heard,
}

/// What went before a packet or an answer: losses come in runs, and an outage takes either direction. What was long ago
/// says less: each stands once for what was just before, once for [`LATE`] and once for [`LATER`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Past {
    /// The one before was not lost.
    Fine,
    /// It was.
    Same,
    /// Several before it were: an outage, not a burst.
    Long,
    /// It was not, but what last went the other way was.
    Other,
    SameLate,
    LongLate,
    OtherLate,
    SameLater,
    LongLater,
    OtherLater,
}

/// So long after the packet before, what became of that says less; so long, least.
const LATE: Span = Span::from_millis(300);
const LATER: Span = Span::from_secs(3);

impl Past {
    /// So many there are.
    pub(crate) const ALL: usize = 10;

    /// So many were lost in a row of the same direction and of the other, the last one this long before.
    pub(crate) fn of(same: u8, other: u8, gap: Span) -> Past {
        let of = |now, late, later| match gap {
            g if g >= LATER => later,
            g if g >= LATE => late,
            _ => now,
        };
        match (same, other) {
            (LONG.., _) => of(Past::Long, Past::LongLate, Past::LongLater),
            (1.., _) => of(Past::Same, Past::SameLate, Past::SameLater),
            (0, 1..) => of(Past::Other, Past::OtherLate, Past::OtherLater),
            (0, 0) => Past::Fine,
        }
    }
}

/// So many losses in a row are an outage.
pub(crate) const LONG: u8 = 3;

/// How often packets were not lost and lost, by [`Past`]; the same of answers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) loss: [[f64; 2]; Past::ALL],
    pub(crate) deaf: [[f64; 2]; Past::ALL],
}

impl Counts {
    /// What became of one, after what went before the packet and the answer.
    pub(crate) fn add(&mut self, packet: Past, answer: Past, became: Became, share: f64) {
        self.loss[packet as usize][usize::from(became == Became::Lost)] += share;
        match became {
            Became::Lost | Became::Waits => {}
            Became::Deaf => self.deaf[answer as usize][1] += share,
            Became::Heard => self.deaf[answer as usize][0] += share,
        }
    }

    /// Both together.
    pub(crate) fn join(&mut self, other: &Counts) {
        for (sum, new) in [(&mut self.loss, &other.loss), (&mut self.deaf, &other.deaf)] {
            for (s, n) in sum.as_flattened_mut().iter_mut().zip(new.as_flattened()) {
                *s += n;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_long_ago_says_less() {
        let ms = Span::from_millis;
        assert_eq!(Past::of(LONG, 0, ms(20)), Past::Long);
        assert_eq!(Past::of(LONG, 0, ms(1000)), Past::LongLate);
        assert_eq!(Past::of(1, 2, ms(60_000)), Past::SameLater);
        assert_eq!(Past::of(0, 2, ms(60_000)), Past::OtherLater);
        assert_eq!(Past::of(0, 0, ms(60_000)), Past::Fine);
    }
}
