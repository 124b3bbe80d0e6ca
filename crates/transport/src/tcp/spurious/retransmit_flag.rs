//! Spurious detection by a retransmission flag in segments and ACKs.
//!
//! One bit in each direction resolves the retransmission ambiguity as timestamps do. The bit adds no bytes, but
//! the receiver must echo it. An alternative to timestamps, proposed (Ludwig and Katz 2000; RFC 3708 section 4; catalogue
//! EI-26) and never standardised.
//!
//! As with timestamps, the ACK of several segments refers to the first. If ACKs of the original were lost,
//! the next ACK refers to the retransmission, and the timeout counts as genuine.

use super::{Decision, Judging, SenderView, SpuriousDetector, SpuriousVerdict};
use crate::recovery::digest::AckDigest;
use crate::tcp::config::Config;

/// Detector state.
#[derive(Clone, Copy, Debug)]
pub struct RetransmitFlag {
    due: bool,
    fast: bool,
    /// SND.UNA at a fast retransmit, until its first retransmission.
    oldest: Option<u64>,
    judge_fast: bool,
}

impl SpuriousDetector for RetransmitFlag {
    fn new(config: &Config) -> Self {
        RetransmitFlag {
            due: false,
            fast: false,
            oldest: None,
            judge_fast: config.judgement.fast_retransmits,
        }
    }

    fn on_timeout(&mut self, _: &SenderView) -> Judging {
        if self.due && self.fast {
            return Judging::Same;
        }
        (self.due, self.fast) = (true, false);
        Judging::New
    }

    fn on_fast_retransmit(&mut self, view: &SenderView) -> Judging {
        if !self.judge_fast {
            return Judging::Same;
        }
        (self.due, self.fast, self.oldest) = (true, true, Some(view.una));
        Judging::New
    }

    fn on_resent(&mut self, seq: u64, _: u64, _: u64) {
        // The next ACK would refer to an older segment.
        if self.oldest.take().is_some_and(|una| seq > una) {
            self.due = false;
        }
    }

    fn on_ack(&mut self, ack: &AckDigest, _: &SenderView) -> Decision {
        if ack.newly_acked == 0 || !std::mem::take(&mut self.due) {
            return Decision::default();
        }
        if ack.resent_echo { SpuriousVerdict::Genuine } else { SpuriousVerdict::Spurious }.into()
    }
}
