//! ACK decision of a TCP receiver: at once or delayed (RFC 5681 section 4.2), with the delayed-ACK timeout.

use super::Receiver;
use super::buffer::BufferOccupancy;
use super::linux::ArrivedSegment;
use crate::recovery::rto::RtoTimer;
use base::tcp::Segment;
use base::{Span, Time};

/// ACK decision for a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Send an ACK at once.
    Now,
    /// Send two ACKs at once: reading has opened the window after the first.
    Twice,
    /// Delay the ACK.
    Later,
    /// No ACK: the segment occupied no sequence numbers.
    None,
}

impl Receiver {
    #[inline(never)]
    pub(super) fn answer_as_linux(
        &mut self,
        now: Time,
        segment: &Segment,
        rto: &RtoTimer,
        before: u64,
        had: BufferOccupancy,
        duplicate: bool,
    ) -> Answer {
        let (next, is_read, acked) = (self.next, self.unread.is_none(), self.last_ack_sent);
        let mut kept = self.kept();
        kept.unread += next - before;
        let Some(linux) = &mut self.linux else { return Answer::Now };
        let came = ArrivedSegment { now, segment, before, next, duplicate, had, kept, is_read, acked, rto };
        let answer = linux.on_segment(&came);
        match &linux.quick {
            Some(quick) => {
                self.ack_due = quick.next_timeout();
                answer
            }
            None => self.answer(now, segment.seq, segment.end(), before),
        }
    }

    #[inline(always)]
    pub(super) fn answer(&mut self, now: Time, seq: u64, end: u64, before: u64) -> Answer {
        let in_order = delivered_in_order(seq, end, before, self.next);
        let syn = end <= 1;
        let may_wait = !self.config.ack_delay.is_zero()
            && self.config.ack_every > 1
            //= RFC 5681 section 4.2: at once while a gap is open or was just filled in part
            && self.held.is_empty()
            && match (syn, in_order) {
                (true, _) => self.config.delay_syn_ack && in_order,
                (false, true) => true,
                (false, false) => self.config.delay_duplicates && end == self.next && before == self.next,
            };
        //= RFC 9293 section 3.8.6.3: for every second full-sized segment, or two segments' worth of data in one
        let bytes = end - seq;
        // Nearly always one, without a division.
        let segments =
            if bytes < 2 * self.mss { 1 } else { u32::try_from(bytes / self.mss).unwrap_or(u32::MAX) };
        self.unacked = self.unacked.saturating_add(segments);
        if !self.config.ack_delay_min.is_zero() {
            self.adapt(now);
        }
        if self.quick > 0 && !syn {
            self.quick -= 1;
            return Answer::Now;
        }
        if may_wait && self.unacked < self.config.ack_every {
            if self.ack_due.is_never() {
                let adapts = !self.config.ack_delay_min.is_zero();
                let delay = if adapts { self.patience } else { self.config.ack_delay };
                self.ack_due = now + delay.min(self.config.ack_delay);
            }
            return Answer::Later;
        }
        Answer::Now
    }

    /// Adapts the delayed-ACK timeout to the gap between data: half of the old value plus the gap, or plus
    /// half of the minimum if that is longer. A gap longer than the timeout changes nothing (Linux `ato`).
    fn adapt(&mut self, now: Time) {
        let half = |span: Span| Span::from_nanos(span.as_nanos() / 2);
        if let Some(last) = self.last_data.replace(now) {
            let gap = now.since(last).max(half(self.config.ack_delay_min));
            if gap < self.patience {
                self.patience = half(self.patience) + gap;
            }
        }
    }

    /// Updates the Linux delayed-ACK timeout after an expiry; the caller then sends an ACK.
    pub(in crate::tcp) fn on_timeout(&mut self, now: Time, rto: &RtoTimer) {
        if let Some(quick) = self.linux.as_mut().and_then(|l| l.quick.as_mut()) {
            quick.on_timeout(now, rto);
        }
    }

    /// Under the Linux ACK rules, detects an interactive session: this end sends data.
    pub(in crate::tcp) fn on_own_data(&mut self, now: Time) {
        if let Some(quick) = self.linux.as_mut().and_then(|l| l.quick.as_mut()) {
            quick.on_own_data(now);
        }
    }
}

/// True if the segment was the next expected one and filled no gap. `before`, `after`: next byte expected
/// before and after its arrival.
fn delivered_in_order(seq: u64, end: u64, before: u64, after: u64) -> bool {
    seq <= before && end > before && after == end
}
