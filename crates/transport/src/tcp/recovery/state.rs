//! Loss recovery state of the sender: phase, window inflation, tail loss probe.
//!
//! A strategy keeps what it alone needs in a state of its own, and here what everything beside it goes by.

use super::Strategy;
use super::tail_probe::TailProbe;
use base::truth::Cause;

/// Whether lost segments are being repaired, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// Nothing is known to be lost.
    #[default]
    Open,
    /// Fast recovery: without a timeout.
    Fast,
    /// After a timeout, in strategies that do not go back (`rack`).
    Timeout,
}

/// Loss recovery as everything beside the strategy sees it.
#[derive(Clone, Copy, Debug)]
pub struct RecoveryState {
    /// Whether lost segments are being repaired.
    pub(super) phase: Phase,
    /// Bytes by which duplicates inflate the window.
    pub inflation: u64,
    /// Bytes outstanding that are known to have left the network.
    pub(super) gone: u64,
    /// Bytes let out by limited transmit since the last new acknowledgement.
    pub(in crate::tcp) limited: u64,
    /// Why the next segment below the highest byte sent is resent.
    pub(in crate::tcp) resend_cause: Cause,
    /// Going back passes over what the receiver has reported.
    pub(in crate::tcp) skips_reported: bool,
    /// New data start the timer of the tail loss probe.
    pub(in crate::tcp) probes: bool,
    /// A partial acknowledgement leaves it in recovery.
    partially: bool,
    pub(super) tail_probe: TailProbe,
}

impl RecoveryState {
    /// Before the SYN.
    pub(in crate::tcp) fn new(strategy: &Strategy, tail_loss_probe: bool) -> Self {
        RecoveryState {
            phase: Phase::Open,
            inflation: 0,
            gone: 0,
            limited: 0,
            resend_cause: Cause::GoBackN,
            skips_reported: strategy.skips_reported(),
            probes: tail_loss_probe && matches!(strategy, Strategy::Rack(_)),
            partially: strategy.repairs_partially(),
            tail_probe: TailProbe::default(),
        }
    }

    /// Lost segments are being repaired without a timeout.
    #[inline]
    pub fn recovering(&self) -> bool {
        self.phase == Phase::Fast
    }

    /// It stays in this recovery on a partial acknowledgement.
    #[inline]
    pub(in crate::tcp) fn repairs_partially(&self) -> bool {
        self.partially && self.recovering()
    }

    /// Bytes beyond the oldest one that do not count against the window: what duplicates inflated, or what is known
    /// to have left the network.
    #[inline]
    pub(in crate::tcp) fn beyond(&self) -> u64 {
        self.inflation + self.gone
    }

    /// Fast recovery begins.
    pub(super) fn begin(&mut self) {
        self.phase = Phase::Fast;
    }

    /// Nothing is repaired any more, and nothing inflates the window.
    #[inline]
    pub(super) fn end(&mut self) {
        (self.phase, self.inflation) = (Phase::Open, 0);
    }
}
