//! Retransmission timeout: saved state, cwnd reduction, retransmission, back-off.
//!
//! The state is saved, the window closes, the oldest segment goes again, the timer backs off.

use super::{Sender, Timers};
use crate::endpoint::Io;
use crate::tcp::cc::{Control, Reason};
use crate::tcp::config::{RepeatedTimeout, TimeoutResends, Validation};
use crate::tcp::recovery::Strategy;
use crate::tcp::spurious::{Episode, Judged};
use base::Time;
use base::event::Event;

impl Sender {
    /// The retransmission timer has expired.
    pub(super) fn on_expiration(&mut self, io: &mut Io<'_>) {
        self.ecn.holds = false;
        if self.max == self.una {
            self.rto.stop();
            self.window.cwnd = self.window.cwnd.max(self.window.mss);
            if self.strategy.recovering() {
                // A recovery that outlives what was outstanding waited for this (`fack-ns2`), and begins anew.
                self.strategy.on_timeout();
                self.window.cwnd = self.config.initial_window.bytes(self.config.mss, self.peer_window) as f64;
            }
            self.send_window(io, 0);
            return;
        }
        let expirations = self.episode.map_or(1, |e| e.expirations + 1);
        let (seq, rto) = (self.una, self.rto.timeout());
        io.record(|| Event::RtoFired { seq, rto, expirations });
        if self.is_over(io.now) {
            self.abandon(io);
            return;
        }
        let was_recovering = self.strategy.recovering();
        // What duplicates had let out beyond the window is outstanding, but had taken the place of what left
        // the network: half of the flight would be more than the window that recovery had come down to.
        //= RFC 5681 section 3.1: ssthresh is no more than half of FlightSize
        //= RFC 5681 section 4.3: the loss of a retransmission counts as a second sign of congestion
        self.limited += self.strategy.inflation();
        self.strategy.on_timeout();
        self.window.cwnd = self.window.cwnd.max(self.window.mss);
        match &mut self.episode {
            Some(episode) => episode.expirations = expirations,
            None => {
                self.control.save();
                let (judged, saved) = (Judged::Timeout, self.save());
                self.episode = Some(Episode { judged, began: io.now, expirations, saved });
                self.losses += 1;
            }
        }
        if self.established {
            let repeated = self.expired_at == Some(self.una);
            if !(repeated && self.config.repeated_timeout == RepeatedTimeout::Hold) {
                self.reduce(Reason::Timeout);
            }
            // Later studies leave out timeouts inside loss recovery (catalogue EI-04), and so does F-RTO, there
            // with Reno and NewReno too.
            //= RFC 5682 section 2.1: with other recoveries than theirs not while fast recovery goes on
            //= RFC 3522 section 3.2: nor does judging begin with a second timeout of the same segment
            let judged_before = self.case.map(|c| c.began) == self.episode.map(|e| e.began);
            let fresh = expirations == 1 || judged_before || self.config.judge_later_expirations;
            if (fresh && !was_recovering) || self.config.judge_in_recovery {
                self.watch_timeout(io.now);
            }
        } else {
            self.syn_expired = true;
        }
        if self.config.cwnd_validation == Validation::Rfc7661 {
            self.lost_volume = None;
            self.forget_use();
        }
        self.marked = (0, 0);
        self.expired_at = Some(self.una);
        self.dupthresh = self.config.dupthresh;
        let restart = self.config.loss_window.bytes(self.config.mss, self.peer_window) as f64;
        self.window.cwnd = restart.max(self.window.mss);
        self.window.after_timeout = true;
        self.ecn.reduced(self.max);
        self.recover = self.max;
        self.quiet_mark = self.max;
        //= RFC 2018 section 8: after a timeout the reports are not believed any more, or if the receiver
        // waits for something that it has reported
        if !self.strategy.keeps_reports() || self.scoreboard.end_of_range_at(self.una).is_some() {
            self.forget_reports();
        }
        self.suspect_black_hole(expirations);
        self.rto.back_off();
        self.rto.restart(io.now);
        self.untime();
        Strategy::resend(self, io);
        if self.config.timeout_resends == TimeoutResends::Outstanding {
            self.resend_outstanding(io);
        }
        self.record_state(io);
    }
    /// Whether the same data, or the SYN, have been repeated for long enough.
    //= RFC 1122 section 4.2.3.5: R2, in time
    fn is_over(&self, now: Time) -> bool {
        let config = &self.config;
        let limit = if self.established { config.give_up } else { config.give_up_syn };
        !limit.is_zero() && self.episode.is_some_and(|e| now.since(e.began) >= limit)
    }

    /// The connection is given up: nothing leaves any more, whatever comes.
    fn abandon(&mut self, io: &mut Io<'_>) {
        let seq = self.una;
        io.record(|| Event::GaveUp { seq });
        (self.gave_up, self.established) = (true, false);
        self.rto.stop();
        self.timers = Timers::default();
    }
}
