//! Late processing of internal events: a channel wakes only for departures, and catches up on everything else at its
//! next call.
//!
//! A step is what a wake-up at the time of the next internal event would do. Between two calls nothing from outside can
//! change the channel, so steps processed late, in order and each at its own time, have the same results. Steps that
//! may have an effect outside, such as a departure or a drop, need a wake-up at their time (`docs/adr/0165-internal-events-of-channels-late.md`).

use super::batch::INSTANT;
use super::class::Classes;
use super::follow::{Follower, Service};
use super::{Channel, ChannelConfig, MOST_LOAD};
use crate::element::Cx;
use crate::element::Element as _;
use crate::qdisc::Room;
use base::Time;
use base::event::Category;
use base::packet::Packet;

/// Whether steps of a channel with these queues may be processed late and in batches: no step drops packets or returns credit, except those for which [`Channel::schedule`] plans a wake-up.
pub(super) fn permits(config: &ChannelConfig, queues: &Classes) -> bool {
    !config.grants
        && !queues.drop_at_head()
        && config.credit.is_none()
        && config.gates.iter().all(|gate| gate.stores)
        && !config.followers.iter().any(|follower| follower.may_drop() || follower.has_errors())
        // A batch fills the send buffer at its end.
        && (config.send_buffer.is_none() || !queues.is_bounded())
}

/// Whether a packet that arrives at a busy channel may join its queue before earlier steps are processed: they only take
/// packets out of the queues, in an order that depends on arrivals before each step alone.
pub(super) fn permits_queueing(config: &ChannelConfig, queues: &Classes) -> bool {
    queues.is_strict()
        && !queues.may_expire()
        && config.framing.factor >= 1.0
        // Without ARQ each start of a packet makes room in the send buffer.
        && (config.send_buffer.is_none() || config.arq.is_some())
}

/// Number of packets inside a channel up to which the end of a frame does not depend on earlier deliveries: without
/// ARQ a packet may find the receive buffer full, with ARQ it may wait for room there.
pub(super) fn most_inside(config: &ChannelConfig) -> usize {
    match (config.receive_buffer, &config.arq) {
        (Some(Room { packets, bytes: None }), Some(_)) => packets.map_or(usize::MAX, |n| n as usize),
        (Some(_), _) => 0,
        (None, _) => usize::MAX,
    }
}

impl Channel {
    /// Time before which steps precede this call. A step for the present time does so if the channel's turn has passed,
    /// unless a call at the same time left it: then it has a wake-up of its own.
    #[inline]
    fn limit(&self, cx: &Cx<'_>) -> Time {
        let now = cx.now();
        let past = (cx.is_past_own_turn() || self.turn == now) && self.again != now;
        if past { now + INSTANT } else { now }
    }

    /// Processes the steps that were due before this call, each at its own time. Whether there were any.
    #[inline]
    pub(super) fn advance(&mut self, cx: &mut Cx<'_>) -> bool {
        let limit = self.limit(cx);
        self.batches = self.catches_up(cx);
        let advances = self.due < limit && self.batches;
        if advances {
            self.advance_to(cx, limit, true);
        }
        self.advanced = cx.now();
        advances
    }

    /// Enqueues an arriving packet without processing earlier steps, if the channel is busy until now with packets that
    /// arrived before, and the queue surely has room; false, without an effect, in all other cases.
    #[inline]
    pub(super) fn queue_late(&mut self, cx: &Cx<'_>, packet: &Packet) -> bool {
        let now = cx.now();
        if self.deferred == Time::ZERO || self.calm.min(self.exit).min(self.followers.next_change()) <= now {
            return false;
        }
        self.queues_late
            && self.queues.len() > 0
            && cx.is_past_own_turn()
            && self.again != now
            && self.holds() < MOST_LOAD
            && self.is_busy_at(now)
            && self.queues.append(now, packet)
    }

    /// Whether the packet in service and those in the queues need more time than until `t`.
    #[inline]
    fn is_busy_at(&mut self, t: Time) -> bool {
        if t >= self.busy
            && let Some(rate) = self.steady_rate()
        {
            self.busy = self.deferred + rate.span_of(self.queues.bytes());
        }
        t < self.busy
    }

    /// Processes the deferred frames that were due before this call.
    #[cold]
    pub(super) fn resume_frames(&mut self, cx: &mut Cx<'_>) {
        self.advance_to(cx, self.limit(cx), false);
    }

