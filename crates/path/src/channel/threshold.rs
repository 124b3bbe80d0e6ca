//! Threshold AQM: marks every packet above an instantaneous queue length.
//!
//! A step in place of an average: quick, and what senders that count marks ask for (Alizadeh and others, "Data Center
//! TCP", 2010, section 3.1). Packets that cannot be marked pass; the limit is for them.

use super::manager::View;
use crate::red::Verdict;

/// From where on packets are marked; whichever is reached first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// When so many packets wait.
    pub packets: Option<u32>,
    /// When so many bytes wait.
    pub bytes: Option<u64>,
}

impl Threshold {
    pub(crate) fn comes(&self, view: View) -> Verdict {
        let long = self.packets.is_some_and(|n| view.packets >= n as usize)
            || self.bytes.is_some_and(|n| view.bytes >= n);
        //= RFC 3168 section 5: not-ECT is '00', and such packets are not marked
        if long && view.ecn != 0 { Verdict::Mark } else { Verdict::Pass }
    }
}
