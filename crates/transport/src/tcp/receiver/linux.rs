//! Receive path of Linux: segment size estimate, ACK decision, window.
//!
//! What it learns of the path and of the peer's segments, then whether to acknowledge ([`super::quick`]) and what to
//! offer ([`super::buffer`]); either may be left to the RFCs.

use super::Answer;
use super::buffer::{Buffer, Kept};
use super::quick::{Pending, Quick};
use crate::recovery::rto::RtoTimer;
use crate::tcp::config::{AckRules, Config, WindowGrowth};
use base::tcp::Segment;
use base::{Span, Time};

/// Timestamps count milliseconds.
const STAMP: u64 = 1_000_000;
/// What is taken for a full segment at first, at most and at least.
const FIRST_FULL: u32 = 536;
const LEAST_FULL: u32 = 88;

/// A program reads so many bytes at once.
const READ: u64 = 65_536;
/// So many packets lie in one that others were merged with: its own and 17 beside it (`MAX_SKB_FRAGS`).
const MERGED: u64 = 18;

/// What it remembers beside what was received.
#[derive(Clone, Debug)]
pub(super) struct Linux {
    pub(super) quick: Option<Quick>,
    pub(super) buffer: Option<Buffer>,
    trip: Trip,
    mss: u32,
    sack: bool,
    /// What is taken for a full segment.
    full: u32,
    /// The size of the last segment that was shorter than that.
    shorter: u32,
    /// The window was chosen when the acknowledgement was decided upon, before the application read.
    settled: bool,
    /// The window of the first of two acknowledgements: what the application read opened it for the second.
    before: Option<u32>,
    /// When the last segment came: a reader has no clock.
    pub(super) latest: Time,
}

/// A round trip as a receiver sees it (`tcp_rcv_rtt_measure_ts`, `tcp_rcv_rtt_measure`).
#[derive(Clone, Copy, Debug, Default)]
struct Trip {
    /// Eight times the smoothed one, microseconds.
    eight: u64,
    /// The echo that was last looked at.
    echo: Option<Time>,
    /// When a window began to come, and where it ends.
    window: Option<(Time, u64)>,
}

/// A segment, and where the stream was before and after it.
pub(super) struct Came<'a> {
    pub(super) now: Time,
    pub(super) segment: &'a Segment,
    pub(super) before: u64,
    pub(super) next: u64,
    /// Nothing of it was new.
    pub(super) duplicate: bool,
    /// What lay in the buffer before it came.
    pub(super) had: Kept,
    /// And what lies in it now, before any of it is read.
    pub(super) kept: Kept,
    /// All of it is read at once.
    pub(super) is_read: bool,
    pub(super) acked: u64,
    pub(super) rto: &'a RtoTimer,
}

