//! Forward acknowledgement as in ns-2 of 2001.
//!
//! As `fack` (Mathis and Mahdavi 1996), but cwnd drops to one segment when recovery begins and opens with
//! every ACK during it. A lost retransmission stops sending until the timer expires, and a timeout does not
//! end recovery (ns-2's `Agent/TCP/Fack`, 2.1b9a to 2.35; the "FACK" of the study of responses).
//!
//! Further differences: ACKs with SACK blocks do not open the window outside of recovery, duplicate ACKs
//! without them do not count, and there is no limited transmit. Every ACK restarts the timer before its RTT
//! sample is taken; duplicate ACKs give samples too.

use super::rampdown::Rampdown;
use super::{LossRecovery, RecoveryState};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Tcb;
use base::Span;
use base::event::Event;
use base::truth::Cause;

/// A segment resent in this recovery.
#[derive(Clone, Copy, Debug)]
struct Resent {
    seq: u64,
    /// SND.NXT at the retransmission: when data from there on are SACKed, the retransmission was lost.
    next: u64,
}

/// State of FACK as in ns-2.
#[derive(Clone, Debug, Default)]
pub struct FackNs2 {
    /// Segments between the cumulative ACK and the highest SACKed byte, less one.
    duplicates: i64,
    /// Recovery point (SND.NXT when recovery began), while recovering.
    point: Option<u64>,
    /// Forward acknowledgement: one past the highest byte known to be received.
    fack: u64,
    /// Retransmitted segments assumed in flight.
    retran_data: i64,
    resent: Vec<Resent>,
    /// A retransmission was lost: nothing is sent until the timer expires.
    silent: bool,
    rampdown: Rampdown,
    /// RTO before this ACK's sample; an ACK with SACK blocks restarts the timer with it.
    timeout: Span,
}

impl LossRecovery for Box<FackNs2> {
    const NEEDS_SACK: bool = true;
    const FORGETS_REPORTS: bool = true;

    const REPAIRS_PARTIALLY: bool = false; // every ACK gives an RTT sample

    fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        if self.point.is_some() {
            self.in_recovery(tcb, io, ack);
        } else {
            self.outside(tcb, io, ack);
        }
        self.timeout = tcb.rto.timeout();
    }

    fn on_timeout(&mut self, _recovery: &mut RecoveryState) {
        // Recovery and its recovery point stay.
        (self.silent, self.retran_data) = (false, 0);
        self.resent.clear();
    }

    fn resend(&mut self, tcb: &mut Tcb, io: &mut Io<'_>) {
        (self.fack, self.timeout) = (tcb.una(), tcb.rto.timeout());
        tcb.go_back_after_timeout(io);
    }

    fn pipe(&self, tcb: &Tcb) -> Option<u64> {
        let resent = self.retran_data.max(0) as u64 * u64::from(tcb.mss());
        Some(tcb.nxt().saturating_sub(self.fack) + resent)
    }
}

impl FackNs2 {
    /// Resets the state, except the forward acknowledgement.
    fn begin_anew(&mut self, recovery: &mut RecoveryState, fack: u64) {
        *self = FackNs2 { fack, ..FackNs2::default() };
        recovery.end();
    }

    fn outside(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        if ack.newly_acked > 0 && !reports(ack) {
            tcb.forget_reports();
            tcb.advance(io, ack, true);
            tcb.open_window(ack);
            self.begin_anew(&mut tcb.recovery, ack.ack);
            self.send(tcb, io);
            return;
        }
        if !ack.old {
            self.take_in(tcb, io, ack);
            let (fack, threshold) = (self.fack, i64::from(tcb.dupthresh()));
            let between = fack.saturating_sub(tcb.una()) / u64::from(tcb.mss());
            self.duplicates = between as i64 - 1;
            if self.duplicates >= threshold && tcb.flight() > 0 {
                self.enter(tcb, io);
            }
        }
        if self.duplicates == 0 {
            self.send(tcb, io);
        }
    }

