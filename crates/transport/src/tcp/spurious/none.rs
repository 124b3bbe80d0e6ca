//! No detection: every timeout counts as a loss.

use super::{Decision, Judging, SenderView, SpuriousDetector};
use crate::recovery::digest::AckDigest;
use crate::tcp::config::Config;

/// No detector.
#[derive(Clone, Copy, Debug)]
pub struct None;

impl SpuriousDetector for None {
    fn new(_: &Config) -> Self {
        None
    }
    fn on_timeout(&mut self, _: &SenderView) -> Judging {
        Judging::None
    }
    fn on_ack(&mut self, _: &AckDigest, _: &SenderView) -> Decision {
        Decision::default()
    }
}
