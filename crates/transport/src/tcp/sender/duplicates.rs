//! Duplicate ACK handling beyond recovery: timer restart, limited transmit, adaptive DupThresh.
//!
//! Restart the timer, let out a segment, or nothing at all after a timeout ("Making TCP Robust Against Delay Spikes",
//! sections 4.3, 4.4; catalogue RB-03, RB-06 to RB-11, RB-15).

use super::Sender;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::config::{
    BlockedDuplicates, Config, DuplicateRestart, DuplicateThreshold, DuplicatesConfig, DuplicatesSend,
    Evidence, Heuristic, RecoveryDuplicates, TimeoutDuplicates,
};
use base::truth::Cause;

/// However often they were wrong, so many convince (Linux' `tcp_max_reordering`).
const MOST_DUPLICATES: u32 = 300;

impl Sender {
    /// The facts of an acknowledgement as recovery is to see them: after a timeout a duplicate may count
    /// for nothing.
    pub(super) fn filter_duplicate(&mut self, io: &mut Io<'_>, ack: &AckDigest) -> AckDigest {
        if ack.newly_acked > 0 {
            self.series = 0;
            self.note_hint(ack);
            return *ack;
        }
        let after_timeout = self.config.duplicates.after_timeout;
        let ignored =
            ack.duplicate && after_timeout != TimeoutDuplicates::Count && self.expired_at == Some(self.una);
        if !ignored {
            return *ack;
        }
        if after_timeout == TimeoutDuplicates::Clock {
            let limit = self.una + self.window_of_peer();
            self.send_next(io, limit);
        }
        // An old acknowledgement moves nothing.
        AckDigest { duplicate: false, old: true, ..*ack }
    }

    /// What a duplicate does after recovery has seen it.
    pub(super) fn after_duplicate(&mut self, io: &mut Io<'_>, ack: &AckDigest) {
        self.series += 1;
        let restart = match self.config.rto.restart_on_duplicates {
            DuplicateRestart::None => false,
            DuplicateRestart::Below => self.series <= self.dupthresh,
            DuplicateRestart::Each => true,
        };
        if restart && self.flight() > 0 {
            self.rto.restart(io.now);
        }
        let every_second = if self.strategy.recovering() {
            self.config.duplicates.in_recovery == RecoveryDuplicates::EverySecond
        } else {
            self.config.duplicates.blocked == BlockedDuplicates::EverySecond
                && !(self.may_fast_retransmit() && self.counts(ack))
        };
        // A new segment only: one resent on a duplicate makes another duplicate, and says nothing.
        if every_second && self.series.is_multiple_of(2) && self.nxt >= self.max {
            let limit = self.una + self.window_of_peer();
            self.send_next(io, limit);
        }
    }

    /// Whether this duplicate counts: where it must bring evidence of a loss, it does.
    pub(in crate::tcp) fn counts(&self, ack: &AckDigest) -> bool {
        let needs_news = self.config.duplicates.evidence == Evidence::Sack && self.config.uses_sack();
        ack.sack_news || !needs_news
    }

    /// Sends what the window as duplicates inflated it lets out, unless that would be a retransmission and
    /// duplicates may not send any.
    pub(in crate::tcp) fn send_on_duplicate(&mut self, io: &mut Io<'_>, burst: u32) {
        if self.config.duplicates.send == DuplicatesSend::Any || self.nxt >= self.max {
            self.send_window(io, burst);
        }
    }

    /// Duplicates were taken for a loss and there was none.
    pub(super) fn doubt_duplicates(&mut self) {
        if self.config.duplicates.threshold == DuplicateThreshold::Grows {
            self.dupthresh = (self.dupthresh + 1).min(MOST_DUPLICATES.max(self.config.dupthresh));
        }
    }

    /// The peer's window, and by how much it is exceeded where that is the fault.
    pub(super) fn window_of_peer(&self) -> u64 {
        self.peer_window + u64::from(self.config.window_overrun) * u64::from(self.config.mss)
    }

    /// A fault: sends everything outstanding again.
    pub(super) fn resend_outstanding(&mut self, io: &mut Io<'_>) {
        let limit = self.una + self.window_of_peer();
        while self.nxt < self.max && self.send_next(io, limit) {}
    }

    /// More duplicates came than what was sent before the last retransmission can have caused: that was
    /// lost too. Halves again, as for any loss of a second window (RFC 5681 section 4.3), and resends.
    pub(in crate::tcp) fn resend_lost_retransmission(&mut self, io: &mut Io<'_>) {
        let window = &mut self.window;
        window.ssthresh = (window.ssthresh / 2.0).max(2.0 * window.mss);
        window.cwnd = window.ssthresh;
        self.retransmit(io, self.una, Cause::Recovery);
        if self.config.restart_on_fast_retransmit {
            self.rto.restart(io.now);
        }
    }
}

/// Whether any choice here differs from what every sender does, so that the others need not ask.
pub(super) fn are_special(config: &Config) -> bool {
    let DuplicatesConfig { blocked, in_recovery, after_timeout, .. } = config.duplicates;
    blocked == BlockedDuplicates::EverySecond
        || in_recovery == RecoveryDuplicates::EverySecond
        || after_timeout != TimeoutDuplicates::Count
        || config.rto.restart_on_duplicates != DuplicateRestart::None
        || config.heuristic != Heuristic::None
}
