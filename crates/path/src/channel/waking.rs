//! Wake-up times of a channel: next internal event, next packet departure.
//!
//! It wakes for everything; who only waits for packets, as a driver in real time does, need not wake for what stays
//! inside.

use super::Channel;
use super::follow::Service;
use crate::element::Element as _;
use crate::link::LinkGate;
use base::Time;

impl Channel {
    /// When anything is due.
    pub(super) fn wakes(&self) -> Time {
        self.inside().min(self.outside())
    }

    /// When something may come out. What ends service or an attempt, or begins them, brings a packet to the far end after
    /// its propagation at the earliest; credit for the stage before goes out at once.
    pub(super) fn exits(&self) -> Time {
        if self.grants {
            return self.wakes();
        }
        (self.inside() + self.least_delay).min(self.outside())
    }

    /// When something is due that concerns this link alone.
    fn inside(&self) -> Time {
        let mut next = self.resume.min(self.queues.expires());
        if let Some(service) = &self.in_service {
            next = next.min(service.end);
        }
        if let Some(arq) = &self.arq {
            next = next.min(arq.next());
        }
        if let Some(credit) = &self.credit {
            next = next.min(credit.next());
        }
        next
    }

    /// When a packet is due at the far end, or the world changes.
    fn outside(&self) -> Time {
        let next = self.buffer.next_delivery();
        if self.followers.is_empty() || self.holds() == 0 {
            return next;
        }
        next.min(self.followers.next_change())
    }

    /// From when on a frame may begin, and whether packets are dropped until then.
    pub(super) fn opens(&mut self, now: Time) -> (Time, bool) {
        if self.closed_by_hand || self.service != Service::Go {
            return (Time::NEVER, !self.closed_by_hand && self.service == Service::Drop);
        }
        let mut open = now.max(self.followers.paused());
        let mut drops = false;
        for LinkGate { gate, stores } in &mut self.gates {
            let after = gate.open_from(now, now);
            drops |= after > now && !*stores;
            open = open.max(after);
        }
        (open, drops)
    }
}
