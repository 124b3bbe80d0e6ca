//! Which segment is being timed, when timestamps do not do it? (Karn and Partridge 1987.)

use super::Sender;
use crate::tcp::config::Timing;
use base::Time;
use std::collections::VecDeque;

/// Which segments are being timed, when timestamps do not do it.
#[derive(Clone, Debug, Default)]
pub(super) struct Timed {
    /// One segment: where it ends and when it was first sent.
    pub(super) one: Option<(u64, Time)>,
    /// Every segment, likewise, if every one is timed.
    pub(super) each: VecDeque<(u64, Time)>,
}

impl Sender {
    pub(super) fn time(&mut self, now: Time, end: u64) {
        if self.timed.one.is_none() {
            self.timed.one = Some((end, now));
        }
        if self.config.rto.timing == Timing::Segment && !self.config.timestamps {
            self.timed.each.push_back((end, now));
        }
    }

    /// Something is resent: what was sent before can no longer be timed (Karn and Partridge 1987).
    pub(super) fn untime(&mut self) {
        self.timed.one = None;
        self.timed.each.clear();
    }
}
