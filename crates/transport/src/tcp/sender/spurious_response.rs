//! Response to a verdict of the spurious detector: restored congestion state, RTO adaptation, next transmission.

use super::Sender;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::cc::CongestionAlgorithm;
use crate::tcp::response::ResponseContext;
use crate::tcp::spurious::{Judged, SenderView, SpuriousVerdict, Transmit};
use base::event::Event;

impl Sender {
    /// Ends the recovery in progress, whichever strategy runs it.
    pub(super) fn end_recovery(&mut self) {
        self.strategy.on_timeout(&mut self.tcb.recovery);
    }

    /// Passes an ACK to the detector and carries out its verdict. `unreported`: the scoreboard was empty
    /// before this ACK. Returns the transmission that the detector requires.
    pub(super) fn run_detector(&mut self, io: &mut Io<'_>, ack: &AckDigest, unreported: bool) -> Transmit {
        let view = SenderView { scoreboard_empty: unreported, ..self.tcb.sender_view(io.now, ack.ack) };
        let decision = self.tcb.judging.detector.on_ack(ack, &view);
        match decision.verdict {
            SpuriousVerdict::Open => {}
            SpuriousVerdict::GivenUp => self.tcb.judging.case = None,
            verdict => self.judge(io, ack, verdict),
        }
        match decision.transmit {
            Transmit::Normal => {}
            Transmit::New => self.tcb.continue_with_new_data(),
            Transmit::GoBackN => {
                //= RFC 5682 section 2.1 step 3 a: cwnd = 3 MSS, and unacknowledged data are resent
                self.tcb.window.cwnd = 3.0 * self.tcb.window.mss;
                self.tcb.judging.opened = true;
                if ack.ack < self.tcb.seq.recover && self.strategy.goes_back() {
                    self.tcb.seq.nxt = ack.ack.max(self.tcb.seq.una);
                    self.tcb.judging.marked = (0, 0);
                }
                self.tcb.seq.recover = self.tcb.seq.max;
            }
        }
        decision.transmit
    }

    /// Carries out the detector's verdict.
    fn judge(&mut self, io: &mut Io<'_>, ack: &AckDigest, verdict: SpuriousVerdict) {
        let Some(episode) = self.tcb.judging.case.take() else { return };
        let spurious = verdict != SpuriousVerdict::Genuine;
        let timeout = episode.judged == Judged::Timeout;
        let detector = self.tcb.judging.detector.name();
        let times = u64::from(episode.expirations);
        let counters = &mut self.tcb.judging.verdicts;
        if timeout {
            io.record(|| Event::Verdict { spurious, detector });
            *(if spurious { &mut counters.spurious_timeouts } else { &mut counters.genuine_timeouts }) +=
                times;
        } else {
            io.record(|| Event::FastRetransmitVerdict { spurious, detector });
            *(if spurious { &mut counters.spurious_fast } else { &mut counters.genuine_fast }) += 1;
        }
        if !spurious {
            if timeout {
                self.responder.on_genuine();
                self.tcb.rto.adapt_to_genuine();
            }
            return;
        }
        self.tcb.judging.losses = self.tcb.judging.losses.saturating_sub(1);
        self.tcb.lost_volume = None;
        let late = verdict == SpuriousVerdict::Late;
        if !late {
            //= RFC 4015 section 3.1 step 8: go on with the next unsent segment
            self.tcb.continue_with_new_data();
            // Nothing was resent, so duplicate ACKs below the old recovery point mean a loss again.
            self.tcb.seq.recover = self.tcb.seq.una.saturating_sub(u64::from(ack.newly_acked == 0));
        }
        if !timeout && self.tcb.recovery.recovering() {
            self.end_recovery(); // no loss left to repair
            io.record(|| Event::RecoveryEnded { ack: ack.ack });
        }
        if timeout {
            self.tcb.rto.adapt_to_spurious(ack.sample);
        } else {
            self.tcb.adapt_dupthresh();
        }
        if !late {
            self.strategy.on_spurious(&mut self.tcb);
        }
        let context = ResponseContext {
            episode: &episode,
            ack,
            late,
            window: &mut self.tcb.window,
            rto: &mut self.tcb.rto,
            flight: self.tcb.seq.max - ack.ack.max(self.tcb.seq.una),
        };
        let before = (context.window.cwnd, context.window.ssthresh);
        self.tcb.judging.opened = self.responder.on_spurious(context);
        if before != (self.tcb.window.cwnd, self.tcb.window.ssthresh) {
            // Where the window is restored, the congestion control restores its saved state too.
            self.tcb.window.after_timeout = false;
            self.tcb.control.restore(io.now, &mut self.tcb.window);
        }
    }
}
