//! TCP receiver: reassembly, delayed ACKs, SACK blocks, window.
//!
//! The receiver reassembles segments and delays ACKs of in-order data (RFC 1122 section 4.2.3.2, RFC 5681
//! section 4.2). Other segments are acknowledged at once. SACK blocks report out-of-order data (RFC 2018)
//! and duplicates (RFC 2883); timestamps are echoed.

mod buffer;
mod linux;
mod paws;
mod quick;
mod shared_window;

use super::config::{Config, Echo, Handshake, ReceiverConfig};
use crate::recovery::rto::RtoTimer;
use base::tcp::{Block, SackBlocks, Segment, Timestamps};
use base::{Span, Time};
use buffer::BufferOccupancy;
use linux::{ArrivedSegment, Linux};
use shared_window::Shared;
pub use shared_window::{Aggregate, FlowState, WindowManager, WindowShare};

/// Receiver of a connection's data.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    sack: bool,
    /// Receive buffer, bytes; also the offered window while the application reads at once.
    window: u32,
    /// Window scale: the offered window is a multiple of 2^shift.
    shift: u32,
    /// Bytes in order that the application has not read; none: the application reads at once.
    unread: Option<u64>,
    /// Right edge: one past the last byte ever offered. Maintained only while the application reads slowly.
    edge: u64,
    /// A window update is to be sent.
    update: bool,
    least_update: u64,
    /// Next byte expected.
    next: u64,
    /// Out-of-order ranges, ascending and disjoint.
    held: Vec<Block>,
    /// SACK blocks last reported, most recent first.
    reported: Vec<Block>,
    /// DSACK block to report.
    dsack: Option<Block>,
    /// Full-sized segments not yet acknowledged, at least one per segment received.
    unacked: u32,
    mss: u64,
    /// Number of initial segments still to be acknowledged at once (RFC rules).
    quick: u32,
    /// Adaptive delayed-ACK timeout (ATO); unused if `ack_delay_min` is zero.
    patience: Span,
    /// Arrival time of the last data.
    last_data: Option<Time>,
    /// Deadline of the delayed ACK.
    ack_due: Time,
    /// Timestamp to echo (TS.Recent).
    echo: Option<Time>,
    /// Arrival time of the segment that carried TS.Recent.
    echo_at: Time,
    last_ack_sent: u64,
    /// Retransmit flag of the first segment since the last ACK; the next ACK echoes it.
    resent: bool,
    /// State of the rules taken from Linux.
    linux: Option<Box<Linux>>,
    /// Share of the host's window, if the host has a window manager.
    shared: Option<Box<Shared>>,
}

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

/// Result of a received segment with data, SYN or FIN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// ACK decision.
    pub answer: Answer,
    /// The segment contained no new data.
    pub duplicate: bool,
    /// Sequence numbers that are now in order: bytes, SYN and FIN.
    pub delivered: u64,
}

/// Maximum number of out-of-order ranges; data beyond are discarded.
const MAX_HELD: usize = 4096;

impl Receiver {
    /// A receiver that expects sequence number 0, the SYN, next.
    pub fn new(config: &Config) -> Self {
        let window = config.receiver.window.bytes(config.mss, u64::from(u32::MAX));
        let window = u32::try_from(window).unwrap_or(u32::MAX);
        let (window, shift) = on_the_wire(window, config);
        let linux = Linux::new(config);
        // A growing window starts at the window of the SYN.
        let growing = linux.as_ref().and_then(|l| l.buffer.as_ref());
        let (window, shift) = growing.map_or((window, shift), |b| (b.first() as u32, b.shift()));
        Receiver {
            config: config.receiver,
            sack: config.uses_sack(),
            window,
            shift,
            unread: None,
            edge: 0,
            update: false,
            //= RFC 9293 section 3.8.6.2.2: the window is updated by at least a segment or half the buffer
            least_update: u64::from(config.mss).min(u64::from(window) / 2),
            next: 0,
            held: Vec::new(),
            reported: Vec::new(),
            dsack: None,
            unacked: 0,
            mss: u64::from(config.mss).max(1),
            quick: config.receiver.quick_acks,
            patience: config.receiver.ack_delay_min,
            last_data: None,
            ack_due: Time::NEVER,
            echo: None,
            echo_at: Time::ZERO,
            last_ack_sent: 0,
            resent: false,
            linux,
            shared: None,
        }
    }

