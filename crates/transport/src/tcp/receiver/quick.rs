//! Quick ACK mode of Linux.
//!
//! At once while it is quick: at the start, after a pause, after a duplicate, and whenever it has just let its window
//! grow. Then when more than a full segment has come, or when a timer runs out that follows how far apart data come.
//! While something is missing at once, but from the fourth time on only every millisecond.
//!
//! The rules are those of 6.12 (net/ipv4/tcp_input.c: `tcp_event_data_recv`, `__tcp_ack_snd_check`;
//! net/ipv4/tcp_output.c: `tcp_send_delayed_ack`; net/ipv4/tcp_timer.c: `tcp_delack_timer_handler`; net/ipv4/tcp.c: `__tcp_cleanup_rbuf`).

use crate::recovery::rto::RtoTimer;
use crate::recovery::wheel::{self, TICK, ticks};
use crate::tcp::config::ReceiverConfig;
use base::{Span, Time};

/// A delay longer than the least may not exceed half a second, or the round trip.
const SLOW: u64 = 500_000_000 / TICK.as_nanos();
/// So many acknowledgements of one hole go out at once.
const AT_ONCE: u32 = 3;
/// So many are held back at most (`tcp_comp_sack_nr`), so long (`tcp_comp_sack_delay_ns`), and a little longer if nothing else
/// wakes the kernel (`tcp_comp_sack_slack_ns`).
const MOST_HELD: u32 = 44;
const HOLD: Span = Span::from_millis(1);
const SLACK: Span = Span::from_nanos(100_000);

/// What decides when an acknowledgement leaves.
#[derive(Clone, Debug)]
pub(super) struct Quick {
    most: u32,
    every: u32,
    least: u64,
    longest: u64,
    /// Acknowledgements that still leave at once.
    left: u32,
    /// Both ends speak: acknowledgements wait for data to go with.
    interactive: bool,
    /// How long an acknowledgement waits, ticks; 0: no data have come.
    wait: u64,
    /// The tick of the last data.
    last: u64,
    /// Segments shorter than a full one since the last acknowledgement; one that is pushed counts as the first.
    short: u32,
    /// There is something to acknowledge.
    pub(super) scheduled: bool,
    /// When the delayed acknowledgement is due.
    due: Time,
    /// The hole that is being acknowledged, how often that was done at once, and since then not.
    hole: u64,
    told: u32,
    held: u32,
    release: Time,
}

/// Bytes that are not acknowledged, and what tells how long they may wait.
pub(super) struct Pending<'a> {
    pub(super) now: Time,
    pub(super) bytes: u64,
    pub(super) full: u32,
    /// Next byte expected.
    pub(super) next: u64,
    /// Something beyond it is held.
    pub(super) holes: bool,
    /// A hole was just closed, and it was the last one.
    pub(super) closed: bool,
    pub(super) sack: bool,
    /// The window can be offered as it was.
    pub(super) keeps_window: bool,
    pub(super) rto: &'a RtoTimer,
    /// Round trip as the receiver sees it; zero: unknown.
    pub(super) trip: Span,
}

impl Quick {
    pub(super) fn new(config: &ReceiverConfig) -> Self {
        let count = |span: Span| (span.as_nanos() / TICK.as_nanos()).max(1);
        Quick {
            most: config.quick_acks,
            every: config.ack_every,
            least: count(config.ack_delay_min),
            longest: count(config.ack_delay),
            left: 0,
            interactive: false,
            wait: 0,
            last: 0,
            short: 0,
            scheduled: false,
            due: Time::NEVER,
            hole: 0,
            told: 0,
            held: 0,
            release: Time::NEVER,
        }
    }

    pub(super) fn next_timeout(&self) -> Time {
        self.due.min(self.release)
    }

    /// Data came in order: how long to wait follows how far apart they come, and after a pause longer than the
    /// retransmission timeout it is quick again.
    pub(super) fn on_data(&mut self, now: Time, window: u64, full: u32, rto: &RtoTimer) {
        self.scheduled = true;
        let tick = ticks(now);
        let gap = tick - self.last;
        let timeout = ticks(Time::ZERO + rto.timeout());
        if self.wait == 0 {
            self.hurry(window, full);
            self.wait = self.least;
        } else if gap <= self.least / 2 {
            self.wait = self.wait / 2 + self.least / 2;
        } else if gap < self.wait {
            self.wait = (self.wait / 2 + gap).min(timeout).min(self.longest);
        } else if gap > timeout {
            self.hurry(window, full);
        }
        self.last = tick;
    }

