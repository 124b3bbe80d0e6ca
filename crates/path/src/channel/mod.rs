//! Channel of a mobile link, one direction: queues, buffers, resource allocation, framing, frame errors and ARQ, after
//! Seawind (Kojo and others 2001, section 4.3).
//!
//! Stages of a packet, in order: input queue of its class ([`class`], [`crate::qdisc`]), send buffer ([`buffer`]),
//! allocation of resources ([`allocation`]), transmission of frames at the link's rate ([`frame`]), frame errors
//! ([`error`]), link-layer retransmission ([`arq`]), propagation, receive buffer with in-order delivery ([`buffer`]).
//! With [`credit`]-based flow control the channel starts a packet only if the next channel has returned credit.
//!
//! State machines may change rate, delay, errors and service ([`follow`]). Unlike [`crate::link::Link`], a channel
//! cannot compute the departure of a packet at its arrival, since later packets may be served first. It processes the
//! frames that have ended since its last call ([`late`], [`batch`]).

pub mod allocation;
pub mod arq;
mod batch;
mod buffer;
mod change;
pub mod class;
pub mod credit;
pub mod error;
pub mod follow;
pub mod frame;
mod late;
pub mod policer;
mod time_queue;
mod transmit;
mod units;
mod wakeups;

use crate::capacity::Capacity;
use crate::element::{Cx, Element, Port, Signal};
use crate::link::LinkGate;
use crate::qdisc::Room;
use allocation::Allocation;
use arq::{Arq, ArqConfig, ArqDecision, Frame};
use base::event::{Category, Event};
use base::packet::{DropReason, Flags, Packet};
use base::{Span, Time};
use batch::{FrameTimes, LastFrame};
use buffer::Buffer;
use class::{ClassConfig, Classes};
use credit::{CREDIT, Credit};
use error::{Errors, FrameOutcome};
use follow::{Follower, Followers, Service};
use frame::{Framing, PacketFrames};

/// Configuration of a channel.
pub struct ChannelConfig {
    /// Rate over time.
    pub capacity: Capacity,
    /// One-way propagation; transmission time is extra.
    pub delay: Span,
    /// Input queues by class; packets that match no rule join the last one.
    pub classes: Vec<ClassConfig>,
    /// Interruptions of service.
    pub gates: Vec<LinkGate>,
    /// Framing of packets.
    pub framing: Framing,
    /// Limit of the send buffer behind the queues; none: a packet stays in its queue until transmission.
    pub send_buffer: Option<Room>,
    /// Resource allocation of an idle link.
    pub allocation: Option<Allocation>,
    /// Frame errors.
    pub errors: Vec<Errors>,
    /// Link-layer ARQ.
    pub arq: Option<ArqConfig>,
    /// Whether packets are delivered in order.
    pub in_order: bool,
    /// Limit of the receive buffer: incomplete packets, and packets that wait for the delivery of earlier ones.
    pub receive_buffer: Option<Room>,
    /// Credit from the next channel; none: no flow control.
    pub credit: Option<Credit>,
    /// Whether this channel returns credit to the previous one.
    pub grants: bool,
    /// State machines that change the channel's parameters.
    pub followers: Vec<Follower>,
}

impl ChannelConfig {
    /// A channel that behaves as a plain link: one queue without limit, no framing, errors, ARQ or allocation.
    pub fn plain(capacity: Capacity, delay: Span) -> ChannelConfig {
        ChannelConfig {
            capacity,
            delay,
            classes: vec![ClassConfig::default()],
            gates: Vec::new(),
            framing: Framing::default(),
            send_buffer: None,
            allocation: None,
            errors: Vec::new(),
            arq: None,
            in_order: true,
            receive_buffer: None,
            credit: None,
            grants: false,
            followers: Vec::new(),
        }
    }
}

/// Number of packets on one link from which background load is dropped, even if the queue has no limit. This
/// bounds the memory of a load above the link's rate. 1.5 GB in full-sized packets, more than any network
/// buffer.
pub(crate) const MOST_LOAD: usize = 1 << 20;

/// The frame in service.
#[derive(Clone, Copy)]
struct InService {
    frame: Frame,
    /// Bytes left to send when `end` was last computed.
    left: u32,
    end: Time,
}

