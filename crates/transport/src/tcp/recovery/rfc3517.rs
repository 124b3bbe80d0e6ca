//! SACK recovery of RFC 3517, obsoleted by RFC 6675.
//!
//! RFC 3517 was obsoleted by RFC 6675. Recovery begins at the third duplicate ACK and not before. A segment
//! is lost when three segments' worth of bytes is SACKed above it, a timeout clears the scoreboard, and there
//! is no rescue retransmission. Without SACK, NewReno replaces it.

use super::LossRecovery;
use super::rfc6675::{Conservative, Edition};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Tcb;

/// RFC 3517 state.
#[derive(Clone, Copy, Debug)]
pub struct Rfc3517(Conservative);

impl Default for Rfc3517 {
    fn default() -> Self {
        Rfc3517(Conservative::new(Edition::Rfc3517))
    }
}

impl LossRecovery for Rfc3517 {
    const NEEDS_SACK: bool = true;
    //= RFC 3517 section 5.1: SACK information from before a timeout is discarded, later information is used
    const SKIPS_REPORTED: bool = true;

    fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        self.0.on_ack(tcb, io, ack);
    }

    fn pipe(&self, tcb: &Tcb) -> Option<u64> {
        Some(self.0.pipe(tcb))
    }
}
