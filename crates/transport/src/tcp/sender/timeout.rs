//! What happens when the retransmission timer expires? The state is saved, the window closes, the oldest
//! segment goes again, the timer backs off.

use super::Saved;
use super::Sender;
use crate::endpoint::Io;
use crate::tcp::config::{Recovery, RepeatedTimeout};
use crate::tcp::spurious::Episode;
use base::event::Event;
use base::truth::Cause;

impl Sender {
    /// The retransmission timer has expired.
    pub fn on_timeout(&mut self, io: &mut Io<'_>) {
        if self.max == self.una {
            self.rto.stop();
            self.window.cwnd = self.window.cwnd.max(self.window.mss);
            self.send_window(io, 0);
            return;
        }
        let expirations = self.episode.map_or(1, |e| e.expirations + 1);
        let (seq, rto) = (self.una, self.rto.timeout());
        io.record(|| Event::RtoFired { seq, rto, expirations });
        let was_recovering = self.strategy.recovering();
        self.strategy.on_timeout();
        self.window.cwnd = self.window.cwnd.max(self.window.mss);
        match &mut self.episode {
            Some(episode) => episode.expirations = expirations,
            None => {
                let saved = Saved {
                    cwnd: self.window.cwnd,
                    ssthresh: self.window.ssthresh,
                    flight: self.flight(),
                    srtt: self.rto.srtt(),
                    rttvar: self.rto.rttvar(),
                };
                self.episode = Some(Episode { began: io.now, expirations, saved });
            }
        }
        if self.established {
            let repeated = self.expired_at == Some(self.una);
            if !(repeated && self.config.repeated_timeout == RepeatedTimeout::Hold) {
                self.halve_threshold();
            }
            // Later studies leave out timeouts inside loss recovery (catalogue EI-04).
            if !was_recovering || self.config.judge_in_recovery {
                self.detector.on_timeout(io.now);
            }
        } else {
            self.syn_expired = true;
        }
        self.expired_at = Some(self.una);
        self.window.cwnd = self.window.mss;
        self.recover = self.max;
        self.quiet_mark = self.max;
        if self.config.recovery != Recovery::Rfc6675 {
            //= RFC 2018 section 8: after a timeout the reports are not believed any more
            self.scoreboard.clear();
        }
        self.rto.back_off();
        self.rto.restart(io.now);
        self.untime();
        self.nxt = self.una;
        self.resend_cause = Cause::Timeout;
        self.send_window(io, 0);
        self.record_state(io);
    }
}
