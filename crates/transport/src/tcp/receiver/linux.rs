//! Linux rules of the TCP receiver: RTT and segment size estimates, ACK decision, offered window.
//!
//! [`super::quick`] decides when to send an ACK, [`super::buffer`] chooses the offered window. The configuration can
//! leave either to the RFC rules.

use super::Answer;
use super::buffer::{Buffer, BufferOccupancy};
use super::quick::{Pending, Quick};
use crate::recovery::rto::RtoTimer;
use crate::tcp::config::{AckRules, Config, WindowGrowth};
use base::tcp::Segment;
use base::{Span, Time};

/// Tick of timestamps, nanoseconds: one millisecond.
const STAMP: u64 = 1_000_000;
/// Largest initial estimate of a full segment, bytes (`TCP_MSS_DEFAULT`).
const FIRST_FULL: u32 = 536;
/// Smallest estimate of a full segment, bytes (`TCP_MIN_MSS`).
const LEAST_FULL: u32 = 88;

/// Bytes per read call of the application.
const READ: u64 = 65_536;
/// Value of [`Linux::again`] after a change of state.
const NOT_AGAIN: (u64, u32) = (u64::MAX, 0);
/// Packets in one merged skb: its own and 17 fragments (`MAX_SKB_FRAGS`).
const MERGED: u64 = 18;

/// State of the Linux rules of a receiver.
#[derive(Clone, Debug)]
pub(super) struct Linux {
    pub(super) quick: Option<Quick>,
    pub(super) buffer: Option<Buffer>,
    trip: Trip,
    mss: u32,
    sack: bool,
    /// Estimated full segment of the peer, bytes (`rcv_mss`).
    full: u32,
    /// Size of the last segment shorter than `full`, bytes.
    shorter: u32,
    /// The window was chosen with the ACK decision, before the application read.
    settled: bool,
    /// Window of the first of two ACKs (`Answer::Twice`), before a read opened the window.
    before: Option<u32>,
    /// Next byte expected and window of the last ACK, if another ACK with the buffer empty would offer the same again.
    /// Offering a window twice in one state of the buffer equals offering it once.
    again: (u64, u32),
    /// Arrival time of the last segment, used when the application reads.
    pub(super) latest: Time,
}

/// RTT estimate of a receiver (`tcp_rcv_rtt_measure_ts`, `tcp_rcv_rtt_measure`).
#[derive(Clone, Copy, Debug, Default)]
struct Trip {
    /// Eight times the smoothed RTT, microseconds.
    eight: u64,
    /// Last timestamp echo processed.
    echo: Option<Time>,
    /// Window being measured: start time, and sequence number one past its end.
    window: Option<(Time, u64)>,
}

/// A received segment, with sequence numbers and buffer occupancy before and after its arrival.
pub(super) struct ArrivedSegment<'a> {
    pub(super) now: Time,
    pub(super) segment: &'a Segment,
    pub(super) before: u64,
    pub(super) next: u64,
    /// The segment contained no new data.
    pub(super) duplicate: bool,
    /// Occupancy of the buffer before the segment arrived.
    pub(super) had: BufferOccupancy,
    /// Occupancy of the buffer with the segment, before the application reads.
    pub(super) kept: BufferOccupancy,
    /// The application reads all data as soon as they are in order.
    pub(super) is_read: bool,
    pub(super) acked: u64,
    pub(super) rto: &'a RtoTimer,
}

impl Linux {
    /// State of the Linux rules that the configuration selects; none if it selects none.
    pub(super) fn new(config: &Config) -> Option<Box<Linux>> {
        let own = &config.receiver;
        let buffer = (own.growth == WindowGrowth::Linux).then(|| Buffer::new(config));
        let quick = (own.ack_rules == AckRules::Linux).then(|| Quick::new(own));
        if buffer.is_none() && quick.is_none() {
            return None;
        }
        let window = buffer.as_ref().map_or(u64::from(u32::MAX), Buffer::first);
        let half = u32::try_from(window / 2).unwrap_or(u32::MAX);
        let full = config.mss.min(half).clamp(LEAST_FULL, FIRST_FULL);
        let (mss, sack) = (config.mss, config.uses_sack());
        Some(Box::new(Linux {
            quick,
            buffer,
            trip: Trip::default(),
            mss,
            sack,
            full,
            shorter: 0,
            settled: false,
            before: None,
            again: NOT_AGAIN,
            latest: Time::ZERO,
        }))
    }

    fn window(&self) -> u64 {
        self.buffer.as_ref().map_or(u64::from(u32::MAX), Buffer::offered)
    }

