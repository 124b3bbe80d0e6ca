//! NewReno-SACK: pipe-based recovery that always resends on a partial ACK.
//!
//! The pipe-based sender waits then, often until a timeout. NewReno-SACK always resends a segment on a partial
//! acknowledgement and counts it in the pipe ("Responding to Spurious Timeouts", section III.A; catalogue TB-12). As
//! a precaution it can be confined to the time from a spurious timeout until the recovery point is acknowledged.
//! Without SACK NewReno takes its place.

use super::sack::{self, SackPipe};
use super::{Rules, Strategy, state};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::config::PartialResend;
use crate::tcp::sender::Sender;

/// The pipe, and how long it may be overrun.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewRenoSack {
    pub(super) pipe: SackPipe,
    /// A timeout was spurious: until this is acknowledged.
    until: Option<u64>,
}

impl Rules for NewRenoSack {
    const NEEDS_SACK: bool = true;
    const FORGETS_REPORTS: bool = true;

    fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
        let before = state::<NewRenoSack>(sender).pipe.recovering;
        sack::on_ack(sender, io, ack);
        let recover = sender.recover();
        let s = state::<NewRenoSack>(sender);
        if s.until.is_some() && s.pipe.recovering && !before {
            // A recovery has begun meanwhile: its point counts.
            s.until = Some(recover);
        }
        if s.until.is_some_and(|point| ack.ack >= point) {
            s.until = None;
        }
    }

    fn on_timeout(&mut self) {
        self.pipe.on_timeout();
    }

    fn on_spurious(sender: &mut Sender) {
        let max = sender.max_sent();
        state::<NewRenoSack>(sender).until = Some(max);
    }

    fn recovering(&self) -> bool {
        self.pipe.recovering
    }

    fn pipe(&self, sender: &Sender) -> Option<u64> {
        self.pipe.pipe(sender)
    }
}

/// Whether this partial acknowledgement resends a segment however full the pipe is.
pub(super) fn insists(sender: &Sender) -> bool {
    match &sender.strategy {
        Strategy::NewRenoSack(s) => {
            sender.config().partial_resend == PartialResend::Always || s.until.is_some()
        }
        _ => false,
    }
}
