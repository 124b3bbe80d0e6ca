//! Slow start exit shared by congestion controls.
//!
//! At the first loss, or earlier: a part that controls share. Whoever starts slowly calls [`SlowStarter::on_ack`]
//! while the window is below its threshold.

use super::hystart::HyStart;
use super::hystart_plus::HyStartPlus;
use super::{Acked, Window};
use crate::tcp::config::{Config, SlowStart};

/// The ways there are.
#[derive(Clone, Copy, Debug)]
pub enum SlowStarter {
    /// With a loss.
    Standard,
    /// When round trips grow.
    HyStart(HyStart),
    /// The same, and carefully.
    HyStartPlus(HyStartPlus),
}

impl SlowStarter {
    /// The one that the configuration names.
    pub fn new(config: &Config) -> Self {
        match config.slow_start {
            SlowStart::Standard => SlowStarter::Standard,
            SlowStart::HyStart => SlowStarter::HyStart(HyStart::default()),
            SlowStart::HyStartPlus => SlowStarter::HyStartPlus(HyStartPlus::default()),
        }
    }

    /// Whether the window is large enough, as far as a round trip tells that does not open it.
    pub fn tells(&mut self, window: &Window, ack: &Acked) -> bool {
        match self {
            SlowStarter::HyStart(hystart) => hystart.tells(window, ack),
            SlowStarter::Standard | SlowStarter::HyStartPlus(_) => false,
        }
    }

    /// An acknowledgement in slow start.
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Acked) {
        match self {
            SlowStarter::Standard => window.slow_start(ack.bytes),
            SlowStarter::HyStart(hystart) => hystart.on_ack(window, ack),
            SlowStarter::HyStartPlus(hystart) => hystart.on_ack(window, ack),
        }
    }
}
