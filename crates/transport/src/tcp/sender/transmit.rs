//! Segment transmission of the TCP sender: usable window, segment boundaries, limited transmit (RFC 3042), deferred
//! groups (TSO) from the write queue.
//!
//! Retransmissions keep the segment boundaries of the first transmission where they can.

use super::Tcb;
use super::write_queue::WriteResult;
use crate::endpoint::Io;
use crate::tcp::cc::CongestionAlgorithm;
use crate::tcp::config::Push;
use crate::tcp::recovery::tail_probe;
use base::tcp::Segment;
use base::truth::Cause;
use base::{Span, Time};

/// Longest time for which a group is deferred to wait for an ACK (`tcp_tso_should_defer`).
const SOON: Span = Span::from_millis(1);

impl Tcb {
    /// Sends segments within the windows, at most `burst` of them (0: no limit).
    #[inline(always)]
    pub fn send_window(&mut self, io: &mut Io<'_>, burst: u32) {
        // Inline: an end that only receives calls this twice for each segment.
        let held = self.ecn.holds || self.macroflow.is_some();
        if held || self.seq.nxt < self.fin_end() || !self.rests() {
            self.send_what_is_left(io, burst);
        }
    }

    /// Slow path of [`Self::send_window`]: unsent data, a macroflow, pacing, rate samples or an ECN wait.
    #[inline(never)]
    fn send_what_is_left(&mut self, io: &mut Io<'_>, burst: u32) {
        if self.macroflow.is_some() && self.status.established {
            return self.send_granted(io);
        }
        if self.ecn.holds {
            if self.seq.una < self.fin_end() {
                self.rto.ensure(io.now);
            }
            return;
        }
        if self.seq.nxt >= self.fin_end() && self.rests() {
            return; // handshake under a macroflow
        }
        let max = self.seq.max;
        self.send_allowed(io, burst);
        self.note_sent(io.now, max);
    }

    /// With no unsent data, records the peer's window. False if pacing, rate samples or a write queue with room require
    /// further processing.
    #[inline]
    fn rests(&mut self) -> bool {
        if self.feedback.rates || self.pacer.is_on() {
            return false;
        }
        if let Some(queue) = &mut self.queue {
            if queue.is_full() {
                return false;
            }
            if self.status.established {
                queue.offered(self.peer.window);
            }
        }
        self.used.held = false;
        true
    }

    /// Restarts the timer of the tail loss probe if data above `max` were sent.
    #[inline(always)]
    fn note_sent(&mut self, now: Time, max: u64) {
        if self.recovery.probes && self.seq.max > max {
            tail_probe::schedule(self, now, true);
        }
    }

    fn send_allowed(&mut self, io: &mut Io<'_>, burst: u32) {
        if self.seq.max == self.seq.una && self.seq.nxt < self.seq.end && self.seq.nxt > 0 {
            self.after_pause(io.now);
        }
        self.used.held = false;
        if self.queue.is_some() && self.seq.nxt >= self.seq.max && self.status.established {
            if self.released(io.now) {
                self.send_groups(io);
                if self.feedback.rates {
                    self.note_application(self.usable_window());
                }
            }
            return;
        }
        let window = self.usable_window();
        let limit = self.seq.una + window;
        let mut sent = 0;
        let over = burst == 0 && self.send_new_segments(io, limit);
        while !over && (burst == 0 || sent < burst) {
            if !self.released(io.now) {
                return;
            }
            if self.queue.is_some() && self.seq.nxt >= self.seq.max && self.status.established {
                self.send_groups(io);
                break;
            }
            if !self.send_next_here(io, limit) {
                self.maybe_persist(io.now);
                break;
            }
            sent += 1;
        }
        if self.feedback.rates {
            self.note_application(window);
        }
    }

    /// Sends whole segments of new data that end by `limit`, without the last one: the common case of
    /// [`Self::send_next_here`]. True if only an ACK permits the next segment.
    #[inline(always)] // its only caller
    fn send_new_segments(&mut self, io: &mut Io<'_>, limit: u64) -> bool {
        let plain = self.queue.is_none() && self.search.is_none() && !self.pacer.is_on();
        if !plain || !self.status.established || self.seq.nxt < self.seq.max || self.seq.nxt == 0 {
            return false;
        }
        loop {
            let end = self.seq.nxt + u64::from(self.config.mss);
            if end >= self.seq.end {
                return false;
            }
            if end > limit {
                return self.flight() > 0;
            }
            self.leave(io, end, Cause::New);
        }
    }

