//! Loss recovery state of the sender: phase, window inflation, tail loss probe.
//!
//! Holds the part that is visible outside the strategy; each strategy keeps its other state to itself.

use super::Strategy;
use super::tail_probe::TailProbe;
use base::truth::Cause;

/// Phase of loss recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// No known loss.
    #[default]
    Open,
    /// Fast recovery, without a timeout.
    Fast,
    /// After a timeout, in strategies without go-back-N (`rack`).
    Timeout,
}

/// Part of the recovery state that is visible outside the strategy.
#[derive(Clone, Copy, Debug)]
pub struct RecoveryState {
    /// Phase of loss recovery.
    pub(super) phase: Phase,
    /// Window inflation by duplicate ACKs, bytes.
    pub inflation: u64,
    /// Outstanding bytes known to have left the network.
    pub(super) gone: u64,
    /// Bytes sent by limited transmit since the last ACK of new data.
    pub(in crate::tcp) limited: u64,
    /// Cause recorded for the next go-back-N retransmission.
    pub(in crate::tcp) resend_cause: Cause,
    /// Go-back-N skips SACKed ranges.
    pub(in crate::tcp) skips_reported: bool,
    /// New data start the timer of the tail loss probe.
    pub(in crate::tcp) probes: bool,
    /// An ACK changes nothing while nothing is outstanding.
    pub(in crate::tcp) may_rest: bool,
    /// A partial ACK does not end recovery.
    partially: bool,
    pub(super) tail_probe: TailProbe,
}

impl RecoveryState {
    /// State before the SYN.
    pub(in crate::tcp) fn new(strategy: &Strategy, tail_loss_probe: bool) -> Self {
        RecoveryState {
            phase: Phase::Open,
            inflation: 0,
            gone: 0,
            limited: 0,
            resend_cause: Cause::GoBackN,
            skips_reported: strategy.skips_reported(),
            may_rest: !strategy.hears_idle(),
            probes: tail_loss_probe && matches!(strategy, Strategy::Rack(_)),
            partially: strategy.repairs_partially(),
            tail_probe: TailProbe::default(),
        }
    }

    /// Whether fast recovery is in progress.
    #[inline]
    pub fn recovering(&self) -> bool {
        self.phase == Phase::Fast
    }

    /// Whether this recovery continues on a partial ACK.
    #[inline]
    pub(in crate::tcp) fn repairs_partially(&self) -> bool {
        self.partially && self.recovering()
    }

    /// Outstanding bytes that do not count against the window: inflation by duplicate ACKs, or bytes known to
    /// have left the network.
    #[inline]
    pub(in crate::tcp) fn beyond(&self) -> u64 {
        self.inflation + self.gone
    }

    /// No recovery, no probe outstanding, nothing that does not count against the window.
    #[inline]
    pub(in crate::tcp) fn is_idle(&self) -> bool {
        self.phase == Phase::Open && self.beyond() == 0 && !self.tail_probe.is_out()
    }

    /// Starts fast recovery.
    pub(super) fn begin(&mut self) {
        self.phase = Phase::Fast;
    }

    /// Ends recovery and deflates the window.
    #[inline]
    pub(super) fn end(&mut self) {
        (self.phase, self.inflation) = (Phase::Open, 0);
    }
}