    /// Processes a segment with data or FIN; returns the ACK decision.
    pub(super) fn on_segment(&mut self, came: &ArrivedSegment<'_>) -> Answer {
        let now = came.now;
        let len = came.segment.len;
        self.latest = now;
        self.again = NOT_AGAIN;
        self.trip.by_echo(now, came.segment, self.full);
        if let Some(buffer) = &mut self.buffer {
            buffer.open(now, came.before);
        }
        let in_order = came.next > came.before;
        if in_order && len > 0 {
            self.measure(len, came.segment.push);
            self.trip.by_window(now, came.before + u64::from(len), self.window());
            let window = self.window();
            if let Some(quick) = &mut self.quick {
                quick.on_data(now, window, self.full, came.rto);
            }
            if len >= 128 {
                // Out-of-order data that the segment makes contiguous still count as out of order.
                self.grow(len, BufferOccupancy { unread: came.had.unread + u64::from(len), ..came.had });
            }
        } else if came.duplicate && came.segment.end() <= came.next {
            let window = self.window();
            if let Some(quick) = &mut self.quick {
                quick.on_unexpected(window, self.full);
            }
            return Answer::Now;
        } else if len > 0 {
            self.measure(len, came.segment.push);
            if let Some(quick) = &mut self.quick {
                quick.scheduled = true;
            }
            //= RFC 5681 section 3.2: without SACK, a duplicate ACK needs an unchanged window
            if self.sack && !came.duplicate {
                // A segment that starts a new out-of-order range is not counted in the occupancy.
                self.grow(len, if came.kept.ranges > came.had.ranges { came.had } else { came.kept });
            }
        }
        self.decide(came)
    }

    /// ACK decision for a segment: first before the application reads, then after the read.
    fn decide(&mut self, came: &ArrivedSegment<'_>) -> Answer {
        let delivered = came.next - came.before;
        let bytes = came.next - came.acked;
        let kept = came.kept;
        let several = bytes > u64::from(self.full);
        let asks = several || self.quick.as_ref().is_some_and(|quick| quick.is_enough(bytes, self.full));
        let selected = self.buffer.as_ref().filter(|_| asks).map(|b| b.select(kept, self.full));
        let keeps_window = selected.is_none_or(|(window, _)| window >= self.window());
        let Some(quick) = &mut self.quick else { return Answer::Later };
        if several && selected.is_some_and(|(_, crowded)| crowded) {
            quick.calm();
        }
        let pending = Pending {
            now: came.now,
            bytes,
            full: self.full,
            next: came.next,
            holes: kept.held > 0,
            closed: came.had.held > 0 && kept.held == 0,
            sack: self.sack,
            keeps_window,
            rto: came.rto,
            trip: self.trip.span(),
        };
        let now = quick.is_due(&pending);
        if now {
            self.settle(came.next, kept, selected);
        }
        // An application that reads at once has read by now.
        if !came.is_read || delivered == 0 {
            return if now { Answer::Now } else { Answer::Later };
        }
        match (now, self.read_all(came, now)) {
            (true, true) => Answer::Twice,
            (false, false) => Answer::Later,
            _ => Answer::Now,
        }
    }

    /// Reads all data for the application, `READ` bytes per call. Returns whether the read requires an ACK. `said`: an
    /// ACK is already to be sent for the segment itself.
    #[inline(always)] // into the ACK decision, its only caller
    fn read_all(&mut self, came: &ArrivedSegment<'_>, said: bool) -> bool {
        let delivered = came.next - came.before;
        let trip = self.trip.span();
        if let Some(buffer) = &mut self.buffer {
            // The RTT round ends as soon as the first merged packet is read.
            let first = delivered.min(MERGED * u64::from(self.full));
            buffer.on_read(came.now, came.before + first, came.next, trip);
        }
        let mut unread = delivered;
        while unread > 0 {
            unread = unread.saturating_sub(READ);
            let left = BufferOccupancy { unread, ..came.kept };
            if (!said && self.is_due(came.next, came.acked, left)) || self.opens(came.next, left) {
                self.before = said.then(|| self.left(came.next));
                self.settle(came.next, left, None);
                return true;
            }
        }
        false
    }

    /// Processes a read that leaves the occupancy `kept`; returns whether to send an ACK.
    pub(super) fn on_read(&mut self, now: Time, next: u64, acked: u64, kept: BufferOccupancy) -> bool {
        let trip = self.trip.span();
        self.again = NOT_AGAIN;
        if let Some(buffer) = &mut self.buffer {
            buffer.on_read(now, next - kept.unread, next, trip);
        }
        self.is_due(next, acked, kept) || self.opens(next, kept)
    }

    /// Whether a read requires an ACK of received data (`__tcp_cleanup_rbuf`).
    fn is_due(&self, next: u64, acked: u64, kept: BufferOccupancy) -> bool {
        let full = self.full;
        self.quick.as_ref().is_some_and(|q| q.is_due_when_read(next - acked, full, kept.is_empty()))
    }

    /// Whether a read has at least doubled a small offered window (`__tcp_cleanup_rbuf`).
    fn opens(&self, next: u64, kept: BufferOccupancy) -> bool {
        self.buffer.as_ref().is_some_and(|b| b.opens(next, kept, self.full))
    }

