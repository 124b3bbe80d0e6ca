//! Write queue of Linux in socket buffers (`struct sk_buff`).
//!
//! The send buffer holds data in socket buffers, called portions here. A program fills it as far as memory
//! allows. A portion holds as many segments as fit in half of the peer's largest window, or in 64 kB.
//! Transmitted data are split off from the first portion. A lone segment at the end of a portion is never
//! deferred (`super::transmit`), so portion ends decide when segments are sent.
//!
//! The rules are those of Linux 6.12 (net/ipv4/tcp.c: `tcp_sendmsg_locked`, `tcp_xmit_size_goal`, `forced_push`;
//! net/ipv4/tcp_output.c: `tcp_write_xmit`, `tcp_grow_skb`, `tso_fragment`; net/ipv4/tcp_input.c:
//! `tcp_sndbuf_expand`, `tcp_check_space`; net/core/stream.c: `sk_stream_write_space`). Not modelled:
//! splitting and merging of portions by SACK.

use crate::tcp::config::SendBuffer;
use std::collections::VecDeque;

/// Bytes per write call of the program.
const CALL: u64 = 65_536;
/// Largest portion, bytes (`sk_gso_max_size`: 64 kB without room for headers).
const LONGEST: u64 = 65_536 - 321;

/// Result of a write step, and what may be sent after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WriteResult {
    /// The first portion is complete: one group of it may be sent.
    First,
    /// Everything that the windows allow may be sent.
    Much,
    /// Everything that the windows allow may be sent, and the send buffer is full.
    Full,
    /// Nothing left to write.
    Nothing,
}

/// One socket buffer (skb).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Portion {
    end: u64,
    /// The last segment carries PSH.
    push: bool,
}

/// The send buffer of one sender. Ends are stream offsets.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    sizes: SendBuffer,
    mss: u64,
    /// Portions not yet sent.
    waiting: VecDeque<Portion>,
    /// Ends of the portions that are sent and not acknowledged.
    sent: VecDeque<u64>,
    /// Start of the first waiting portion (SND.NXT).
    next: u64,
    /// End of the data written.
    written: u64,
    /// End of the data at the program's last push (`pushed_seq`).
    pushed: u64,
    /// End of the write call in progress; none: the next write starts a call.
    call: Option<u64>,
    /// Send-buffer limit, bytes of memory (`sk_sndbuf`).
    limit: u64,
    /// The program is blocked on memory.
    full: bool,
    /// Largest window that the peer has offered, bytes.
    largest: u64,
    /// End of the group of segments being sent together.
    group: u64,
    /// The group has more than one segment.
    several: bool,
    /// End of the last segment shorter than the MSS (`snd_sml`).
    short: u64,
}

impl Queue {
    /// Sets the segment size from here on.
    pub(super) fn use_mss(&mut self, mss: u32) {
        self.mss = u64::from(mss);
    }
    pub(super) fn new(sizes: SendBuffer, mss: u32) -> Self {
        let mut queue = Queue {
            sizes,
            mss: u64::from(mss),
            waiting: VecDeque::new(),
            sent: VecDeque::new(),
            next: 1, // after the SYN
            written: 1,
            pushed: 1,
            call: None,
            limit: 0,
            full: false,
            largest: 0,
            group: 0,
            several: false,
            short: 0,
        };
        queue.expand(0);
        queue
    }

    /// Records a window that the peer offers.
    pub(super) fn offered(&mut self, window: u64) {
        self.largest = self.largest.max(window);
    }

    /// Bytes of the next portion to be sent, if there is one.
    pub(super) fn first(&self) -> Option<u64> {
        self.waiting.front().map(|portion| portion.end - self.next)
    }

    /// Only one portion is waiting.
    pub(super) fn is_last(&self) -> bool {
        self.waiting.len() == 1
    }

