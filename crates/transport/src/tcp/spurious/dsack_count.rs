//! Detection of spurious retransmissions by counting DSACKs per copy, as in Linux, for windows without a verdict in
//! RFC 3708.
//!
//! Differs from [`super::dsack`] in that it requires as many DSACK reports as copies sent. RFC 3708 gives no verdict for
//! a window with a segment retransmitted more than once, or with all ACKs lost. Counting covers these cases;
//! Linux does so, since its probe and timeout retransmit the same segment.

use super::dsack::Dsack;
use super::{Decision, Judging, SenderView, SpuriousDetector};
use crate::recovery::digest::AckDigest;
use crate::tcp::config::Config;

/// Counting DSACK detector.
#[derive(Clone, Debug)]
pub struct DsackCount(Dsack);

impl SpuriousDetector for DsackCount {
    fn new(config: &Config) -> Self {
        DsackCount(Dsack::counting(config))
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
