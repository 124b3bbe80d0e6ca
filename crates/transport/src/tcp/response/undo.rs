//! Undo of a window reduction as in Linux.
//!
//! The window and the threshold become what they were, unless they have grown beyond it since; the acknowledgement
//! that reveals it opens the window as any other.

use super::{Respond, Scene};
use crate::tcp::config::Config;

/// Linux' undo.
#[derive(Clone, Copy, Debug)]
pub struct Undo;

impl Respond for Undo {
    fn new(_: &Config, _: u64) -> Self {
        Undo
    }
    fn on_spurious(&mut self, Scene { episode, window, .. }: Scene<'_>) -> bool {
        window.cwnd = window.cwnd.max(episode.saved.cwnd);
        window.ssthresh = window.ssthresh.max(episode.saved.ssthresh);
        false
    }
}