    /// Bytes that may be outstanding: the congestion window and what does not count against it, within the peer's window.
    fn usable_window(&self) -> u64 {
        let window = self.window.bytes() + self.recovery.beyond() + self.marked();
        window.min(self.window_of_peer())
    }

    /// Sends new data as Linux does: in groups from the portions of the write queue, which the application refills.
    #[inline(never)]
    fn send_groups(&mut self, io: &mut Io<'_>) {
        let offered = self.peer.window;
        if let Some(queue) = &mut self.queue {
            queue.offered(offered);
        }
        let (mut written, mut one) = (None, false);
        loop {
            let looked = self.send_portions(io, one);
            let (una, end) = (self.seq.una, self.seq.end);
            match written {
                None if !looked => self.look_for_space(),
                Some(WriteResult::Full) => {
                    if let Some(queue) = &mut self.queue {
                        queue.retry(una);
                    }
                }
                _ => {}
            }
            let Some(queue) = self.queue.as_mut().filter(|queue| !queue.is_full()) else { return };
            let result = queue.write(una, end);
            if result == WriteResult::Nothing {
                return;
            }
            (written, one) = (Some(result), result == WriteResult::First);
        }
    }

    /// Unused part of the congestion window, bytes.
    fn room(&self) -> u64 {
        (self.seq.una + self.window.bytes() + self.recovery.beyond() + self.marked())
            .saturating_sub(self.seq.nxt)
    }

    /// Unblocks the application's write if send-buffer memory is free.
    #[inline]
    fn look_for_space(&mut self) {
        if self.queue.as_ref().is_some_and(|queue| queue.is_full()) {
            self.free_space();
        }
    }

    /// Raises the memory limit if the window has room, and unblocks the application's write if memory is free.
    fn free_space(&mut self) {
        let mss = u64::from(self.config.mss);
        let cwnd = (self.room() >= mss).then_some(self.window.bytes() / mss);
        let una = self.seq.una;
        if let Some(queue) = &mut self.queue {
            queue.look_for_space(una, cwnd);
        }
    }

    /// Sends written data as far as the windows allow. With `one`, sends a single group and never defers it. Returns
    /// whether nothing has changed since it last looked for space.
    #[inline(always)] // its only caller
    fn send_portions(&mut self, io: &mut Io<'_>, one: bool) -> bool {
        let (mss, group) = (u64::from(self.config.mss), self.group());
        let mut looked = false;
        // Neither window changes while data are sent.
        let edge = self.seq.nxt + self.room();
        let edge_of_peer = self.seq.una + self.window_of_peer();
        while self.released(io.now) {
            let room = edge - self.seq.nxt.min(edge);
            let limit = (self.seq.nxt + room).min(edge_of_peer.max(self.seq.nxt));
            let Some(queue) = &mut self.queue else { return looked };
            let Some(first) = queue.first() else {
                if self.seq.nxt >= self.seq.end {
                    if !self.send_other(io, limit) {
                        self.maybe_persist(io.now);
                    }
                    return false;
                }
                return looked;
            };
            if room < first.min(mss) {
                return looked;
            }
            let most = (room / mss).clamp(1, group) * mss;
            looked &= !queue.grow(most);
            let (first, last) = (queue.first().unwrap_or(first), queue.is_last());
            // While the application is still writing a portion, only full segments of the portion are sent.
            let whole = if last && queue.written() < self.seq.end { first / mss * mss } else { first };
            if whole == 0 {
                return looked;
            }
            if first > mss && !one && self.defers(io.now, limit, first, last) {
                self.used.held = true;
                return looked;
            }
            let (bytes, fits) = (whole.min(most), limit - self.seq.nxt);
            let una = self.seq.una;
            let Some(queue) = &mut self.queue else { return looked };
            let bytes = if bytes <= fits { bytes } else { bytes.min(queue.fills(fits, una).max(mss)) };
            queue.begin_group(bytes);
            let end = self.seq.nxt + bytes;
            while self.seq.nxt < end {
                if self.send_whole(io, limit) {
                    continue;
                }
                if !self.send_other(io, limit) && !self.fill_up(io, end) {
                    self.maybe_persist(io.now);
                    return false;
                }
            }
            self.look_for_space();
            looked = true;
            if one {
                return true;
            }
        }
        looked
    }

