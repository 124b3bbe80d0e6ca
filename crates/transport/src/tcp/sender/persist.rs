//! Persist timer, zero-window probes and silly-window avoidance of the TCP sender.
//!
//! With a closed window no data are outstanding, so no ACK arrives, and the window update may be lost. The
//! sender therefore repeatedly sends the next byte as a probe (RFC 9293 section 3.8.6.1, RFC 1122 section
//! 4.2.2.17).

use super::Tcb;
use super::timers::Timer;
use crate::endpoint::Io;
use base::tcp::Segment;
use base::truth::Cause;
use base::{Span, Time};

/// Zero-window probing state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probing {
    /// One past the byte sent as a probe; 0: no probe outstanding.
    end: u64,
    /// Consecutive probes sent.
    sent: u32,
    /// Largest window that the peer has offered, bytes.
    largest: u64,
    /// The override timer has expired for a small window.
    waited: bool,
}

/// Override timeout of the sender's silly-window avoidance (RFC 9293 section 3.8.6.2.1).
const OVERRIDE: Span = Span::from_secs(1);

impl Tcb {
    /// Starts the persist timer if only the peer's window keeps data from being sent.
    #[inline]
    pub(super) fn maybe_persist(&mut self, now: Time) {
        if self.seq.max == self.seq.una
            && self.waits_for_window()
            && self.timers.deadline(Timer::Persist).is_never()
        {
            (self.probing.end, self.probing.sent) = (0, 0);
            self.persist(now);
        }
    }

    /// True if data are waiting and the peer's window is closed or open by too little.
    fn waits_for_window(&self) -> bool {
        let edge = self.seq.una + self.window_of_peer();
        self.status.established && self.seq.nxt < self.fin_end() && (edge <= self.seq.nxt || self.silly(edge))
    }

    /// Records the peer's new window of `window` bytes.
    #[cold]
    pub(super) fn note_window(&mut self, window: u64) {
        let before = if self.status.established { self.peer.window } else { 0 };
        self.probing.largest = self.probing.largest.max(before).max(window.min(self.peer.most));
    }

    /// Silly-window avoidance: whether the usable window up to `limit` is too small to send into. It is less
    /// than a segment, less than the waiting data, and less than half the peer's largest window.
    #[cold]
    pub(super) fn silly(&self, limit: u64) -> bool {
        let usable = limit - self.seq.nxt.min(limit);
        let waiting = self.fin_end() - self.seq.nxt.min(self.fin_end());
        //= RFC 9293 section 3.8.6.2.1: the sender's part against the silly window syndrome
        !self.probing.waited
            && limit >= self.seq.una + self.window_of_peer()
            && usable < u64::from(self.config.mss).min(waiting)
            && 2 * usable < self.probing.largest
    }

    fn persist(&mut self, now: Time) {
        //= RFC 1122 section 4.2.2.17: first probe after one RTO, then with exponential back-off
        let doubled = self.rto.timeout().times(1 << self.probing.sent.min(10));
        let mut wait = doubled.min(self.rto.config().max);
        if self.seq.una + self.window_of_peer() > self.seq.nxt {
            wait = wait.min(OVERRIDE);
        }
        self.timers.set(Timer::Persist, now + wait);
    }

    /// The persist timer expired: sends a window probe.
    pub(super) fn on_persist(&mut self, io: &mut Io<'_>) {
        if self.seq.max != self.seq.una || !self.waits_for_window() {
            self.send_window(io, 0);
            return;
        }
        if self.seq.una + self.window_of_peer() > self.seq.nxt {
            //= RFC 9293 section 3.8.6.2.1: override timeout: sends what fits into the small window
            self.probing.waited = true;
            self.send_window(io, 1);
            self.probing.waited = false;
            return;
        }
        //= RFC 9293 section 3.8.6.1: at least one octet of new data, though the window is zero
        let (seq, end) = (self.seq.nxt, self.seq.nxt + 1);
        let fin = end > self.seq.end;
        let len = u32::from(!fin);
        io.send(Segment { seq, len, fin, ..Segment::default() }, 0, Cause::WindowProbe);
        (self.probing.end, self.probing.sent) = (end, self.probing.sent + 1);
        self.persist(io.now);
    }

    /// Checks whether the ACK covers the probe's byte.
    #[inline]
    pub(super) fn probe_answered(&mut self, now: Time, ack: u64) {
        if self.probing.end == 0 {
            return;
        }
        if ack == self.probing.end && ack > self.seq.max {
            if let Some(sent) = &mut self.sent {
                sent.transmitted(now, self.seq.max, ack);
            }
            (self.seq.nxt, self.seq.max) = (ack, ack);
            if let Some(queue) = &mut self.queue {
                queue.leave(ack.min(self.seq.end));
            }
        }
        if !self.waits_for_window() {
            (self.probing.end, self.probing.sent) = (0, 0);
            self.timers.stop(Timer::Persist);
        }
    }
}
