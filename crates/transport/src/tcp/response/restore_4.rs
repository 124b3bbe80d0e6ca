//! Response option 4: old window in congestion avoidance ("Responding" section III.B; catalogue EI-10).
//!
//! Sets ssthresh and cwnd to the old window, so that congestion avoidance continues.
//!
//! A variant also restores ssthresh as long as no loss was detected on the connection
//! (`restore-4.threshold-before-loss`, catalogue EI-11): a connection in its first slow start stays there.

use super::{ResponseContext, SpuriousResponse};
use crate::tcp::config::Config;

/// Response option 4.
#[derive(Clone, Copy, Debug)]
pub struct Restore4 {
    before_loss: bool,
}

impl SpuriousResponse for Restore4 {
    fn new(config: &Config, _: u64) -> Self {
        Restore4 { before_loss: config.restoration.threshold_before_loss }
    }
    fn on_spurious(&mut self, ResponseContext { episode, window, .. }: ResponseContext<'_>) -> bool {
        let saved = &episode.saved;
        let whole = self.before_loss && saved.lossless;
        (window.ssthresh, window.cwnd) = (if whole { saved.ssthresh } else { saved.cwnd }, saved.cwnd);
        false
    }
}
