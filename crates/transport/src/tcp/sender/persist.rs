//! Persist timer and zero-window probes.
//!
//! Then nothing is outstanding, no acknowledgement is due, and the update that opens the window again may be lost:
//! the sender asks, again and again, with the next byte (RFC 9293 section 3.8.6.1, RFC 1122 section 4.2.2.17).

use super::Tcb;
use super::timers::Timer;
use crate::endpoint::Io;
use base::tcp::Segment;
use base::truth::Cause;
use base::{Span, Time};

/// The probes of one closed window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probing {
    /// One past the byte that was sent as a probe; 0: none was.
    end: u64,
    /// How many were sent in a row.
    sent: u32,
    /// The largest window that the peer has offered.
    largest: u64,
    /// A small window has been waited out.
    waited: bool,
}

/// How long at most a window that has opened by little is waited out (RFC 9293 section 3.8.6.2.1).
const OVERRIDE: Span = Span::from_secs(1);

impl Tcb {
    /// Nothing could be sent: if that is the peer's window alone, it is probed.
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

    /// True if there is something to send, and the window is closed, or open by too little.
    fn waits_for_window(&self) -> bool {
        let edge = self.seq.una + self.window_of_peer();
        self.status.established && self.seq.nxt < self.fin_end() && (edge <= self.seq.nxt || self.silly(edge))
    }

    /// The peer's window changes, to `window` bytes.
    #[cold]
    pub(super) fn note_window(&mut self, window: u64) {
        let before = if self.status.established { self.peer.window } else { 0 };
        self.probing.largest = self.probing.largest.max(before).max(window.min(self.peer.most));
    }

    /// Whether what could be sent up to `limit` is too little to be worth a segment, since the peer's window
    /// has opened by little: neither a segment, nor all that waits, nor half of its largest window.
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
        //= RFC 1122 section 4.2.2.17: the first probe after a retransmission timeout, then ever rarer
        let doubled = self.rto.timeout().times(1 << self.probing.sent.min(10));
        let mut wait = doubled.min(self.rto.config().max);
        if self.seq.una + self.window_of_peer() > self.seq.nxt {
            wait = wait.min(OVERRIDE);
        }
        self.timers.set(Timer::Persist, now + wait);
    }

    /// It is time to ask.
    pub(super) fn on_persist(&mut self, io: &mut Io<'_>) {
        if self.seq.max != self.seq.una || !self.waits_for_window() {
            self.send_window(io, 0);
            return;
        }
        if self.seq.una + self.window_of_peer() > self.seq.nxt {
            //= RFC 9293 section 3.8.6.2.1: the override timeout: what the small window takes
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

    /// An acknowledgement up to `ack` comes: the byte of a probe may have been taken.
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
