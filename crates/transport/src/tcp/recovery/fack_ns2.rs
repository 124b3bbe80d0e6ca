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
use super::{Rules, state as state_of};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Sender;
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

fn state(sender: &mut Sender) -> &mut FackNs2 {
    state_of::<Box<FackNs2>>(sender)
}

impl Rules for Box<FackNs2> {
    const NEEDS_SACK: bool = true;
    const FORGETS_REPORTS: bool = true;

    fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
        if state(sender).point.is_some() {
            in_recovery(sender, io, ack);
        } else {
            outside(sender, io, ack);
        }
        state(sender).timeout = sender.rto.timeout();
    }

    fn on_timeout(&mut self) {
        // The recovery goes on, as does its point.
        (self.silent, self.retran_data) = (false, 0);
        self.resent.clear();
    }

    fn resend(sender: &mut Sender, io: &mut Io<'_>) {
        let timeout = sender.rto.timeout();
        let una = sender.una();
        let s = state(sender);
        (s.fack, s.timeout) = (una, timeout);
        sender.go_back_after_timeout(io);
    }

    fn recovering(&self) -> bool {
        self.point.is_some()
    }

    fn repairs_partially(&self) -> bool {
        false // every acknowledgement is timed
    }

    fn inflation(&self) -> u64 {
        self.rampdown.bytes() as u64
    }

    fn pipe(&self, sender: &Sender) -> Option<u64> {
        let resent = self.retran_data.max(0) as u64 * u64::from(sender.mss());
        Some(sender.nxt().saturating_sub(self.fack) + resent)
    }
}

/// It has a block above the cumulative acknowledgement; one below reports a duplicate.
fn reports(ack: &AckDigest) -> bool {
    ack.sacked_up_to > ack.ack
}

fn outside(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
    if ack.newly_acked > 0 && !reports(ack) {
        sender.forget_reports();
        sender.advance(io, ack, true);
        sender.open_window(ack);
        *state(sender) = FackNs2 { fack: ack.ack, ..FackNs2::default() };
        send(sender, io);
        return;
    }
    if !ack.old {
        take_in(sender, io, ack);
        let s = state(sender);
        let (fack, threshold) = (s.fack, i64::from(sender.dupthresh()));
        let between = fack.saturating_sub(sender.una()) / u64::from(sender.mss());
        let duplicates = between as i64 - 1;
        state(sender).duplicates = duplicates;
        if duplicates >= threshold && sender.flight() > 0 {
            enter(sender, io);
        }
    }
    if state(sender).duplicates == 0 {
        send(sender, io);
    }
}

fn enter(sender: &mut Sender, io: &mut Io<'_>) {
    sender.begin_fast_retransmit(io);
    let fack = state(sender).fack;
    let rampdown = Rampdown::begin(sender, sender.nxt().saturating_sub(fack));
    sender.halve_threshold();
    rampdown.damp(sender);
    sender.window.cwnd = sender.window.mss;
    let (una, next) = (sender.una(), sender.nxt());
    let s = state(sender);
    (s.point, s.rampdown) = (Some(next), rampdown);
    s.resent.push(Resent { seq: una, next });
    s.retran_data += 1;
    sender.retransmit(io, una, Cause::Fast);
}

fn in_recovery(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
    if !ack.old {
        take_in(sender, io, ack);
    }
    let s = state(sender);
    let before = s.resent.len();
    s.resent.retain(|r| !(r.seq < ack.sacked_up_to && r.next < ack.sacked_up_to));
    s.silent |= s.resent.len() < before;
    // The simulator counts acknowledgements: each opens the window, whatever it acknowledges.
    let newly_acked = ack.newly_acked.max(u64::from(sender.mss()));
    sender.open_window(&AckDigest { newly_acked, ..*ack });
    let una = sender.una();
    let s = state(sender);
    if !reports(ack) && s.point.is_some_and(|point| una > point) {
        *s = FackNs2 { fack: s.fack, ..FackNs2::default() };
        sender.forget_reports();
        io.record(|| Event::RecoveryEnded { ack: ack.ack });
    }
    send(sender, io);
}

/// What the acknowledgement says of what was sent, resent and is held.
fn take_in(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
    let timeout = state(sender).timeout;
    sender.advance(io, ack, true);
    sender.time_report(ack, timeout);
    let (una, max) = (sender.una(), sender.max_sent());
    let mut resent = std::mem::take(&mut state(sender).resent);
    let before = resent.len();
    resent.retain(|r| r.seq >= una && sender.scoreboard.end_of_range_at(r.seq).is_none());
    let arrived = before - resent.len();
    let s = state(sender);
    s.resent = resent;
    s.retran_data -= arrived as i64;
    // Only what is reported takes from the rampdown, counted from what was known before.
    let known = s.fack.max(una);
    let reported = ack.sacked_up_to.min(max);
    s.rampdown.advanced(reported.saturating_sub(known));
    s.fack = known.max(reported);
    let fack = s.fack;
    sender.skip_to(fack);
}

/// Sends while what is above `fack`, and what was resent, leave room in the window: holes first.
fn send(sender: &mut Sender, io: &mut Io<'_>) {
    let mss = u64::from(sender.mss());
    loop {
        let window = sender.window.cwnd.min(sender.peer_window() as f64);
        let (una, nxt) = (sender.una(), sender.nxt());
        let s = state(sender);
        let window = (window + s.rampdown.bytes()) as u64 / mss;
        let awnd = (nxt.saturating_sub(s.fack) / mss) as i64 + s.retran_data;
        if s.silent || awnd >= window as i64 {
            return;
        }
        match next_hole(sender, una) {
            Some(hole) => {
                let s = state(sender);
                s.resent.push(Resent { seq: hole, next: nxt });
                s.retran_data += 1;
                sender.retransmit(io, hole, Cause::Recovery);
            }
            None => {
                if !sender.send_one_within_peer_window(io) {
                    return;
                }
            }
        }
    }
}

/// The first segment below the highest report that is neither reported nor resent.
fn next_hole(sender: &mut Sender, from: u64) -> Option<u64> {
    let mss = u64::from(sender.mss());
    let mut seq = from;
    loop {
        let hole = sender.scoreboard.next_hole(seq)?;
        if !state(sender).resent.iter().any(|r| r.seq == hole) {
            return Some(hole);
        }
        seq = hole + mss;
    }
}
