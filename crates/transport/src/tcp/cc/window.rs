//! Congestion window and slow-start threshold, with the slow start of all congestion controls that do not model
//! the path.

use crate::tcp::config::{ByteCounting, Config};

/// Congestion window and slow-start threshold. Values have fractions of a byte: the increase of a large window per ACK
/// is less than one byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, bytes.
    pub cwnd: f64,
    /// Slow-start threshold, bytes; infinite before the first loss unless configured.
    pub ssthresh: f64,
    /// Segment size, bytes.
    pub mss: f64,
    /// Byte counting of ACKs (RFC 3465).
    pub byte_counting: ByteCounting,
    /// A timeout reduced the window, and cwnd has not reached ssthresh since.
    pub after_timeout: bool,
}

impl Window {
    /// The window of a new connection whose peer offers `peer` bytes.
    pub fn new(config: &Config, peer: u64) -> Self {
        let ssthresh = config.windows.initial_ssthresh.bytes(config.mss, peer);
        Window {
            // One segment until the SYN is acknowledged, then the initial window.
            cwnd: f64::from(config.mss),
            ssthresh: if ssthresh == u64::MAX { f64::INFINITY } else { ssthresh as f64 },
            mss: f64::from(config.mss),
            byte_counting: config.byte_counting,
            after_timeout: false,
        }
    }

    /// True while the window grows exponentially.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start: opens the window for `acked` new bytes.
    #[inline]
    pub fn slow_start(&mut self, acked: u64) {
        self.cwnd += match self.byte_counting {
            //= RFC 5681 equation 2: min(N, SMSS), so that ACK division gains nothing
            ByteCounting::None | ByteCounting::AbcL1 => (acked as f64).min(self.mss),
            //= RFC 3465 section 2.3: L is one segment in the slow start that follows a timeout
            ByteCounting::AbcL2 if self.after_timeout => (acked as f64).min(self.mss),
            //= RFC 3465 section 2.2: at most L segments for an acknowledgement
            ByteCounting::AbcL2 => (acked as f64).min(2.0 * self.mss),
            ByteCounting::Unlimited => acked as f64,
        };
        if self.cwnd >= self.ssthresh {
            self.after_timeout = false;
        }
    }

    /// cwnd in whole bytes.
    pub fn bytes(&self) -> u64 {
        self.cwnd as i64 as u64
    }

    /// ssthresh in whole bytes, for traces; `u32::MAX` if it is infinite.
    pub fn ssthresh_bytes(&self) -> u32 {
        if self.ssthresh < f64::from(u32::MAX) { self.ssthresh as u32 } else { u32::MAX }
    }
}
