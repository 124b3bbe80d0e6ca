//! RTT measurement with timed segments, one per window or all, without timestamps (Karn and Partridge 1987); restart of
//! the retransmission timer.

use super::Tcb;
use crate::recovery::digest::AckDigest;
use crate::tcp::config::{RtoRestart, Timing};
use base::{Span, Time};
use std::collections::VecDeque;

/// Timed segments, used without timestamps.
#[derive(Clone, Debug, Default)]
pub(super) struct RttProbe {
    /// The one timed segment: its end and the time of its first transmission.
    pub(super) one: Option<(u64, Time)>,
    /// End and time of first transmission of each outstanding segment, if every segment is timed.
    pub(super) each: VecDeque<(u64, Time)>,
}

/// Segments outstanding or unsent, below which the timer runs from the oldest segment's transmission (RFC 7765
/// section 4).
const FEW_SEGMENTS: u64 = 4;

impl Tcb {
    pub(super) fn time(&mut self, now: Time, end: u64) {
        if self.timed.one.is_none() {
            self.timed.one = Some((end, now));
        }
        if self.config.rto.timing == Timing::Segment && !self.config.timestamps {
            self.timed.each.push_back((end, now));
        }
    }

    /// Restarts the retransmission timer after an ACK of new data.
    #[inline(always)] // by the rule of RFC 6298 a few instructions
    pub(super) fn restart_timer(&mut self, now: Time) {
        let rule = self.config.rto.restart;
        // In go-back-N or recovery the oldest segment is about to be resent: its age starts now.
        if rule == RtoRestart::Ack || self.seq.nxt < self.seq.max || self.recovery.recovering() {
            //= RFC 6298 section 5.3: it will expire after RTO seconds
            self.rto.restart(now);
        } else {
            self.restart_timer_by_age(now, rule);
        }
    }

    /// [`Self::restart_timer`] with a rule that goes by the age of the oldest segment.
    #[inline(never)]
    fn restart_timer_by_age(&mut self, now: Time, rule: RtoRestart) {
        let oldest = self.sent.as_ref().and_then(|sent| sent.records().front());
        let oldest = oldest.map_or(now, |record| record.sent);
        let waiting = (self.fin_end() - self.seq.una).div_ceil(u64::from(self.config.mss));
        match rule {
            //= RFC 7765 section 4: the sum of the outstanding and unsent segments is less than rrthresh
            RtoRestart::Rfc7765 if waiting >= FEW_SEGMENTS => self.rto.restart(now),
            //= RFC 7765 section 4: (b) RTO, otherwise
            RtoRestart::Rfc7765 if now.since(oldest) >= self.rto.timeout() => self.rto.restart(now),
            _ => self.rto.restart_from(oldest, now),
        }
    }

    /// Restarts the timer with `timeout` on an ACK with SACK blocks, and takes an RTT sample even from a
    /// duplicate ACK. Reproduces a recovery of ns-2.
    pub(in crate::tcp) fn time_report(&mut self, ack: &AckDigest, timeout: Span) {
        self.rto.restart_with(ack.now, timeout);
        if let (0, Some(echo)) = (ack.newly_acked, ack.echo) {
            self.rto.sample(ack.now.since(echo));
        }
    }

    /// Stops all timing on a retransmission: earlier segments can no longer be timed (Karn and Partridge
    /// 1987).
    pub(super) fn untime(&mut self) {
        self.timed.one = None;
        self.timed.each.clear();
    }
}
