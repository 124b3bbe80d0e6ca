//! Reno congestion control (RFC 5681 section 3.1; Jacobson 1988).
//!
//! The window grows by one segment per ACK in slow start and by one segment per RTT in congestion avoidance;
//! a loss halves it.

use super::abe::{self, Abe};
use super::slow_start::SlowStarter;
use super::{Acked, CongestionAlgorithm, Reduction, Window};
use crate::tcp::config::{ByteCounting, Config, RenoCount};

/// Reno state.
#[derive(Clone, Copy, Debug)]
pub struct Reno {
    /// Bytes acknowledged towards the next segment of the window, with byte counting (RFC 3465).
    counted: f64,
    /// The window grows in whole segments.
    whole: bool,
    abe: Abe,
    slow_start: SlowStarter,
}

impl Reno {
    /// Adds acknowledged bytes; each full window of them adds one segment.
    fn count(&mut self, window: &mut Window, bytes: f64) {
        // Credit counted towards a larger window is kept, but used for one segment only.
        if self.counted >= window.cwnd {
            self.counted = 0.0;
            window.cwnd += window.mss;
        }
        self.counted += bytes;
        if self.counted >= window.cwnd {
            let windows = (self.counted / window.cwnd).floor();
            self.counted -= windows * window.cwnd;
            window.cwnd += windows * window.mss;
        }
    }
}

impl CongestionAlgorithm for Reno {
    fn new(config: &Config) -> Self {
        let whole = config.reno_count == RenoCount::Segments;
        Reno { counted: 0.0, whole, abe: Abe::new(config), slow_start: SlowStarter::new(config) }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Acked) {
        if window.in_slow_start() {
            self.slow_start.on_ack(window, ack);
            if self.whole && !window.in_slow_start() {
                // Bytes above ssthresh count towards the next segment.
                let beyond = window.cwnd - window.ssthresh;
                window.cwnd = window.ssthresh;
                self.count(window, beyond);
            }
            return;
        }
        if self.whole {
            return self.count(window, ack.bytes as f64);
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

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Span, Time};

    /// Ten segments acknowledged make eleven of ten; with fractions it takes a little more.
    #[test]
    fn whole_segments_are_counted() {
        let grown = |word: &str| {
            let mut config = Config { mss: 1000, ..Config::default() };
            config.set("reno.count", word).unwrap();
            let (mut reno, mut window) = (Reno::new(&config), Window::new(&config, 1 << 20));
            (window.cwnd, window.ssthresh) = (10_000.0, 10_000.0);
            let ack = Acked { now: Time::ZERO, bytes: 1000, ack: 0, sent: 0, sample: None, srtt: Span::ZERO };
            (0..10).for_each(|_| reno.on_ack(&mut window, &ack));
            window.cwnd
        };
        assert_eq!(grown("segments"), 11_000.0);
        assert!((10_900.0..11_000.0).contains(&grown("fractions")));
    }
}
