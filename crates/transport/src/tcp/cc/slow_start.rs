//! Variants of slow start, shared by congestion controls: standard, HyStart, HyStart++.
//!
//! Slow start ends with the first loss or earlier. A congestion control calls [`SlowStarter::on_ack`] while
//! cwnd is below ssthresh.

use super::hystart::HyStart;
use super::hystart_plus::HyStartPlus;
use super::{Acked, Window};
use crate::tcp::config::{Config, SlowStart};

/// Variants of slow start.
#[derive(Clone, Copy, Debug)]
pub enum SlowStarter {
    /// Slow start up to ssthresh or the first loss.
    Standard,
    /// HyStart: ends when the RTT grows, or with a long ACK train.
    HyStart(HyStart),
    /// HyStart++: grows more slowly when the RTT grows, then ends.
    HyStartPlus(HyStartPlus),
}

impl SlowStarter {
    /// The variant that the configuration names.
    pub fn new(config: &Config) -> Self {
        match config.slow_start {
            SlowStart::Standard => SlowStarter::Standard,
            SlowStart::HyStart => SlowStarter::HyStart(HyStart::default()),
            SlowStart::HyStartPlus => SlowStarter::HyStartPlus(HyStartPlus::default()),
        }
    }

    /// Processes an RTT sample that does not open the window; returns whether slow start should end.
    pub fn tells(&mut self, window: &Window, ack: &Acked) -> bool {
        match self {
            SlowStarter::HyStart(hystart) => hystart.tells(window, ack),
            SlowStarter::Standard | SlowStarter::HyStartPlus(_) => false,
        }
    }

    /// Processes an ACK in slow start.
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Acked) {
        match self {
            SlowStarter::Standard => window.slow_start(ack.bytes),
            SlowStarter::HyStart(hystart) => hystart.on_ack(window, ack),
            SlowStarter::HyStartPlus(hystart) => hystart.on_ack(window, ack),
        }
    }
}
