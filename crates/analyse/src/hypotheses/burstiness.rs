//! Loss burstiness for the hidden Markov model: loss contexts of packets and ACKs, by the preceding fates and the time
//! since, and loss counts for each context.

use base::Span;

/// Fate of a packet and of its ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PacketFate {
    Lost,
    /// The packet arrived, and its ACK is delayed.
    AckDelayed,
    /// The packet arrived, and its ACK was lost.
    AckLost,
    /// The packet arrived, and its ACK was observed.
    AckObserved,
}

/// Loss context of a packet or an ACK. An outage takes both directions. Each context exists for a gap below
/// [`LATE`], from [`LATE`] on and from [`LATER`] on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LossContext {
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

impl LossContext {
    /// Number of contexts.
    pub(crate) const ALL: usize = 10;

    /// Context from the current runs of losses in this and in the other direction, `gap` after the previous
    /// packet.
    pub(crate) fn of(same: u8, other: u8, gap: Span) -> LossContext {
        let of = |now, late, later| match gap {
            g if g >= LATER => later,
            g if g >= LATE => late,
            _ => now,
        };
        match (same, other) {
            (LONG.., _) => of(LossContext::Long, LossContext::LongLate, LossContext::LongLater),
            (1.., _) => of(LossContext::Same, LossContext::SameLate, LossContext::SameLater),
            (0, 1..) => of(LossContext::Other, LossContext::OtherLate, LossContext::OtherLater),
            (0, 0) => LossContext::Fine,
        }
    }
}

/// Losses in a row that count as an outage.
pub(crate) const LONG: u8 = 3;

/// Numbers of packets (`loss`) and of ACKs (`ack_loss`) not lost and lost, by [`LossContext`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossCounts {
    pub(crate) loss: [[f64; 2]; LossContext::ALL],
    pub(crate) ack_loss: [[f64; 2]; LossContext::ALL],
}

impl LossCounts {
    /// Adds the fate of one packet and of its ACK, each in its context, with weight `share`.
    pub(crate) fn add(&mut self, packet: LossContext, answer: LossContext, fate: PacketFate, share: f64) {
        self.loss[packet as usize][usize::from(fate == PacketFate::Lost)] += share;
        match fate {
            PacketFate::Lost | PacketFate::AckDelayed => {}
            PacketFate::AckLost => self.ack_loss[answer as usize][1] += share,
            PacketFate::AckObserved => self.ack_loss[answer as usize][0] += share,
        }
    }

    /// Adds the counts of `other`.
    pub(crate) fn join(&mut self, other: &LossCounts) {
        for (sum, new) in [(&mut self.loss, &other.loss), (&mut self.ack_loss, &other.ack_loss)] {
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
        assert_eq!(LossContext::of(LONG, 0, ms(20)), LossContext::Long);
        assert_eq!(LossContext::of(LONG, 0, ms(1000)), LossContext::LongLate);
        assert_eq!(LossContext::of(1, 2, ms(60_000)), LossContext::SameLater);
        assert_eq!(LossContext::of(0, 2, ms(60_000)), LossContext::OtherLater);
        assert_eq!(LossContext::of(0, 0, ms(60_000)), LossContext::Fine);
    }
}
