//! ACK processing of the TCP sender, in this order: ACK digest, RTT sample, verdict of the spurious detector, response,
//! loss recovery, transmission.

use super::Sender;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::recovery::rtt::Round;
use crate::tcp::config::{BackoffReset, RtoSeed};
use crate::tcp::spurious::Transmit;
use base::event::{Category, Event};
use base::tcp::Segment;

impl Sender {
    /// Processes the ACK that `segment` carries.
    #[inline(always)] // the connection's only call
    pub fn on_ack(&mut self, io: &mut Io<'_>, segment: &Segment) {
        let tcb = &mut self.tcb;
        tcb.probe_answered(io.now, segment.ack);
        if segment.ack > tcb.seq.max || tcb.status.gave_up {
            return; // acknowledges what was never sent (RFC 9293 section 3.10.7.4)
        }
        let window_changed = u64::from(segment.window).min(tcb.peer.most) != tcb.peer.window;
        if segment.ack >= tcb.seq.una {
            if window_changed {
                tcb.note_window(u64::from(segment.window));
            }
            tcb.peer.window = u64::from(segment.window).min(tcb.peer.most);
        }
        tcb.status.rested = tcb.recovery.may_rest && tcb.rests_on(segment);
        if tcb.status.rested {
            if io.tracer.wants(Category::Transport) {
                self.acknowledge_nothing(io, segment);
            } else {
                tcb.send_window(io, 0);
            }
            return;
        }
        //= RFC 3708 section 3 step A.1: the scoreboard as it was before this ACK, which may clear it
        let unreported = tcb.scoreboard.is_empty();
        let digest = tcb.digest(io.now, segment, window_changed);
        io.record(|| Event::AckReceived {
            ack: digest.ack,
            window: segment.window,
            duplicate: digest.newly_acked == 0,
        });
        if !segment.sack.is_empty() {
            tcb.record_sack(io, segment);
        }
        if digest.newly_acked > 0 || digest.sample.is_some() {
            self.take_sample(&digest);
        }
        if self.tcb.feedback.rates && !self.tcb.feedback.losses_first {
            self.tcb.report_delivery(io.now);
        }
        let (course, judged) = if self.tcb.judging.detecting {
            if !self.tcb.status.established {
                self.tcb.judge_syn(io, &digest);
            }
            if self.tcb.judging.detector.rests_on(&digest) {
                (Transmit::Normal, false)
            } else {
                let before = self.tcb.judging.verdicts;
                (self.run_detector(io, &digest, unreported), before != self.tcb.judging.verdicts)
            }
        } else {
            (Transmit::Normal, false)
        };
        if digest.ece {
            self.tcb.on_echo(io, &digest);
        }
        if self.tcb.lost_volume.is_some() {
            self.tcb.take_off_lost_volume(&digest);
        }
        self.tcb.judging.only_new = course == Transmit::New;
        let sent = io.out.len();
        if self.tcb.duplicates.special {
            self.recover_specially(io, &digest);
        } else {
            self.strategy.on_ack(&mut self.tcb, io, &digest);
        }
        match course {
            // The response may have restored cwnd, so that new segments fit even if this ACK does not open the
            // window.
            Transmit::Normal if judged => self.tcb.send_window(io, 0),
            Transmit::Normal => {}
            Transmit::New => self.tcb.send_new(io, 2 - (io.out.len() - sent).min(2)),
            Transmit::GoBackN => self.tcb.send_window(io, 0),
        }
        if self.tcb.feedback.losses {
            self.tcb.report_losses(io.now);
        }
        self.tcb.judging.opened = false;
        if digest.newly_acked > 0 {
            if self.tcb.judging.episode.is_some() {
                self.tcb.judging.episode = None;
            }
            if self.tcb.seq.una >= self.quiet_mark {
                self.quiet_mark = self.tcb.seq.max;
                self.responder.on_quiet_window();
            }
        }
        self.tcb.record_state(io);
    }

    /// Processes an ACK that arrives when no data are outstanding and that changes only the peer's window, with trace
    /// records.
    #[cold]
    fn acknowledge_nothing(&mut self, io: &mut Io<'_>, segment: &Segment) {
        io.record(|| Event::AckReceived { ack: segment.ack, window: segment.window, duplicate: true });
        self.tcb.send_window(io, 0);
        self.tcb.record_state(io);
    }

    /// Recovery with the duplicate-ACK options of [`super::duplicates`] applied before and after it.
    #[inline(never)]
    fn recover_specially(&mut self, io: &mut Io<'_>, digest: &AckDigest) {
        let seen = self.tcb.filter_duplicate(io, digest);
        self.strategy.on_ack(&mut self.tcb, io, &seen);
        if seen.duplicate {
            self.tcb.after_duplicate(io, &seen);
        }
    }

    #[inline(always)]
    fn take_sample(&mut self, ack: &AckDigest) {
        let partial = self.tcb.recovery.repairs_partially() && ack.ack < self.tcb.seq.recover;
        let sample = ack.sample.filter(|_| !partial || self.tcb.config.rto.sample_partial_acks);
        // A SYN is shorter than a data segment: `RtoSeed` chooses whether its RTT seeds the estimator.
        let sample =
            sample.filter(|_| self.tcb.status.established || self.tcb.config.rto.seed == RtoSeed::Syn);
        if let Some(rtt) = sample {
            if self.tcb.macroflow.is_some() {
                self.tcb.pass_sample(rtt);
            }
            let round = Round {
                acked_to: ack.ack,
                next: self.tcb.seq.max,
                flight: self.tcb.flight(),
                acked: ack.newly_acked,
                mss: self.tcb.config.mss,
                cwnd: self.tcb.window.bytes(),
            };
            self.tcb.rto.sample_in(rtt, &round);
            // Without a detector there is nothing that was responded to.
            if self.tcb.judging.detecting {
                self.responder.on_sample(ack.ack, rtt, &mut self.tcb.rto);
            }
        }
        let timed = self.tcb.timed.one.is_some_and(|(end, _)| end <= ack.ack);
        if timed {
            self.tcb.timed.one = None;
        }
        let ends = match self.tcb.config.rto.backoff_reset {
            BackoffReset::TimedSegment => timed,
            BackoffReset::Sample => sample.is_some(),
            BackoffReset::NewAck => true,
        };
        if ends {
            self.tcb.rto.end_backoff();
        }
    }
}
