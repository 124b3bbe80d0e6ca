//! Response option 3: halved ssthresh and slow start from one segment ("Responding" section III.B; catalogue EI-09).
//!
//! The threshold is half of the old window, at least two segments (RFC 5681), and slow start begins with one segment
//! ("Responding" section III.B, option 3; catalogue EI-09).

use super::{Respond, Scene};
use crate::tcp::config::Config;

/// Option 3.
#[derive(Clone, Copy, Debug)]
pub struct Restore3;

impl Respond for Restore3 {
    fn new(_: &Config, _: u64) -> Self {
        Restore3
    }
    fn on_spurious(&mut self, Scene { episode, window, .. }: Scene<'_>) -> bool {
        window.ssthresh = (episode.saved.cwnd / 2.0).max(2.0 * window.mss);
        window.cwnd = window.mss;
        false
    }
}
