//! Options of NewReno recovery (RFC 6582): treatment of partial ACKs.

use super::*;

/// Options of NewReno and NewReno-SACK.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NewRenoConfig {
    /// Retransmissions on a partial ACK.
    pub partial_resends: PartialResends,
    /// Whether a partial ACK sends new segments too.
    pub partial_new_data: bool,
    /// Partial window deflation.
    pub partial_deflation: bool,
    /// Partial ACKs that restart the retransmission timer.
    pub partial_timer: PartialTimer,
    /// NewReno-SACK: condition for a retransmission on every partial ACK.
    pub sack_resend: PartialResend,
}

impl Default for NewRenoConfig {
    /// RFC 6582, impatient variant.
    fn default() -> Self {
        NewRenoConfig {
            partial_resends: PartialResends::One,
            partial_new_data: true,
            partial_deflation: true,
            partial_timer: PartialTimer::Impatient,
            sack_resend: PartialResend::Always,
        }
    }
}
