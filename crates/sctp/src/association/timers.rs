//! Timer dispatch of an association: T1, T2, T3-rtx, delayed SACK, heartbeats, probes, message lifetimes (RFC
//! 9260 sections 4, 6.3, 8.3).

use super::{Association, Fate, State};
use crate::chunk::Packet;
use base::Time;
use base::event::Event;
use base::truth::Cause;
use transport::Io;

impl Association {
    /// Earliest deadline of all timers.
    pub(super) fn earliest(&self) -> Time {
        let paths = self.paths.iter().map(|path| path.timer.deadline().min(path.beat_due)).min();
        let lifetimes = if self.associated() { self.lifetime() } else { Time::NEVER };
        let probes = if self.associated() { self.next_probe() } else { Time::NEVER };
        paths
            .unwrap_or(Time::NEVER)
            .min(probes)
            .min(self.control.deadline)
            .min(self.receipt.deadline)
            .min(lifetimes)
    }

    /// Earliest expiry of the lifetime of a message that can be abandoned.
    fn lifetime(&self) -> Time {
        if !self.outbound.is_limited() {
            return Time::NEVER;
        }
        let sent = self.sent.iter().filter(|s| s.may_be_abandoned() && s.message.is_some());
        let sent = sent.map(|s| s.expires).min().filter(|_| self.peer.forward_tsn).unwrap_or(Time::NEVER);
        self.outbound.next_expiry().min(sent)
    }

    /// Processes every timer that has expired.
    pub(super) fn on_timers(&mut self, io: &mut Io<'_, Packet>) {
        if self.control.deadline <= io.now {
            match self.state {
                State::CookieWait | State::CookieEchoed => self.on_t1(io),
                State::ShutdownSent | State::ShutdownAckSent => self.on_t2(io),
                _ => self.control = super::IDLE,
            }
        }
        for path in 0..self.paths.len() as u8 {
            if self.paths[usize::from(path)].timer.deadline() <= io.now {
                self.on_t3(io, path);
            }
        }
        self.on_beats(io);
        if self.associated() {
            self.on_probes(io);
        }
        if self.receipt.deadline <= io.now {
            self.receipt.due = true;
            self.receipt.deadline = Time::NEVER;
        }
    }

    //= RFC 9260 section 6.3.3: E1 the window shrinks, E2 the timer backs off, E3 the earliest chunks are retransmitted
    /// Processes an expiry of T3-rtx of a path: marks all its outstanding chunks for retransmission, and
    /// sends the oldest packet at once.
    fn on_t3(&mut self, io: &mut Io<'_, Packet>, path: u8) {
        let index = usize::from(path);
        self.paths[index].timer.stop();
        let ours = |s: &&mut super::Sent| s.path == path && s.fate == Fate::Flight;
        let Some(first) = self.sent.iter_mut().find(ours).map(|s| s.data.tsn) else {
            if self.peer.closed && !self.outbound.is_empty() {
                self.probe = true;
                return;
            }
            // The last FORWARD TSN was not acknowledged.
            self.queue_forward();
            if self.advanced > self.una {
                self.paths[index].timer.restart(io.now);
            }
            return;
        };
        self.counts.timeouts += 1;
        let rto = self.paths[index].timer.timeout();
        let config = self.config.clone();
        self.paths[index].on_timeout(&config, first);
        let mut cause = Cause::Timeout;
        for sent in self.sent.iter_mut().filter(ours) {
            sent.fate = Fate::Resend;
            sent.missing = 0;
            sent.data.cause = std::mem::replace(&mut cause, Cause::GoBackN);
            self.resends += 1;
            self.peer.window += u64::from(sent.data.len);
        }
        self.paths[index].flight = 0;
        let expirations = self.paths[index].errors + 1;
        io.record(|| Event::RtoFired { seq: first, rto, expirations });
        //= RFC 9260 section 6.1, A: probes of a closed window are no errors while the peer goes on to answer
        let probed = self.peer.closed && std::mem::take(&mut self.peer.answered);
        if !probed && self.error_on(path) {
            io.record(|| Event::GaveUp { seq: first });
            self.end(true);
            return;
        }
        self.suspect_black_hole(io.now, path);
        self.record_window(io, index);
        self.rush = Some(if self.paths.len() > 1 { self.alternative(path) } else { path });
        // Another path has its own congestion window.
        self.single = self.rush == Some(path);
    }

    /// Records window and timer of a path in the trace.
    pub(super) fn record_window(&self, io: &mut Io<'_, Packet>, index: usize) {
        let path = &self.paths[index];
        let word = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        io.record(|| Event::Window {
            cwnd: word(path.cwnd),
            ssthresh: word(path.threshold),
            flight: word(path.flight),
        });
    }
}
