//! Credit-based flow control between neighbouring links (catalogue SW-21).
//!
//! By credit (catalogue SW-21): the stage before may send so many packets that the next one has not yet taken out of
//! its input queue, and no more; for each that is taken out, one may follow. A sliding window that the receiver
//! moves.
//!
//! Credit is a signal that travels against the packets, on a wire of its own.

use crate::element::Port;
use base::{Span, Time};
use std::collections::VecDeque;

/// Output port of the credit that a stage gives.
pub const CREDIT: Port = Port(1);

/// What a stage may still send.
#[derive(Clone, Debug)]
pub struct Credit {
    available: u32,
    delay: Span,
    coming: VecDeque<Time>,
}

impl Credit {
    /// `window` packets at first; credit takes `delay` on its way.
    pub fn new(window: u32, delay: Span) -> Self {
        Credit { available: window, delay, coming: VecDeque::new() }
    }

    /// Whether a packet may be sent.
    pub(crate) fn allows(&self) -> bool {
        self.available > 0
    }

    /// A packet is sent.
    pub(crate) fn spend(&mut self) {
        self.available = self.available.saturating_sub(1);
    }

    /// Credit was sent `now`, or a packet that had spent it never left the link.
    pub(crate) fn sent(&mut self, now: Time) {
        if self.delay.is_zero() {
            self.available += 1;
        } else {
            self.coming.push_back(now + self.delay);
        }
    }

    /// When the next credit on its way arrives.
    pub(crate) fn next(&self) -> Time {
        self.coming.front().copied().unwrap_or(Time::NEVER)
    }

    /// Takes what has arrived.
    pub(crate) fn take(&mut self, now: Time) {
        while self.next() <= now {
            self.coming.pop_front();
            self.available += 1;
        }
    }
}
