//! Duplicate ACK handling beyond recovery: timer restart, limited transmit, adaptive DupThresh.
//!
//! Restart the timer, let out a segment, or nothing at all after a timeout ("Making TCP Robust Against Delay Spikes",
//! sections 4.3, 4.4; catalogue RB-03, RB-06 to RB-11, RB-15).

use super::Tcb;
use super::heuristic::Hint;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::config::{
    BlockedDuplicates, Config, DuplicateRestart, DuplicateThreshold, DuplicatesConfig, DuplicatesSend,
    Evidence, Heuristic, RecoveryDuplicates, TimeoutDuplicates,
};
use base::truth::Cause;

/// However often they were wrong, so many convince (Linux' `tcp_max_reordering`).
const MOST_DUPLICATES: u32 = 300;

/// Duplicate acknowledgements: how many came, how many mean a loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duplicates {
    /// Whether they do more here than recovery makes of them.
    pub(super) special: bool,
    /// Since the last new acknowledgement, if anything asks for them.
    pub(super) series: u32,
    /// DupThresh: so many mean a loss.
    pub(super) threshold: u32,
    pub(super) hint: Hint,
    /// Where `una` was at the last expiration.
    pub(super) expired_at: Option<u64>,
}

impl Duplicates {
    pub(super) fn new(config: &Config) -> Self {
        Duplicates {
            special: are_special(config),
            series: 0,
            threshold: config.dupthresh,
            hint: Hint::default(),
            expired_at: None,
        }
    }
}

impl Tcb {
    /// The facts of an acknowledgement as recovery is to see them: after a timeout a duplicate may count
    /// for nothing.
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
        // An old acknowledgement moves nothing.
        AckDigest { duplicate: false, old: true, ..*ack }
    }

    /// What a duplicate does after recovery has seen it.
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
        // A new segment only: one resent on a duplicate makes another duplicate, and says nothing.
        if every_second && self.duplicates.series.is_multiple_of(2) && self.seq.nxt >= self.seq.max {
            let limit = self.seq.una + self.window_of_peer();
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
        if self.config.duplicates.send == DuplicatesSend::Any || self.seq.nxt >= self.seq.max {
            self.send_window(io, burst);
        }
    }

    /// Duplicates were taken for a loss and there was none.
    pub(super) fn doubt_duplicates(&mut self) {
        if self.config.duplicates.threshold == DuplicateThreshold::Grows {
            self.duplicates.threshold =
                (self.duplicates.threshold + 1).min(MOST_DUPLICATES.max(self.config.dupthresh));
        }
    }

    /// The peer's window, and by how much it is exceeded where that is the fault.
    pub(super) fn window_of_peer(&self) -> u64 {
        self.peer.window + u64::from(self.config.window_overrun) * u64::from(self.config.mss)
    }

    /// A fault: sends everything outstanding again.
    pub(super) fn resend_outstanding(&mut self, io: &mut Io<'_>) {
        let limit = self.seq.una + self.window_of_peer();
        while self.seq.nxt < self.seq.max && self.send_next(io, limit) {}
    }

    /// More duplicates came than what was sent before the last retransmission can have caused: that was
    /// lost too. Halves again, as for any loss of a second window (RFC 5681 section 4.3), and resends.
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

/// Whether any choice here differs from what every sender does, so that the others need not ask.
fn are_special(config: &Config) -> bool {
    let DuplicatesConfig { blocked, in_recovery, after_timeout, .. } = config.duplicates;
    blocked == BlockedDuplicates::EverySecond
        || in_recovery == RecoveryDuplicates::EverySecond
        || after_timeout != TimeoutDuplicates::Count
        || config.rto.restart_on_duplicates != DuplicateRestart::None
        || config.heuristic != Heuristic::None
}
