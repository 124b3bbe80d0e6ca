//! Actions of a recovery strategy on the send variables: window reduction, retransmission, start and end of recovery.
//!
//! Recovery strategies change the send variables through these methods only.

use super::Tcb;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::cc::{Acked, CongestionAlgorithm, Reason, Reduction};
use crate::tcp::config::{BugFix, Halving, LostSyn, Validation};
use base::Time;
use base::event::Event;
use base::truth::Cause;

impl Tcb {
    /// Moves SND.UNA and SND.NXT to the accepted ACK, then restarts the retransmission timer or stops it.
    #[inline(always)]
    pub(in crate::tcp) fn advance(&mut self, io: &mut Io<'_>, ack: &AckDigest, restart: bool) {
        self.acknowledge(io, ack, restart);
        self.seq.nxt = self.seq.nxt.max(self.seq.una);
    }

    /// Like [`Self::advance`], but leaves SND.NXT where it is (below SND.UNA after a go-back).
    #[inline(always)]
    pub(in crate::tcp) fn acknowledge(&mut self, io: &mut Io<'_>, ack: &AckDigest, restart: bool) {
        self.seq.una = ack.ack;
        if self.search.is_some() {
            self.judge_probe();
        }
        self.recovery.limited = 0;
        self.scoreboard.acked(self.seq.una);
        // The timer must keep running with a closed window: its expiry is then the only event that sends.
        let waits = (self.window.cwnd < self.window.mss || self.ecn.holds) && self.seq.una < self.fin_end();
        if self.seq.max == self.seq.una && !waits {
            self.rto.stop();
            if self.sharing.is_some() {
                self.hand_on(io.now);
            }
        } else if restart {
            self.restart_timer(io.now);
        }
    }

    /// Whether the loss of the SYN reduces the initial window to one segment.
    fn lost_syn(&self, ack: &AckDigest) -> bool {
        let Some(syn) = &self.judging.episode else { return self.status.syn_expired };
        match self.config.opening.lost_syn {
            LostSyn::Linux => syn.expirations > 1 && !self.first_syn_arrived(ack),
            //= RFC 3522 section 3.2 step (4): nothing was lost if the first SYN's timestamp is echoed
            LostSyn::Rfc5681 => {
                self.status.syn_expired && !(self.judges_syn() && self.first_syn_arrived(ack))
            }
        }
    }

    /// Opens the congestion window for this ACK; the ACK of the SYN sets the initial window.
    #[inline]
    pub(in crate::tcp) fn open_window(&mut self, ack: &AckDigest) {
        if !self.status.established {
            self.status.established = true;
            let initial = self.config.windows.initial.bytes(self.config.mss, self.peer.window) as f64;
            //= RFC 5681 section 3.1: one segment if the SYN was lost
            let conformant = !self.one_way();
            let lost = conformant && self.lost_syn(ack);
            let initial = if lost { self.window.mss } else { initial };
            self.window.cwnd = initial.max(self.window.mss); // at least one segment
            if self.sharing.is_some() {
                self.take_over_window(lost);
            }
            if self.status.syn_expired && conformant {
                self.rto.after_lost_syn();
            }
            return;
        }
        if self.judging.opened || self.macroflow.is_some() {
            return;
        }
        let mut bytes = ack.newly_acked;
        if self.config.windows.validation != Validation::Off {
            if !self.validated(ack) {
                return;
            }
            if self.config.windows.validation == Validation::Linux {
                bytes = ack.delivered;
            }
        }
        let acked = Acked {
            now: ack.now,
            bytes,
            ack: ack.ack,
            sent: self.seq.max,
            sample: ack.sample,
            srtt: self.rto.srtt(),
        };
        self.control.on_ack(&mut self.window, &acked);
    }

    /// Passes an RTT sample to the congestion control on an ACK that does not open the window.
    pub(in crate::tcp) fn report_rtt(&mut self, ack: &AckDigest) {
        // RTT of the last record delivered that was sent once; otherwise the sample of the digest.
        let fresh = self.sent.as_ref().and_then(|sent| sent.fresh().iter().rfind(|record| !record.resent));
        let sample = fresh.map(|record| ack.now.since(record.sent)).or(ack.sample);
        if sample.is_some() {
            let (una, max, srtt) = (self.seq.una, self.seq.max, self.rto.srtt());
            let acked = Acked { now: ack.now, bytes: 0, ack: una, sent: max, sample, srtt };
            self.control.on_round_trip(&mut self.window, &acked);
        }
    }

