//! Resource allocation delay of an idle link (catalogue SW-30).
//!
//! Then a packet that comes to an idle link waits for them (catalogue SW-30). The link keeps them while it has
//! something to send, and for a while after that.

use base::dist::Sampler;
use base::{Span, Time};

/// Resources of a radio link that come and go.
#[derive(Clone, Debug)]
pub struct Allocation {
    takes: Sampler,
    keeps: Sampler,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing is allocated.
    None,
    /// Asked for, and there from this instant on.
    Asked(Time),
    /// There while the link works.
    Held,
    /// There until this instant, unless something is sent before.
    Kept(Time),
}

impl Allocation {
    /// It takes `takes` to get them, and they are kept for `keeps` after the last frame, both nanoseconds.
    pub fn new(takes: Sampler, keeps: Sampler) -> Self {
        Allocation { takes, keeps, phase: Phase::None }
    }

    /// Something wants to be sent `now`: when it may. Asked for if need be.
    pub(crate) fn request(&mut self, now: Time) -> Time {
        match self.phase {
            Phase::Asked(at) if at > now => return at,
            Phase::None => {}
            Phase::Kept(until) if until < now => {}
            _ => {
                self.phase = Phase::Held;
                return now;
            }
        }
        let at = now + Span::from_nanos(self.takes.draw() as u64);
        self.phase = if at > now { Phase::Asked(at) } else { Phase::Held };
        at
    }

    /// There is nothing left to send.
    pub(crate) fn idle(&mut self, now: Time) {
        if self.phase == Phase::Held {
            self.phase = Phase::Kept(now + Span::from_nanos(self.keeps.draw() as u64));
        }
    }
}
