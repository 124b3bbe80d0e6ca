//! Congestion window validation (RFC 7661, RFC 2861).
//!
//! A window that was opened long ago, or that the application never fills, does not reflect the present path.
//! Implements RFC 7661, its predecessor RFC 2861, and the restart of RFC 5681 section 4.1.

use super::Tcb;
use crate::recovery::digest::AckDigest;
use crate::tcp::cc::CongestionAlgorithm;
use crate::tcp::config::{IdleRestart, Validation};
use base::{Span, Time};

/// Duration of the non-validated phase (RFC 7661 section 4.4).
const NON_VALIDATED: Span = Span::from_secs(300);
/// Minimum age limit of the pipeACK samples (section 4.2).
const SAMPLING: Span = Span::from_secs(1);

/// Use of the congestion window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CwndUsage {
    /// Time of the last transmission.
    pub(super) last_sent: Time,
    /// SND.UNA at the start of the RTT being measured (Linux: most bytes outstanding since the window was last full).
    began: u64,
    /// Sequence number whose ACK ends the RTT being measured.
    ends: u64,
    /// Bytes outstanding at the start of the RTT being measured.
    flight: u64,
    /// pipeACK samples: time, and bytes acknowledged in that RTT.
    samples: [(Time, u64); 4],
    next: usize,
    /// Start of the non-validated phase, if the window is larger than its use.
    since: Option<Time>,
    /// RFC 2861: most bytes outstanding since `period`. Linux: bytes outstanding at the fullest moment of the RTT.
    most: u64,
    /// Time at which the window was last full or last reduced for lack of use.
    period: Time,
    /// Linux: the window was full when `most` was recorded.
    limited: bool,
    /// Data that the window allows are deferred for a larger group.
    pub(super) held: bool,
}

/// Volume retransmitted in a recovery that began while the window was not validated (RFC 7661 section 4.4.1).
#[derive(Clone, Debug, Default)]
pub(super) struct LostVolume {
    /// Bytes outstanding at the loss, from which the reduction started.
    outstanding: f64,
    /// Fraction of `outstanding` that the congestion control kept.
    share: f64,
    /// Ranges retransmitted.
    ranges: Vec<(u64, u64)>,
}

impl LostVolume {
    pub(super) fn note(&mut self, seq: u64, end: u64) {
        self.ranges.push((seq, end));
    }

    /// Bytes retransmitted, each counted once.
    fn resent(mut self) -> u64 {
        self.ranges.sort_unstable();
        let (mut bytes, mut reached) = (0, 0);
        for (seq, end) in self.ranges {
            bytes += end.saturating_sub(seq.max(reached));
            reached = reached.max(end);
        }
        bytes
    }
}

impl Tcb {
    /// Largest pipeACK sample that is recent enough, bytes; 0 if there is none.
    //= RFC 7661 section 4.2: pipeACK
    fn pipe_ack(&self, now: Time) -> u64 {
        let age = self.rto.srtt().times(3).max(SAMPLING);
        let fresh = self.used.samples.iter().filter(|(at, n)| *n > 0 && now.since(*at) <= age);
        fresh.map(|(_, n)| *n).max().unwrap_or(0)
    }

    /// Whether the window may grow on this ACK of new data.
    pub(super) fn validated(&mut self, ack: &AckDigest) -> bool {
        let now = ack.now;
        if self.config.windows.validation == Validation::Linux {
            return self.used_as_linux(ack, self.seq.max - ack.ack + ack.newly_acked);
        }
        let used = &mut self.used;
        if ack.ack >= used.ends {
            let first = used.ends == 0;
            if !first {
                used.samples[used.next] = (now, ack.ack - used.began);
                used.next = (used.next + 1) % used.samples.len();
            }
            let before = ack.ack - ack.newly_acked;
            (used.began, used.ends) = (if first { before } else { ack.ack }, self.seq.max.max(ack.ack + 1));
            used.flight = self.seq.max - ack.ack + ack.newly_acked;
        }
        let flight = self.seq.max - ack.ack + ack.newly_acked;
        match self.config.windows.validation {
            Validation::Off | Validation::Linux => true,
            Validation::Rfc7661 => {
                //= RFC 7661 section 4.3: validated while at least half of the window is used
                let used = self.pipe_ack(now).max(self.used.flight) as f64;
                if used >= self.window.cwnd / 2.0 {
                    self.used.since = None;
                    return true;
                }
                self.expire(now);
                false
            }
            Validation::Rfc2861 => self.used_by_2861(now, flight),
        }
    }

