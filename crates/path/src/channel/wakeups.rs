//! Wake-up schedule of a channel: next event, next wake-up, lower bound of the next departure, opening of gates.
//!
//! The wake-up itself is planned in [`super::late`]. A driver in real time needs one for departures only.

use super::Channel;
use super::follow::Service;
use crate::element::Element as _;
use crate::link::LinkGate;
use crate::qdisc::Room;
use base::Time;

impl Channel {
    /// Updates the times of the next internal event and of the next delivery.
    #[inline]
    pub(super) fn look_ahead(&mut self) {
        self.calm = self.next_feedback();
        self.due = self.others().min(self.calm);
        if let (Some(service), Some(arq)) = (&self.in_service, &self.arq) {
            // The present frame may be lost.
            self.calm = self.calm.min(arq.feedback_at(service.end));
        }
        // The next packet in order stays the next one until it is delivered or flushed.
        if self.exit.is_never() || !self.buffer.is_in_order() {
            self.exit = self.buffer.next_delivery();
        }
    }

    /// Time of the next step. Feedback without an effect while a frame is in service is processed with the next step.
    pub(super) fn step_at(&self) -> Time {
        let mut next = self.others().min(self.outside());
        if let Some(arq) = &self.arq {
            let waits = self.send_buffer.is_some() && self.queues.len() > 0;
            next = next.min(if self.in_service.is_some() { arq.next_needed(waits) } else { arq.next() });
        }
        next
    }

    /// Lower bound of the next departure of a packet or credit. After an internal event a packet still needs its
    /// propagation delay; credit for the previous channel is sent at once.
    pub(super) fn exits(&self) -> Time {
        if self.grants {
            return self.inside().min(self.outside());
        }
        if self.buffer.is_next_known() {
            return self.outside();
        }
        (self.inside() + self.least_delay).min(self.outside())
    }

    /// Time of the next internal event: end of a frame, ARQ feedback, expiry, credit, end of a suspension.
    #[inline]
    fn inside(&self) -> Time {
        self.others().min(self.arq.as_ref().map_or(Time::NEVER, |arq| arq.next()))
    }

    /// Time of the next internal event other than ARQ feedback.
    #[inline]
    fn others(&self) -> Time {
        let mut next = self.resume;
        if self.queues.may_expire() {
            next = next.min(self.queues.expires());
        }
        if let Some(service) = &self.in_service {
            next = next.min(service.end.max(self.deferred));
        }
        if let Some(credit) = &self.credit {
            next = next.min(credit.next());
        }
        next
    }

    /// Time of the next feedback. In steady service, while a frame is in service, a lower bound of the feedback that makes
    /// room in the send buffer: no other one has an effect.
    #[inline]
    fn next_feedback(&self) -> Time {
        let Some(arq) = &self.arq else { return Time::NEVER };
        if !self.batches || self.in_service.is_none() || !arq.is_steady() {
            return arq.next();
        }
        let room = match self.send_buffer {
            Some(Room { bytes: Some(_), .. }) => return arq.next(),
            Some(Room { packets: Some(n), bytes: None }) => self.buffer.buffered().checked_sub(n as usize),
            _ => None,
        };
        room.map_or(Time::NEVER, |beyond| arq.heard_beyond(beyond)).min(arq.next_lost())
    }

    /// Time of the next delivery at the far end, or of the next state change while packets are on the channel.
    #[inline]
    fn outside(&self) -> Time {
        let next = self.buffer.next_delivery();
        if self.followers.is_empty() || self.holds() == 0 {
            return next;
        }
        next.min(self.followers.next_change())
    }

    /// Earliest start of a frame, and whether packets at the head of the queue are dropped until then.
    #[inline]
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
