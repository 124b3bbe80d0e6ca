//! Response option 2: half of the old window ("Responding" section III.B; catalogue EI-08).
//!
//! Sets ssthresh and cwnd to half of the old window, at least two segments (RFC 5681).

use super::{ResponseContext, SpuriousResponse};
use crate::tcp::config::Config;

/// Response option 2.
#[derive(Clone, Copy, Debug)]
pub struct Restore2;

impl SpuriousResponse for Restore2 {
    fn new(_: &Config, _: u64) -> Self {
        Restore2
    }
    fn on_spurious(&mut self, ResponseContext { episode, window, .. }: ResponseContext<'_>) -> bool {
        let half = (episode.saved.cwnd / 2.0).max(2.0 * window.mss);
        (window.ssthresh, window.cwnd) = (half, half);
        false
    }
}
