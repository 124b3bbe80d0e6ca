//! Burstiness of losses: loss probability conditioned on the preceding packets.
//!
//! Losses come in runs, in either direction. Loss probability depends on the fate of the preceding packet or
//! ACK and on the time since.

use base::Span;

/// Fate of a packet and of its ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Became {
    Lost,
    /// The packet arrived, and its ACK is delayed.
    Waits,
    /// The packet arrived, and its ACK was lost.
    Deaf,
    /// The packet arrived, and its ACK was observed.
    Heard,
}

/// Loss context of a packet or an ACK. An outage takes both directions. Each context exists for a gap below
/// [`LATE`], from [`LATE`] on and from [`LATER`] on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Past {
    /// The previous one of this direction was not lost.
    Fine,
    /// The previous one of this direction was lost.
    Same,
    /// At least [`LONG`] in a row were lost: an outage, not a burst.
    Long,
    /// The previous one of this direction was not lost, but that of the other direction was.
    Other,
    SameLate,
    LongLate,
    OtherLate,
    SameLater,
    LongLater,
    OtherLater,
}

/// Gaps since the previous packet from which its fate counts less, and least.
const LATE: Span = Span::from_millis(300);
const LATER: Span = Span::from_secs(3);

impl Past {
    /// Number of contexts.
    pub(crate) const ALL: usize = 10;

    /// Context from the current runs of losses in this and in the other direction, `gap` after the previous
    /// packet.
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

/// Losses in a row that count as an outage.
pub(crate) const LONG: u8 = 3;

/// Numbers of packets (`loss`) and of ACKs (`deaf`) not lost and lost, by [`Past`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) loss: [[f64; 2]; Past::ALL],
    pub(crate) deaf: [[f64; 2]; Past::ALL],
}

impl Counts {
    /// Adds the fate of one packet and of its ACK, each in its context, with weight `share`.
    pub(crate) fn add(&mut self, packet: Past, answer: Past, became: Became, share: f64) {
        self.loss[packet as usize][usize::from(became == Became::Lost)] += share;
        match became {
            Became::Lost | Became::Waits => {}
            Became::Deaf => self.deaf[answer as usize][1] += share,
            Became::Heard => self.deaf[answer as usize][0] += share,
        }
    }

    /// Adds the counts of `other`.
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
