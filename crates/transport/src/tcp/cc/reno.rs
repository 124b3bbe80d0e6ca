//! How does the window of Reno grow? By a segment an acknowledgement in slow start, by a segment a
//! round trip in congestion avoidance (RFC 5681 section 3.1; Jacobson 1988).

use super::Window;
use crate::tcp::config::ByteCounting;

impl Window {
    /// An acknowledgement of `acked` new bytes opens the window.
    pub fn open(&mut self, acked: u64) {
        if self.in_slow_start() {
            //= RFC 5681 equation 2, RFC 3465 section 2.2
            self.cwnd += match self.byte_counting {
                ByteCounting::None => self.mss,
                ByteCounting::AbcL2 => (acked as f64).min(2.0 * self.mss),
                ByteCounting::Unlimited => acked as f64,
            };
        } else {
            //= RFC 5681 equation 3
            self.cwnd += self.mss * self.mss / self.cwnd;
        }
    }
}
