//! Forward acknowledgement (Mathis and Mahdavi 1996; catalogue TB-13).
//!
//! Estimates the flight as the data above `fack`, the highest byte known to be held by the receiver, plus the
//! data retransmitted. Recovery begins when `fack` is more than three segments above the cumulative ACK. FACK
//! tolerates no reordering and is therefore in no RFC; Linux 2.4 switched it off once reordering was seen
//! (`fack.until-reordering`). Without SACK, NewReno replaces it.

use super::prr::Proportional;
use super::rampdown::Rampdown;
use super::{LossRecovery, RecoveryState};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Tcb;
use base::event::Event;
use base::truth::Cause;

/// FACK state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fack {
    duplicates: u32,
    /// Recovery point, while recovering.
    point: Option<u64>,
    /// One past the highest byte retransmitted in this recovery.
    high_rxt: u64,
    prr: Proportional,
    rampdown: Rampdown,
    /// Previous forward acknowledgement.
    fack: u64,
    /// Reordering was seen: a hole counts as lost by the SACKed data above it.
    reordered: bool,
}

impl Fack {
    /// `awnd = snd.nxt - snd.fack + retran_data`.
    fn awnd(&self, tcb: &Tcb) -> u64 {
        let una = tcb.una();
        if self.reordered {
            // A retransmission replaces its original; a hole not retransmitted may still arrive.
            return tcb.flight() - tcb.scoreboard.bytes().min(tcb.flight());
        }
        let fack = fack(tcb);
        let resent = self.high_rxt.max(una) - una;
        let resent_and_held = tcb.scoreboard.bytes_below(self.high_rxt);
        tcb.max_sent() - fack + resent.saturating_sub(resent_and_held)
    }
}

/// Forward acknowledgement: one past the highest byte known to be held by the receiver.
fn fack(tcb: &Tcb) -> u64 {
    tcb.scoreboard.highest().max(tcb.una())
}

impl LossRecovery for Fack {
    const NEEDS_SACK: bool = true;
    const SKIPS_REPORTED: bool = true;

    fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        let point = self.point;
        self.look_for_reordering(tcb, ack);
        if ack.newly_acked > 0 {
            tcb.advance(io, ack, true);
            self.duplicates = 0;
            match point {
                None => tcb.open_window(ack),
                Some(point) if ack.ack >= point => {
                    self.prr.end(&mut tcb.window);
                    self.on_timeout(&mut tcb.recovery);
                    io.record(|| Event::RecoveryEnded { ack: ack.ack });
                }
                Some(_) => {}
            }
        } else if ack.duplicate {
            self.duplicates += 1;
        }
        if self.point.is_some() {
            let fack = fack(tcb);
            self.rampdown.advanced(fack.saturating_sub(self.fack));
            self.fack = fack;
            self.fill(tcb, io, Some(ack));
            return;
        }
        let Fack { duplicates, reordered, .. } = *self;
        let fack = fack(tcb);
        self.fack = fack;
        let gap = if reordered { 0 } else { fack - tcb.una() };
        // Either condition suffices: DupThresh duplicates, or more than DupThresh segments between una and
        // fack.
        let threshold = u64::from(tcb.dupthresh()) * u64::from(tcb.mss());
        let news = ack.duplicate || ack.sack_news || ack.newly_acked > 0;
        let convinced = news && (gap > threshold || duplicates >= tcb.dupthresh());
        if convinced && tcb.flight() > 0 && tcb.may_fast_retransmit() {
            self.enter(tcb, io, ack);
        } else if ack.newly_acked > 0 || (duplicates == 0 && !ack.old) {
            tcb.send_window(io, 0);
        } else if ack.duplicate && duplicates < tcb.dupthresh() {
            tcb.limited_transmit(io, duplicates);
        }
    }

    fn on_timeout(&mut self, recovery: &mut RecoveryState) {
        *self = Fack { reordered: self.reordered, ..Fack::default() };
        recovery.end();
    }

    fn pipe(&self, tcb: &Tcb) -> Option<u64> {
        Some(self.awnd(tcb))
    }
}

impl Fack {
    /// Detects reordering: an ACK fills a hole below SACKed data without a retransmission, or the detector
    /// found a fast retransmit spurious.
    fn look_for_reordering(&mut self, tcb: &Tcb, ack: &AckDigest) {
        if !tcb.config().fack.until_reordering || self.reordered {
            return;
        }
        let (una, recover, doubted) = (tcb.una(), tcb.recover(), tcb.verdicts().spurious_fast > 0);
        let overtaken = ack.newly_acked > 0 && self.point.is_none() && self.fack > una && una >= recover;
        self.reordered = overtaken || doubted;
    }

    fn enter(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        let prr = Proportional::begin(tcb);
        tcb.begin_fast_retransmit(io);
        let fack = fack(tcb);
        let rampdown = Rampdown::begin(tcb, tcb.max_sent() - fack);
        tcb.halve_both();
        rampdown.damp(tcb);
        let (una, recover) = (tcb.una(), tcb.recover());
        tcb.recovery.begin();
        (self.point, self.high_rxt, self.prr) = (Some(recover), una, prr);
        (self.rampdown, self.fack) = (rampdown, fack);
        self.reduce(tcb, Some(ack));
        let end = tcb.retransmit(io, una, Cause::Fast);
        self.high_rxt = end;
        self.prr.sent(end - una);
        self.fill(tcb, io, None);
    }

    fn reduce(&mut self, tcb: &mut Tcb, ack: Option<&AckDigest>) -> u64 {
        let awnd = self.awnd(tcb);
        if let Some(ack) = ack {
            self.prr.on_digest(&mut tcb.window, ack, awnd);
        }
        awnd
    }

    /// Sends while `awnd < cwnd`: holes below `fack` first, then new data.
    fn fill(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: Option<&AckDigest>) {
        let mss = f64::from(tcb.mss());
        let mut awnd = self.reduce(tcb, ack);
        let Fack { reordered, rampdown, .. } = *self;
        let above = rampdown.bytes();
        while tcb.window.cwnd + above - awnd as f64 >= mss {
            let from = self.high_rxt.max(tcb.una());
            let hole = tcb.scoreboard.next_hole(from).filter(|hole| !reordered || is_lost(tcb, *hole));
            if let Some(hole) = hole {
                let end = tcb.retransmit(io, hole, Cause::Recovery);
                self.high_rxt = end;
                awnd += self.prr.sent(end - hole);
                continue;
            }
            let max = tcb.max_sent();
            if !tcb.send_one_within_peer_window(io) {
                return;
            }
            let sent = tcb.max_sent() - max;
            awnd += self.prr.sent(sent);
        }
    }
}

/// Enough data are SACKed above the hole (RFC 6675 section 4, IsLost).
fn is_lost(tcb: &Tcb, hole: u64) -> bool {
    let above = tcb.scoreboard.bytes() - tcb.scoreboard.bytes_below(hole);
    above >= u64::from(tcb.dupthresh()) * u64::from(tcb.mss())
}
