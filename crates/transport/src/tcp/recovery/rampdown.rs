//! Rampdown and overdamping of FACK.
//!
//! The window comes down at once, or over one RTT ("rampdown", Mathis and Mahdavi 1996): part of the
//! outstanding data is added to the window and reduced with every SACK, so that one segment is sent for two
//! that arrive. After a loss in slow start the window has doubled since the lost segment was sent, so it is
//! halved twice ("overdamping").

use crate::tcp::config::Halving;
use crate::tcp::sender::Tcb;

/// Remaining addition to the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rampdown {
    bytes: f64,
    share: f64,
    again: bool,
}

impl Rampdown {
    /// Starts a recovery with `outstanding` bytes above the highest SACKed byte. The window is not yet
    /// reduced.
    pub(super) fn begin(tcb: &mut Tcb, outstanding: u64) -> Self {
        let config = tcb.config();
        let (rampdown, overdamping) = (config.fack.rampdown, config.fack.overdamping);
        let of_window = config.halving == Halving::Window;
        let window = &mut tcb.window;
        let damped = overdamping && window.cwnd <= window.ssthresh + 0.5 * window.mss;
        if damped && of_window {
            window.cwnd /= 2.0; // the regular halving follows
        }
        let share = if damped { 0.75 } else { 0.5 };
        let bytes = if rampdown { outstanding as f64 * share } else { 0.0 };
        Rampdown { bytes, share, again: damped && !of_window }
    }

    /// Overdamping where the window was reduced to half of the flight: halves it once more.
    pub(super) fn damp(&self, tcb: &mut Tcb) {
        if self.again {
            tcb.halve_again();
        }
    }

    /// The highest SACKed byte advanced by `by` bytes.
    pub(super) fn advanced(&mut self, by: u64) {
        self.bytes = (self.bytes - by as f64 * self.share).max(0.0);
    }

    /// Addition to the window, bytes.
    pub(super) fn bytes(&self) -> f64 {
        self.bytes
    }
}
