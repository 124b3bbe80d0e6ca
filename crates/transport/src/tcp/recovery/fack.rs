//! Forward acknowledgement (Mathis and Mahdavi 1996; catalogue TB-13).
//!
//! Forward acknowledgement (Mathis and Mahdavi 1996; catalogue TB-13): what lies above `fack`, the highest byte that
//! the receiver is known to hold, plus what was resent. Recovery begins when more than three segments lie between the
//! two acknowledgements. Nothing here tolerates reordering, which is why no RFC has it. Without SACK NewReno takes
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
}

impl Fack {
    /// `awnd = snd.nxt - snd.fack + retran_data`.
    fn awnd(&self, sender: &Sender) -> u64 {
        let una = sender.una();
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
        if ack.newly_acked > 0 {
            sender.advance(io, ack, true);
            state(sender).duplicates = 0;
            match point {
                None => sender.open_window(ack),
                Some(point) if ack.ack >= point => {
                    let prr = state(sender).prr;
                    prr.end(&mut sender.window);
                    *state(sender) = Fack::default();
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
        let duplicates = state(sender).duplicates;
        let gap = fack(sender) - sender.una();
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

    fn recovering(&self) -> bool {
        self.point.is_some()
    }

    fn pipe(&self, sender: &Sender) -> Option<u64> {
        Some(self.awnd(sender))
    }
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
    let above = state(sender).rampdown.bytes();
    while sender.window.cwnd + above - awnd as f64 >= mss {
        let from = state(sender).high_rxt.max(sender.una());
        if let Some(hole) = sender.scoreboard.next_hole(from) {
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