impl Linux {
    /// The rules that the configuration leaves to Linux, if any.
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
            latest: Time::ZERO,
        }))
    }

    fn window(&self) -> u64 {
        self.buffer.as_ref().map_or(u64::from(u32::MAX), Buffer::offered)
    }

    /// A segment that carries something was taken in; what to answer.
    pub(super) fn on_segment(&mut self, came: &Came<'_>) -> Answer {
        let now = came.now;
        let len = came.segment.len;
        self.latest = now;
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
                // Before what it closes a hole to is moved.
                self.grow(len, Kept { unread: came.had.unread + u64::from(len), ..came.had });
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
            //= RFC 5681 section 3.2: without SACK a duplicate shows itself by an unchanged window
            if self.sack && !came.duplicate {
                // One that begins a range is counted afterwards.
                self.grow(len, if came.kept.ranges > came.had.ranges { came.had } else { came.kept });
            }
        }
        self.decide(came)
    }

    /// Before the application reads, and after.
    fn decide(&mut self, came: &Came<'_>) -> Answer {
        let delivered = came.next - came.before;
        let bytes = came.next - came.acked;
        let kept = came.kept;
        let selected = self.buffer.as_ref().map(|b| b.select(kept, self.full));
        let keeps_window = selected.is_none_or(|(window, _)| window >= self.window());
        let Some(quick) = &mut self.quick else { return Answer::Later };
        if bytes > u64::from(self.full) && selected.is_some_and(|(_, crowded)| crowded) {
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
            self.settle(came.next, kept);
        }
        // Who reads at once has read by now.
        if !came.is_read || delivered == 0 {
            return if now { Answer::Now } else { Answer::Later };
        }
        match (now, self.read_all(came, now)) {
            (true, true) => Answer::Twice,
            (false, false) => Answer::Later,
            _ => Answer::Now,
        }
    }

    /// All that came is read, so much at a time; whether there is something to say, beside the acknowledgement that was `said`.
    fn read_all(&mut self, came: &Came<'_>, said: bool) -> bool {
        let delivered = came.next - came.before;
        let trip = self.trip.span();
        if let Some(buffer) = &mut self.buffer {
            // What was read in a round trip is looked at as soon as the first of the merged packets is.
            let first = delivered.min(MERGED * u64::from(self.full));
            buffer.on_read(came.now, came.before + first, came.next, trip);
        }
        let mut unread = delivered;
        while unread > 0 {
            unread = unread.saturating_sub(READ);
            let left = Kept { unread, ..came.kept };
            if (!said && self.is_due(came.next, came.acked, left)) || self.opens(came.next, left) {
                self.before = said.then(|| self.left(came.next));
                self.settle(came.next, left);
                return true;
            }
        }
        false
    }

    /// The application has read, and the buffer keeps `kept`; whether there is something to say.
    pub(super) fn on_read(&mut self, now: Time, next: u64, acked: u64, kept: Kept) -> bool {
        let trip = self.trip.span();
        if let Some(buffer) = &mut self.buffer {
            buffer.on_read(now, next - kept.unread, next, trip);
        }
        self.is_due(next, acked, kept) || self.opens(next, kept)
    }

    /// Whether reading makes an acknowledgement due (`tcp_cleanup_rbuf`).
    fn is_due(&self, next: u64, acked: u64, kept: Kept) -> bool {
        let full = self.full;
        self.quick.as_ref().is_some_and(|q| q.is_due_when_read(next - acked, full, kept.is_empty()))
    }

    /// Whether it has opened a window that had become small (there, too).
    fn opens(&self, next: u64, kept: Kept) -> bool {
        self.buffer.as_ref().is_some_and(|b| b.opens(next, kept, self.full))
    }

    /// What is left of the offer.
    fn left(&self, next: u64) -> u32 {
        let left = self.buffer.as_ref().map_or(0, |b| b.edge().saturating_sub(next));
        u32::try_from(left).unwrap_or(u32::MAX)
    }

    /// Chooses the window beside `kept`.
    pub(super) fn settle(&mut self, next: u64, kept: Kept) {
        if let Some(buffer) = &mut self.buffer {
            let crowded = buffer.offer(next, kept, self.full);
            if crowded && let Some(quick) = &mut self.quick {
                quick.calm();
            }
            self.settled = true;
        }
    }

    /// The window of an acknowledgement that leaves now, beside `kept`.
    pub(super) fn offered(&mut self, next: u64, kept: Kept) -> u32 {
        if let Some(window) = self.before.take() {
            return window;
        }
        if !std::mem::take(&mut self.settled) {
            self.settle(next, kept);
            self.settled = false;
        }
        self.left(next)
    }

    /// An acknowledgement left.
    pub(super) fn on_sent(&mut self) {
        if let Some(quick) = &mut self.quick {
            quick.on_sent();
        }
    }

    fn grow(&mut self, len: u32, kept: Kept) {
        let grew = self.buffer.as_mut().is_some_and(|b| b.grow(len, self.full, kept));
        if grew && let Some(quick) = &mut self.quick {
            quick.on_growth();
        }
    }

    /// How large the peer's full segments are (`tcp_measure_rcv_mss`): the largest that came, or what comes twice in a row.
    fn measure(&mut self, len: u32, push: bool) {
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

    /// A full segment echoes a timestamp of ours for the first time.
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

    /// A whole window has come: a round trip took no longer than that.
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
