//! Retransmission timeout of the TCP sender: saves the congestion state, reduces cwnd, backs off the timer,
//! retransmits, and aborts the connection after R2 (RFC 1122).

use super::{Sender, Tcb, Timers};
use crate::endpoint::Io;
use crate::tcp::cc::{CongestionAlgorithm, Reason};
use crate::tcp::config::{RepeatedTimeout, TimeoutResends, Validation};
use crate::tcp::spurious::{Episode, Judged};
use base::Time;
use base::event::Event;

impl Sender {
    /// Handles the expiry of the retransmission timer.
    pub(super) fn on_expiration(&mut self, io: &mut Io<'_>) {
        self.tcb.ecn.holds = false;
        if self.tcb.seq.max == self.tcb.seq.una {
            self.tcb.rto.stop();
            self.tcb.window.cwnd = self.tcb.window.cwnd.max(self.tcb.window.mss);
            if self.tcb.recovery.recovering() {
                // Recovery `fack-ns2` can last until this timeout although no data are outstanding: ends it.
                self.end_recovery();
                self.tcb.window.cwnd = self.tcb.initial_window();
            }
            self.tcb.send_window(io, 0);
            return;
        }
        let expirations = self.tcb.judging.episode.map_or(1, |e| e.expirations + 1);
        let (seq, rto) = (self.tcb.seq.una, self.tcb.rto.timeout());
        io.record(|| Event::RtoFired { seq, rto, expirations });
        if self.tcb.is_over(io.now) {
            self.tcb.abandon(io);
            return;
        }
        let was_recovering = self.tcb.recovery.recovering();
        // Segments sent on duplicate ACKs are outstanding, but segments that they replace have left the network. With
        // them, half of the flight could exceed the window during recovery.
        //= RFC 5681 section 3.1: ssthresh is no more than half of FlightSize
        //= RFC 5681 section 4.3: the loss of a retransmission counts as a second sign of congestion
        self.tcb.recovery.limited += self.tcb.recovery.inflation;
        self.end_recovery();
        self.tcb.close_window(io.now, expirations, was_recovering);
        self.quiet_mark = self.tcb.seq.max;
        //= RFC 2018 section 8: after a timeout the scoreboard is cleared; so it is if the receiver
        // still waits for a byte that it has SACKed
        if !self.strategy.keeps_reports() || self.tcb.scoreboard.end_of_range_at(self.tcb.seq.una).is_some() {
            self.tcb.forget_reports();
        }
        self.tcb.suspect_black_hole(expirations);
        self.tcb.rto.back_off();
        self.tcb.rto.restart(io.now);
        self.tcb.untime();
        self.strategy.resend(&mut self.tcb, io);
        if self.tcb.config.timeout_resends == TimeoutResends::Outstanding {
            self.tcb.resend_outstanding(io);
        }
        self.tcb.record_state(io);
    }
}

impl Tcb {
    /// Saves the state before the first timeout of an episode, and reduces cwnd to the loss window.
    fn close_window(&mut self, now: Time, expirations: u32, was_recovering: bool) {
        self.window.cwnd = self.window.cwnd.max(self.window.mss);
        match &mut self.judging.episode {
            Some(episode) => episode.expirations = expirations,
            None => {
                self.control.save();
                let (judged, saved) = (Judged::Timeout, self.save());
                self.judging.episode = Some(Episode { judged, began: now, expirations, saved });
                self.judging.losses += 1;
            }
        }
        if self.macroflow.is_some() {
            self.report_timeout(now);
            self.status.syn_expired |= !self.status.established;
        } else if self.status.established {
            let repeated = self.duplicates.expired_at == Some(self.seq.una);
            if !(repeated && self.config.repeated_timeout == RepeatedTimeout::Hold) {
                self.reduce(Reason::Timeout);
            }
            // Later studies exclude timeouts inside loss recovery (catalogue EI-04). F-RTO excludes them too,
            // also with Reno and NewReno.
            //= RFC 5682 section 2.1: with other recoveries than theirs not while fast recovery goes on
            //= RFC 3522 section 3.2: detection does not start at a second timeout of the same segment either
            let judged_before = self.judging.case.map(|c| c.began) == self.judging.episode.map(|e| e.began);
            let fresh = expirations == 1 || judged_before || self.config.judgement.later_expirations;
            if (fresh && !was_recovering) || self.config.judgement.in_recovery {
                self.open_timeout_case(now);
            }
        } else {
            self.status.syn_expired = true;
        }
        if self.config.windows.validation == Validation::Rfc7661 {
            self.lost_volume = None;
            self.forget_use();
        }
        self.judging.marked = (0, 0);
        self.duplicates.expired_at = Some(self.seq.una);
        self.duplicates.threshold = self.config.dupthresh;
        let restart = self.config.windows.after_loss.bytes(self.config.mss, self.peer.window) as f64;
        if self.macroflow.is_none() {
            self.window.cwnd = restart.max(self.window.mss);
        }
        self.window.after_timeout = true;
        self.ecn.reduced(self.seq.max);
        self.seq.recover = self.seq.max;
    }

    /// Whether retransmission of the same data, or of the SYN, has lasted for R2.
    //= RFC 1122 section 4.2.3.5: R2, in time
    pub(super) fn is_over(&self, now: Time) -> bool {
        let config = &self.config;
        let limit = if self.status.established { config.give_up } else { config.opening.give_up };
        !limit.is_zero() && self.judging.episode.is_some_and(|e| now.since(e.began) >= limit)
    }

    /// Aborts the connection: it sends nothing any more.
    pub(super) fn abandon(&mut self, io: &mut Io<'_>) {
        let seq = self.seq.una;
        io.record(|| Event::GaveUp { seq });
        (self.status.gave_up, self.status.established) = (true, false);
        self.rto.stop();
        self.timers = Timers::default();
        if self.macroflow.is_some() {
            self.send_granted(io);
        }
    }
}