    /// Whether duplicates may cause a fast retransmit now (RFC 2582 section 5).
    pub(in crate::tcp) fn may_fast_retransmit(&self) -> bool {
        let above = match self.config.bug_fix {
            BugFix::Off => true,
            BugFix::LessCareful => self.seq.una >= self.seq.recover,
            BugFix::Careful => self.seq.una > self.seq.recover,
        };
        above || self.hints_at_loss()
    }

    /// Enters fast retransmit and sets the recovery point.
    pub(in crate::tcp) fn begin_fast_retransmit(&mut self, io: &mut Io<'_>) {
        self.begin_recovery(io, io.now);
    }

    /// Enters recovery. `began`: time of the first retransmission, which the spurious detector compares with;
    /// earlier than now if one recovery follows another directly.
    pub(in crate::tcp) fn begin_recovery(&mut self, io: &mut Io<'_>, began: Time) {
        self.control.save();
        if !self.halved_for_mark() {
            self.ecn.reduced(self.seq.max);
        }
        if self.macroflow.is_some() {
            self.report_congestion(io.now, Reason::Loss);
        }
        self.open_fast_retransmit_case(began);
        self.count_lost_volume();
        self.seq.recover = self.seq.max;
        let (seq, recover) = (self.seq.una, self.seq.recover);
        io.record(|| Event::FastRetransmit { seq, recover });
        self.untime();
        if self.config.restart_on_fast_retransmit {
            self.rto.restart(io.now);
        }
    }

    /// Lowers the recovery point below SND.UNA, so that it no longer blocks a fast retransmit.
    pub(in crate::tcp) fn forget_recovery_point(&mut self) {
        self.seq.recover = self.seq.una.saturating_sub(1);
    }

    fn reduction(&self, reason: Reason) -> Reduction {
        let mss = self.window.mss;
        let (outstanding, half) = match self.config.halving {
            //= RFC 5681 equation 4, without what limited transmit added (section 3.2 step 2)
            Halving::Flight => {
                let flight = self.flight().saturating_sub(self.recovery.limited + self.marked()) as f64;
                //= RFC 7661 section 4.4: with a timeout the phase ends, and the standard rule applies
                let flight = if reason == Reason::Timeout { flight } else { self.at_loss(flight) };
                (flight, flight / 2.0)
            }
            Halving::Window => {
                let usable = (self.window.bytes() + self.recovery.inflation).min(self.peer.window);
                (usable as f64, (usable / u64::from(self.config.mss) / 2) as f64 * mss)
            }
        };
        Reduction { reason, outstanding, half }
    }

    /// True if the congestion control alone sets cwnd, as BBR does.
    pub(in crate::tcp) fn owns_window(&self) -> bool {
        self.control.owns_window()
    }

    /// Sets ssthresh to the value of the congestion control, at least two segments. Returns that value before
    /// the minimum is applied.
    pub(super) fn reduce(&mut self, reason: Reason) -> f64 {
        if self.macroflow.is_some() {
            return self.window.ssthresh; // the macroflow sets the window
        }
        let reduction = self.reduction(reason);
        let said = self.control.on_reduction(&self.window, &reduction);
        self.window.ssthresh = said.max(2.0 * self.window.mss);
        self.note_reduction(reduction.outstanding, said);
        said
    }

    /// Reduces ssthresh only; Reno halves it. At least two segments.
    pub(in crate::tcp) fn halve_threshold(&mut self) {
        if !self.halved_for_mark() {
            self.reduce(Reason::Loss);
        }
    }

    //= RFC 3168 section 6.1.2: once for all drops and marks of one window of data
    /// Whether an ECN mark has already reduced cwnd for the window of data that now shows a loss.
    fn halved_for_mark(&self) -> bool {
        self.ecn.covers(self.seq.una) && !self.control.owns_window()
    }

