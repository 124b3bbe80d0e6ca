//! Basic F-RTO without SACK (RFC 5682 section 2).
//!
//! Evaluates only cumulative ACKs (RFC 5682 section 2), even where SACK is in use.

use super::frto::Frto;
use super::{Decision, Judging, SenderView, SpuriousDetector};
use crate::recovery::digest::AckDigest;
use crate::tcp::config::Config;

/// The basic variant.
#[derive(Clone, Copy, Debug)]
pub struct FrtoBasic(Frto);

impl SpuriousDetector for FrtoBasic {
    fn new(_: &Config) -> Self {
        FrtoBasic(Frto::with(false))
    }
    fn on_timeout(&mut self, view: &SenderView) -> Judging {
        self.0.on_timeout(view)
    }
    fn on_fast_retransmit(&mut self, view: &SenderView) -> Judging {
        self.0.on_fast_retransmit(view)
    }
    fn on_resent(&mut self, seq: u64, end: u64, max: u64) {
        self.0.on_resent(seq, end, max);
    }
    fn on_ack(&mut self, ack: &AckDigest, view: &SenderView) -> Decision {
        self.0.on_ack(ack, view)
    }
}
