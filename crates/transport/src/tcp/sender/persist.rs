//! What if the receiver has closed its window? Then nothing is outstanding, no acknowledgement is due, and
//! the update that opens the window again may be lost: the sender asks, again and again, with the next byte
//! (RFC 9293 section 3.8.6.1, RFC 1122 section 4.2.2.17).

use super::Sender;
use super::timers::Timer;
use crate::endpoint::Io;
use base::Time;
use base::tcp::Segment;
use base::truth::Cause;

/// The probes of one closed window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probing {
    /// One past the byte that was sent as a probe; 0: none was.
    end: u64,
    /// How many were sent in a row.
    sent: u32,
}

impl Sender {
    /// Nothing could be sent: if that is the peer's window alone, it is probed.
    #[inline]
    pub(super) fn maybe_persist(&mut self, now: Time) {
        if self.max == self.una && self.waits_for_window() && self.timers.deadline(Timer::Persist).is_never()
        {
            self.probing = Probing::default();
            self.persist(now);
        }
    }

    /// True if there is something to send, the window is closed, and nothing is outstanding.
    fn waits_for_window(&self) -> bool {
        self.established && self.nxt < self.fin_end() && self.una + self.window_of_peer() <= self.nxt
    }

    fn persist(&mut self, now: Time) {
        //= RFC 1122 section 4.2.2.17: the first probe after a retransmission timeout, then ever rarer
        let doubled = self.rto.timeout().times(1 << self.probing.sent.min(10));
        self.timers.set(Timer::Persist, now + doubled.min(self.rto.config().max));
    }

    /// It is time to ask.
    pub(super) fn on_persist(&mut self, io: &mut Io<'_>) {
        if self.max != self.una || !self.waits_for_window() {
            self.send_window(io, 0);
            return;
        }
        //= RFC 9293 section 3.8.6.1: at least one octet of new data, though the window is zero
        let (seq, end) = (self.nxt, self.nxt + 1);
        let fin = end > self.end;
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
        if ack == self.probing.end && ack > self.max {
            if let Some(sent) = &mut self.sent {
                sent.transmitted(now, self.max, ack);
            }
            (self.nxt, self.max) = (ack, ack);
        }
        if !self.waits_for_window() {
            self.probing = Probing::default();
            self.timers.stop(Timer::Persist);
        }
    }
}