/// One direction of a mobile network's link with all its stages.
pub struct Channel {
    capacity: Capacity,
    delay: Span,
    /// Lower bound of the propagation delay in all states.
    least_delay: Span,
    queues: Classes,
    gates: Vec<LinkGate>,
    framing: Framing,
    send_buffer: Option<Room>,
    allocation: Option<Allocation>,
    errors: Vec<Errors>,
    arq: Option<Arq>,
    receive_buffer: Option<Room>,
    credit: Option<Credit>,
    grants: bool,
    followers: Followers,
    service: Service,
    /// Whether the last signal was [`Signal::Close`] instead of [`Signal::Open`].
    closed_by_hand: bool,
    buffer: Buffer,
    in_service: Option<InService>,
    /// Time at which a suspended transmission may start; [`Time::NEVER`] if none is suspended.
    resume: Time,
    idle_since: Time,
    /// Time of the next internal event, as last computed.
    due: Time,
    /// Time of the next delivery at the far end, as last computed.
    exit: Time,
    /// Time of the next wake-up.
    wakes_at: Time,
    /// Whether steps may be processed late, at the next call.
    late: bool,
    /// Whether they are: not in a run that records events of the path.
    batches: bool,
    /// End of the packet in service, if its frames are processed then; otherwise [`Time::ZERO`].
    deferred: Time,
    /// Lower bound of the time until which that packet and those in the queues keep the channel busy.
    busy: Time,
    /// Whether arrivals at a busy channel need no earlier step.
    queues_late: bool,
    /// Lower bound of the next feedback with an effect, as last computed.
    calm: Time,
    /// Time of the last call that processed the steps before it.
    advanced: Time,
    /// Interval in which all gates are known to be open, end excluded.
    open: (Time, Time),
    /// Frames of the packet that started last.
    packet_frames: PacketFrames,
    frame_times: FrameTimes,
    last_frame: LastFrame,
    /// Time of the last call or step, if it left a step for the same time.
    again: Time,
    /// Time of the last wake-up whose steps were left to the next call.
    turn: Time,
    /// Number of packets inside up to which deliveries free no room that a packet waits for.
    most_inside: usize,
}

impl Channel {
    /// An empty channel.
    pub fn new(mut config: ChannelConfig) -> Self {
        // With ARQ the sender checks the receive buffer first; without ARQ, packets that find it full are
        // lost.
        let bounded = config.receive_buffer.is_some() && config.arq.is_none();
        let most_inside = late::most_inside(&config);
        let queues = Classes::new(std::mem::take(&mut config.classes));
        let late = late::permits(&config, &queues);
        let queues_late = late && late::permits_queueing(&config, &queues);
        let mut channel = Channel {
            capacity: config.capacity,
            delay: config.delay,
            least_delay: config
                .followers
                .iter()
                .filter_map(Follower::least_delay)
                .fold(config.delay, Span::min),
            queues,
            gates: config.gates,
            framing: config.framing,
            send_buffer: config.send_buffer,
            allocation: config.allocation,
            errors: config.errors,
            arq: config.arq.map(Arq::new),
            receive_buffer: config.receive_buffer,
            credit: config.credit,
            grants: config.grants,
            followers: Followers::new(config.followers),
            service: Service::Go,
            closed_by_hand: false,
            buffer: Buffer::new(config.in_order, bounded),
            in_service: None,
            resume: Time::NEVER,
            idle_since: Time::ZERO,
            due: Time::NEVER,
            exit: Time::NEVER,
            wakes_at: Time::NEVER,
            late,
            batches: false,
            deferred: Time::ZERO,
            busy: Time::ZERO,
            queues_late,
            calm: Time::ZERO,
            advanced: Time::ZERO,
            open: (Time::ZERO, Time::ZERO),
            packet_frames: PacketFrames::of(&config.framing, 0),
            frame_times: FrameTimes::default(),
            last_frame: LastFrame::default(),
            again: Time::NEVER,
            turn: Time::NEVER,
            most_inside,
        };
        channel.service = channel.followers.service();
        channel.look_ahead();
        channel.wakes_at = channel.step_at();
        channel
    }

    /// Processes the events due by now: state changes, deliveries, credit, ARQ feedback, end of a frame, expiry.
    fn catch_up(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        if self.deferred > Time::ZERO {
            self.resume_frames(cx);
        }
        if self.followers.next_change() <= now {
            self.with_service_kept(cx, |channel, cx| {
                while let Some((number, change)) = channel.followers.step(now) {
                    channel.changed(cx, number, change);
                }
            });
        }
        self.deliver(cx);
        if let Some(credit) = &mut self.credit {
            credit.take(now);
        }
        self.take_feedback(cx);
        if let Some(done) = self.in_service.filter(|s| s.end <= now) {
            self.in_service = None;
            self.idle_since = now;
            self.ended(now, done.frame);
        }
        self.expire(cx);
    }

    /// Drops queued packets beyond their maximum sojourn time.
    fn expire(&mut self, cx: &mut Cx<'_>) {
        if !self.queues.may_expire() {
            return;
        }
        self.granting(cx, 0, |queues, cx| queues.expire(cx));
    }

