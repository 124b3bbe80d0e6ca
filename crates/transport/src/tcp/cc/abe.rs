//! Alternative back-off with ECN (RFC 8511).
//!
//! In congestion avoidance a mark reduces the window less than a loss does (experimental).
//!
//! A router that marks keeps its queue short, so that half of the window would leave the link idle. In slow
//! start a mark still reduces as much as a loss: there the window may far exceed the path's capacity.

use super::{Reason, Window};
use crate::tcp::config::{Config, EcnBackoff};

//= RFC 8511 section 3: ssthresh is 0.8 times FlightSize, at least two segments
/// Fraction of the flight that remains after a mark, Reno.
pub const RENO: f64 = 0.8;
//= RFC 8511 section 3.1: CUBIC was found to gain with 0.85, where a loss leaves 0.7
/// Fraction of the flight that remains after a mark, CUBIC.
pub const CUBIC: f64 = 0.85;

/// Whether marks reduce the window less than losses.
#[derive(Clone, Copy, Debug)]
pub struct Abe(bool);

impl Abe {
    /// From option `ecn_backoff`.
    pub fn new(config: &Config) -> Self {
        Abe(config.ecn.backoff == EcnBackoff::Rfc8511)
    }

    /// Whether the smaller reduction applies now.
    pub fn takes_less(self, window: &Window, reason: Reason) -> bool {
        //= RFC 8511 section 4: not where the window is no larger than the threshold
        self.0 && reason == Reason::Mark && window.cwnd > window.ssthresh
    }
}