    /// Replaces this receiver by `fresh`, before any data arrive. Keeps unread bytes and the share of the host's
    /// window.
    pub(super) fn start_anew(&mut self, fresh: Receiver) {
        let (unread, shared) = (self.unread, self.shared.take());
        *self = fresh;
        (self.unread, self.shared) = (unread, shared);
        self.edge = if unread.is_some() { self.next + u64::from(self.window) } else { 0 };
    }

    /// Next byte expected.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Deadline of the delayed ACK.
    pub fn next_timeout(&self) -> Time {
        self.ack_due
    }

    /// Processes a segment with data, SYN or FIN.
    #[inline(always)] // the connection's only call
    pub fn receive(&mut self, now: Time, segment: &Segment, rto: &RtoTimer) -> Arrival {
        let (seq, end) = (segment.seq, segment.end());
        if let Some(shared) = &mut self.shared {
            shared.now = now;
        }
        if self.unacked == 0 {
            self.resent = segment.resent;
        }
        if let Some(ts) = segment.timestamps {
            self.note_timestamp(now, seq, end, ts.value);
        }
        // A segment beyond the offered window is not accepted, but acknowledged (RFC 9293 section 3.10.7.4).
        let beyond = end > self.accepts_up_to();
        if end == seq || (beyond && !self.config.accept_beyond) {
            return Arrival { answer: Answer::Now, duplicate: false, delivered: 0 };
        }
        let (before, had) = (self.next, self.kept());
        let duplicate = self.has(seq, end);
        // Only what lies below SND.NXT of the peer's data or beside a gap can repeat anything.
        if (seq < before || !self.held.is_empty()) && self.config.dsack && self.sack {
            self.note_repeated(seq, end);
        }
        if duplicate {
            self.touch(seq, end);
        } else if seq <= self.next {
            self.next = end;
            if !self.held.is_empty() {
                self.absorb_held();
            }
        } else {
            self.hold(seq, end);
        }
        let delivered = self.next - before;
        if let Some(shared) = &self.shared
            && segment.len > 0
        {
            shared.share.arrived(delivered, seq > before && !duplicate);
        }
        let answer = match self.linux {
            Some(_) if !segment.syn => self.answer_as_linux(now, segment, rto, before, had, duplicate),
            _ => self.answer(now, seq, end, before),
        };
        if let Some(unread) = &mut self.unread {
            *unread += delivered;
        }
        Arrival { answer, duplicate, delivered }
    }

