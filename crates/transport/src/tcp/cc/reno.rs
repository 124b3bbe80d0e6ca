//! How does the window of Reno grow? By a segment an acknowledgement in slow start, by a segment a
//! round trip in congestion avoidance (RFC 5681 section 3.1; Jacobson 1988); a loss halves it.

use super::abe::{self, Abe};
use super::slow_start::SlowStarter;
use super::{Acked, Control, Reduction, Window};
use crate::tcp::config::{ByteCounting, Config};

/// Reno between acknowledgements.
#[derive(Clone, Copy, Debug)]
pub struct Reno {
    /// Bytes acknowledged towards the next segment of the window, if bytes are counted (RFC 3465).
    counted: f64,
    abe: Abe,
    slow_start: SlowStarter,
}

impl Control for Reno {
    fn new(config: &Config) -> Self {
        Reno { counted: 0.0, abe: Abe::new(config), slow_start: SlowStarter::new(config) }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Acked) {
        if window.in_slow_start() {
            self.slow_start.on_ack(window, ack);
            return;
        }
        match window.byte_counting {
            //= RFC 5681 equation 3
            ByteCounting::None | ByteCounting::Unlimited => {
                window.cwnd += window.mss * window.mss / window.cwnd;
            }
            //= RFC 3465 section 2.1: a segment more for every window's worth of bytes acknowledged
            ByteCounting::AbcL1 | ByteCounting::AbcL2 => {
                self.counted += ack.bytes as f64;
                if self.counted >= window.cwnd {
                    self.counted -= window.cwnd;
                    window.cwnd += window.mss;
                }
            }
        }
    }

    fn on_reduction(&mut self, window: &Window, reduction: &Reduction) -> f64 {
        //= RFC 3465 section 2.1: bytes are counted anew when the window is reduced
        self.counted = 0.0;
        if self.abe.takes_less(window, reduction.reason) {
            return reduction.outstanding * abe::RENO;
        }
        //= RFC 5681 equation 4
        reduction.half
    }
}
