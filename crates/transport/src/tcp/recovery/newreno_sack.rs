//! NewReno-SACK: pipe-based recovery that always resends on a partial ACK.
//!
//! On a partial ACK the pipe-based sender often waits until a timeout. NewReno-SACK always retransmits a
//! segment and counts it in the pipe ("Responding to Spurious Timeouts", section III.A; catalogue TB-12). An
//! option confines this to the time from a spurious timeout until the recovery point is acknowledged. Without
//! SACK, NewReno replaces it.

use super::sack::SackPipe;
use super::{LossRecovery, RecoveryState};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::config::PartialResend;
use crate::tcp::sender::Tcb;

/// State: the pipe, and the period in which it may be exceeded.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewRenoSack {
    pipe: SackPipe,
    /// End of the period after a spurious timeout, stream offset.
    until: Option<u64>,
}

impl LossRecovery for NewRenoSack {
    const NEEDS_SACK: bool = true;
    const FORGETS_REPORTS: bool = true;

    fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        let before = tcb.recovery.recovering();
        // Whether a partial ACK retransmits a segment even if the pipe is full.
        let insists = tcb.config().newreno.sack_resend == PartialResend::Always || self.until.is_some();
        self.pipe.on_ack_insisting(tcb, io, ack, insists);
        if self.until.is_some() && tcb.recovery.recovering() && !before {
            // A new recovery began: use its recovery point.
            self.until = Some(tcb.recover());
        }
        if self.until.is_some_and(|point| ack.ack >= point) {
            self.until = None;
        }
    }

    fn on_timeout(&mut self, recovery: &mut RecoveryState) {
        self.pipe.on_timeout(recovery);
    }

    fn on_spurious(&mut self, tcb: &mut Tcb) {
        self.until = Some(tcb.max_sent());
    }

    fn pipe(&self, tcb: &Tcb) -> Option<u64> {
        self.pipe.pipe(tcb)
    }
}