    /// Reduces the window when the non-validated phase has lasted too long.
    fn expire(&mut self, now: Time) {
        let since = *self.used.since.get_or_insert(now);
        if now.since(since) >= NON_VALIDATED {
            //= RFC 7661 section 4.4.3: ssthresh = max(ssthresh, 3/4 cwnd), cwnd = max(cwnd / 2, IW)
            self.shrink(self.initial_window());
            self.used.since = Some(now);
        }
    }

    fn shrink(&mut self, least: f64) {
        let window = &mut self.window;
        window.ssthresh = window.ssthresh.max(0.75 * window.cwnd);
        window.cwnd = (window.cwnd / 2.0).max(least.min(window.cwnd));
    }

    //= RFC 2861 section 3.2: window not filled for an RTO: cwnd halfway down to the amount used
    fn used_by_2861(&mut self, now: Time, flight: u64) -> bool {
        let rto = self.rto.timeout();
        let used = &mut self.used;
        used.most = used.most.max(flight);
        if used.period == Time::ZERO {
            used.period = now;
        }
        let full = flight as f64 + self.window.mss > self.window.cwnd;
        if full {
            (used.most, used.period) = (flight, now);
        } else if now.since(used.period) >= rto {
            let most = std::mem::replace(&mut used.most, flight) as f64;
            used.period = now;
            if most < self.window.cwnd {
                self.window.ssthresh = self.window.ssthresh.max(0.75 * self.window.cwnd);
                self.window.cwnd = ((self.window.cwnd + most) / 2.0).max(self.window.mss);
            }
        }
        full
    }

    /// `tcp_is_cwnd_limited`, and `tcp_cwnd_application_limited` after an RTO below the window. The amount
    /// outstanding when an ACK arrives equals the amount after the last transmission.
    fn used_as_linux(&mut self, ack: &AckDigest, flight: u64) -> bool {
        let (now, window) = (ack.now, self.window.cwnd);
        let full = self.used.held || flight as f64 + self.window.mss > window;
        let used = &mut self.used;
        let round = ack.ack - ack.newly_acked >= used.ends;
        if round || full || (!used.limited && flight > used.most) {
            (used.limited, used.most, used.ends) = (full, flight, self.seq.max);
        }
        let (limited, most) = (used.limited, used.most);
        if full || used.period == Time::ZERO {
            (used.began, used.period) = (0, now);
        } else {
            used.began = used.began.max(flight);
            let idle = self.config.windows.idle_restart == IdleRestart::Decay;
            if idle && now.since(used.period) >= self.rto.timeout() {
                let peak = std::mem::take(&mut used.began) as f64;
                used.period = now;
                let needed = peak.max(self.initial_window());
                if needed < self.window.cwnd {
                    self.window.ssthresh = self.window.ssthresh.max(0.75 * self.window.cwnd);
                    self.window.cwnd = (self.window.cwnd + needed) / 2.0;
                }
            }
        }
        if self.window.in_slow_start() { self.window.cwnd < 2.0 * most as f64 } else { limited }
    }

    /// Amount outstanding that a reduction starts from if the window was not validated.
    //= RFC 7661 section 4.4.1: max(pipeACK, LossFlightSize)
    pub(super) fn at_loss(&self, flight: f64) -> f64 {
        if !self.unvalidated() {
            return flight;
        }
        flight.max((self.pipe_ack(self.used.last_sent) as f64).min(self.window.cwnd))
    }

    /// RFC 7661: whether the window is in the non-validated phase.
    fn unvalidated(&self) -> bool {
        self.config.windows.validation == Validation::Rfc7661 && self.used.since.is_some()
    }