    /// Sends a whole segment of new data of the write queue if it ends by `limit` and more data follow it: the common
    /// case of [`Self::send_other`].
    #[inline(always)] // into the loop over a group
    fn send_whole(&mut self, io: &mut Io<'_>, limit: u64) -> bool {
        let (seq, end) = (self.seq.nxt, self.seq.nxt + u64::from(self.config.mss));
        let written = self.queue.as_ref().is_some_and(|queue| seq < queue.written());
        let plain = self.seq.nxt >= self.seq.max && self.status.established && self.search.is_none();
        if !(plain && written && seq > 0 && end <= limit && end < self.seq.end) {
            return false;
        }
        self.leave(io, end, Cause::New);
        true
    }

    /// Sends the segment at `nxt` if it ends by `limit`, of any kind.
    #[inline(never)]
    fn send_other(&mut self, io: &mut Io<'_>, limit: u64) -> bool {
        self.send_next_here(io, limit)
    }

    /// Sends the short last segment of a group that exactly fills the peer's window.
    fn fill_up(&mut self, io: &mut Io<'_>, end: u64) -> bool {
        let fits = self.flight() > 0 && end <= self.seq.una + self.window_of_peer();
        if !fits || end - self.seq.nxt >= u64::from(self.config.mss) || end >= self.seq.end {
            return false;
        }
        self.leave(io, end, Cause::New);
        true
    }

    /// Whether to defer a group: only part of the portion fits into the window, and an ACK is expected within
    /// `SOON`. Never in recovery, if a third of the window may be sent, if the whole portion may be
    /// sent (unless it is the last), or long after the last segment (Linux 6.12, net/ipv4/tcp_output.c:
    /// `tcp_tso_should_defer`). A portion of one segment is never deferred.
    fn defers(&self, now: Time, limit: u64, portion: u64, last: bool) -> bool {
        let mss = u64::from(self.config.mss);
        let room = limit.saturating_sub(self.seq.nxt);
        let third = self.window.bytes().min(self.window_of_peer()) / 3;
        if self.seq.una < self.seq.recover
            || self.recovery.recovering()
            || (!last && room >= portion)
            || (last && room > portion && self.seq.closed)
            || room >= (self.group() * mss).min(third)
            || now.since(self.used.last_sent) > SOON
        {
            return false;
        }
        let oldest = self.sent.as_ref().and_then(|sent| sent.records().front());
        let srtt = self.rto.srtt();
        let soon = SOON.min(Span::from_nanos(srtt.as_nanos() / 2));
        oldest.is_some_and(|oldest| oldest.sent + srtt <= now + soon)
    }

    /// Marks following rate samples as application-limited if all data were sent and the window has room.
    fn note_application(&mut self, window: u64) {
        let idle = self.seq.nxt >= self.fin_end() && self.flight() < window;
        if (idle || self.control.holds_back())
            && let Some(sent) = &mut self.sent
        {
            sent.limited_by_application();
        }
    }

    /// Sends the next segment if the peer's window allows it, regardless of the congestion window.
    pub(in crate::tcp) fn send_one_within_peer_window(&mut self, io: &mut Io<'_>) -> bool {
        let limit = self.seq.una + self.window_of_peer();
        self.send_next(io, limit)
    }

    /// RFC 3042: on the `duplicates`-th duplicate, one new segment beyond the congestion window.
    pub(in crate::tcp) fn limited_transmit(&mut self, io: &mut Io<'_>, duplicates: u32) {
        if !self.config.limited_transmit || self.seq.nxt < self.seq.max || self.macroflow.is_some() {
            return;
        }
        let extra = u64::from(duplicates) * u64::from(self.config.mss);
        let limit = self.seq.una + (self.window.bytes() + extra).min(self.peer.window);
        let before = self.seq.nxt;
        if self.send_next(io, limit) {
            self.recovery.limited += self.seq.nxt - before;
        }
    }

    /// RFC 6675 section 5 step (3): new segments while `pipe` leaves room for one in the window.
    pub(in crate::tcp) fn limited_transmit_by_pipe(&mut self, io: &mut Io<'_>, mut pipe: u64) {
        if !self.config.limited_transmit || self.seq.nxt < self.seq.max {
            return;
        }
        while self.window.cwnd - pipe as f64 >= self.window.mss {
            let before = self.seq.max;
            if !self.send_one_within_peer_window(io) {
                return;
            }
            pipe += self.seq.max - before;
            self.recovery.limited += self.seq.max - before;
        }
    }

