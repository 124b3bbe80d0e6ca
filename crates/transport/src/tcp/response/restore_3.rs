//! Response option 3: halved ssthresh and slow start from one segment ("Responding" section III.B; catalogue EI-09).
//!
//! Sets ssthresh to half of the old window, at least two segments (RFC 5681), and cwnd to one segment.

use super::{ResponseContext, SpuriousResponse};
use crate::tcp::config::Config;

/// Response option 3.
#[derive(Clone, Copy, Debug)]
pub struct Restore3;

impl SpuriousResponse for Restore3 {
    fn new(_: &Config, _: u64) -> Self {
        Restore3
    }
    fn on_spurious(&mut self, ResponseContext { episode, window, .. }: ResponseContext<'_>) -> bool {
        window.ssthresh = (episode.saved.cwnd / 2.0).max(2.0 * window.mss);
        window.cwnd = window.mss;
        false
    }
}
