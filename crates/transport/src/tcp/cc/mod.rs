//! How much may be outstanding? The congestion window and its threshold, in bytes; who opens and
//! halves them is a file per algorithm.

pub mod reno;

use super::config::{ByteCounting, Config};

/// The congestion window. Fractions of a byte are kept: the additive increase of a large window is
/// less than one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, bytes.
    pub cwnd: f64,
    /// Slow-start threshold, bytes; infinite before the first loss unless configured.
    pub ssthresh: f64,
    /// Segment size, bytes.
    pub mss: f64,
    byte_counting: ByteCounting,
}

impl Window {
    /// The window of a new connection whose peer offers `peer` bytes.
    pub fn new(config: &Config, peer: u64) -> Self {
        let ssthresh = config.initial_ssthresh.bytes(config.mss, peer);
        Window {
            // One segment until the SYN is acknowledged, then the initial window.
            cwnd: f64::from(config.mss),
            ssthresh: if ssthresh == u64::MAX { f64::INFINITY } else { ssthresh as f64 },
            mss: f64::from(config.mss),
            byte_counting: config.byte_counting,
        }
    }

    /// True while the window grows exponentially.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whole bytes.
    pub fn bytes(&self) -> u64 {
        self.cwnd as u64
    }

    /// The threshold in whole bytes, for traces: the greatest number when there is none.
    pub fn ssthresh_bytes(&self) -> u32 {
        if self.ssthresh < f64::from(u32::MAX) { self.ssthresh as u32 } else { u32::MAX }
    }
}
