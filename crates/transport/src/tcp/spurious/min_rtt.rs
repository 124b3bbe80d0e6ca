//! Spurious detection by minimum RTT (Allman and Paxson).
//!
//! An ACK that arrives sooner after the retransmission than the minimum RTT must acknowledge the original
//! (Allman and Paxson 1999; "Responding" section II.C; catalogue EI-21).
//!
//! Time runs from the last retransmission. Duplicate ACKs are ignored, since later segments cause them. If
//! the minimum RTT measured exceeds that of the path (it includes queueing delay), the verdict can be wrong.

use super::{Decision, Judging, SenderView, SpuriousDetector, SpuriousVerdict};
use crate::recovery::digest::AckDigest;
use crate::tcp::config::Config;
use base::{Span, Time};

/// Minimum RTT, and the time of the oldest segment's retransmission.
#[derive(Clone, Copy, Debug)]
pub struct MinRtt {
    least: Option<Span>,
    resent: Option<Time>,
}

impl SpuriousDetector for MinRtt {
    fn new(_: &Config) -> Self {
        MinRtt { least: None, resent: None }
    }

    fn on_timeout(&mut self, view: &SenderView) -> Judging {
        self.resent = Some(view.now);
        Judging::New
    }

    fn on_ack(&mut self, ack: &AckDigest, _: &SenderView) -> Decision {
        if ack.newly_acked == 0 {
            return Decision::default();
        }
        let least = self.least; // before this ACK
        if let Some(sample) = ack.sample {
            self.least = Some(least.map_or(sample, |l| l.min(sample)));
        }
        let Some(resent) = self.resent.take() else { return Decision::default() };
        match least {
            None => SpuriousVerdict::GivenUp,
            Some(least) if ack.now.since(resent) < least => SpuriousVerdict::Spurious,
            Some(_) => SpuriousVerdict::Genuine,
        }
        .into()
    }

    fn min_rtt(&self) -> Option<Span> {
        self.least
    }

    fn set_min_rtt(&mut self, least: Span) {
        self.least = Some(least);
    }
}
