//! Eifel detection by timestamps (RFC 3522; Ludwig and Katz 2000).
//!
//! The timestamp echoed by the first acceptable ACK after a retransmission identifies the original or the
//! copy; figure `gprs-eifel/fig3`.
//!
//! The RFC returns the number of duplicate ACKs of a spurious fast retransmit (SpuriousRecovery = dupacks +
//! 1), but specifies no larger threshold, so none is applied. Its step 5 judges a timeout genuine if all ACKs
//! seem to be lost, although the retransmission was unneeded: the reverse path is congested. The original
//! algorithm had no such step; `judge-lost-acks` omits it (catalogue EI-02).

use super::{Decision, Judging, SenderView, SpuriousDetector, SpuriousVerdict};
use crate::recovery::digest::AckDigest;
use crate::tcp::config::Config;
use base::Time;

/// Eifel detection state.
#[derive(Clone, Copy, Debug)]
pub struct Eifel {
    /// RetransmitTS: time of the first retransmission, until a verdict is given.
    retransmit: Option<Time>,
    /// The episode began with a fast retransmit.
    fast: bool,
    /// SND.UNA at a fast retransmit, until its first retransmission.
    oldest: Option<u64>,
    /// The case was closed without a verdict.
    given_up: bool,
    /// The receiver has sent a DSACK on this connection.
    dsack_seen: bool,
    judge_fast: bool,
    judge_lost_acks: bool,
}

impl SpuriousDetector for Eifel {
    fn new(config: &Config) -> Self {
        Eifel {
            retransmit: None,
            fast: false,
            oldest: None,
            given_up: false,
            dsack_seen: false,
            judge_fast: config.judgement.fast_retransmits,
            judge_lost_acks: config.judgement.lost_acks,
        }
    }

    //= RFC 3522 section 3.2 step 2: RetransmitTS is set to the timestamp of the retransmit
    fn on_timeout(&mut self, view: &SenderView) -> Judging {
        //= RFC 3522 section 3.2 step 2: not overwritten by a second timeout for the same octet
        self.begin(view.now, false)
    }

    fn on_fast_retransmit(&mut self, view: &SenderView) -> Judging {
        if !self.judge_fast {
            return Judging::Same;
        }
        self.oldest = Some(view.una);
        self.begin(view.now, true)
    }

    fn on_resent(&mut self, seq: u64, _: u64, _: u64) {
        //= RFC 3522 section 3.2: not upon retransmitting segments other than the oldest outstanding one
        if self.oldest.take().is_some_and(|una| seq > una) {
            self.given_up = self.retransmit.take().is_some();
        }
    }

    #[inline]
    fn rests_on(&self, ack: &AckDigest) -> bool {
        self.retransmit.is_none() && !self.given_up && !ack.dsack
    }

    fn on_ack(&mut self, ack: &AckDigest, view: &SenderView) -> Decision {
        let dsack_seen = self.dsack_seen;
        self.dsack_seen |= ack.dsack;
        if std::mem::take(&mut self.given_up) {
            return SpuriousVerdict::GivenUp.into();
        }
        //= RFC 3522 section 3.2 step 3: wait for the first acceptable ACK
        if ack.newly_acked == 0 {
            return Decision::default();
        }
        let Some(retransmit) = self.retransmit.take() else { return Decision::default() };
        //= RFC 3522 section 3.2 step 4: the echo is smaller: the original arrived first
        let original = ack.echo.is_some_and(|echo| echo < retransmit);
        //= RFC 3522 section 3.2 step 5: but not if all ACKs seem to have been lost
        let acks_lost = ack.dsack || (!dsack_seen && ack.ack >= view.max);
        if original && (self.judge_lost_acks || !acks_lost) {
            SpuriousVerdict::Spurious
        } else {
            SpuriousVerdict::Genuine
        }
        .into()
    }
}

impl Eifel {
    /// Without step 5, regardless of the configuration.
    pub(super) fn original(config: &Config) -> Self {
        Eifel { judge_lost_acks: true, judge_fast: true, ..Eifel::new(config) }
    }

    fn begin(&mut self, now: Time, fast: bool) -> Judging {
        //= RFC 3522 section 3.2: not reinitiated after loss recovery has already started
        let same = self.retransmit.is_some() && self.fast && !fast;
        if self.retransmit.is_none() {
            (self.retransmit, self.fast) = (Some(now), fast);
        }
        if same { Judging::Same } else { Judging::New }
    }
}
