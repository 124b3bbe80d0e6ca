//! Forward acknowledgement (Mathis and Mahdavi 1996; catalogue TB-13).
//!
//! What lies above `fack`, the highest byte that the receiver is known to hold, plus what was resent, is in the network.
//! Recovery begins when more than three segments lie between the two acknowledgements. Nothing here tolerates
//! reordering, which is why no RFC has it; Linux 2.4 switched it off once reordering was seen
//! (`fack.until-reordering`). Without SACK NewReno takes
//! its place.

use super::prr::Proportional;
use super::rampdown::Rampdown;
use super::{Rules, state as state_of};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Sender;
use base::event::Event;
use base::truth::Cause;

/// FACK between acknowledgements.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fack {
    duplicates: u32,
    /// Where recovery ends, while recovering.
    point: Option<u64>,
    /// One past the highest byte resent in this recovery.
    high_rxt: u64,
    prr: Proportional,
    rampdown: Rampdown,
    /// The forward acknowledgement before.
    fack: u64,
    /// Reordering was seen: holes count as lost by what is reported above them.
    reordered: bool,
}

impl Fack {
    /// `awnd = snd.nxt - snd.fack + retran_data`.
    fn awnd(&self, sender: &Sender) -> u64 {
        let una = sender.una();
        if self.reordered {
            // What was resent takes the place of its first copy; a hole that was not resent may still arrive.
            return sender.flight() - sender.scoreboard.bytes().min(sender.flight());
        }
        let fack = fack(sender);
        let resent = self.high_rxt.max(una) - una;
        let resent_and_held = sender.scoreboard.bytes_below(self.high_rxt);
        sender.max_sent() - fack + resent.saturating_sub(resent_and_held)
    }
}

/// The forward acknowledgement: one past the highest byte the receiver is known to hold.
fn fack(sender: &Sender) -> u64 {
    sender.scoreboard.highest().max(sender.una())
}

fn state(sender: &mut Sender) -> &mut Fack {
    state_of(sender)
}

impl Rules for Fack {
    const NEEDS_SACK: bool = true;
    const SKIPS_REPORTED: bool = true;

    fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
        let point = state(sender).point;
        look_for_reordering(sender, ack);
        if ack.newly_acked > 0 {
            sender.advance(io, ack, true);
            state(sender).duplicates = 0;
            match point {
                None => sender.open_window(ack),
                Some(point) if ack.ack >= point => {
                    let prr = state(sender).prr;
                    prr.end(&mut sender.window);
                    let reordered = state(sender).reordered;
                    *state(sender) = Fack { reordered, ..Fack::default() };
                    io.record(|| Event::RecoveryEnded { ack: ack.ack });
                }
                Some(_) => {}
            }
        } else if ack.duplicate {
            state(sender).duplicates += 1;
        }
        if state(sender).point.is_some() {
            let fack = fack(sender);
            let s = state(sender);
            s.rampdown.advanced(fack.saturating_sub(s.fack));
            s.fack = fack;
            fill(sender, io, Some(ack));
            return;
        }
        let Fack { duplicates, reordered, .. } = *state(sender);
        let fack = fack(sender);
        state(sender).fack = fack;
        let gap = if reordered { 0 } else { fack - sender.una() };
        // Either sign convinces: many duplicates, or more than that many segments between una and fack.
        let threshold = u64::from(sender.dupthresh()) * u64::from(sender.mss());
        let news = ack.duplicate || ack.sack_news || ack.newly_acked > 0;
        let convinced = news && (gap > threshold || duplicates >= sender.dupthresh());
        if convinced && sender.flight() > 0 && sender.may_fast_retransmit() {
            enter(sender, io, ack);
        } else if ack.newly_acked > 0 || (duplicates == 0 && !ack.old) {
            sender.send_window(io, 0);
        } else if ack.duplicate && duplicates < sender.dupthresh() {
            sender.limited_transmit(io, duplicates);
        }
    }

    fn on_timeout(&mut self) {
        *self = Fack { reordered: self.reordered, ..Fack::default() };
    }

    fn recovering(&self) -> bool {
        self.point.is_some()
    }

    fn pipe(&self, sender: &Sender) -> Option<u64> {
        Some(self.awnd(sender))
    }
}

/// Notes reordering: an acknowledgement fills a hole below a report, and nothing of it was resent; or the detector found a
/// fast retransmit spurious.
fn look_for_reordering(sender: &mut Sender, ack: &AckDigest) {
    if !sender.config().fack_until_reordering || state(sender).reordered {
        return;
    }
    let (una, recover, doubted) = (sender.una(), sender.recover(), sender.verdicts().spurious_fast > 0);
    let s = state(sender);
    let overtaken = ack.newly_acked > 0 && s.point.is_none() && s.fack > una && una >= recover;
    s.reordered = overtaken || doubted;
}

fn enter(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
    let prr = Proportional::begin(sender);
    sender.begin_fast_retransmit(io);
    let fack = fack(sender);
    let rampdown = Rampdown::begin(sender, sender.max_sent() - fack);
    sender.halve_both();
    rampdown.damp(sender);
    let (una, recover) = (sender.una(), sender.recover());
    let s = state(sender);
    (s.point, s.high_rxt, s.prr) = (Some(recover), una, prr);
    (s.rampdown, s.fack) = (rampdown, fack);
    reduce(sender, Some(ack));
    let end = sender.retransmit(io, una, Cause::Fast);
    state(sender).high_rxt = end;
    state(sender).prr.sent(end - una);
    fill(sender, io, None);
}

/// Enough is reported above the hole (RFC 6675 section 4, IsLost).
fn is_lost(sender: &Sender, hole: u64) -> bool {
    let above = sender.scoreboard.bytes() - sender.scoreboard.bytes_below(hole);
    above >= u64::from(sender.dupthresh()) * u64::from(sender.mss())
}

fn reduce(sender: &mut Sender, ack: Option<&AckDigest>) -> u64 {
    let mut counted = *state(sender);
    let awnd = counted.awnd(sender);
    if let Some(ack) = ack {
        counted.prr.on_digest(&mut sender.window, ack, awnd);
        state(sender).prr = counted.prr;
    }
    awnd
}

/// Sends while `awnd < cwnd`: holes below `fack` first, then new data.
fn fill(sender: &mut Sender, io: &mut Io<'_>, ack: Option<&AckDigest>) {
    let mss = f64::from(sender.mss());
    let mut awnd = reduce(sender, ack);
    let Fack { reordered, rampdown, .. } = *state(sender);
    let above = rampdown.bytes();
    while sender.window.cwnd + above - awnd as f64 >= mss {
        let from = state(sender).high_rxt.max(sender.una());
        let hole = sender.scoreboard.next_hole(from).filter(|hole| !reordered || is_lost(sender, *hole));
        if let Some(hole) = hole {
            let end = sender.retransmit(io, hole, Cause::Recovery);
            state(sender).high_rxt = end;
            awnd += state(sender).prr.sent(end - hole);
            continue;
        }
        let max = sender.max_sent();
        if !sender.send_one_within_peer_window(io) {
            return;
        }
        let sent = sender.max_sent() - max;
        awnd += state(sender).prr.sent(sent);
    }
}
