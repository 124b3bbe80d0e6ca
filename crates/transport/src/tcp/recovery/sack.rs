//! Pipe-counting SACK recovery as in ns-2 of 2001.
//!
//! By counting packets in the pipe: fast recovery starts at the third duplicate that brings SACK news, every
//! acknowledgement takes one packet out of the pipe, a partial one two, and while the pipe is smaller than the window
//! holes are resent, then new data (Fall and Floyd 1996; the "Reno-SACK" of the Eifel studies).
//!
//! What sets it apart from RFC 6675: a segment is resent only below the highest one reported, the
//! scoreboard is forgotten when recovery ends, after a timeout duplicates are ignored until something
//! new is acknowledged, and the window does not grow on the acknowledgement that ends recovery.

use super::{RecoveryState, Rules};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Tcb;
use base::event::Event;
use base::truth::Cause;

/// The pipe and its companions.
#[derive(Clone, Copy, Debug, Default)]
pub struct SackPipe {
    duplicates: u32,
    /// Packets believed to be in the network.
    pipe: i64,
    /// Nothing below is resent again in this recovery.
    next_hole: u64,
    /// Since the timeout nothing new was acknowledged.
    after_timeout: bool,
}

impl Rules for SackPipe {
    const NEEDS_SACK: bool = true;
    const FORGETS_REPORTS: bool = true;

    #[inline(always)]
    fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        self.on_ack_insisting(tcb, io, ack, false);
    }

    fn on_timeout(&mut self, recovery: &mut RecoveryState) {
        *self = SackPipe { after_timeout: true, ..SackPipe::default() };
        recovery.end();
    }

    fn pipe(&self, tcb: &Tcb) -> Option<u64> {
        tcb.recovery.recovering().then(|| self.pipe.max(0) as u64 * u64::from(tcb.mss()))
    }
}

impl SackPipe {
    /// `insists`: a partial acknowledgement resends a segment however full the pipe is.
    #[inline(always)]
    pub(super) fn on_ack_insisting(
        &mut self,
        tcb: &mut Tcb,
        io: &mut Io<'_>,
        ack: &AckDigest,
        insists: bool,
    ) {
        if tcb.recovery.recovering() {
            self.in_recovery(tcb, io, ack, insists);
        } else {
            self.outside(tcb, io, ack);
        }
    }

    #[inline(always)]
    fn outside(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        if ack.newly_acked > 0 {
            *self = SackPipe::default();
            tcb.recovery.end();
            tcb.forget_reports();
            tcb.advance(io, ack, true);
            tcb.open_window(ack);
            tcb.send_window(io, 0);
            return;
        }
        let dupthresh = tcb.dupthresh();
        if ack.duplicate && ack.sack_news && !self.after_timeout {
            self.duplicates += 1;
            let duplicates = self.duplicates;
            if duplicates == dupthresh && tcb.may_fast_retransmit() {
                let pipe = (tcb.flight() / u64::from(tcb.mss())) as i64 - i64::from(dupthresh);
                tcb.begin_fast_retransmit(io);
                tcb.halve_both();
                let una = tcb.una();
                let next_hole = una + u64::from(tcb.mss());
                tcb.recovery.begin();
                (self.pipe, self.next_hole) = (pipe, next_hole);
                tcb.retransmit(io, una, Cause::Fast);
            } else if duplicates < dupthresh {
                tcb.limited_transmit(io, duplicates);
            }
        }
        if !ack.old && self.duplicates == 0 {
            tcb.send_window(io, 0);
        }
    }

    fn in_recovery(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest, insists: bool) {
        self.pipe -= 1;
        if ack.newly_acked > 0 && ack.ack >= tcb.recover() {
            *self = SackPipe::default();
            tcb.recovery.end();
            tcb.forget_reports();
            tcb.advance(io, ack, true);
            // The point is forgotten too (`recover_ = 0`): what was sent meanwhile may have been lost.
            tcb.forget_recovery_point();
            io.record(|| Event::RecoveryEnded { ack: ack.ack });
            tcb.send_window(io, 0);
            return;
        }
        if ack.newly_acked > 0 {
            // The retransmission that this acknowledges has left the pipe too.
            self.pipe -= 1;
            // The next segment to go stays where it was: if that is below what is now acknowledged, it is
            // sent all the same.
            tcb.acknowledge(io, ack, true);
            tcb.rto.end_backoff();
        }
        if !ack.old {
            let resent = self.fill_pipe(tcb, io);
            if ack.newly_acked > 0 && resent == 0 && insists {
                self.resend_one(tcb, io);
            }
        }
    }

    /// Resends the next hole, or the oldest segment if that was not resent yet, however full the pipe is.
    fn resend_one(&mut self, tcb: &mut Tcb, io: &mut Io<'_>) {
        let una = tcb.una();
        let next = self.next_hole;
        let hole = if next <= una { Some(una) } else { tcb.scoreboard.next_hole(next) };
        if let Some(hole) = hole {
            let end = tcb.retransmit(io, hole, Cause::Recovery);
            self.next_hole = end;
            self.pipe += 1;
            tcb.skip_to(end);
        }
    }

    /// Sends while there is room in the pipe; how many segments it resent.
    fn fill_pipe(&mut self, tcb: &mut Tcb, io: &mut Io<'_>) -> u32 {
        let mut resent = 0;
        loop {
            let window = (tcb.window.cwnd / tcb.window.mss) as i64;
            let una = tcb.una();
            if self.pipe >= window {
                return resent;
            }
            let from = self.next_hole.max(una);
            match tcb.scoreboard.next_hole(from) {
                Some(hole) => {
                    self.next_hole = hole;
                    if hole + u64::from(tcb.mss()) > una + tcb.peer_window() {
                        return resent;
                    }
                    let end = tcb.retransmit(io, hole, Cause::Recovery);
                    resent += 1;
                    self.next_hole = end;
                    // While it still goes back after a timeout, a hole filled ahead is not sent once more.
                    tcb.skip_to(end);
                }
                None => {
                    if !tcb.send_one_within_peer_window(io) {
                        return resent;
                    }
                }
            }
            self.pipe += 1;
        }
    }
}
