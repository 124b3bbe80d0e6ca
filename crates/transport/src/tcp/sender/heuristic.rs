//! Heuristics against spurious fast retransmits below the recovery point (`bug-fix`).
//!
//! After a timeout, or a recovery, they are mostly answers to what was resent without need, and cause no fast
//! retransmit (`bug-fix`). Two heuristics tell the others by the last acknowledgement that moved on (RFC 6582 section
//! 4).

use super::Tcb;
use crate::recovery::digest::AckDigest;
use crate::tcp::config::Heuristic;

/// The most that the last acknowledgement may have covered, in segments (section 4.1).
const FEW_SEGMENTS: u64 = 4;

/// What the last acknowledgement of new data said.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hint {
    /// Duplicates that follow it mean a loss.
    loss: bool,
}

impl Tcb {
    /// Takes in an acknowledgement of new data.
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

    /// Whether duplicates mean a loss although they come below the recovery point.
    pub(super) fn hints_at_loss(&self) -> bool {
        //= RFC 6582 section 4.1: and the congestion window is greater than SMSS
        self.duplicates.hint.loss
            && (self.config.heuristic != Heuristic::Ack || self.window.cwnd > self.window.mss)
    }
}
