//! ACK decision of Linux: quick ACK mode, delayed ACKs with an adaptive timeout (ATO), ACK compression while data are
//! missing.
//!
//! Quick ACK mode acknowledges every segment at once: at the start, after an idle period, after a
//! duplicate, and when the window grows. Otherwise an ACK is sent after more than one full segment,
//! or when an adaptive timer expires. While data are missing, the first three ACKs are sent at once; compression
//! then delays ACKs by up to a millisecond.
//!
//! The rules are those of Linux 6.12 (net/ipv4/tcp_input.c: `tcp_event_data_recv`, `__tcp_ack_snd_check`;
//! net/ipv4/tcp_output.c: `tcp_send_delayed_ack`; net/ipv4/tcp_timer.c: `tcp_delack_timer_handler`; net/ipv4/tcp.c: `__tcp_cleanup_rbuf`).

use crate::recovery::rto::RtoTimer;
use crate::recovery::wheel::{self, TICK, ticks};
use crate::tcp::config::ReceiverConfig;
use base::{Span, Time};

/// Upper bound in ticks of a delay longer than the minimum: half a second, or the RTT.
const SLOW: u64 = 500_000_000 / TICK.as_nanos();
/// ACKs sent at once for one gap before compression starts.
const AT_ONCE: u32 = 3;
/// Maximum number of ACKs that compression suppresses in a row (`tcp_comp_sack_nr`).
const MOST_HELD: u32 = 44;
/// Maximum delay of a compressed ACK (`tcp_comp_sack_delay_ns`).
const HOLD: Span = Span::from_millis(1);
/// Slack of the compression timer (`tcp_comp_sack_slack_ns`).
const SLACK: Span = Span::from_nanos(100_000);

/// State of the ACK decision.
#[derive(Clone, Debug)]
pub(super) struct Quick {
    most: u32,
    every: u32,
    least: u64,
    longest: u64,
    /// Quick ACKs still to be sent.
    left: u32,
    /// Interactive session: both ends send data, and ACKs wait to be piggybacked.
    interactive: bool,
    /// Delayed-ACK timeout (ATO), ticks; 0: no data yet.
    wait: u64,
    /// Tick of the last data.
    last: u64,
    /// Short segments since the last ACK; a full segment with PSH counts as the first.
    short: u32,
    /// An ACK is scheduled.
    pub(super) scheduled: bool,
    /// Deadline of the delayed ACK.
    due: Time,
    /// ACK compression: first missing byte of the present gap.
    hole: u64,
    /// ACKs sent at once for the present gap.
    told: u32,
    /// ACKs suppressed since the last ACK.
    held: u32,
    /// Expiry of the compression timer.
    release: Time,
}

/// Inputs of the ACK decision; `bytes` are received in order and not acknowledged.
pub(super) struct Pending<'a> {
    pub(super) now: Time,
    pub(super) bytes: u64,
    pub(super) full: u32,
    /// Next byte expected.
    pub(super) next: u64,
    /// Data are missing: there are out-of-order ranges.
    pub(super) holes: bool,
    /// The segment has filled the last gap.
    pub(super) closed: bool,
    pub(super) sack: bool,
    /// The window to offer is not smaller than the last one offered.
    pub(super) keeps_window: bool,
    pub(super) rto: &'a RtoTimer,
    /// RTT estimate of the receiver; zero: unknown.
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

    /// Adapts the delayed-ACK timeout to the time between arrivals of in-order data. The first data and a time longer
    /// than the RTO start quick ACK mode.
    pub(super) fn on_data(&mut self, now: Time, window: u64, full: u32, rto: &RtoTimer) {
        self.scheduled = true;
        let tick = ticks(now);
        let gap = tick - self.last;
        let timeout = || ticks(Time::ZERO + rto.timeout());
        if self.wait == 0 {
            self.hurry(window, full);
            self.wait = self.least;
        } else if gap <= self.least / 2 {
            self.wait = self.wait / 2 + self.least / 2;
        } else if gap < self.wait {
            self.wait = (self.wait / 2 + gap).min(timeout()).min(self.longest);
        } else if gap > timeout() {
            self.hurry(window, full);
        }
        self.last = tick;
    }

    /// Processes PSH on a full segment: the peer has no more data for now.
    pub(super) fn on_push(&mut self) {
        self.short = self.short.max(1);
    }

    /// Counts a segment shorter than a full one.
    pub(super) fn on_short(&mut self) {
        self.short += 1;
    }

    /// Enters quick ACK mode for half a window of ACKs, limited by `most`.
    fn hurry(&mut self, window: u64, full: u32) {
        let half = u32::try_from(window / (2 * u64::from(full.max(1)))).unwrap_or(u32::MAX);
        let half = if half == 0 { 2 } else { half };
        self.left = self.left.max(half.min(self.most));
    }

    /// Processes a duplicate: ACKs may be lost. Starts quick ACK mode.
    pub(super) fn on_unexpected(&mut self, window: u64, full: u32) {
        self.hurry(window, full);
        self.interactive = false;
        self.wait = self.least;
        self.scheduled = true;
    }

    /// After growth of the window, allows at least one quick ACK.
    pub(super) fn on_growth(&mut self) {
        self.left |= 1;
    }

    /// Leaves quick ACK mode, since the buffer is more than half full.
    pub(super) fn calm(&mut self) {
        self.left = 0;
    }

    /// Processes transmission of own data: within the ATO of the peer's data it indicates an interactive session.
    pub(super) fn on_own_data(&mut self, now: Time) {
        self.interactive |= self.last > 0 && ticks(now) - self.last < self.wait;
    }

    /// Whether this number of unacknowledged bytes requires an immediate ACK, provided that the window does not shrink.
    pub(super) fn is_enough(&self, bytes: u64, full: u32) -> bool {
        bytes > u64::from(full) * u64::from(self.every.saturating_sub(1))
    }

    /// Whether to send an ACK now. If not, starts the delayed-ACK timer or the compression timer.
    pub(super) fn is_due(&mut self, pending: &Pending<'_>) -> bool {
        let enough = self.is_enough(pending.bytes, pending.full) && pending.keeps_window;
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

    /// Starts the delayed-ACK timer. True, to send an ACK now, if a running timer expires within a quarter of the ATO.
    fn delay(&mut self, pending: &Pending<'_>) -> bool {
        let mut wait = self.wait;
        if wait > self.least {
            let most = if self.interactive || self.short > 0 { self.longest } else { SLOW };
            let srtt = pending.rto.srtt();
            let trip = if srtt.is_zero() { most } else { ticks(Time::ZERO + srtt).max(self.least) };
            wait = wait.min(most).min(trip);
        }
        // One tick less than the minimum RTO (`tcp_delack_max`).
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

    /// Whether to send an ACK after a read. `empty`: the application has read all available data.
    pub(super) fn is_due_when_read(&self, bytes: u64, full: u32, empty: bool) -> bool {
        let short = self.short > 1 || (self.short > 0 && !self.interactive);
        self.scheduled && (bytes > u64::from(full) || (short && empty))
    }

    /// Updates the ATO after a timer has expired; the caller then sends an ACK.
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

    /// After an ACK was sent, resets the timers and counts a quick ACK.
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
