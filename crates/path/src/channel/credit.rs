//! Credit-based flow control between neighbouring links (catalogue SW-21).
//!
//! A link starts a packet only if it has credit. The next link returns one credit for each packet that it takes
//! out of its input queue: a window controlled by the receiver.
//!
//! Credit travels as a signal opposite to the packets, on its own wire.

use crate::element::Port;
use base::{Span, Time};
use std::collections::VecDeque;

/// Output port for credit to the previous stage.
pub const CREDIT: Port = Port(1);

/// Credit of the sending link: packets that it may start.
#[derive(Clone, Debug)]
pub struct Credit {
    /// Packets that may start now.
    available: u32,
    /// Delay of credit signals.
    delay: Span,
    /// Arrival times of credit in transit, ascending.
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

    /// Registers one credit, available after its delay from `now`: sent by the next link, or restored for a packet
    /// that this link has dropped.
    pub(crate) fn sent(&mut self, now: Time) {
        if self.delay.is_zero() {
            self.available += 1;
        } else {
            self.coming.push_back(now + self.delay);
        }
    }

    /// Arrival time of the next credit.
    pub(crate) fn next(&self) -> Time {
        self.coming.front().copied().unwrap_or(Time::NEVER)
    }

    /// Makes the credit available that has arrived by `now`.
    pub(crate) fn take(&mut self, now: Time) {
        while self.next() <= now {
            self.coming.pop_front();
            self.available += 1;
        }
    }
}
