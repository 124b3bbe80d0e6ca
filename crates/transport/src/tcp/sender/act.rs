//! Actions of a recovery strategy on the send variables.
//!
//! These few actions, and nothing else.

use super::Tcb;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::cc::{Acked, Control, Reason, Reduction};
use crate::tcp::config::{BugFix, Halving, LostSyn, Validation};
use base::Time;
use base::event::Event;
use base::truth::Cause;

impl Tcb {
    /// The acknowledgement is accepted: moves the window on, and restarts the timer or stops it.
    #[inline(always)]
    pub(in crate::tcp) fn advance(&mut self, io: &mut Io<'_>, ack: &AckDigest, restart: bool) {
        self.acknowledge(io, ack, restart);
        self.seq.nxt = self.seq.nxt.max(self.seq.una);
    }

    /// The same, but transmission goes on from where it was.
    #[inline(always)]
    pub(in crate::tcp) fn acknowledge(&mut self, io: &mut Io<'_>, ack: &AckDigest, restart: bool) {
        self.seq.una = ack.ack;
        if self.search.is_some() {
            self.judge_probe();
        }
        self.recovery.limited = 0;
        self.scoreboard.acked(self.seq.una);
        // With a closed window nothing would ever start it again: the timer opens it.
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

    /// Whether the SYN's timeout takes the first window.
    fn lost_syn(&self, ack: &AckDigest) -> bool {
        let Some(syn) = &self.judging.episode else { return self.status.syn_expired };
        match self.config.lost_syn {
            LostSyn::Linux => syn.expirations > 1 && !self.first_syn_arrived(ack),
            //= RFC 3522 section 3.2 step (4): nothing was lost if the echo says so
            LostSyn::Rfc5681 => {
                self.status.syn_expired && !(self.judges_syn() && self.first_syn_arrived(ack))
            }
        }
    }

    /// The acknowledgement opens the congestion window.
    #[inline]
    pub(in crate::tcp) fn open_window(&mut self, ack: &AckDigest) {
        if !self.status.established {
            self.status.established = true;
            let initial = self.config.initial_window.bytes(self.config.mss, self.peer.window) as f64;
            //= RFC 5681 section 3.1: one segment if the SYN was lost
            let conformant = !self.one_way();
            let lost = conformant && self.lost_syn(ack);
            let initial = if lost { self.window.mss } else { initial };
            self.window.cwnd = initial.max(self.window.mss); // never less than a segment
            if self.sharing.is_some() {
                self.take_over_window(lost);
            }
            if self.status.syn_expired && conformant {
                self.rto.after_lost_syn();
            }
            return;
        }
        if self.judging.opened {
            return;
        }
        let mut bytes = ack.newly_acked;
        if self.config.cwnd_validation != Validation::Off {
            if !self.validated(ack) {
                return;
            }
            if self.config.cwnd_validation == Validation::Linux {
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

    /// The acknowledgement may have measured a round trip, but does not open the window.
    pub(in crate::tcp) fn hear_round_trip(&mut self, ack: &AckDigest) {
        // What was reported last, if it was sent once; the timestamp otherwise.
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

    /// Notes where recovery will end.
    pub(in crate::tcp) fn begin_fast_retransmit(&mut self, io: &mut Io<'_>) {
        self.begin_recovery(io, io.now);
    }

    /// The same in a recovery that follows another at once: what was resent first, at `began`, is what a verdict goes by.
    pub(in crate::tcp) fn begin_recovery(&mut self, io: &mut Io<'_>, began: Time) {
        self.control.save();
        if !self.halved_for_mark() {
            self.ecn.reduced(self.seq.max);
        }
        self.watch_fast_retransmit(began);
        self.count_lost_volume();
        self.seq.recover = self.seq.max;
        let (seq, recover) = (self.seq.una, self.seq.recover);
        io.record(|| Event::FastRetransmit { seq, recover });
        self.untime();
        if self.config.restart_on_fast_retransmit {
            self.rto.restart(io.now);
        }
    }

    /// Nothing keeps duplicates from causing a fast retransmit.
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

    /// The window is moved by its congestion control alone.
    pub(in crate::tcp) fn owns_window(&self) -> bool {
        self.control.owns_window()
    }

    /// The congestion control says what the threshold becomes, at least two segments; returns what it said.
    pub(super) fn reduce(&mut self, reason: Reason) -> f64 {
        let reduction = self.reduction(reason);
        let said = self.control.on_reduction(&self.window, &reduction);
        self.window.ssthresh = said.max(2.0 * self.window.mss);
        self.note_reduction(reduction.outstanding, said);
        said
    }

    /// ssthresh = half (Reno's word for it), at least two segments.
    pub(in crate::tcp) fn halve_threshold(&mut self) {
        if !self.halved_for_mark() {
            self.reduce(Reason::Loss);
        }
    }

    //= RFC 3168 section 6.1.2: once for all drops and marks of one window of data
    /// A mark has asked for a reduction already in the window of data that now shows a loss.
    fn halved_for_mark(&self) -> bool {
        self.ecn.covers(self.seq.una) && !self.control.owns_window()
    }

    /// ssthresh = cwnd = half, the threshold at least two segments. Where the window is halved in whole
    /// segments, a window of one becomes none: until something new is acknowledged only duplicates
    /// inflate it, and the next timeout takes it for one.
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

    /// A retransmission was lost: the window, which has come down already, comes down once more.
    pub(in crate::tcp) fn halve_again(&mut self) {
        let cwnd = self.window.cwnd;
        let reduction = Reduction { reason: Reason::Loss, outstanding: cwnd, half: cwnd / 2.0 };
        let said = self.control.on_reduction(&self.window, &reduction);
        self.window.ssthresh = said.max(2.0 * self.window.mss);
        if !self.control.owns_window() {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Tahoe: sends everything again from the oldest byte on.
    pub(in crate::tcp) fn go_back(&mut self, io: &mut Io<'_>) {
        self.seq.nxt = self.seq.una;
        self.recovery.resend_cause = Cause::Fast;
        self.send_window(io, 0);
    }

    /// After a timeout: sends everything again from the oldest byte on, as the window opens.
    pub(in crate::tcp) fn go_back_after_timeout(&mut self, io: &mut Io<'_>) {
        self.seq.nxt = self.seq.una;
        self.recovery.resend_cause = Cause::Timeout;
        let oldest = self.segment_end(self.seq.una);
        if self.seq.una + self.window_of_peer() < oldest {
            //= RFC 9293 section 3.8.6.1: what is outstanding is resent though the window has closed
            self.send_next(io, oldest);
        }
        self.send_window(io, 0);
    }

    /// Whether a detector asked for new data on this acknowledgement and nothing else.
    pub(in crate::tcp) fn sends_only_new(&self) -> bool {
        self.judging.only_new
    }

    /// What the receiver has reported is not believed any more.
    pub(in crate::tcp) fn forget_reports(&mut self) {
        self.scoreboard.clear();
        if let Some(sent) = &mut self.sent {
            sent.disbelieve();
        }
    }

    /// So many bytes were sent although the flight was full, because others have left the network: like
    /// limited transmit, they do not count when the window is halved.
    pub(in crate::tcp) fn let_out_beyond_flight(&mut self, bytes: u64) {
        self.recovery.limited += bytes;
    }

    /// Resends the segment at `seq`; returns where it ends.
    pub(in crate::tcp) fn retransmit(&mut self, io: &mut Io<'_>, seq: u64, cause: Cause) -> u64 {
        let end = self.segment_end(seq);
        self.retransmit_range(io, seq, end, cause)
    }

    /// Resends `[seq, end)`, which is outstanding and no longer than a segment; returns `end`.
    pub(in crate::tcp) fn retransmit_range(
        &mut self,
        io: &mut Io<'_>,
        seq: u64,
        end: u64,
        cause: Cause,
    ) -> u64 {
        self.send_range(io, seq, end, cause);
        // Karn: what is resent can no longer be timed. Nor can what lies above, unless timestamps do the
        // timing: its acknowledgement waits for the hole to be filled.
        let above = if self.config.timestamps { end } else { u64::MAX };
        if self.timed.one.is_some_and(|(last, _)| seq < last && last <= above) {
            self.timed.one = None;
        }
        self.rto.ensure(io.now);
        end
    }

    /// Everything from `seq` on goes again as the window allows.
    pub(in crate::tcp) fn go_back_to(&mut self, seq: u64) {
        self.seq.nxt = seq.min(self.seq.max);
        self.recovery.resend_cause = Cause::Recovery;
    }

    /// What lies below has been sent: goes on from there at the earliest.
    pub(in crate::tcp) fn skip_to(&mut self, seq: u64) {
        self.seq.nxt = self.seq.nxt.max(seq);
    }
}
