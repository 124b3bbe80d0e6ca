//! SACK recovery of RFC 3517, obsoleted by RFC 6675.
//!
//! RFC 3517, which RFC 6675 replaced: it begins at the third duplicate acknowledgement and not before, takes a
//! segment for lost when three segments' worth of bytes is reported above it, forgets at a timeout what was reported,
//! and never rescues the end of a flight. Without SACK NewReno takes its place.

use super::Rules;
use super::rfc6675::{Conservative, Edition};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Tcb;

/// RFC 3517 between acknowledgements.
#[derive(Clone, Copy, Debug)]
pub struct Rfc3517(Conservative);

impl Default for Rfc3517 {
    fn default() -> Self {
        Rfc3517(Conservative::new(Edition::Rfc3517))
    }
}

impl Rules for Rfc3517 {
    const NEEDS_SACK: bool = true;
    //= RFC 3517 section 5.1: what was reported before a timeout is expunged, what comes after is used
    const SKIPS_REPORTED: bool = true;

    fn on_ack(&mut self, tcb: &mut Tcb, io: &mut Io<'_>, ack: &AckDigest) {
        self.0.on_ack(tcb, io, ack);
    }

    fn pipe(&self, tcb: &Tcb) -> Option<u64> {
        Some(self.0.pipe(tcb))
    }
}
