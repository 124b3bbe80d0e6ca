//! Which segment leaves next, and how far may it reach? Windows, segment boundaries, what is resent as it
//! was cut before.

use super::Sender;
use crate::endpoint::Io;
use crate::tcp::cc::Control;
use crate::tcp::recovery::Strategy;
use base::tcp::Segment;
use base::truth::Cause;
use base::{Span, Time};

/// What comes within this is waited for.
const SOON: Span = Span::from_millis(1);

impl Sender {
    /// Sends what the windows allow, at most `burst` segments (0: any number).
    pub fn send_window(&mut self, io: &mut Io<'_>, burst: u32) {
        if self.max == self.una && self.nxt < self.end && self.nxt > 0 {
            self.after_pause(io.now);
        }
        let window = (self.window.bytes() + self.strategy.beyond()).min(self.window_of_peer());
        let limit = self.una + window;
        let mut sent = 0;
        self.used.held = false;
        while burst == 0 || sent < burst {
            if !self.released(io.now) {
                return;
            }
            if self.config.defer && u64::from(sent) % self.group() == 0 && self.defers(io.now, limit) {
                self.used.held = true;
                break;
            }
            if !self.send_next_here(io, limit) {
                self.maybe_persist(io.now);
                break;
            }
            sent += 1;
        }
        if self.wants_rates {
            self.note_application(window);
        }
    }

    /// What may be sent is less than a group, and an acknowledgement that lets out more is due. Not in recovery, not if a third of the
    /// window may be sent, not if the last segment left long ago (Linux 6.12, net/ipv4/tcp_output.c: `tcp_tso_should_defer`).
    #[inline(never)]
    fn defers(&self, now: Time, limit: u64) -> bool {
        let mss = u64::from(self.config.mss);
        let room = limit.saturating_sub(self.nxt);
        let waits = self.end.saturating_sub(self.nxt);
        let third = self.window.bytes().min(self.window_of_peer()) / 3;
        if self.nxt < self.max
            || self.una < self.recover
            || self.strategy.recovering()
            || waits < 2 * mss
            || room >= (self.group() * mss).min(third).min(waits)
            || now.since(self.used.last_sent) > SOON
        {
            return false;
        }
        let oldest = self.sent.as_ref().and_then(|sent| sent.records().front());
        let srtt = self.rto.srtt();
        let soon = SOON.min(Span::from_nanos(srtt.as_nanos() / 2));
        oldest.is_some_and(|oldest| oldest.sent + srtt <= now + soon)
    }

    /// Nothing is left to send although the window would allow it: rates say what the application gave.
    fn note_application(&mut self, window: u64) {
        let idle = self.nxt >= self.fin_end() && self.flight() < window;
        if (idle || self.control.holds_back())
            && let Some(sent) = &mut self.sent
        {
            sent.limited_by_application();
        }
    }

    /// Sends the next segment if the peer's window allows it, whatever the congestion window says.
    pub(in crate::tcp) fn send_one_within_peer_window(&mut self, io: &mut Io<'_>) -> bool {
        let limit = self.una + self.window_of_peer();
        self.send_next(io, limit)
    }

    /// RFC 3042: on the `duplicates`-th duplicate, one new segment beyond the congestion window.
    pub(in crate::tcp) fn limited_transmit(&mut self, io: &mut Io<'_>, duplicates: u32) {
        if !self.config.limited_transmit || self.nxt < self.max {
            return;
        }
        let extra = u64::from(duplicates) * u64::from(self.config.mss);
        let limit = self.una + (self.window.bytes() + extra).min(self.peer_window);
        let before = self.nxt;
        if self.send_next(io, limit) {
            self.limited += self.nxt - before;
        }
    }

    /// RFC 6675 section 5 step (3): new segments while `pipe` leaves room for one in the window.
    pub(in crate::tcp) fn limited_transmit_by_pipe(&mut self, io: &mut Io<'_>, mut pipe: u64) {
        if !self.config.limited_transmit || self.nxt < self.max {
            return;
        }
        while self.window.cwnd - pipe as f64 >= self.window.mss {
            let before = self.max;
            if !self.send_one_within_peer_window(io) {
                return;
            }
            pipe += self.max - before;
            self.limited += self.max - before;
        }
    }

    /// Sends the segment at `nxt` if it ends by `limit`.
    pub(super) fn send_next(&mut self, io: &mut Io<'_>, limit: u64) -> bool {
        self.send_next_here(io, limit)
    }

    #[inline(always)] // into the loop over a window
    fn send_next_here(&mut self, io: &mut Io<'_>, limit: u64) -> bool {
        if self.skips_reported && self.nxt < self.max {
            // What the receiver has reported is not sent again.
            if let Some(end) = self.scoreboard.end_of_range_at(self.nxt) {
                self.nxt = end;
            }
        }
        if self.nxt >= self.fin_end() || (!self.established && self.nxt > 0) {
            return false;
        }
        let end = self.segment_end(self.nxt);
        // A window smaller than a segment lets one out only if nothing else is.
        let end = if end > limit {
            if self.flight() > 0 || limit <= self.nxt || self.nxt >= self.end || self.silly(limit) {
                return false;
            }
            limit
        } else {
            end
        };
        let cause = if self.nxt >= self.max {
            Cause::New
        } else {
            std::mem::replace(&mut self.resend_cause, Cause::GoBackN)
        };
        if cause == Cause::New {
            self.time(io.now, end);
        }
        self.send_range(io, self.nxt, end, cause);
        self.nxt = end;
        self.max = self.max.max(end);
        self.rto.ensure(io.now);
        if self.probes && cause == Cause::New {
            Strategy::on_new_data(self, io);
        }
        true
    }

    /// Where the segment that starts at `seq` ends.
    pub(super) fn segment_end(&self, seq: u64) -> u64 {
        if seq == 0 {
            return 1; // the SYN stands alone
        }
        if seq >= self.end {
            return self.fin_end();
        }
        let mut end = (seq + u64::from(self.config.mss)).min(self.end);
        if seq < self.max {
            // Resent as it was cut before, and not into what is reported.
            end = end.min(self.max.max(seq + 1));
            if let Some(next) = self.scoreboard.next_range_after(seq)
                && self.skips_reported
            {
                end = end.min(next);
            }
        }
        end
    }

    #[inline(always)]
    pub(super) fn send_range(&mut self, io: &mut Io<'_>, seq: u64, end: u64, cause: Cause) {
        if let Some(sent) = &mut self.sent {
            sent.transmitted(io.now, seq, end);
        }
        self.used.last_sent = io.now;
        self.charge(io.now, end - seq);
        let syn = seq == 0;
        let fin = end > self.end;
        let len = (end - seq - u64::from(syn) - u64::from(fin)) as u32;
        let resent = cause != Cause::New;
        if resent {
            if let Some(lost) = &mut self.lost_volume {
                lost.note(seq, end);
            }
            self.detector.on_resent(seq, end, self.max);
        }
        io.send(Segment { seq, len, syn, fin, resent, ..Segment::default() }, 0, cause);
    }
}
