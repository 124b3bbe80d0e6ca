//! Duplicate ACK handling beyond recovery: timer restart, limited transmit, adaptive DupThresh.
//!
//! Options of "Making TCP Robust Against Delay Spikes", sections 4.3 and 4.4 (catalogue RB-03, RB-06 to
//! RB-11, RB-15): a duplicate ACK restarts the timer, sends a segment, or is ignored after a timeout.

use super::Tcb;
use super::dupack_hint::DupackHint;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::config::{
    BlockedDuplicates, Config, DuplicateRestart, DuplicateThreshold, DuplicatesConfig, DuplicatesSend,
    Evidence, Heuristic, RecoveryDuplicates, TimeoutDuplicates,
};
use base::truth::Cause;

/// Upper bound of the adaptive DupThresh (Linux `tcp_max_reordering`).
const MOST_DUPLICATES: u32 = 300;

/// Duplicate-ACK counter and threshold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duplicates {
    /// Whether an option of this file is on ([`are_special`]); otherwise recovery processes ACKs unfiltered.
    pub(super) special: bool,
    /// Duplicate ACKs since the last ACK of new data; counted only if `special`.
    pub(super) series: u32,
    /// DupThresh.
    pub(super) threshold: u32,
    pub(super) hint: DupackHint,
    /// SND.UNA at the last timeout.
    pub(super) expired_at: Option<u64>,
}

impl Duplicates {
    pub(super) fn new(config: &Config) -> Self {
        Duplicates {
            special: are_special(config),
            series: 0,
            threshold: config.dupthresh,
            hint: DupackHint::default(),
            expired_at: None,
        }
    }
}

impl Tcb {
    /// Digest that recovery processes: after a timeout, `TimeoutDuplicates` may turn a duplicate ACK into an old
    /// one.
    pub(super) fn filter_duplicate(&mut self, io: &mut Io<'_>, ack: &AckDigest) -> AckDigest {
        if ack.newly_acked > 0 {
            self.duplicates.series = 0;
            self.note_hint(ack);
            return *ack;
        }
        let after_timeout = self.config.duplicates.after_timeout;
        let ignored = ack.duplicate
            && after_timeout != TimeoutDuplicates::Count
            && self.duplicates.expired_at == Some(self.seq.una);
        if !ignored {
            return *ack;
        }
        if after_timeout == TimeoutDuplicates::Clock {
            let limit = self.seq.una + self.window_of_peer();
            self.send_next(io, limit);
        }
        // Recovery ignores old ACKs.
        AckDigest { duplicate: false, old: true, ..*ack }
    }

    /// Timer restart and limited transmit for a duplicate ACK, after recovery has processed it.
    pub(super) fn after_duplicate(&mut self, io: &mut Io<'_>, ack: &AckDigest) {
        self.duplicates.series += 1;
        let restart = match self.config.rto.restart_on_duplicates {
            DuplicateRestart::None => false,
            DuplicateRestart::Below => self.duplicates.series <= self.duplicates.threshold,
            DuplicateRestart::Each => true,
        };
        if restart && self.flight() > 0 {
            self.rto.restart(io.now);
        }
        let every_second = if self.recovery.recovering() {
            self.config.duplicates.in_recovery == RecoveryDuplicates::EverySecond
        } else {
            self.config.duplicates.blocked == BlockedDuplicates::EverySecond
                && !(self.may_fast_retransmit() && self.counts(ack))
        };
        // New data only: a needless retransmission would cause another duplicate ACK and carry no
        // information.
        if every_second && self.duplicates.series.is_multiple_of(2) && self.seq.nxt >= self.seq.max {
            let limit = self.seq.una + self.window_of_peer();
            self.send_next(io, limit);
        }
    }

    /// Whether this duplicate ACK counts towards DupThresh; with `Evidence::Sack` only if it reports new
    /// SACKed data.
    pub(in crate::tcp) fn counts(&self, ack: &AckDigest) -> bool {
        let needs_news = self.config.duplicates.evidence == Evidence::Sack && self.config.uses_sack();
        ack.sack_news || !needs_news
    }

    /// Sends as far as the inflated window allows. With `DuplicatesSend` other than `Any`, sends new data
    /// only, no retransmissions.
    pub(in crate::tcp) fn send_on_duplicate(&mut self, io: &mut Io<'_>, burst: u32) {
        if self.config.duplicates.send == DuplicatesSend::Any || self.seq.nxt >= self.seq.max {
            self.send_window(io, burst);
        }
    }

    /// Raises DupThresh by one after a spurious fast retransmit, if it is adaptive.
    pub(super) fn adapt_dupthresh(&mut self) {
        if self.config.duplicates.threshold == DuplicateThreshold::Grows {
            self.duplicates.threshold =
                (self.duplicates.threshold + 1).min(MOST_DUPLICATES.max(self.config.dupthresh));
        }
    }

    /// Peer's window plus the configured overrun; an overrun models a faulty sender.
    pub(super) fn window_of_peer(&self) -> u64 {
        self.peer.window + u64::from(self.config.window_overrun) * u64::from(self.config.mss)
    }

    /// Resends everything outstanding at once; models a faulty sender.
    pub(super) fn resend_outstanding(&mut self, io: &mut Io<'_>) {
        let limit = self.seq.una + self.window_of_peer();
        while self.seq.nxt < self.seq.max && self.send_next(io, limit) {}
    }

    /// Repairs a lost retransmission, shown by more duplicate ACKs than data sent before the retransmission can
    /// cause: halves the window again (RFC 5681 section 4.3) and resends.
    pub(in crate::tcp) fn resend_lost_retransmission(&mut self, io: &mut Io<'_>) {
        let window = &mut self.window;
        window.ssthresh = (window.ssthresh / 2.0).max(2.0 * window.mss);
        window.cwnd = window.ssthresh;
        self.retransmit(io, self.seq.una, Cause::Recovery);
        if self.config.restart_on_fast_retransmit {
            self.rto.restart(io.now);
        }
    }
}

/// Whether an option of this file differs from the standard; otherwise the sender skips the filter.
fn are_special(config: &Config) -> bool {
    let DuplicatesConfig { blocked, in_recovery, after_timeout, .. } = config.duplicates;
    blocked == BlockedDuplicates::EverySecond
        || in_recovery == RecoveryDuplicates::EverySecond
        || after_timeout != TimeoutDuplicates::Count
        || config.rto.restart_on_duplicates != DuplicateRestart::None
        || config.heuristic != Heuristic::None
}
