//! Undo of a window reduction as in Linux.
//!
//! Restores cwnd and ssthresh to their saved values unless they have grown beyond them; the revealing ACK
//! opens the window like any other.

use super::{ResponseContext, SpuriousResponse};
use crate::tcp::config::Config;

/// Undo of Linux.
#[derive(Clone, Copy, Debug)]
pub struct Undo;

impl SpuriousResponse for Undo {
    fn new(_: &Config, _: u64) -> Self {
        Undo
    }
    fn on_spurious(&mut self, ResponseContext { episode, window, .. }: ResponseContext<'_>) -> bool {
        window.cwnd = window.cwnd.max(episode.saved.cwnd);
        window.ssthresh = window.ssthresh.max(episode.saved.ssthresh);
        false
    }
}