    #[inline(never)]
    fn answer_as_linux(
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

    /// One past the last byte that is accepted.
    #[inline]
    fn accepts_up_to(&mut self) -> u64 {
        match self.linux.as_ref().and_then(|l| l.buffer.as_ref()) {
            Some(buffer) => buffer.edge().max(self.next),
            None => self.next.saturating_add(u64::from(self.offered())),
        }
    }

    /// Occupancy of the receive buffer. Out-of-order data count only under the Linux rules.
    #[inline]
    fn kept(&self) -> BufferOccupancy {
        let unread = self.unread.unwrap_or(0);
        if self.held.is_empty() { BufferOccupancy::in_order(unread) } else { self.kept_with_gaps(unread) }
    }

    #[cold]
    fn kept_with_gaps(&self, unread: u64) -> BufferOccupancy {
        if self.linux.is_none() {
            return BufferOccupancy::in_order(unread);
        }
        let bytes = self.held.iter().map(|b| b.right - b.left).sum();
        BufferOccupancy { unread, held: bytes, ranges: self.held.len() as u64 }
    }

    /// Updates the Linux delayed-ACK timeout after an expiry; the caller then sends an ACK.
    pub(super) fn on_timeout(&mut self, now: Time, rto: &RtoTimer) {
        if let Some(quick) = self.linux.as_mut().and_then(|l| l.quick.as_mut()) {
            quick.on_timeout(now, rto);
        }
    }

    /// Under the Linux ACK rules, detects an interactive session: this end sends data.
    pub(super) fn on_own_data(&mut self, now: Time) {
        if let Some(quick) = self.linux.as_mut().and_then(|l| l.quick.as_mut()) {
            quick.on_own_data(now);
        }
    }

    /// Processes the timestamp of a segment without data (RFC 7323 rule only), and starts the RTT round of a Linux
    /// receive buffer.
    pub(super) fn read_peer_options(&mut self, now: Time, segment: &Segment) {
        if let Some(buffer) = self.linux.as_mut().and_then(|l| l.buffer.as_mut()) {
            buffer.open(now, self.next);
        }
        if let Some(ts) = segment.timestamps
            && self.config.echo == Echo::Rfc7323
        {
            self.note_timestamp(now, segment.seq, segment.seq, ts.value);
        }
    }

    #[inline(always)]
    fn answer(&mut self, now: Time, seq: u64, end: u64, before: u64) -> Answer {
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
        let segments = u32::try_from((end - seq) / self.mss).unwrap_or(u32::MAX);
        self.unacked = self.unacked.saturating_add(segments.max(1));
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

    fn note_timestamp(&mut self, now: Time, seq: u64, end: u64, value: Time) {
        let taken = match self.config.echo {
            //= RFC 7323 section 4.3: only a segment that reaches back to the last acknowledgement
            Echo::Rfc7323 => seq <= self.last_ack_sent && self.echo.is_none_or(|e| value >= e),
            //= RFC 1323 section 3.4: the segment must contain it
            Echo::Rfc1323 => seq <= self.last_ack_sent && self.last_ack_sent < end,
            Echo::Latest => true,
        };
        if taken && self.echo != Some(value) {
            (self.echo, self.echo_at) = (Some(value), now);
        }
    }

    /// Records the first contiguous duplicate range of a segment as the DSACK block to send.
    #[cold]
    fn note_repeated(&mut self, seq: u64, end: u64) {
        let repeated = if seq < self.next {
            //= RFC 2883 section 4.2.1: of a partly new segment, the duplicate part
            Some(Block { left: seq, right: end.min(self.next) })
        } else {
            //= RFC 2883 section 4.2.2: of several duplicate parts, the first
            let i = self.held.partition_point(|b| b.right <= seq);
            let held = self.held.get(i).filter(|b| b.left < end);
            held.map(|b| Block { left: b.left.max(seq), right: b.right.min(end) })
        };
        if repeated.is_some() {
            //= RFC 2883 section 4: the first block reports the duplicate
            self.dsack = repeated;
        }
    }

    /// Whether the whole range has been received.
    #[inline(always)]
    pub(super) fn has(&self, seq: u64, end: u64) -> bool {
        end <= self.next || self.holds(seq, end)
    }

    fn holds(&self, seq: u64, end: u64) -> bool {
        self.held.iter().any(|b| b.left <= seq && end <= b.right)
    }

    /// Merges a range into the out-of-order ranges and makes the result the first SACK block.
    fn hold(&mut self, seq: u64, end: u64) {
        if self.held.len() >= MAX_HELD {
            return; // discarded: a receiver may discard out-of-order data
        }
        let from = self.held.partition_point(|b| b.right < seq);
        let to = self.held.partition_point(|b| b.left <= end);
        let mut merged = Block { left: seq, right: end };
        if from < to {
            merged.left = seq.min(self.held[from].left);
            merged.right = end.max(self.held[to - 1].right);
        }
        self.held.splice(from..to, [merged]);
        self.report(merged);
    }

    /// For a duplicate of out-of-order data, makes the range that contains it the first SACK block.
    fn touch(&mut self, seq: u64, end: u64) {
        if let Some(&b) = self.held.iter().find(|b| b.left <= seq && end <= b.right) {
            self.report(b);
        }
    }

    /// RFC 2018 section 4: the most recent block first, then those reported before it.
    fn report(&mut self, block: Block) {
        if self.sack {
            self.reported.retain(|b| b.left < block.left || b.right > block.right);
            self.reported.insert(0, block);
            self.reported.truncate(base::tcp::MAX_SACK_BLOCKS);
        }
    }

    #[cold]
    fn absorb_held(&mut self) {
        while let Some(first) = self.held.first().copied() {
            if first.left > self.next {
                break;
            }
            self.next = self.next.max(first.right);
            self.held.remove(0);
        }
        let next = self.next;
        self.reported.retain(|b| b.right > next);
    }

    /// Builds a pure ACK with its SACK blocks. The connection sets `seq`.
    pub fn acknowledge(&mut self, now: Time, timestamps: bool) -> Segment {
        let bare = self.acknowledge_bare(now, timestamps);
        if self.has_report() { Segment { sack: self.take_report(timestamps), ..bare } } else { bare }
    }

    /// Builds a pure ACK without SACK blocks: most ACKs have none.
    #[inline(always)]
    pub(super) fn acknowledge_bare(&mut self, now: Time, timestamps: bool) -> Segment {
        if let Some(shared) = &mut self.shared {
            shared.now = now;
        }
        let window = self.offered();
        self.unacked = 0;
        self.ack_due = Time::NEVER;
        self.last_ack_sent = self.next;
        if let Some(linux) = &mut self.linux {
            linux.on_sent();
        }
        let timestamps = match (timestamps, self.echo) {
            (true, Some(echo)) => Some(Timestamps { value: now, echo }),
            (true, None) => Some(Timestamps { value: now, echo: Time::ZERO }),
            (false, _) => None,
        };
        Segment {
            ack: self.next,
            has_ack: true,
            window,
            resent_echo: self.resent,
            timestamps,
            ..Segment::default()
        }
    }

    /// Timestamp to echo (TS.Recent), and the echo of the retransmit flag.
    #[inline(always)]
    pub(super) fn echoes(&self) -> (Time, bool) {
        (self.echo.unwrap_or(Time::ZERO), self.resent)
    }

    /// Whether there are SACK blocks to send; never without SACK.
    #[inline(always)]
    pub(super) fn has_report(&self) -> bool {
        self.dsack.is_some() || !self.reported.is_empty()
    }

    /// Takes the SACK blocks to send now.
    #[inline(never)]
    pub(super) fn take_report(&mut self, timestamps: bool) -> SackBlocks {
        let mut sack = SackBlocks::default();
        let most = (self.config.sack_blocks as usize).min(if timestamps { 3 } else { 4 });
        if let Some(d) = self.dsack.take() {
            sack.push(d.left, d.right);
        }
        for b in &self.reported {
            if sack.as_slice().len() < most {
                sack.push(b.left, b.right);
            }
        }
        sack
    }

    /// Receive window to offer now, bytes; not scaled in a SYN.
    #[inline]
    pub fn window(&mut self, syn: bool) -> u32 {
        let offered = if syn { self.window } else { self.offered() };
        //= RFC 7323 section 2.2: the window field of a SYN is never scaled
        if syn && self.shift > 0 { offered.min(MOST_UNSCALED) } else { offered }
    }

    /// Largest window that can ever be offered, bytes.
    pub fn largest_window(&self) -> u32 {
        match self.linux.as_ref().and_then(|l| l.buffer.as_ref()) {
            Some(buffer) => MOST_UNSCALED << buffer.shift(),
            None => self.window,
        }
    }

    #[inline]
    fn offered(&mut self) -> u32 {
        let alone = self.offered_alone();
        if self.shared.is_some() { self.offered_of_share(alone) } else { alone }
    }

    #[inline]
    fn offered_alone(&mut self) -> u32 {
        if let Some(linux) = &self.linux
            && linux.buffer.is_some()
        {
            let empty = self.held.is_empty() && self.unread.unwrap_or(0) == 0;
            let again = linux.offered_again(self.next).filter(|_| empty);
            return again.unwrap_or_else(|| self.offered_as_linux());
        }
        match self.unread {
            None => self.window,
            Some(unread) => self.offered_beside(unread),
        }
    }

    #[inline(never)]
    fn offered_as_linux(&mut self) -> u32 {
        let next = self.next;
        let chosen = self.linux.as_mut().and_then(|l| l.chosen(next));
        chosen.unwrap_or_else(|| {
            let kept = self.kept();
            self.linux.as_mut().map_or(0, |l| l.choose(next, kept))
        })
    }

    fn growing(&self) -> bool {
        self.linux.as_ref().is_some_and(|l| l.buffer.is_some())
    }

    /// Window left beside `unread` bytes, with silly-window avoidance.
    fn offered_beside(&mut self, unread: u64) -> u32 {
        let room = u64::from(self.window).saturating_sub(unread);
        let edge = self.next + (room >> self.shift << self.shift);
        //= RFC 9293 section 3.8.6.2.2: the right edge advances by a useful amount, and never retreats
        if edge >= self.edge + self.least_update {
            self.edge = edge;
        }
        u32::try_from(self.edge.saturating_sub(self.next)).unwrap_or(u32::MAX)
    }

    /// Switches between an application that reads slowly (data wait until read) and one that reads at once.
    pub(super) fn read_slowly(&mut self, slowly: bool) {
        match (slowly, self.unread) {
            (true, None) => {
                self.edge = self.next + u64::from(self.window);
                self.unread = Some(0);
            }
            (false, Some(_)) if self.growing() => {
                self.unread = None;
                self.update |= self.reading_asks();
            }
            (false, Some(_)) => {
                self.update |= self.edge < self.next + u64::from(self.window);
                self.unread = None;
            }
            _ => {}
        }
    }

    /// Reads at most `bytes` for the application; returns the number read.
    pub(super) fn read(&mut self, bytes: u64) -> u64 {
        let Some(unread) = self.unread else { return 0 };
        let took = unread.min(bytes);
        self.unread = Some(unread - took);
        if self.growing() {
            self.update |= self.reading_asks();
            return took;
        }
        let before = self.edge;
        self.offered();
        // Only a window that had become small may have blocked the sender.
        self.update |= self.edge > before && before < self.next + 2 * self.least_update;
        took
    }

    /// Whether a read from a Linux receive buffer requires a window update.
    fn reading_asks(&mut self) -> bool {
        let (kept, next, acked) = (self.kept(), self.next, self.last_ack_sent);
        self.linux.as_mut().is_some_and(|l| l.on_read(l.latest, next, acked, kept))
    }

    /// Whether a window update is to be sent; clears the flag.
    pub(super) fn take_update(&mut self) -> bool {
        std::mem::take(&mut self.update)
    }
}

/// Largest value of the window field without scaling, bytes.
const MOST_UNSCALED: u32 = 65_535;

/// Window rounded down to a value that the TCP header can carry, in bytes, and the window scale (shift count). Without
/// scaling at most 65535 bytes. The one-way model has no wire format and no limit.
fn on_the_wire(window: u32, config: &Config) -> (u32, u32) {
    if config.opening.handshake == Handshake::OneWay || window <= MOST_UNSCALED {
        return (window, 0);
    }
    if !config.window_scale {
        return (MOST_UNSCALED, 0);
    }
    //= RFC 7323 section 2.3: smallest shift (14 at most) that can carry the whole window
    let shift = (0..14).find(|s| window >> s <= MOST_UNSCALED).unwrap_or(14);
    ((window >> shift).min(MOST_UNSCALED) << shift, shift)
}

/// True if the segment was the next expected one and filled no gap. `before`, `after`: next byte expected
/// before and after its arrival.
fn delivered_in_order(seq: u64, end: u64, before: u64, after: u64) -> bool {
    seq <= before && end > before && after == end
}