    /// Starts counting retransmitted bytes if a loss ends the non-validated phase.
    pub(super) fn count_lost_volume(&mut self) {
        self.lost_volume = (self.unvalidated() && !self.control.owns_window()).then(Box::default);
    }

    /// Records the amount outstanding at a reduction and the amount that the congestion control keeps.
    pub(super) fn note_reduction(&mut self, outstanding: f64, left: f64) {
        if let Some(lost) = &mut self.lost_volume {
            (lost.outstanding, lost.share) = (outstanding, left / outstanding.max(1.0));
        }
    }

    /// At the end of recovery, reduces the window by the lost volume as well.
    #[cold]
    #[inline(never)]
    pub(super) fn take_off_lost_volume(&mut self, ack: &AckDigest) {
        let ends = ack.newly_acked > 0 && (ack.ack >= self.seq.recover || !self.recovery.repairs_partially());
        if !ends || !self.recovery.recovering() {
            return;
        }
        let Some(lost) = self.lost_volume.take() else { return };
        //= RFC 7661 section 4.4.1: at the end of recovery (max(pipeACK, LossFlightSize) - R) / 2, one segment at least
        let LostVolume { outstanding, share, .. } = *lost;
        if outstanding == 0.0 {
            return; // an ECN mark had already reduced this window, so the loss reduced nothing
        }
        let left = (outstanding - lost.resent() as f64) * share;
        let window = &mut self.window;
        //= RFC 7661 section 4.4.1: ssthresh is what cwnd is at the end of the recovery
        window.ssthresh = left.max(window.mss).min(window.ssthresh);
        window.cwnd = window.cwnd.min(window.ssthresh);
        //= RFC 7661 section 4.4.1: pipeACK is undefined afterwards
        self.forget_use();
    }

    /// Ends the non-validated phase and discards the measurements of use.
    pub(super) fn forget_use(&mut self) {
        let CwndUsage { last_sent, held, .. } = self.used;
        self.used = CwndUsage { last_sent, held, ..CwndUsage::default() };
    }

    pub(super) fn initial_window(&self) -> f64 {
        self.config.windows.initial.bytes(self.config.mss, self.peer.window) as f64
    }

    /// Adjusts the window before the first transmission after an idle period.
    #[cold]
    #[inline(never)]
    pub(super) fn after_pause(&mut self, now: Time) {
        let (pause, rto) = (now.since(self.used.last_sent), self.rto.timeout());
        if !self.status.established || pause <= rto || self.control.owns_window() && pause.is_zero() {
            return;
        }
        self.control.on_idle(now, pause);
        if self.control.owns_window() {
            return;
        }
        //= RFC 5681 section 4.1: RW = min(IW, cwnd)
        let restart = self.initial_window().min(self.window.cwnd).max(self.window.mss);
        match self.config.windows.validation {
            //= RFC 7661 section 4.3: idle time alone does not reduce it; only the non-validated phase does
            Validation::Rfc7661 => self.expire(now),
            //= RFC 2861 section 3.2: halved for every RTO of idle time, down to the restart window
            Validation::Rfc2861 => self.decay(pause, rto, restart),
            Validation::Off | Validation::Linux => match self.config.windows.idle_restart {
                IdleRestart::Off => {}
                IdleRestart::Rfc5681 => self.window.cwnd = restart,
                IdleRestart::Decay => self.decay(pause, rto, restart),
            },
        }
        self.used.last_sent = now;
    }

    fn decay(&mut self, pause: Span, rto: Span, restart: f64) {
        self.window.ssthresh = self.window.ssthresh.max(0.75 * self.window.cwnd);
        let mut left = pause;
        while left > rto && self.window.cwnd > restart {
            self.window.cwnd = (self.window.cwnd / 2.0).max(restart);
            left = Span::from_nanos(left.as_nanos() - rto.as_nanos());
        }
        self.used.period = self.used.last_sent;
        self.used.most = 0;
    }
}
