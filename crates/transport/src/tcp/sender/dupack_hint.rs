//! Heuristics against spurious fast retransmits below the recovery point (`bug-fix`).
//!
//! Duplicate ACKs below the recovery point, after a timeout or a recovery, are mostly caused by needless
//! retransmissions and trigger no fast retransmit. Two heuristics find the exceptions from the last ACK of
//! new data (RFC 6582 section 4).

use super::Tcb;
use crate::recovery::digest::AckDigest;
use crate::tcp::config::Heuristic;

/// Largest amount that the last ACK may have newly acknowledged, in segments (section 4.1).
const FEW_SEGMENTS: u64 = 4;

/// Result of the heuristic for the last ACK of new data.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DupackHint {
    /// Duplicate ACKs that follow indicate a loss.
    loss: bool,
}

impl Tcb {
    /// Applies the heuristic to an ACK of new data.
    pub(super) fn note_hint(&mut self, ack: &AckDigest) {
        self.duplicates.hint.loss = match self.config.heuristic {
            Heuristic::None => false,
            //= RFC 6582 section 4.1: the difference of highest_ack and prev_highest_ack is at most 4*SMSS
            Heuristic::Ack => ack.newly_acked <= FEW_SEGMENTS * u64::from(self.config.mss),
            //= RFC 6582 section 4.2: the echoed timestamp equals that of the last acknowledged segment
            Heuristic::Timestamp => {
                let last = self.sent.as_ref().and_then(|sent| sent.fresh().iter().max_by_key(|r| r.end));
                last.is_some_and(|record| ack.echo == Some(record.sent))
            }
        };
    }

    /// Whether duplicate ACKs indicate a loss although they are below the recovery point.
    pub(super) fn hints_at_loss(&self) -> bool {
        //= RFC 6582 section 4.1: and the congestion window is greater than SMSS
        self.duplicates.hint.loss
            && (self.config.heuristic != Heuristic::Ack || self.window.cwnd > self.window.mss)
    }
}