    /// Runs `act` on the queues, and returns one credit to the previous channel for each packet that has left
    /// them. `coming`: packets that `act` enqueues. Background load is not counted.
    fn granting<R>(
        &mut self,
        cx: &mut Cx<'_>,
        coming: usize,
        act: impl FnOnce(&mut Classes, &mut Cx<'_>) -> R,
    ) -> R {
        if !self.grants {
            return act(&mut self.queues, cx);
        }
        let before = self.queues.real() + coming;
        let done = act(&mut self.queues, cx);
        for _ in self.queues.real()..before {
            cx.signal(CREDIT, Signal::Credit);
        }
        done
    }

    /// Delivers or drops the packets that are due by now at the far end.
    #[inline]
    fn deliver(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        if !self.buffer.is_in_order() {
            return self.deliver_in_any_order(cx);
        }
        self.exit = loop {
            let unit = match self.buffer.due_in_order(now) {
                Ok((_, unit)) => unit,
                Err(next) => break next,
            };
            if unit.lost.is_some() || unit.corrupt {
                let (packet, lost) = (unit.packet, unit.lost);
                self.deliver_damaged(cx, packet, lost);
            } else {
                Self::hand_on(cx, &unit.packet);
            }
            self.buffer.leave_next(now);
        };
    }

    /// [`Channel::deliver`] without in-order delivery.
    fn deliver_in_any_order(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        self.exit = loop {
            let (number, unit) = match self.buffer.due(now) {
                Ok(due) => due,
                Err(next) => break next,
            };
            if unit.lost.is_some() || unit.corrupt {
                let (packet, lost) = (unit.packet, unit.lost);
                self.deliver_damaged(cx, packet, lost);
            } else {
                Self::hand_on(cx, &unit.packet);
            }
            self.buffer.leave(number, now);
        };
    }

    /// Counts and forwards a packet at the far end.
    #[inline(always)] // one of two loops of deliveries
    fn hand_on(cx: &mut Cx<'_>, packet: &Packet) {
        cx.count_hop();
        let (id, now) = (packet.id, cx.now());
        cx.record(Category::Path, now, || Event::Delivered { packet: id });
        cx.forward_from(Port(0), packet);
    }

    /// Drops a packet for the reason `lost`, or delivers it with bit errors.
    #[cold]
    fn deliver_damaged(&mut self, cx: &mut Cx<'_>, packet: Packet, lost: Option<DropReason>) {
        if let Some(reason) = lost {
            return self.lose(cx, packet, reason);
        }
        Self::hand_on(cx, &Packet { flags: packet.flags.with(Flags::CORRUPT), ..packet });
    }

    /// Drops a packet after its transmission began. Its credit is restored here, since the next channel never
    /// receives the packet.
    fn lose(&mut self, cx: &mut Cx<'_>, packet: Packet, reason: DropReason) {
        if let Some(credit) = self.credit.as_mut().filter(|_| !packet.flags.has(Flags::VIRTUAL)) {
            credit.sent(cx.now());
        }
        cx.drop(packet, reason);
    }

    /// Processes the ARQ feedback due by now.
    fn take_feedback(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        let Some(arq) = &mut self.arq else { return };
        let buffer = &mut self.buffer;
        while let Some(verdict) =
            arq.take_feedback(now, |n| buffer.get(n).filter(|u| u.lost.is_none()).map(|u| u.began))
        {
            match verdict {
                ArqDecision::Repeated => {}
                ArqDecision::Acknowledged(frame) => buffer.acknowledge(frame.unit, 1),
                ArqDecision::GivenUp(frame) => {
                    let forgotten = arq.forget(frame.unit);
                    let arrival = now + buffer.get(frame.unit).map_or(Span::ZERO, |unit| unit.delay);
                    buffer.give_up(frame.unit, arrival, DropReason::GivenUp);
                    buffer.known(frame.unit, None);
                    buffer.acknowledge(frame.unit, forgotten + 1);
                }
            }
        }
    }

    /// Processes the end of a frame's transmission: draws its errors, and updates ARQ and packet.
    fn ended(&mut self, now: Time, frame: Frame) {
        let mut outcome = FrameOutcome::default();
        for errors in &mut self.errors {
            errors.strike(now, frame.bytes, &mut outcome);
        }
        for errors in self.followers.errors() {
            errors.strike(now, frame.bytes, &mut outcome);
        }
        self.received(now, frame, outcome);
    }

    /// Updates ARQ and packet after a frame whose transmission ended `now`.
    fn received(&mut self, now: Time, frame: Frame, outcome: FrameOutcome) {
        let Some(unit) = self.buffer.get_mut(frame.unit) else { return };
        if unit.lost == Some(DropReason::GivenUp) {
            if let Some(arq) = &mut self.arq {
                arq.abandoned();
            }
            return self.buffer.acknowledge(frame.unit, 1);
        }
        if let Some(arq) = &mut self.arq {
            arq.ended(now, Frame { good: !outcome.lost, ..frame });
            if outcome.lost {
                return;
            }
        }
        unit.missing -= 1;
        unit.arrival = unit.arrival.max(now + unit.delay + outcome.late);
        unit.corrupt |= outcome.corrupt;
        if outcome.lost {
            unit.lost = Some(DropReason::Loss);
        }
        if unit.missing == 0 {
            let room = self.receive_buffer.filter(|_| self.arq.is_none());
            self.buffer.known(frame.unit, room);
        }
    }

    /// [`Channel::finish`] where the rate is not constant.
    fn finish_at_varying_rate(&mut self, now: Time, bytes: u32) -> Time {
        match self.followers.rate() {
            Some(rate) if rate.bps() == 0 => Time::NEVER,
            Some(rate) => now + rate.span_of(u64::from(bytes)),
            None => self.capacity.finish(now, now, bytes),
        }
    }

    /// Processes an arriving packet.
    #[inline]
    fn take(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        if self.queue_late(cx, packet) {
            self.again = Time::NEVER;
            return;
        }
        let advanced = self.advance(cx);
        if self.in_service.is_some() && self.queue_up(cx, packet) {
            // Service and deliveries are those planned before.
            if advanced {
                self.schedule(cx);
            } else {
                self.again = Time::NEVER;
            }
            return;
        }
        if !self.express(cx, packet) {
            self.take_in_turn(cx, packet);
        }
        self.look_ahead();
        self.schedule(cx);
    }

    /// The general case of [`Channel::take`].
    fn take_in_turn(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let now = cx.now();
        // An empty channel does not wake for state changes: perform those due by now.
        if self.due.min(self.exit) <= now || self.followers.next_change() <= now {
            self.catch_up(cx);
        }
        if packet.flags.has(Flags::VIRTUAL) && self.holds() >= MOST_LOAD {
            cx.drop(*packet, DropReason::QueueFull);
        } else {
            let idle = self.in_service.is_none() && self.queues.len() == 0;
            let idle = if idle { now.since(self.idle_since) } else { Span::ZERO };
            let at_once = self.is_free(now, packet.size);
            let real = usize::from(!packet.flags.has(Flags::VIRTUAL));
            self.granting(cx, real, |queues, cx| queues.join(cx, *packet, idle, at_once));
        }
        self.serve(cx);
    }
}

impl Element for Channel {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        self.take(cx, &packet);
    }

