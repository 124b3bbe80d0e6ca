//! Options of explicit congestion notification (ECN, RFC 3168).

use super::*;

/// Options of ECN.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EcnConfig {
    /// Explicit congestion notification (RFC 3168).
    pub offer: bool,
    /// Retransmits an unanswered SYN without the ECN offer.
    pub fallback: bool,
    /// Window reduction at an ECN mark.
    pub backoff: EcnBackoff,
    /// At a window of one segment, a mark stops sending until the retransmission timer expires.
    pub hold: bool,
}

impl Default for EcnConfig {
    /// No ECN; where a scenario turns it on, RFC 3168.
    fn default() -> Self {
        EcnConfig { offer: false, fallback: false, backoff: EcnBackoff::Rfc3168, hold: true }
    }
}
