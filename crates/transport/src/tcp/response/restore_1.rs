//! Response option 1: full restoration of cwnd and ssthresh ("Responding" section III.B; catalogue EI-07).
//!
//! Sets ssthresh and cwnd to their values before the timeout.

use super::{ResponseContext, SpuriousResponse};
use crate::tcp::config::Config;

/// Response option 1.
#[derive(Clone, Copy, Debug)]
pub struct Restore1;

impl SpuriousResponse for Restore1 {
    fn new(_: &Config, _: u64) -> Self {
        Restore1
    }
    fn on_spurious(&mut self, ResponseContext { episode, window, .. }: ResponseContext<'_>) -> bool {
        (window.ssthresh, window.cwnd) = (episode.saved.ssthresh, episode.saved.cwnd);
        false
    }
}
