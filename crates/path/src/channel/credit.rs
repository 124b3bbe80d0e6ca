//! Credit-based flow control between neighbouring links (catalogue SW-21).
//!
//! The previous stage may send only as many packets as credit allows (catalogue SW-21). Each packet that the
//! next stage takes out of its input queue returns one credit. This is a sliding window moved by the
//! receiver.
//!
//! Credit is a signal against the direction of the packets, on its own wire.

use crate::element::Port;
use base::{Span, Time};
use std::collections::VecDeque;

/// Output port for credit to the previous stage.
pub const CREDIT: Port = Port(1);

/// Credit of a sending stage.
#[derive(Clone, Debug)]
pub struct Credit {
    available: u32,
    delay: Span,
    coming: VecDeque<Time>,
}

impl Credit {
    /// Initial credit of `window` packets; credit signals take `delay`.
    pub fn new(window: u32, delay: Span) -> Self {
        Credit { available: window, delay, coming: VecDeque::new() }
    }

    /// Whether a packet may be sent.
    pub(crate) fn allows(&self) -> bool {
        self.available > 0
    }

    /// Spends credit for one packet.
    pub(crate) fn spend(&mut self) {
        self.available = self.available.saturating_sub(1);
    }

    /// One credit is on its way from `now`, or is returned for a packet that never left the link.
    pub(crate) fn sent(&mut self, now: Time) {
        if self.delay.is_zero() {
            self.available += 1;
        } else {
            self.coming.push_back(now + self.delay);
        }
    }

    /// Arrival of the next credit.
    pub(crate) fn next(&self) -> Time {
        self.coming.front().copied().unwrap_or(Time::NEVER)
    }

    /// Adds the credit that has arrived.
    pub(crate) fn take(&mut self, now: Time) {
        while self.next() <= now {
            self.coming.pop_front();
            self.available += 1;
        }
    }
}
