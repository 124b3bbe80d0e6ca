//! PAWS, protection against wrapped sequence numbers: discards segments with old timestamps (RFC 7323 section 5).
//!
//! A segment whose timestamp (TSval) is older than TS.Recent is discarded, and an ACK is sent.

use super::Receiver;
use base::tcp::Segment;
use base::{Span, Time};

/// Age at which TS.Recent becomes invalid (RFC 7323 section 5.5).
const PAWS_IDLE: Span = Span::from_secs(24 * 86_400);

/// Timestamp value on the wire, milliseconds, as in Linux (RFC 7323 section 5.4: 1 ms to 1 s per tick).
fn tick(t: Time) -> u64 {
    t.as_nanos() / 1_000_000
}

impl Receiver {
    /// Protection against wrapped sequence numbers: whether this segment, which occupies sequence numbers, is older
    /// than data already received. Pure acknowledgements pass, as in Linux (`tcp_disordered_ack`).
    #[inline]
    pub(in crate::tcp) fn fails_paws(&self, now: Time, segment: &Segment) -> bool {
        if !self.paws {
            return false;
        }
        let (Some(ts), Some(recent)) = (segment.timestamps, self.echo) else { return false };
        // In order nearly always, which needs no division.
        ts.value < recent
            //= RFC 7323 section 5.3 step R1: SEG.TSval < TS.Recent, and no SYN
            && tick(ts.value) < tick(recent)
            && !segment.syn
            //= RFC 7323 section 5.5: after 24 days of silence TS.Recent is not valid
            && now.since(self.echo_at) < PAWS_IDLE
    }

    /// Records the DSACK block of a segment discarded by PAWS: the part received before (RFC 2883).
    #[cold]
    pub(in crate::tcp) fn discard_old(&mut self, segment: &Segment) {
        if self.config.dsack && self.sack {
            self.note_repeated(segment.seq, segment.end());
        }
    }
}
