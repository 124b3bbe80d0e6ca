//! Pipe-counting SACK recovery as in ns-2 of 2001.
//!
//! By counting packets in the pipe: fast recovery starts at the third duplicate that brings SACK news, every
//! acknowledgement takes one packet out of the pipe, a partial one two, and while the pipe is smaller than the window
//! holes are resent, then new data (Fall and Floyd 1996; the "Reno-SACK" of the Eifel studies).
//!
//! What sets it apart from RFC 6675: a segment is resent only below the highest one reported, the
//! scoreboard is forgotten when recovery ends, after a timeout duplicates are ignored until something
//! new is acknowledged, and the window does not grow on the acknowledgement that ends recovery.

use super::{Held, Rules, Strategy, newreno_sack};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Sender;
use base::event::Event;
use base::truth::Cause;

/// The pipe and its companions.
#[derive(Clone, Copy, Debug, Default)]
pub struct SackPipe {
    duplicates: u32,
    pub(super) recovering: bool,
    /// Packets believed to be in the network.
    pub(super) pipe: i64,
    /// Nothing below is resent again in this recovery.
    next_hole: u64,
    /// Since the timeout nothing new was acknowledged.
    after_timeout: bool,
}

impl Rules for SackPipe {
    const NEEDS_SACK: bool = true;
    const FORGETS_REPORTS: bool = true;

    #[inline(always)]
    fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
        on_ack(sender, io, ack);
    }

    fn on_timeout(&mut self) {
        *self = SackPipe { after_timeout: true, ..SackPipe::default() };
    }

    fn recovering(&self) -> bool {
        self.recovering
    }

    fn pipe(&self, sender: &Sender) -> Option<u64> {
        self.recovering.then(|| self.pipe.max(0) as u64 * u64::from(sender.mss()))
    }
}

/// The pipe, which NewReno-SACK has too.
fn state(sender: &mut Sender) -> &mut SackPipe {
    match &mut sender.strategy {
        Strategy::NewRenoSack(s) => &mut s.pipe,
        other => SackPipe::of(other),
    }
}

#[inline(always)]
pub(super) fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
    if state(sender).recovering { in_recovery(sender, io, ack) } else { outside(sender, io, ack) }
}

#[inline(always)]
fn outside(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
    if ack.newly_acked > 0 {
        *state(sender) = SackPipe::default();
        sender.forget_reports();
        sender.advance(io, ack, true);
        sender.open_window(ack);
        sender.send_window(io, 0);
        return;
    }
    let dupthresh = sender.dupthresh();
    if ack.duplicate && ack.sack_news && !state(sender).after_timeout {
        let s = state(sender);
        s.duplicates += 1;
        let duplicates = s.duplicates;
        if duplicates == dupthresh && sender.may_fast_retransmit() {
            let pipe = (sender.flight() / u64::from(sender.mss())) as i64 - i64::from(dupthresh);
            sender.begin_fast_retransmit(io);
            sender.halve_both();
            let una = sender.una();
            let next_hole = una + u64::from(sender.mss());
            let s = state(sender);
            (s.recovering, s.pipe, s.next_hole) = (true, pipe, next_hole);
            sender.retransmit(io, una, Cause::Fast);
        } else if duplicates < dupthresh {
            sender.limited_transmit(io, duplicates);
        }
    }
    if !ack.old && state(sender).duplicates == 0 {
        sender.send_window(io, 0);
    }
}

fn in_recovery(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
    state(sender).pipe -= 1;
    if ack.newly_acked > 0 && ack.ack >= sender.recover() {
        *state(sender) = SackPipe::default();
        sender.forget_reports();
        sender.advance(io, ack, true);
        // The point is forgotten too (`recover_ = 0`): what was sent meanwhile may have been lost.
        sender.forget_recovery_point();
        io.record(|| Event::RecoveryEnded { ack: ack.ack });
        sender.send_window(io, 0);
        return;
    }
    if ack.newly_acked > 0 {
        // The retransmission that this acknowledges has left the pipe too.
        state(sender).pipe -= 1;
        // The next segment to go stays where it was: if that is below what is now acknowledged, it is
        // sent all the same.
        sender.acknowledge(io, ack, true);
        sender.rto.end_backoff();
    }
    if !ack.old {
        let resent = fill_pipe(sender, io);
        if ack.newly_acked > 0 && resent == 0 && newreno_sack::insists(sender) {
            resend_one(sender, io);
        }
    }
}

/// Resends the next hole, or the oldest segment if that was not resent yet, however full the pipe is.
fn resend_one(sender: &mut Sender, io: &mut Io<'_>) {
    let una = sender.una();
    let next = state(sender).next_hole;
    let hole = if next <= una { Some(una) } else { sender.scoreboard.next_hole(next) };
    if let Some(hole) = hole {
        let end = sender.retransmit(io, hole, Cause::Recovery);
        let s = state(sender);
        s.next_hole = end;
        s.pipe += 1;
        sender.skip_to(end);
    }
}

/// Sends while there is room in the pipe; how many segments it resent.
fn fill_pipe(sender: &mut Sender, io: &mut Io<'_>) -> u32 {
    let mut resent = 0;
    loop {
        let window = (sender.window.cwnd / sender.window.mss) as i64;
        let una = sender.una();
        let s = state(sender);
        if s.pipe >= window {
            return resent;
        }
        let from = s.next_hole.max(una);
        match sender.scoreboard.next_hole(from) {
            Some(hole) => {
                let s = state(sender);
                s.next_hole = hole;
                if hole + u64::from(sender.mss()) > una + sender.peer_window() {
                    return resent;
                }
                let end = sender.retransmit(io, hole, Cause::Recovery);
                resent += 1;
                state(sender).next_hole = end;
                // While it still goes back after a timeout, a hole filled ahead is not sent once more.
                sender.skip_to(end);
            }
            None => {
                if !sender.send_one_within_peer_window(io) {
                    return resent;
                }
            }
        }
        state(sender).pipe += 1;
    }
}