    /// End of the data written.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Whether the program is blocked on memory.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Moves data from the second portion into the first until the first has `bytes` (`tcp_grow_skb`). Returns whether
    /// it moved any.
    #[inline]
    pub(super) fn grow(&mut self, bytes: u64) -> bool {
        if let (Some(first), Some(&second)) = (self.first(), self.waiting.get(1))
            && first < bytes
        {
            let end = (self.next + bytes).min(second.end);
            self.waiting[0].end = end;
            if end == second.end {
                self.waiting[0].push |= second.push;
                self.waiting.remove(1);
            }
            return true;
        }
        false
    }

    /// Bytes to send into a peer's window smaller than the group. Whole segments, plus the remainder if no
    /// other short segment is in flight (`tcp_mss_split_point`, `tcp_minshall_check`).
    pub(super) fn fills(&self, window: u64, una: u64) -> u64 {
        if window > self.mss && self.short <= una { window } else { window / self.mss * self.mss }
    }

    /// Starts a group of the next `bytes`.
    pub(super) fn begin_group(&mut self, bytes: u64) {
        (self.group, self.several) = (self.next + bytes, bytes > self.mss);
    }

    /// Records the first transmission of data up to `end`. Returns whether the segment carries PSH: the last segment
    /// of a group of several segments, or of a portion that was pushed.
    pub(super) fn leave(&mut self, end: u64) -> bool {
        let short = end - self.next < self.mss;
        self.next = end;
        let mut push = false;
        while let Some(first) = self.waiting.front().filter(|first| first.end <= end) {
            push = first.push;
            self.waiting.pop_front();
        }
        self.written = self.written.max(end);
        if short {
            self.short = end;
        }
        if end >= self.group {
            push |= end == self.group && self.several;
            self.sent.push_back(end);
        }
        push
    }

    /// Memory in use, bytes, when `una` is the oldest byte not acknowledged.
    fn memory(&mut self, una: u64) -> u64 {
        while self.sent.front().is_some_and(|end| *end <= una) {
            self.sent.pop_front();
        }
        let portions = (self.waiting.len() + self.sent.len()) as u64;
        self.written.saturating_sub(una) + self.sizes.portion * portions
    }

    /// Raises the memory limit for a window of `cwnd` segments (`tcp_sndbuf_expand`).
    fn expand(&mut self, cwnd: u64) {
        let wanted = 2 * cwnd.max(10) * self.sizes.segment;
        self.limit = self.limit.max(wanted.min(self.sizes.most));
    }

    /// Checks for free memory after a send or an ACK. `cwnd`: congestion window in segments, none if it is
    /// used up.
    pub(super) fn look_for_space(&mut self, una: u64, cwnd: Option<u64>) {
        if !self.full {
            return;
        }
        if let Some(cwnd) = cwnd {
            self.expand(cwnd);
        }
        let memory = self.memory(una);
        self.full = memory >= self.limit || self.limit - memory < memory / 2;
    }

    /// The program retries its write.
    pub(super) fn retry(&mut self, una: u64) {
        self.full = self.memory(una) >= self.limit;
    }

    /// Writes data up to `end`, until a push, a full first portion or the memory limit.
    pub(super) fn write(&mut self, una: u64, end: u64) -> WriteResult {
        let half = (self.largest / 2).min(LONGEST);
        let goal = (half / self.mss).max(1) * self.mss;
        while self.written < end {
            if self.first().is_none_or(|_| self.tail() >= goal) {
                if self.memory(una) >= self.limit {
                    self.ask(self.call.is_some());
                    (self.full, self.call) = (true, None);
                    return WriteResult::Full;
                }
                self.waiting.push_back(Portion { end: self.written, push: false });
            }
            let begins = self.call.is_none();
            let call = *self.call.get_or_insert(self.written + CALL);
            self.written = (self.written + goal - self.tail()).min(call).min(end);
            if let Some(last) = self.waiting.back_mut() {
                last.end = self.written;
                last.push &= !begins;
            }
            if self.written == call || self.written == end {
                self.call = None;
                self.ask(true);
                return WriteResult::Much;
            }
            if self.written > self.pushed + self.largest / 2 {
                self.ask(true);
                return WriteResult::Much;
            }
            if self.is_last() {
                return WriteResult::First;
            }
        }
        WriteResult::Nothing
    }