    /// Sends the segment at `nxt` if it ends by `limit`.
    pub(super) fn send_next(&mut self, io: &mut Io<'_>, limit: u64) -> bool {
        let max = self.seq.max;
        let sent = self.send_next_here(io, limit);
        self.note_sent(io.now, max);
        sent
    }

    #[inline(always)] // into the loop over a window
    fn send_next_here(&mut self, io: &mut Io<'_>, limit: u64) -> bool {
        if self.recovery.skips_reported && self.seq.nxt < self.seq.max {
            // SACKed ranges are not resent.
            if let Some(end) = self.scoreboard.end_of_range_at(self.seq.nxt) {
                self.seq.nxt = end;
            }
        }
        if self.seq.nxt >= self.fin_end() || (!self.status.established && self.seq.nxt > 0) {
            return false;
        }
        let fresh = self.seq.nxt >= self.seq.max && self.seq.nxt > 0 && self.seq.nxt < self.seq.end;
        if fresh && self.queue.as_ref().is_some_and(|queue| self.seq.nxt >= queue.written()) {
            return false; // the application is blocked on send-buffer memory
        }
        let mut end = self.segment_end(self.seq.nxt);
        if fresh && self.search.is_some() {
            end = self.probe_end(end, limit);
        }
        // If the peer's window is smaller than a segment, a segment is sent only with nothing in flight. A FIN sent
        // with data takes no window.
        let reach = if self.config.segmentation.fin_with_data { end.min(self.seq.end) } else { end };
        let end = if reach > limit {
            if self.flight() > 0 || limit <= self.seq.nxt || self.seq.nxt >= self.seq.end || self.silly(limit)
            {
                return false;
            }
            limit
        } else {
            end
        };
        let cause = if self.seq.nxt >= self.seq.max {
            Cause::New
        } else {
            std::mem::replace(&mut self.recovery.resend_cause, Cause::GoBackN)
        };
        self.leave(io, end, cause);
        true
    }

    /// Sends `[nxt, end)` as one segment.
    #[inline(always)]
    fn leave(&mut self, io: &mut Io<'_>, end: u64, cause: Cause) {
        let fresh = self.seq.nxt >= self.seq.max && self.seq.nxt > 0 && self.seq.nxt < self.seq.end;
        if cause == Cause::New {
            self.time(io.now, end);
        }
        self.send_range(io, self.seq.nxt, end, cause);
        self.seq.nxt = end;
        self.seq.max = self.seq.max.max(end);
        if fresh
            && let Some(queue) = &mut self.queue
            && queue.leave(end.min(self.seq.end))
            && self.config.segmentation.push == Push::Groups
            && let Some(out) = io.out.last_mut()
        {
            out.body.push = true;
        }
        self.rto.ensure(io.now);
    }

    /// End of the segment that starts at `seq`.
    pub(super) fn segment_end(&self, seq: u64) -> u64 {
        if seq == 0 {
            return 1; // the SYN carries no data
        }
        if seq >= self.seq.end {
            return self.fin_end();
        }
        let mut end = (seq + u64::from(self.config.mss)).min(self.seq.end);
        if seq < self.seq.max {
            // Retransmissions keep their boundaries and stop at the next SACKed range.
            end = end.min(self.seq.max.max(seq + 1));
            if let Some(next) = self.scoreboard.next_range_after(seq)
                && self.recovery.skips_reported
            {
                end = end.min(next);
            }
        }
        let ends = end == self.seq.end && self.seq.closed && (seq >= self.seq.max || self.seq.max > end);
        if ends && self.config.segmentation.fin_with_data { self.fin_end() } else { end }
    }

    #[inline(always)]
    pub(super) fn send_range(&mut self, io: &mut Io<'_>, seq: u64, end: u64, cause: Cause) {
        if let Some(sent) = &mut self.sent {
            sent.transmitted(io.now, seq, end);
        }
        self.used.last_sent = io.now;
        self.charge(io.now, end - seq);
        let syn = seq == 0;
        let fin = end > self.seq.end;
        let len = (end - seq - u64::from(syn) - u64::from(fin)) as u32;
        let resent = cause != Cause::New;
        if resent {
            if let Some(lost) = &mut self.lost_volume {
                lost.note(seq, end);
            }
            self.judging.detector.on_resent(seq, end, self.seq.max);
            if self.search.is_some() {
                self.lose_probe(seq, cause);
            }
        }
        io.send(Segment { seq, len, syn, fin, resent, ..Segment::default() }, 0, cause);
    }
}