    /// Sets ssthresh and cwnd to half; ssthresh is at least two segments. Where the window is halved in whole
    /// segments, a window of one segment becomes zero. Until new data are acknowledged, only duplicate ACKs
    /// inflate it; the next timeout sets it to one segment.
    pub(in crate::tcp) fn halve_both(&mut self) {
        if self.halved_for_mark() {
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
            return;
        }
        let half = self.reduce(Reason::Loss);
        if self.control.owns_window() {
            return;
        }
        self.window.cwnd = match self.config.halving {
            Halving::Flight => self.window.ssthresh,
            Halving::Window => half,
        };
    }

    /// Reduces the window a second time in one recovery, because a retransmission was lost.
    pub(in crate::tcp) fn halve_again(&mut self) {
        let cwnd = self.window.cwnd;
        let reduction = Reduction { reason: Reason::Loss, outstanding: cwnd, half: cwnd / 2.0 };
        let said = self.control.on_reduction(&self.window, &reduction);
        self.window.ssthresh = said.max(2.0 * self.window.mss);
        if !self.control.owns_window() {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Starts go-back-N at SND.UNA (Tahoe).
    pub(in crate::tcp) fn go_back(&mut self, io: &mut Io<'_>) {
        self.seq.nxt = self.seq.una;
        self.recovery.resend_cause = Cause::Fast;
        self.send_window(io, 0);
    }

    /// After a timeout: resends from SND.UNA on, as the window opens (go-back-N).
    pub(in crate::tcp) fn go_back_after_timeout(&mut self, io: &mut Io<'_>) {
        self.seq.nxt = self.seq.una;
        self.recovery.resend_cause = Cause::Timeout;
        let oldest = self.segment_end(self.seq.una);
        if self.seq.una + self.window_of_peer() < oldest {
            //= RFC 9293 section 3.8.6.1: outstanding data are resent though the window has closed
            self.send_next(io, oldest);
        }
        self.send_window(io, 0);
    }

    /// Whether the detector asked for new data only on this ACK (F-RTO).
    pub(in crate::tcp) fn sends_only_new(&self) -> bool {
        self.judging.only_new
    }

    /// Clears the scoreboard: SACKed data may have been reneged (RFC 2018 section 8).
    pub(in crate::tcp) fn forget_reports(&mut self) {
        self.scoreboard.clear();
        if let Some(sent) = &mut self.sent {
            sent.disbelieve();
        }
    }

    /// Counts `bytes` sent beyond the flight for segments that have left the network. Like limited transmit,
    /// they do not count when the window is halved.
    pub(in crate::tcp) fn let_out_beyond_flight(&mut self, bytes: u64) {
        self.recovery.limited += bytes;
    }

    /// Retransmits the segment at `seq`; returns its end.
    pub(in crate::tcp) fn retransmit(&mut self, io: &mut Io<'_>, seq: u64, cause: Cause) -> u64 {
        let end = self.segment_end(seq);
        self.retransmit_range(io, seq, end, cause)
    }

    /// Retransmits `[seq, end)`, which is outstanding and at most one segment long; returns `end`.
    pub(in crate::tcp) fn retransmit_range(
        &mut self,
        io: &mut Io<'_>,
        seq: u64,
        end: u64,
        cause: Cause,
    ) -> u64 {
        self.send_range(io, seq, end, cause);
        // Karn: a retransmitted segment can no longer be timed. Without timestamps, no later segment can be
        // either: its ACK waits until the hole is filled.
        let above = if self.config.timestamps { end } else { u64::MAX };
        if self.timed.one.is_some_and(|(last, _)| seq < last && last <= above) {
            self.timed.one = None;
        }
        self.rto.ensure(io.now);
        end
    }

    /// Moves SND.NXT back to `seq`: data from `seq` on are resent as the window allows.
    pub(in crate::tcp) fn go_back_to(&mut self, seq: u64) {
        self.seq.nxt = seq.min(self.seq.max);
        self.recovery.resend_cause = Cause::Recovery;
    }

    /// Moves SND.NXT forward to `seq`, because all data below `seq` have been sent.
    pub(in crate::tcp) fn skip_to(&mut self, seq: u64) {
        self.seq.nxt = self.seq.nxt.max(seq);
    }
}
