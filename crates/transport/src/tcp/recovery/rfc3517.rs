//! SACK recovery of RFC 3517, obsoleted by RFC 6675.
//!
//! RFC 3517, which RFC 6675 replaced: it begins at the third duplicate acknowledgement and not before, takes a
//! segment for lost when three segments' worth of bytes is reported above it, forgets at a timeout what was reported,
//! and never rescues the end of a flight. Without SACK NewReno takes its place.

use super::Rules;
use super::rfc6675::{Conservative, Edition, on_ack};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::sender::Sender;

/// RFC 3517 between acknowledgements.
#[derive(Clone, Copy, Debug)]
pub struct Rfc3517(Conservative);

impl Default for Rfc3517 {
    fn default() -> Self {
        Rfc3517(Conservative::new(Edition::Rfc3517))
    }
}

impl Rfc3517 {
    pub(super) fn machine(&mut self) -> &mut Conservative {
        &mut self.0
    }
}

impl Rules for Rfc3517 {
    const NEEDS_SACK: bool = true;
    //= RFC 3517 section 5.1: what was reported before a timeout is expunged, what comes after is used
    const SKIPS_REPORTED: bool = true;

    fn on_ack(sender: &mut Sender, io: &mut Io<'_>, ack: &AckDigest) {
        on_ack(sender, io, ack);
    }

    fn recovering(&self) -> bool {
        self.0.recovering()
    }

    fn pipe(&self, sender: &Sender) -> Option<u64> {
        Some(self.0.pipe(sender))
    }
}