    /// Marks the last portion with PSH if `asks`.
    fn ask(&mut self, asks: bool) {
        if asks && let Some(last) = self.waiting.back_mut() {
            last.push = true;
            self.pushed = self.written;
        }
    }

    /// Bytes in the last portion.
    fn tail(&self) -> u64 {
        let before = self.waiting.len().checked_sub(2).map_or(self.next, |i| self.waiting[i].end);
        self.waiting.back().map_or(0, |last| last.end - before)
    }

    /// Discards data beyond `end`.
    pub(super) fn cut(&mut self, end: u64) {
        self.waiting.retain(|portion| portion.end <= end);
        self.written = self.waiting.back().map_or(self.next, |last| last.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of a kernel in virtual time: 832 B per portion, room for segments of 2304 B.
    fn queue() -> Queue {
        let mut queue = Queue::new(SendBuffer { portion: 832, segment: 2304, most: 4 << 20 }, 1448);
        queue.offered(65_160);
        queue
    }

    fn segments(n: u64) -> u64 {
        1 + n * 1448
    }

    /// As in a kernel's trace: 22 segments, two of them are sent and replaced, then eight more, and the
    /// buffer of 46 080 B is full.
    #[test]
    fn the_first_portion_is_filled_up_as_it_leaves() {
        let mut queue = queue();
        let end = segments(200);
        assert_eq!(queue.write(1, end), WriteResult::First);
        assert_eq!((queue.written(), queue.memory(1)), (segments(22), 32_688));
        queue.begin_group(2 * 1448);
        queue.leave(segments(2));
        assert_eq!(queue.write(1, end), WriteResult::Much); // more than half of the window since the last time
        assert_eq!((queue.written(), queue.memory(1)), (segments(24), 36_416));
        for i in [4, 6, 8, 10] {
            queue.begin_group(2 * 1448);
            queue.leave(segments(i));
        }
        assert_eq!(queue.write(1, end), WriteResult::First);
        assert_eq!((queue.written(), queue.memory(1)), (segments(32), 51_328));
        assert_eq!(queue.write(1, end), WriteResult::Full);
    }

    /// A portion of one segment takes another one from the next portion, where two may be sent.
    #[test]
    fn a_portion_grows_by_what_follows() {
        let mut queue = queue();
        while queue.write(1, segments(60)) != WriteResult::Full {}
        assert_eq!(queue.first(), Some(22 * 1448));
        queue.leave(segments(21));
        queue.grow(1448);
        assert_eq!((queue.first(), queue.is_last()), (Some(1448), false));
        queue.grow(2 * 1448);
        assert_eq!(queue.first(), Some(2 * 1448));
        queue.grow(60 * 1448);
        assert!(queue.is_last());
        assert_eq!(queue.next + queue.first().unwrap(), queue.written());
    }

    /// PSH ends a group of several segments and a pushed write; it is never set within.
    #[test]
    fn a_group_ends_with_push() {
        let mut queue = queue();
        queue.write(1, segments(200));
        queue.begin_group(2 * 1448);
        assert_eq!([1, 2].map(|i| queue.leave(segments(i))), [false, true]);
        queue.begin_group(1448);
        assert!(!queue.leave(segments(3)));
        while queue.write(1, segments(200)) != WriteResult::Much {}
        let written = queue.written();
        queue.begin_group(written - segments(3) - 1448);
        queue.leave(written - 1448);
        queue.begin_group(1448);
        assert!(queue.leave(written));
    }

    /// The buffer wakes the program when a third of it is free, and not earlier.
    #[test]
    fn a_third_is_free_before_it_writes_again() {
        let mut queue = queue();
        while queue.write(1, segments(200)) != WriteResult::Full {}
        let (written, waiting) = (queue.written(), queue.waiting.len() as u64);
        let taken = |una: u64| written - una + 832 * waiting;
        for una in (1..written).step_by(500) {
            queue.look_for_space(una, None);
            assert_eq!(queue.is_full(), 46_080 - taken(una).min(46_080) < taken(una) / 2, "{una}");
            queue.full = true;
        }
    }
}
