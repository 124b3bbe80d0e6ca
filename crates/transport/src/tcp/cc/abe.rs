//! Alternative back-off with ECN (RFC 8511).
//!
//! Less than a loss, in congestion avoidance: alternative back-off, RFC 8511 (experimental).
//!
//! A router that marks manages its queue and keeps it short, so that half of the window would leave the link
//! idle. In slow start a mark still takes what a loss takes: there the window may be far beyond the path.

use super::{Reason, Window};
use crate::tcp::config::{Config, EcnBackoff};

//= RFC 8511 section 3: ssthresh is 0.8 times FlightSize, at least two segments
/// What a mark leaves of the flight of Reno.
pub const RENO: f64 = 0.8;
//= RFC 8511 section 3.1: CUBIC was found to gain with 0.85, where a loss leaves 0.7
/// What a mark leaves of the flight of CUBIC.
pub const CUBIC: f64 = 0.85;

/// Whether marks are taken for less than losses.
#[derive(Clone, Copy, Debug)]
pub struct Abe(bool);

impl Abe {
    /// As the configuration says.
    pub fn new(config: &Config) -> Self {
        Abe(config.ecn_backoff == EcnBackoff::Rfc8511)
    }

    /// Whether a reduction for this reason takes less now.
    pub fn takes_less(self, window: &Window, reason: Reason) -> bool {
        //= RFC 8511 section 4: not where the window is no larger than the threshold
        self.0 && reason == Reason::Mark && window.cwnd > window.ssthresh
    }
}