    fn arrive(&mut self, cx: &mut Cx<'_>, _port: Port, packet: &Packet) -> Time {
        self.take(cx, packet);
        self.wakes_at
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        if self.only_delivers(cx) {
            return;
        }
        self.advance(cx);
        let now = cx.now();
        if self.due <= now || self.followers.next_change() <= now {
            self.step(cx);
        } else {
            self.deliver(cx);
            if self.in_service.is_none() {
                self.serve(cx);
            }
            self.look_ahead();
        }
        self.schedule(cx);
    }

    fn next_wake(&self) -> Time {
        self.wakes_at
    }

    fn next_exit(&self) -> Time {
        self.exits()
    }

    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        self.advance(cx);
        self.catch_up(cx);
        match signal {
            Signal::State { machine, state } => self.with_service_kept(cx, |channel, cx| {
                if let Some(change) = channel.followers.trigger(cx.now(), machine, state) {
                    channel.changed(cx, machine, change);
                }
            }),
            Signal::Rate(rate) => {
                self.with_service_kept(cx, |channel, _| channel.capacity = Capacity::Fixed(rate));
            }
            Signal::Close => self.closed_by_hand = true,
            Signal::Open => self.closed_by_hand = false,
            Signal::Credit => {
                if let Some(credit) = &mut self.credit {
                    credit.sent(cx.now());
                }
            }
            Signal::Flush { ledger, connection } => {
                let same = |cx: &Cx<'_>, p: &Packet| p.ledger() == ledger && cx.connection(p) == connection;
                self.granting(cx, 0, |queues, cx| queues.flush(cx, &same));
            }
            _ => {}
        }
        self.serve(cx);
        self.look_ahead();
        self.schedule(cx);
    }

    fn is_late(&self) -> bool {
        self.late
    }

    fn settle(&mut self, cx: &mut Cx<'_>) -> Time {
        self.settle_steps(cx)
    }

    fn holds(&self) -> usize {
        self.queues.len() + self.buffer.held()
    }
}
