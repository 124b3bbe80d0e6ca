//! Reno fast recovery (RFC 5681 section 3.2).
//!
//! Fast recovery keeps half of the window in flight while the lost segment is retransmitted; the first ACK of
//! new data ends it (RFC 5681 section 3.2; catalogue TB-05, TB-07).

use super::LossRecovery;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::config::{BlockedDuplicates, DuplicatesConfig, LostRetransmission, RecoveryDuplicates};
use crate::tcp::sender::Tcb;
use base::event::Event;

/// Reno state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno {
    pub(super) duplicates: u32,
    /// Duplicate ACKs that segments sent before the last retransmission can cause, plus DupThresh.
    budget: u32,
}

impl LossRecovery for Reno {
    const REPAIRS_PARTIALLY: bool = false;

    fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        if ack.newly_acked > 0 {
            let was_recovering = tcb.recovery.recovering();
            self.on_timeout(&mut tcb.recovery);
            tcb.advance(io, ack, true);
            if was_recovering {
                io.record(|| Event::RecoveryEnded { ack: ack.ack });
            }
            if !was_recovering || tcb.config().grow_on_exit {
                tcb.open_window(ack);
            }
            tcb.send_window(io, 0);
        } else if ack.duplicate {
            self.on_duplicate(tcb, io, ack);
            if self.duplicates >= tcb.dupthresh() {
                tcb.send_on_duplicate(io, 0);
            }
        } else if !ack.old && self.duplicates == 0 {
            tcb.send_window(io, 0);
        }
    }
}

impl Reno {
    /// Counts a duplicate ACK; retransmits at DupThresh.
    pub(super) fn on_duplicate(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        let (mss, dupthresh) = (u64::from(tcb.mss()), tcb.dupthresh());
        let DuplicatesConfig { blocked, in_recovery, .. } = tcb.config().duplicates;
        let inflates = in_recovery == RecoveryDuplicates::Inflate;
        if !tcb.counts(ack) {
            return;
        }
        self.duplicates += 1;
        let (duplicates, recovering) = (self.duplicates, tcb.recovery.recovering());
        if duplicates == dupthresh && !recovering {
            if tcb.may_fast_retransmit() {
                tcb.begin_fast_retransmit(io);
                tcb.halve_both();
                tcb.retransmit(io, tcb.una(), base::truth::Cause::Fast);
                tcb.recovery.begin();
                tcb.recovery.inflation = if inflates { u64::from(dupthresh) * mss } else { 0 };
                self.count_from_here(tcb, 0);
            } else {
                inflate_blocked(tcb, blocked, u64::from(dupthresh) * mss);
            }
        } else if duplicates > dupthresh {
            if !recovering {
                inflate_blocked(tcb, blocked, mss);
            } else if inflates {
                //= RFC 5681 section 3.2 step 4: each further duplicate ACK inflates by a segment
                tcb.recovery.inflation += mss;
            }
            if recovering
                && duplicates >= self.budget
                && tcb.config().lost_retransmission == LostRetransmission::Count
            {
                tcb.resend_lost_retransmission(io);
                self.count_from_here(tcb, duplicates);
            }
        } else {
            tcb.limited_transmit(io, duplicates);
        }
    }

    /// The oldest segment was retransmitted after `duplicates` duplicate ACKs. Outstanding segments above it
    /// can cause a bounded number more; beyond that the retransmission was lost (catalogue RB-12).
    pub(super) fn count_from_here(&mut self, tcb: &Tcb, duplicates: u32) {
        let outstanding = tcb.flight().div_ceil(u64::from(tcb.mss()));
        let above = u32::try_from(outstanding).unwrap_or(u32::MAX).saturating_sub(1);
        self.budget = duplicates.saturating_add(above).saturating_add(tcb.dupthresh());
    }
}

/// Inflates the window by `bytes` for duplicate ACKs that may not cause a fast retransmit.
fn inflate_blocked(tcb: &mut Tcb, blocked: BlockedDuplicates, bytes: u64) {
    match blocked {
        BlockedDuplicates::Ignore | BlockedDuplicates::EverySecond => {}
        BlockedDuplicates::Inflate => tcb.recovery.inflation += bytes,
        BlockedDuplicates::Keep => tcb.window.cwnd += bytes as f64,
    }
}
