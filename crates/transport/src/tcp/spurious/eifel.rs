//! Does the first acceptable acknowledgement after a timeout answer the original or the retransmission?
//! Its echoed timestamp tells: RFC 3522; Ludwig and Katz 2000; figure `gprs-eifel/fig3`.
//!
//! Applied to timeouts only; spurious fast retransmits (the RFC covers them too) are not judged here.
//! If the timer expires again, the first retransmission's timestamp stays: every later copy is newer.

use super::Step;
use crate::recovery::digest::AckDigest;
use base::Time;

/// The Eifel detection algorithm.
#[derive(Clone, Copy, Debug, Default)]
pub struct Eifel {
    /// RetransmitTS: when the first retransmission was sent, while a verdict is due.
    retransmit: Option<Time>,
}

impl Eifel {
    //= RFC 3522 section 3.2 step 2: RetransmitTS is set to the timestamp of the retransmit
    pub(super) fn on_timeout(&mut self, now: Time) {
        self.retransmit.get_or_insert(now);
    }

    pub(super) fn on_ack(&mut self, ack: &AckDigest) -> Step {
        //= RFC 3522 section 3.2 step 3: wait for the first acceptable ACK
        if ack.newly_acked == 0 {
            return Step::Undecided;
        }
        let Some(retransmit) = self.retransmit.take() else { return Step::Undecided };
        //= RFC 3522 section 3.2 step 4: its echo is smaller: the original arrived first
        match ack.echo {
            Some(echo) if echo < retransmit => Step::Spurious,
            _ => Step::Genuine,
        }
    }
}
