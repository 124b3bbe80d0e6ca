//! No response: cwnd and ssthresh stay as the timeout left them.
//!
//! The verdict is traced and transmission continues with the next unsent segment.

use super::{ResponseContext, SpuriousResponse};
use crate::tcp::config::Config;

/// No response.
#[derive(Clone, Copy, Debug)]
pub struct None;

impl SpuriousResponse for None {
    fn new(_: &Config, _: u64) -> Self {
        None
    }
    fn on_spurious(&mut self, _: ResponseContext<'_>) -> bool {
        false
    }
}
