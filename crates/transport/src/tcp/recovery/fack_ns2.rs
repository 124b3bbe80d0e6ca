//! Forward acknowledgement as in ns-2 of 2001.
//!
//! As `fack` (Mathis and Mahdavi 1996), but the window closes to one segment when recovery begins and opens with
//! every acknowledgement during it; a retransmission that was lost silences the sender until the timer expires, and a
//! timeout does not end the recovery (ns-2's `Agent/TCP/Fack`, 2.1b9a to 2.35; the "FACK" of the study of responses).
//!
//! What sets it apart otherwise: acknowledgements that carry reports do not open the window outside of
//! recovery, plain duplicates count for nothing, and there is no limited transmit; every acknowledgement
//! restarts the timer, and only then does its echo go into the estimate, of a duplicate too.

use super::rampdown::Rampdown;
use super::{RecoveryState, Rules};
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
    /// What was to be sent next then: when that is reported, the retransmission was lost.
    next: u64,
}

/// FACK between acknowledgements.
#[derive(Clone, Debug, Default)]
pub struct FackNs2 {
    /// Segments between the cumulative acknowledgement and the highest report, less one.
    duplicates: i64,
    /// What was to be sent next when recovery began, while recovering: its acknowledgement ends it.
    point: Option<u64>,
    /// One past the highest byte known to be held.
    fack: u64,
    /// Segments resent and believed to be in the network.
    retran_data: i64,
    resent: Vec<Resent>,
    /// A retransmission was lost: nothing goes out until the timer expires.
    silent: bool,
    rampdown: Rampdown,
    /// The timeout before the acknowledgement at hand was timed: what restarts the timer on reports.
    timeout: Span,
}

impl Rules for Box<FackNs2> {
    const NEEDS_SACK: bool = true;
    const FORGETS_REPORTS: bool = true;

    const REPAIRS_PARTIALLY: bool = false; // every acknowledgement is timed

    fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        if self.point.is_some() {
            self.in_recovery(tcb, io, ack);
        } else {
            self.outside(tcb, io, ack);
        }
        self.timeout = tcb.rto.timeout();
    }

    fn on_timeout(&mut self, _recovery: &mut RecoveryState) {
        // The recovery goes on, as does its point.
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
    /// Starts anew, with what the receiver is known to hold.
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
        // The simulator counts acknowledgements: each opens the window, whatever it acknowledges.
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

    /// What the acknowledgement says of what was sent, resent and is held.
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
        // Only what is reported takes from the rampdown, counted from what was known before.
        let known = self.fack.max(una);
        let reported = ack.sacked_up_to.min(max);
        self.rampdown.advanced(reported.saturating_sub(known));
        tcb.recovery.inflation = self.rampdown.bytes() as u64;
        self.fack = known.max(reported);
        let fack = self.fack;
        tcb.skip_to(fack);
    }

    /// Sends while what is above `fack`, and what was resent, leave room in the window: holes first.
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

    /// The first segment below the highest report that is neither reported nor resent.
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

/// It has a block above the cumulative acknowledgement; one below reports a duplicate.
fn reports(ack: &AckDigest) -> bool {
    ack.sacked_up_to > ack.ack
}