    fn enter(&mut self, tcb: &mut Tcb, io: &mut Io<'_>) {
        tcb.begin_fast_retransmit(io);
        let rampdown = Rampdown::begin(tcb, tcb.nxt().saturating_sub(self.fack));
        tcb.halve_threshold();
        rampdown.damp(tcb);
        tcb.window.cwnd = tcb.window.mss;
        let (una, next) = (tcb.una(), tcb.nxt());
        tcb.recovery.begin();
        (self.point, self.rampdown) = (Some(next), rampdown);
        tcb.recovery.inflation = self.rampdown.bytes() as u64;
        self.resent.push(Resent { seq: una, next });
        self.retran_data += 1;
        tcb.retransmit(io, una, Cause::Fast);
    }

    fn in_recovery(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        if !ack.old {
            self.take_in(tcb, io, ack);
        }
        let before = self.resent.len();
        self.resent.retain(|r| !(r.seq < ack.sacked_up_to && r.next < ack.sacked_up_to));
        self.silent |= self.resent.len() < before;
        // ns-2 counts ACKs: each opens the window, regardless of the bytes acknowledged.
        let newly_acked = ack.newly_acked.max(u64::from(tcb.mss()));
        tcb.open_window(&AckDigest { newly_acked, ..*ack });
        let una = tcb.una();
        if !reports(ack) && self.point.is_some_and(|point| una > point) {
            self.begin_anew(&mut tcb.recovery, self.fack);
            tcb.forget_reports();
            io.record(|| Event::RecoveryEnded { ack: ack.ack });
        }
        self.send(tcb, io);
    }

    /// Processes the ACK and its SACK blocks: timer, retransmissions, forward acknowledgement.
    fn take_in(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        let timeout = self.timeout;
        tcb.advance(io, ack, true);
        tcb.time_report(ack, timeout);
        let (una, max) = (tcb.una(), tcb.max_sent());
        let mut resent = std::mem::take(&mut self.resent);
        let before = resent.len();
        resent.retain(|r| r.seq >= una && tcb.scoreboard.end_of_range_at(r.seq).is_none());
        let arrived = before - resent.len();
        self.resent = resent;
        self.retran_data -= arrived as i64;
        // Only SACKed data reduce the rampdown, counted from the previous `fack`.
        let known = self.fack.max(una);
        let reported = ack.sacked_up_to.min(max);
        self.rampdown.advanced(reported.saturating_sub(known));
        tcb.recovery.inflation = self.rampdown.bytes() as u64;
        self.fack = known.max(reported);
        let fack = self.fack;
        tcb.skip_to(fack);
    }

    /// Sends while `awnd` is below the window: holes first, then new data.
    fn send(&mut self, tcb: &mut Tcb, io: &mut Io<'_>) {
        let mss = u64::from(tcb.mss());
        loop {
            let window = tcb.window.cwnd.min(tcb.peer_window() as f64);
            let (una, nxt) = (tcb.una(), tcb.nxt());
            let window = (window + self.rampdown.bytes()) as u64 / mss;
            let awnd = (nxt.saturating_sub(self.fack) / mss) as i64 + self.retran_data;
            if self.silent || awnd >= window as i64 {
                return;
            }
            match self.next_hole(tcb, una) {
                Some(hole) => {
                    self.resent.push(Resent { seq: hole, next: nxt });
                    self.retran_data += 1;
                    tcb.retransmit(io, hole, Cause::Recovery);
                }
                None => {
                    if !tcb.send_one_within_peer_window(io) {
                        return;
                    }
                }
            }
        }
    }

    /// First segment below the highest SACKed byte that is neither SACKed nor retransmitted.
    fn next_hole(&self, tcb: &Tcb, from: u64) -> Option<u64> {
        let mss = u64::from(tcb.mss());
        let mut seq = from;
        loop {
            let hole = tcb.scoreboard.next_hole(seq)?;
            if !self.resent.iter().any(|r| r.seq == hole) {
                return Some(hole);
            }
            seq = hole + mss;
        }
    }
}

/// Whether the ACK has a SACK block above the cumulative ACK; a block below it is a DSACK.
fn reports(ack: &AckDigest) -> bool {
    ack.sacked_up_to > ack.ack
}
