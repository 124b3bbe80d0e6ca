//! Resource allocation of a radio link: allocation delay of an idle link, and holding time after the last frame
//! (catalogue SW-30).
//!
//! A packet that arrives at an idle link waits for the allocation. The link keeps its resources while it has
//! packets to send, and for the holding time afterwards.

use base::dist::Sampler;
use base::{Span, Time};

/// Allocation state of a radio link's resources.
#[derive(Clone, Debug)]
pub struct Allocation {
    takes: Sampler,
    keeps: Sampler,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not allocated.
    None,
    /// Requested; available from this time on.
    Asked(Time),
    /// Held while the link is busy.
    Held,
    /// Released at this time, unless the link becomes busy before.
    Kept(Time),
}

impl Allocation {
    /// `takes`: allocation delay; `keeps`: holding time after the last frame; both in nanoseconds.
    pub fn new(takes: Sampler, keeps: Sampler) -> Self {
        Allocation { takes, keeps, phase: Phase::None }
    }

    /// Whether the resources are held, so that a request has no effect.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        self.phase == Phase::Held
    }

    /// Requests the resources `now` if needed; returns the earliest start of transmission.
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

    /// Starts the holding time when the link becomes idle; without effect if no resources are held.
    pub(crate) fn idle(&mut self, now: Time) {
        if self.phase == Phase::Held {
            self.phase = Phase::Kept(now + Span::from_nanos(self.keeps.draw() as u64));
        }
    }
}
