//! PAWS: segments with old timestamps are dropped, protection against wrapped sequence numbers (RFC 7323 section 5).
//!
//! A segment whose timestamp is older than the one to echo (TS.Recent) is answered and dropped.

use super::Receiver;
use crate::tcp::config::Echo;
use base::tcp::Segment;
use base::{Span, Time};

/// How long a timestamp is compared with (RFC 7323 section 5.5).
const PAWS_IDLE: Span = Span::from_secs(24 * 86_400);

/// A timestamp as it is on the wire: its clock ticks once a millisecond (RFC 7323 section 5.4: 1 ms to 1 s), as in Linux.
fn tick(t: Time) -> u64 {
    t.as_nanos() / 1_000_000
}

impl Receiver {
    /// Protection against wrapped sequence numbers: whether this segment, which occupies sequence numbers, is older
    /// than data already received. Pure acknowledgements pass, as in Linux (`tcp_disordered_ack`).
    #[inline]
    pub(in crate::tcp) fn fails_paws(&self, now: Time, segment: &Segment) -> bool {
        let (Some(ts), Some(recent)) = (segment.timestamps, self.echo) else { return false };
        //= RFC 7323 section 5.3 step R1: SEG.TSval < TS.Recent, and no SYN
        //= RFC 7323 section 5.5: after 24 days of silence TS.Recent is not valid
        tick(ts.value) < tick(recent)
            && self.config.paws
            && self.config.echo != Echo::Latest
            && !segment.syn
            && now.since(self.echo_at) < PAWS_IDLE
    }

    /// A segment was discarded for its age: what of it had been received before is reported (RFC 2883).
    #[cold]
    pub(in crate::tcp) fn discard_old(&mut self, segment: &Segment) {
        if self.config.dsack && self.sack {
            self.note_repeated(segment.seq, segment.end());
        }
    }
}
