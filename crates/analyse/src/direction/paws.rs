//! PAWS at a receiver: arriving bytes whose timestamp is older than the receiver's last echo (RFC 7323 section 5).
//!
//! RFC 7323 section 5.3 has it discard them, and they were answered as if they had not come. Whether it does is not in any
//! packet, so such bytes count neither as arrived nor as lost until an ACK decides.

use super::Direction;
use crate::facts::copies::{Copy, Evidence, later};
use crate::facts::ranges::Ranges;
use crate::verdict::Need;
use base::Time;

/// Bytes of old packets, and knowledge of TS.Recent.
#[derive(Clone, Debug, Default)]
pub(super) struct PawsSuspects {
    bytes: Ranges,
    recent: Option<u32>,
    /// When the last of them came.
    at: Option<Time>,
}

/// State of the receiver, from its answers.
pub(super) struct ReceiverState<'a> {
    /// All below is acknowledged.
    pub(super) una: u64,
    /// Its last echo.
    pub(super) echo: Option<u32>,
    /// Its blocks.
    pub(super) sacked: &'a Ranges,
    /// It sends blocks.
    pub(super) blocks: bool,
    /// When it last answered.
    pub(super) heard: Option<Time>,
}

impl PawsSuspects {
    /// Data came, and with them a timestamp.
    pub(super) fn see(&mut self, t: Time, seq: u64, end: u64, stamp: Option<u32>, shown: &ReceiverState<'_>) {
        let Some(stamp) = stamp else { return };
        if let Some(echo) = shown.echo.filter(|echo| self.recent.is_none_or(|recent| later(*echo, recent))) {
            self.recent = Some(echo);
        }
        if self.recent.is_some_and(|recent| later(recent, stamp)) {
            self.bytes.forget_below(shown.una);
            self.bytes.add(seq.max(shown.una), end);
            self.at = Some(t);
            return;
        }
        if !self.bytes.is_empty() {
            self.bytes.take(seq, end);
        }
        //= RFC 7323 section 4.3: TS.Recent is of what covers the last acknowledgement sent
        if seq <= shown.una && shown.echo.is_some() {
            self.recent = Some(stamp);
        }
    }

    /// Bytes that had arrived are repeated: whether they were needed, if the first copy may have been discarded.
    pub(super) fn need(&self, seq: u64, end: u64, shown: &ReceiverState<'_>) -> Option<(Need, Evidence)> {
        let from = seq.max(shown.una);
        if from >= end || !self.bytes.overlaps(from, end) || shown.sacked.holds(from, end) {
            return None;
        }
        // A later ACK reports them missing.
        let answered = self.at <= shown.heard;
        let missed = answered && (seq <= shown.una || shown.blocks);
        Some((if missed { Need::Needed } else { Need::Unknown }, Evidence::Aged))
    }
}

impl Direction {
    /// Data pass: whether they were needed if they had passed before. Next to the receiver this is visible, unless those were too old.
    pub(super) fn note_age(&mut self, copy: &Copy) -> (Need, Evidence) {
        let shown = ReceiverState {
            una: self.una,
            echo: self.echo,
            sacked: &self.sacked,
            blocks: self.acks.blocks,
            heard: self.acks.heard,
        };
        let paws_suspects = self.paws_suspects.need(copy.seq, copy.end, &shown);
        self.paws_suspects.see(copy.t, copy.seq, copy.end, copy.stamp, &shown);
        match self.place.is_receiver() {
            true => paws_suspects.unwrap_or((Need::Unneeded, Evidence::Seen)),
            false => (Need::Unknown, Evidence::Nothing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(una: u64, echo: u32, sacked: &Ranges, heard: u64) -> ReceiverState<'_> {
        let heard = Some(Time::from_nanos(heard));
        ReceiverState { una, echo: Some(echo), sacked, blocks: false, heard }
    }

    #[test]
    fn what_is_answered_as_missing_was_discarded() {
        let (none, mut paws_suspects) = (Ranges::default(), PawsSuspects::default());
        let t = Time::from_nanos;
        paws_suspects.see(t(5), 100, 200, Some(7), &shown(100, 8, &none, 1));
        assert_eq!(
            paws_suspects.need(100, 200, &shown(100, 8, &none, 4)),
            Some((Need::Unknown, Evidence::Aged))
        );
        assert_eq!(
            paws_suspects.need(100, 200, &shown(100, 8, &none, 6)),
            Some((Need::Needed, Evidence::Aged))
        );
        // It was taken in after all.
        assert_eq!(paws_suspects.need(100, 200, &shown(200, 8, &none, 6)), None);
        // A copy that is not old counts as come.
        paws_suspects.see(t(7), 100, 200, Some(9), &shown(100, 8, &none, 6));
        assert_eq!(paws_suspects.need(100, 200, &shown(100, 9, &none, 8)), None);
    }

    #[test]
    fn ts_recent_moves_with_what_is_in_order_before_it_is_echoed() {
        let (none, mut paws_suspects) = (Ranges::default(), PawsSuspects::default());
        let t = Time::from_nanos;
        paws_suspects.see(t(5), 100, 200, Some(9), &shown(100, 8, &none, 1));
        paws_suspects.see(t(6), 200, 300, Some(8), &shown(100, 8, &none, 1));
        assert_eq!(
            paws_suspects.need(200, 300, &shown(100, 8, &none, 1)),
            Some((Need::Unknown, Evidence::Aged))
        );
        // Nothing is older than no timestamp.
        paws_suspects.see(t(7), 300, 400, None, &shown(100, 8, &none, 1));
        assert_eq!(paws_suspects.need(300, 400, &shown(100, 8, &none, 1)), None);
    }
}
