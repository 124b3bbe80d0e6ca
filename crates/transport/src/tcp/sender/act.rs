//! What may a recovery strategy do to its sender? These few actions, and nothing else.

use super::Sender;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::config::{BugFix, Halving};
use base::event::Event;
use base::truth::Cause;

impl Sender {
    /// The acknowledgement is accepted: moves the window on, and restarts the timer or stops it.
    pub(in crate::tcp) fn advance(&mut self, io: &mut Io<'_>, ack: &AckDigest, restart: bool) {
        self.acknowledge(io, ack, restart);
        self.nxt = self.nxt.max(self.una);
    }

    /// The same, but transmission goes on from where it was.
    pub(in crate::tcp) fn acknowledge(&mut self, io: &mut Io<'_>, ack: &AckDigest, restart: bool) {
        self.una = ack.ack;
        self.limited = 0;
        self.scoreboard.acked(self.una);
        // With a closed window nothing would ever start it again: the timer opens it.
        let waits = self.window.cwnd < self.window.mss && self.una < self.fin_end();
        if self.max == self.una && !waits {
            self.rto.stop();
        } else if restart {
            self.rto.restart(io.now);
        }
    }

    /// The acknowledgement opens the congestion window.
    pub(in crate::tcp) fn open_window(&mut self, ack: &AckDigest) {
        if !self.established {
            self.established = true;
            let initial = self.config.initial_window.bytes(self.config.mss, self.peer_window) as f64;
            //= RFC 5681 section 3.1: one segment if the SYN was lost
            let conformant = !self.one_way();
            let initial = if self.syn_expired && conformant { self.window.mss } else { initial };
            self.window.cwnd = initial.max(self.window.mss); // never less than a segment
            return;
        }
        if self.opened {
            return;
        }
        if self.config.cwnd_validation {
            //= RFC 7661 section 4.1: a window that was not filled does not grow
            let flight_before = self.flight() + ack.newly_acked;
            if (flight_before as f64) < self.window.cwnd / 2.0 {
                return;
            }
        }
        self.window.open(ack.newly_acked);
    }

    /// Whether duplicates may cause a fast retransmit now (RFC 2582 section 5).
    pub(in crate::tcp) fn may_fast_retransmit(&self) -> bool {
        match self.config.bug_fix {
            BugFix::Off => true,
            BugFix::LessCareful => self.una >= self.recover,
            BugFix::Careful => self.una > self.recover,
        }
    }

    /// Notes where recovery will end.
    pub(in crate::tcp) fn begin_fast_retransmit(&mut self, io: &mut Io<'_>) {
        self.recover = self.max;
        let (seq, recover) = (self.una, self.recover);
        io.record(|| Event::FastRetransmit { seq, recover });
        self.untime();
        if self.config.restart_on_fast_retransmit {
            self.rto.restart(io.now);
        }
    }

    pub(super) fn half(&self) -> f64 {
        let mss = self.window.mss;
        match self.config.halving {
            //= RFC 5681 equation 4, without what limited transmit added (section 3.2 step 2)
            Halving::Flight => (self.flight() - self.limited.min(self.flight())) as f64 / 2.0,
            Halving::Window => {
                let usable = (self.window.bytes() + self.strategy.inflation()).min(self.peer_window);
                (usable / u64::from(self.config.mss) / 2) as f64 * mss
            }
        }
    }

    /// ssthresh = half, at least two segments.
    pub(in crate::tcp) fn halve_threshold(&mut self) {
        self.window.ssthresh = self.half().max(2.0 * self.window.mss);
    }

    /// ssthresh = cwnd = half, the threshold at least two segments. Where the window is halved in whole
    /// segments, a window of one becomes none: until something new is acknowledged only duplicates
    /// inflate it, and the next timeout takes it for one.
    pub(in crate::tcp) fn halve_both(&mut self) {
        let half = self.half();
        self.halve_threshold();
        self.window.cwnd = match self.config.halving {
            Halving::Flight => self.window.ssthresh,
            Halving::Window => half,
        };
    }

    /// Tahoe: sends everything again from the oldest byte on.
    pub(in crate::tcp) fn go_back(&mut self, io: &mut Io<'_>) {
        self.nxt = self.una;
        self.resend_cause = Cause::Fast;
        self.send_window(io, 0);
    }

    /// Resends the segment at `seq`; returns where it ends.
    pub(in crate::tcp) fn retransmit(&mut self, io: &mut Io<'_>, seq: u64, cause: Cause) -> u64 {
        let end = self.send_at(io, seq, cause);
        // Karn: what is resent can no longer be timed. Nor can what lies above, unless timestamps do the
        // timing: its acknowledgement waits for the hole to be filled.
        let above = if self.config.timestamps { end } else { u64::MAX };
        if self.timed.one.is_some_and(|(last, _)| seq < last && last <= above) {
            self.timed.one = None;
        }
        self.rto.ensure(io.now);
        end
    }

    /// What lies below has been sent: goes on from there at the earliest.
    pub(in crate::tcp) fn skip_to(&mut self, seq: u64) {
        self.nxt = self.nxt.max(seq);
    }
}