    /// A full segment ends what the peer has for now.
    pub(super) fn on_push(&mut self) {
        self.short = self.short.max(1);
    }

    /// Data came that are shorter than a full segment.
    pub(super) fn on_short(&mut self) {
        self.short += 1;
    }

    /// Half a window of acknowledgements leaves at once, or as many as are allowed.
    fn hurry(&mut self, window: u64, full: u32) {
        let half = u32::try_from(window / (2 * u64::from(full.max(1)))).unwrap_or(u32::MAX);
        let half = if half == 0 { 2 } else { half };
        self.left = self.left.max(half.min(self.most));
    }

    /// Something came that the peer should not have sent: it may not know how far we are.
    pub(super) fn on_unexpected(&mut self, window: u64, full: u32) {
        self.hurry(window, full);
        self.interactive = false;
        self.wait = self.least;
        self.scheduled = true;
    }

    /// The window has grown: that is worth saying.
    pub(super) fn on_growth(&mut self) {
        self.left |= 1;
    }

    /// The buffer fills: nothing is worth hurrying for.
    pub(super) fn calm(&mut self) {
        self.left = 0;
    }

    /// Data of our own leave: soon after the peer's they are an answer.
    pub(super) fn on_own_data(&mut self, now: Time) {
        self.interactive |= self.last > 0 && ticks(now) - self.last < self.wait;
    }

    /// Whether to acknowledge now. If not, a timer runs that will.
    pub(super) fn is_due(&mut self, pending: &Pending<'_>) -> bool {
        let full = u64::from(pending.full) * u64::from(self.every.saturating_sub(1));
        let enough = pending.bytes > full && pending.keeps_window;
        if enough || (self.left > 0 && !self.interactive) || pending.closed {
            return true;
        }
        if !pending.holes {
            return self.delay(pending);
        }
        if !pending.sack || self.held >= MOST_HELD {
            return true;
        }
        if self.hole != pending.next {
            (self.hole, self.told) = (pending.next, 0);
        }
        if self.told < AT_ONCE {
            self.told += 1;
            return true;
        }
        self.held += 1;
        if self.release.is_never() {
            let srtt = pending.rto.srtt();
            let trip = if srtt.is_zero() { pending.trip } else { pending.trip.min(srtt) };
            self.release = pending.now + HOLD.min(Span::from_nanos(trip.as_nanos() / 20)) + SLACK;
        }
        false
    }

    /// Starts the timer of the delayed acknowledgement; true if one that runs is about to expire.
    fn delay(&mut self, pending: &Pending<'_>) -> bool {
        let mut wait = self.wait;
        if wait > self.least {
            let most = if self.interactive || self.short > 0 { self.longest } else { SLOW };
            let srtt = pending.rto.srtt();
            let trip = if srtt.is_zero() { most } else { ticks(Time::ZERO + srtt).max(self.least) };
            wait = wait.min(most).min(trip);
        }
        // One tick less than the least retransmission timeout (`tcp_delack_max`).
        let wait = wait.min(self.longest - 1);
        let at = |wait: u64| wheel::after(pending.now, wait);
        if self.due.is_never() {
            self.due = at(wait);
        } else {
            if self.due <= at(wait / 4) {
                return true;
            }
            self.due = self.due.min(at(wait));
        }
        false
    }

    /// The application has read everything that had come; whether that makes an acknowledgement due.
    pub(super) fn is_due_when_read(&self, bytes: u64, full: u32, empty: bool) -> bool {
        let short = self.short > 1 || (self.short > 0 && !self.interactive);
        self.scheduled && (bytes > u64::from(full) || (short && empty))
    }

    /// A timer has run out: an acknowledgement goes out now.
    pub(super) fn on_timeout(&mut self, now: Time, rto: &RtoTimer) {
        if self.release <= now || !self.scheduled {
            return;
        }
        if self.interactive {
            self.interactive = false;
            self.wait = self.least;
        } else {
            self.wait = (2 * self.wait).min(ticks(Time::ZERO + rto.timeout())).min(self.longest);
        }
    }

    /// An acknowledgement left.
    pub(super) fn on_sent(&mut self) {
        if self.left > 0 && self.scheduled {
            self.left -= 1;
            if self.left == 0 {
                self.wait = self.least;
            }
        }
        (self.scheduled, self.short, self.due) = (false, 0, Time::NEVER);
        (self.held, self.release) = (0, Time::NEVER);
    }
}
