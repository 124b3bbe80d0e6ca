//! NewReno-SACK: pipe-based recovery that always resends on a partial ACK.
//!
//! The pipe-based sender waits then, often until a timeout. NewReno-SACK always resends a segment on a partial
//! acknowledgement and counts it in the pipe ("Responding to Spurious Timeouts", section III.A; catalogue TB-12). As
//! a precaution it can be confined to the time from a spurious timeout until the recovery point is acknowledged.
//! Without SACK NewReno takes its place.

use super::sack::SackPipe;
use super::{RecoveryState, Rules};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::config::PartialResend;
use crate::tcp::sender::Tcb;

/// The pipe, and how long it may be overrun.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewRenoSack {
    pipe: SackPipe,
    /// A timeout was spurious: until this is acknowledged.
    until: Option<u64>,
}

impl Rules for NewRenoSack {
    const NEEDS_SACK: bool = true;
    const FORGETS_REPORTS: bool = true;

    fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        let before = tcb.recovery.recovering();
        // Whether a partial acknowledgement resends a segment however full the pipe is.
        let insists = tcb.config().partial_resend == PartialResend::Always || self.until.is_some();
        self.pipe.on_ack_insisting(tcb, io, ack, insists);
        if self.until.is_some() && tcb.recovery.recovering() && !before {
            // A recovery has begun meanwhile: its point counts.
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