    /// Part of the offered window above `next`, bytes.
    fn left(&self, next: u64) -> u32 {
        let left = self.buffer.as_ref().map_or(0, |b| b.edge().saturating_sub(next));
        u32::try_from(left).unwrap_or(u32::MAX)
    }

    /// Sets the offered window at occupancy `kept`, for the next ACK. `selected`: [`Buffer::select`] at this occupancy,
    /// if it is known.
    fn settle(&mut self, next: u64, kept: BufferOccupancy, selected: Option<(u64, bool)>) {
        if let Some(buffer) = &mut self.buffer {
            let (window, crowded) = selected.unwrap_or_else(|| buffer.select(kept, self.full));
            buffer.offer(next, window);
            if crowded && let Some(quick) = &mut self.quick {
                quick.calm();
            }
            (self.settled, self.again) = (true, NOT_AGAIN);
        }
    }

    /// Window of an ACK that is sent now with the buffer empty, if nothing has changed since the last ACK, bytes.
    #[inline(always)]
    pub(super) fn offered_again(&self, next: u64) -> Option<u32> {
        (self.again.0 == next).then_some(self.again.1)
    }

    /// Window of an ACK that is sent now, bytes, if it was chosen with the ACK decision.
    #[inline]
    pub(super) fn chosen(&mut self, next: u64) -> Option<u32> {
        let before = self.before.take();
        before.or_else(|| std::mem::take(&mut self.settled).then(|| self.left(next)))
    }

    /// Chooses the window of an ACK that is sent now, at occupancy `kept`, bytes.
    pub(super) fn choose(&mut self, next: u64, kept: BufferOccupancy) -> u32 {
        self.settle(next, kept, None);
        self.settled = false;
        let left = self.left(next);
        if kept.is_empty() {
            self.again = (next, left);
        }
        left
    }

    /// Notes that an ACK was sent.
    #[inline]
    pub(super) fn on_sent(&mut self) {
        if let Some(quick) = &mut self.quick {
            quick.on_sent();
        }
    }

    #[inline]
    fn grow(&mut self, len: u32, kept: BufferOccupancy) {
        let grew = self.buffer.as_mut().is_some_and(|b| b.grow(len, self.full, kept));
        if grew && let Some(quick) = &mut self.quick {
            quick.on_growth();
        }
    }

    /// Estimates the peer's full segment size: a size not below the estimate, or one received twice in a row
    /// (`tcp_measure_rcv_mss`).
    #[inline(always)] // most segments are of the estimated size
    fn measure(&mut self, len: u32, push: bool) {
        if len == self.full && len <= self.mss && !push {
            self.shorter = 0;
        } else {
            self.measure_other(len, push);
        }
    }

    /// Estimates the size from a segment of another size, or with PSH.
    fn measure_other(&mut self, len: u32, push: bool) {
        let before = std::mem::take(&mut self.shorter);
        if len >= self.full {
            if len != self.full
                && let Some(buffer) = &mut self.buffer
            {
                buffer.on_size(len);
            }
            self.full = len.min(self.mss);
            if push && let Some(quick) = &mut self.quick {
                quick.on_push();
            }
            return;
        }
        if len >= FIRST_FULL || (len >= LEAST_FULL && !push) {
            self.shorter = len;
            if len == before {
                self.full = len;
                return;
            }
        }
        if let Some(quick) = &mut self.quick {
            quick.on_short();
        }
    }
}

impl Trip {
    fn span(&self) -> Span {
        Span::from_nanos(self.eight / 8 * 1000)
    }

    /// RTT sample from a timestamp echo: from the first segment with a new echo, if it is full-sized.
    fn by_echo(&mut self, now: Time, segment: &Segment, full: u32) {
        let Some(stamps) = segment.timestamps else { return };
        if self.echo == Some(stamps.echo) {
            return;
        }
        self.echo = Some(stamps.echo);
        if segment.end() - segment.seq >= u64::from(full) {
            let took = now.as_nanos() / STAMP - (stamps.echo.as_nanos() / STAMP).min(now.as_nanos() / STAMP);
            if took > 0 {
                self.update(1000 * took, false);
            }
        }
    }

    /// RTT sample from the time in which one offered window of data arrives: an upper bound.
    fn by_window(&mut self, now: Time, next: u64, window: u64) {
        match self.window {
            Some((_, end)) if next < end => return,
            Some((began, _)) => self.update((now.since(began).as_nanos() / 1000).max(1), true),
            None => {}
        }
        self.window = Some((now, next + window));
    }

    fn update(&mut self, took_us: u64, bound: bool) {
        let eight = 8 * took_us;
        if self.eight == 0 || eight < self.eight {
            self.eight = eight;
        } else if !bound {
            self.eight = self.eight - self.eight / 8 + took_us;
        }
    }
}
