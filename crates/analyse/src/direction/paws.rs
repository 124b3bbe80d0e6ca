//! PAWS at the receiver (RFC 7323 section 5): arriving segments whose timestamp is older than TS.Recent, and the need
//! of their retransmissions.
//!
//! A receiver with PAWS discards such segments and answers with an ACK. No packet states whether a receiver has PAWS.
//! Such bytes therefore count neither as arrived nor as lost until an ACK decides.

use super::Direction;
use crate::facts::copies::{Copy, Evidence, later};
use crate::facts::ranges::Ranges;
use crate::verdict::Need;
use base::Time;

/// Bytes of segments with an old timestamp, and known value of TS.Recent.
#[derive(Clone, Debug, Default)]
pub(super) struct PawsSuspects {
    bytes: Ranges,
    recent: Option<u32>,
    /// Time of the last such segment.
    at: Option<Time>,
}

/// State of the receiver, from its ACKs.
pub(super) struct ReceiverState<'a> {
    /// Lowest unacknowledged byte.
    pub(super) una: u64,
    /// Last timestamp echo.
    pub(super) echo: Option<u32>,
    /// SACKed bytes.
    pub(super) sacked: &'a Ranges,
    /// The receiver sends SACK blocks.
    pub(super) blocks: bool,
    /// Time of the last ACK.
    pub(super) heard: Option<Time>,
}

impl PawsSuspects {
    /// Updates TS.Recent and the bytes of old segments with a data segment that has a timestamp.
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

    /// Verdict on a retransmission of bytes that PAWS may have discarded; None if PAWS does not concern them.
    pub(super) fn need(&self, seq: u64, end: u64, shown: &ReceiverState<'_>) -> Option<(Need, Evidence)> {
        let from = seq.max(shown.una);
        if from >= end || !self.bytes.overlaps(from, end) || shown.sacked.holds(from, end) {
            return None;
        }
        // An ACK after the old segment reports the bytes as missing.
        let answered = self.at <= shown.heard;
        let missed = answered && (seq <= shown.una || shown.blocks);
        Some((if missed { Need::Needed } else { Need::Unknown }, Evidence::Aged))
    }
}

impl Direction {
    /// Records a data segment; returns the verdict if its bytes had passed the capture point before. Next to the
    /// receiver a first copy is observed; only PAWS may have discarded it.
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
        // The first copy was accepted after all.
        assert_eq!(paws_suspects.need(100, 200, &shown(200, 8, &none, 6)), None);
        // A copy with a current timestamp counts as arrived.
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
        // Without a known TS.Recent, no segment is old.
        paws_suspects.see(t(7), 300, 400, None, &shown(100, 8, &none, 1));
        assert_eq!(paws_suspects.need(300, 400, &shown(100, 8, &none, 1)), None);
    }
}
