//! Pipe-counting SACK recovery as in ns-2 of 2001.
//!
//! The pipe is counted in packets. Fast recovery starts at the third duplicate ACK with new SACK information.
//! Every ACK removes one packet from the pipe, a partial ACK two. While the pipe is smaller than the window,
//! holes are retransmitted, then new data sent (Fall and Floyd 1996; the "Reno-SACK" of the Eifel studies).
//!
//! Differences from RFC 6675: only segments below the highest SACKed byte are retransmitted, and the
//! scoreboard is cleared when recovery ends. After a timeout, duplicate ACKs are ignored until new data are
//! acknowledged. The window does not grow on the ACK that ends recovery.

use super::{LossRecovery, RecoveryState};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Tcb;
use base::event::Event;
use base::truth::Cause;

/// State of the pipe.
#[derive(Clone, Copy, Debug, Default)]
pub struct SackPipe {
    duplicates: u32,
    /// Estimated packets in flight.
    pipe: i64,
    /// Data below this offset are not retransmitted again in this recovery.
    next_hole: u64,
    /// No new data have been acknowledged since the timeout.
    after_timeout: bool,
}

impl LossRecovery for SackPipe {
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
    /// `insists`: a partial ACK retransmits a segment even if the pipe is full.
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
            // The recovery point is cleared too (`recover_ = 0`): data sent meanwhile may have been lost.
            tcb.forget_recovery_point();
            io.record(|| Event::RecoveryEnded { ack: ack.ack });
            tcb.send_window(io, 0);
            return;
        }
        if ack.newly_acked > 0 {
            // The retransmission that this ACK covers has left the pipe too.
            self.pipe -= 1;
            // SND.NXT stays, even below the new SND.UNA: that segment is then sent all the same.
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

    /// Retransmits the next hole, or the oldest segment if it was not retransmitted yet, even if the pipe is
    /// full.
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

    /// Sends while the pipe has room; returns the number of retransmissions.
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
                    // During go-back-N after a timeout, a hole filled ahead is not resent.
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
