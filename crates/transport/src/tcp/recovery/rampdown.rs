//! Rampdown and overdamping of FACK.
//!
//! At once, or over a round trip: on top of the window lies a part of what was outstanding, and every report takes
//! its share of that away, so that for two segments that arrive one is sent (Mathis and Mahdavi 1996, "rampdown"). A
//! loss in slow start means that the window has doubled since the lost segment was sent, so it is halved twice
//! ("overdamping").

use crate::tcp::config::Halving;
use crate::tcp::sender::Tcb;

/// What still lies on top of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rampdown {
    bytes: f64,
    share: f64,
    again: bool,
}

impl Rampdown {
    /// Recovery begins while `outstanding` bytes lie above the highest report. The window is not yet reduced.
    pub(super) fn begin(tcb: &mut Tcb, outstanding: u64) -> Self {
        let config = tcb.config();
        let (rampdown, overdamping) = (config.fack_rampdown, config.fack_overdamping);
        let of_window = config.halving == Halving::Window;
        let window = &mut tcb.window;
        let damped = overdamping && window.cwnd <= window.ssthresh + 0.5 * window.mss;
        if damped && of_window {
            window.cwnd /= 2.0; // and is halved once more with the rest
        }
        let share = if damped { 0.75 } else { 0.5 };
        let bytes = if rampdown { outstanding as f64 * share } else { 0.0 };
        Rampdown { bytes, share, again: damped && !of_window }
    }

    /// The window was halved; where that was half of the flight, overdamping halves it once more.
    pub(super) fn damp(&self, tcb: &mut Tcb) {
        if self.again {
            tcb.halve_again();
        }
    }

    /// The highest report has moved on by so many bytes.
    pub(super) fn advanced(&mut self, by: u64) {
        self.bytes = (self.bytes - by as f64 * self.share).max(0.0);
    }

    /// Bytes on top of the window.
    pub(super) fn bytes(&self) -> f64 {
        self.bytes
    }
}