    /// Whether the channel processes steps late in this run: otherwise it has a wake-up for each of them.
    #[inline]
    fn catches_up(&self, cx: &Cx<'_>) -> bool {
        self.late && !cx.records(Category::Path)
    }

    #[inline(never)]
    fn advance_to(&mut self, cx: &mut Cx<'_>, limit: Time, defers: bool) {
        let now = cx.now();
        self.deferred = Time::ZERO;
        loop {
            if self.run(cx, limit, defers) {
                self.look_ahead();
                if self.due >= limit {
                    break;
                }
            }
            let at = self.step_at();
            if at >= limit {
                break;
            }
            cx.now = at;
            self.step(cx);
        }
        cx.now = now;
    }

    /// Processes all steps due by now, one by one; returns the time of the last one, or [`Time::ZERO`].
    pub(super) fn settle_steps(&mut self, cx: &mut Cx<'_>) -> Time {
        let (now, limit) = (cx.now(), self.limit(cx));
        let mut last = Time::ZERO;
        if self.deferred > Time::ZERO {
            self.deferred = Time::ZERO;
            self.look_ahead();
        }
        while self.catches_up(cx) {
            let at = self.step_at();
            if at >= limit {
                break;
            }
            (cx.now, last) = (at, at);
            self.step(cx);
        }
        cx.now = now;
        last
    }

    /// Processes the events due by now, and starts the next frame.
    pub(super) fn step(&mut self, cx: &mut Cx<'_>) {
        self.catch_up(cx);
        self.serve(cx);
        self.look_ahead();
    }

    /// Delivers what is due, if that is all that this wake-up has to do and the next delivery is known; other steps are
    /// left to the next call.
    #[inline]
    pub(super) fn only_delivers(&mut self, cx: &mut Cx<'_>) -> bool {
        let now = cx.now();
        if !self.catches_up(cx)
            || self.exit > now
            || self.followers.next_change() <= now
            || self.queues.may_expire() && self.queues.expires() <= now
            || self.holds() > self.most_inside
            // Feedback without a delay has a wake-up of its own at the end of its frame.
            || self.arq.as_ref().is_some_and(|arq| !arq.is_delayed())
        {
            return false;
        }
        self.deliver(cx);
        if self.exit.is_never() || !self.buffer.is_in_order() {
            return false;
        }
        (self.turn, self.again) = (now, Time::NEVER);
        self.wakes_at = self.next_known();
        true
    }

    /// Plans the next wake-up: no later than the next departure or drop.
    #[inline]
    pub(super) fn schedule(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        if self.batches && self.due < self.limit(cx) {
            self.hear_late(cx);
        }
        self.again = Time::NEVER;
        if !self.batches {
            self.wakes_at = self.step_at();
        } else if (self.due <= now || self.exit <= now) && self.step_at() <= now {
            (self.wakes_at, self.again) = (now, now);
        } else {
            self.wakes_at = self.needs_wake();
        }
    }

    /// Processes feedback that was without an effect until a packet filled the send buffer.
    #[cold]
    fn hear_late(&mut self, cx: &mut Cx<'_>) {
        let limit = self.limit(cx);
        self.run_feedback(self.arq.as_ref().map_or(limit, |arq| limit.min(arq.next_lost())));
        self.fill(cx);
        self.look_ahead();
    }

    /// Time of the next wake-up of a channel that processes steps late.
    #[inline]
    fn needs_wake(&mut self) -> Time {
        if self.holds() == 0 {
            return Time::NEVER;
        }
        let next = self.next_known();
        if self.exit.is_never() || !self.buffer.is_in_order() {
            next.min(self.earliest_arrival())
        } else {
            next
        }
    }

    /// Time of the next known delivery, state change or drop.
    #[inline]
    fn next_known(&self) -> Time {
        let next = self.exit.min(self.followers.next_change());
        if self.queues.may_expire() { next.min(self.queues.expires()) } else { next }
    }
}

impl Follower {
    /// Whether a state drops packets at the head of the queue.
    fn may_drop(&self) -> bool {
        self.settings().iter().any(|setting| setting.service == Service::Drop)
    }

    /// Whether a state has an error source.
    pub(super) fn has_errors(&self) -> bool {
        self.settings().iter().any(|setting| setting.errors.is_some())
    }
}
