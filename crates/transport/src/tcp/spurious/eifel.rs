//! Eifel detection by timestamps (RFC 3522; Ludwig and Katz 2000).
//!
//! The echoed timestamp of the first acceptable ACK after a retransmission tells whether it answers the original;
//! figure `gprs-eifel/fig3`.
//!
//! The RFC counts the duplicates of a spurious fast retransmit (SpuriousRecovery = dupacks + 1) but says
//! nothing of a larger threshold, so there is none. Its step 5 takes a timeout for genuine if all
//! acknowledgements seem to be lost, although the retransmission was unneeded: the way back is
//! congested. The original algorithm had no such step; `judge-lost-acks` goes without it (catalogue EI-02).

use super::{Case, Sight, Step, Watch, Word};
use crate::recovery::digest::AckDigest;
use crate::tcp::config::Config;
use base::Time;

/// The Eifel detection algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Eifel {
    /// RetransmitTS: when the first retransmission was sent, while a verdict is due.
    retransmit: Option<Time>,
    /// A fast retransmit began what is being judged.
    fast: bool,
    /// The oldest byte outstanding, until what a fast retransmit resends is known.
    oldest: Option<u64>,
    /// There will be no verdict.
    given_up: bool,
    /// The receiver has reported a duplicate on this connection.
    dsack_seen: bool,
    judge_fast: bool,
    judge_lost_acks: bool,
}

impl Watch for Eifel {
    fn new(config: &Config) -> Self {
        Eifel {
            retransmit: None,
            fast: false,
            oldest: None,
            given_up: false,
            dsack_seen: false,
            judge_fast: config.judge_fast_retransmits,
            judge_lost_acks: config.judge_lost_acks,
        }
    }

    //= RFC 3522 section 3.2 step 2: RetransmitTS is set to the timestamp of the retransmit
    fn on_timeout(&mut self, sight: &Sight) -> Case {
        //= RFC 3522 section 3.2 step 2: not overwritten by a second timeout for the same octet
        self.begin(sight.now, false)
    }

    fn on_fast_retransmit(&mut self, sight: &Sight) -> Case {
        if !self.judge_fast {
            return Case::Same;
        }
        self.oldest = Some(sight.una);
        self.begin(sight.now, true)
    }

    fn on_resent(&mut self, seq: u64, _: u64, _: u64) {
        //= RFC 3522 section 3.2: not upon retransmitting segments other than the oldest outstanding one
        if self.oldest.take().is_some_and(|una| seq > una) {
            self.given_up = self.retransmit.take().is_some();
        }
    }

    fn on_ack(&mut self, ack: &AckDigest, sight: &Sight) -> Step {
        let dsack_seen = self.dsack_seen;
        self.dsack_seen |= ack.dsack;
        if std::mem::take(&mut self.given_up) {
            return Word::GivenUp.into();
        }
        //= RFC 3522 section 3.2 step 3: wait for the first acceptable ACK
        if ack.newly_acked == 0 {
            return Step::default();
        }
        let Some(retransmit) = self.retransmit.take() else { return Step::default() };
        //= RFC 3522 section 3.2 step 4: its echo is smaller: the original arrived first
        let original = ack.echo.is_some_and(|echo| echo < retransmit);
        //= RFC 3522 section 3.2 step 5: but not if it looks as if all acknowledgements had been lost
        let acks_lost = ack.dsack || (!dsack_seen && ack.ack >= sight.max);
        if original && (self.judge_lost_acks || !acks_lost) { Word::Spurious } else { Word::Genuine }.into()
    }
}

impl Eifel {
    /// Without step 5, whatever the configuration says.
    pub(super) fn original(config: &Config) -> Self {
        Eifel { judge_lost_acks: true, judge_fast: true, ..Eifel::new(config) }
    }

    fn begin(&mut self, now: Time, fast: bool) -> Case {
        //= RFC 3522 section 3.2: not reinitiated after loss recovery has already started
        let same = self.retransmit.is_some() && self.fast && !fast;
        if self.retransmit.is_none() {
            (self.retransmit, self.fast) = (Some(now), fast);
        }
        if same { Case::Same } else { Case::New }
    }
}
