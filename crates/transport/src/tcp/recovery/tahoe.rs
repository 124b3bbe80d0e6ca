//! Tahoe recovery (Jacobson 1988; catalogue TB-06).
//!
//! Fast retransmit, then slow start from one segment.

use super::{LossRecovery, RecoveryState};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Tcb;

/// Tahoe state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tahoe {
    duplicates: u32,
}

impl LossRecovery for Tahoe {
    fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        let counts = tcb.counts(ack);
        if ack.newly_acked > 0 {
            self.duplicates = 0;
            tcb.advance(io, ack, true);
            tcb.open_window(ack);
        } else if ack.duplicate && counts {
            self.duplicates += 1;
            let duplicates = self.duplicates;
            if duplicates == tcb.dupthresh() {
                if tcb.may_fast_retransmit() {
                    tcb.begin_fast_retransmit(io);
                    tcb.halve_threshold();
                    tcb.window.cwnd = tcb.window.mss;
                    tcb.go_back(io);
                    return;
                }
            } else if duplicates < tcb.dupthresh() {
                tcb.limited_transmit(io, duplicates);
            }
        }
        if !ack.old {
            tcb.send_window(io, 0);
        }
    }

    /// The counter of duplicate ACKs survives a timeout, which matters only where the bug fix is off.
    fn on_timeout(&mut self, _recovery: &mut RecoveryState) {}
}
