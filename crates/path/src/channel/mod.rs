//! Channel of a mobile link, one direction: queues, buffers, resource allocation, framing, frame errors and ARQ, after
//! Seawind (Kojo and others 2001, section 4.3).
//!
//! Stages of a packet, in order: input queue of its class ([`class`], [`crate::qdisc`]), send buffer ([`buffer`]),
//! allocation of resources ([`allocation`]), transmission of frames at the link's rate ([`frame`]), frame errors
//! ([`error`]), link-layer retransmission ([`arq`]), propagation, receive buffer with in-order delivery ([`buffer`]).
//! With [`credit`]-based flow control the channel starts a packet only if the next channel has returned credit.
//!
//! State machines may change rate, delay, errors and service ([`follow`]). Unlike [`crate::link::Link`], a channel
//! cannot compute the departure of a packet at its arrival, since later packets may be served first. It wakes for
//! every frame (`docs/adr/0014-the-channel.md`).

pub mod allocation;
pub mod arq;
mod buffer;
mod change;
pub mod class;
pub mod credit;
pub mod error;
pub mod follow;
pub mod frame;
pub mod policer;
mod time_queue;
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
use buffer::{Buffer, Delivery};
use class::{ClassConfig, Classes};
use credit::{CREDIT, Credit};
use error::{Errors, FrameOutcome};
use follow::{Follower, Followers, Service};
use frame::Framing;

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
    /// Time of the next event, as last computed.
    due: Time,
    /// Time of the next wake-up: later than `due` if the next events are feedback that may be processed later.
    wakes_at: Time,
}

impl Channel {
    /// An empty channel.
    pub fn new(config: ChannelConfig) -> Self {
        // With ARQ the sender checks the receive buffer first; without ARQ, packets that find it full are
        // lost.
        let bounded = config.receive_buffer.is_some() && config.arq.is_none();
        let mut channel = Channel {
            capacity: config.capacity,
            delay: config.delay,
            least_delay: config
                .followers
                .iter()
                .filter_map(Follower::least_delay)
                .fold(config.delay, Span::min),
            queues: Classes::new(config.classes),
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
            due: Time::ZERO,
            wakes_at: Time::ZERO,
        };
        channel.service = channel.followers.service();
        channel.look_ahead();
        channel
    }

    /// Processes the events due by now: state changes, deliveries, credit, ARQ feedback, end of a frame, expiry.
    fn catch_up(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        if self.followers.next_change() <= now {
            self.with_service_kept(cx, |channel, cx| {
                while let Some((number, change)) = channel.followers.step(now) {
                    channel.changed(cx, number, change);
                }
            });
        }
        while let Some(delivery) = self.buffer.deliver(now) {
            self.deliver(cx, delivery);
        }
        if let Some(credit) = &mut self.credit {
            credit.take(now);
        }
        self.take_feedback(cx);
        if let Some(done) = self.in_service.filter(|s| s.end <= now) {
            self.in_service = None;
            self.idle_since = now;
            self.ended(cx, done.frame);
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

    /// Delivers a packet at the far end.
    fn deliver(&mut self, cx: &mut Cx<'_>, delivery: Delivery) {
        let Delivery { mut packet, lost, corrupt } = delivery;
        if let Some(reason) = lost {
            return self.lose(cx, packet, reason);
        }
        if corrupt {
            packet.flags = packet.flags.with(Flags::CORRUPT);
        }
        let now = cx.now();
        cx.count_hop();
        cx.record(Category::Path, now, || Event::Delivered { packet: packet.id });
        cx.forward_from(Port(0), &packet);
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
                ArqDecision::Acknowledged(frame) => acknowledge_frames(buffer, frame.unit, 1),
                ArqDecision::GivenUp(frame) => {
                    let forgotten = arq.forget(frame.unit);
                    let arrival = now + buffer.get(frame.unit).map_or(Span::ZERO, |unit| unit.delay);
                    buffer.give_up(frame.unit, arrival, DropReason::GivenUp);
                    buffer.known(frame.unit, None);
                    acknowledge_frames(buffer, frame.unit, forgotten + 1);
                }
            }
        }
    }

    /// Processes the end of a frame's transmission: draws its errors, and updates ARQ and packet.
    fn ended(&mut self, cx: &mut Cx<'_>, frame: Frame) {
        let now = cx.now();
        let mut outcome = FrameOutcome::default();
        for errors in &mut self.errors {
            errors.strike(now, frame.bytes, &mut outcome);
        }
        for errors in self.followers.errors() {
            errors.strike(now, frame.bytes, &mut outcome);
        }
        let Some(unit) = self.buffer.get_mut(frame.unit) else { return };
        if unit.lost == Some(DropReason::GivenUp) {
            if let Some(arq) = &mut self.arq {
                arq.abandoned();
            }
            return acknowledge_frames(&mut self.buffer, frame.unit, 1);
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

    /// End of a transmission of `bytes` bytes that starts now, at the rate of the present state or of the link.
    fn finish(&mut self, now: Time, bytes: u32) -> Time {
        match self.followers.rate() {
            Some(rate) if rate.bps() == 0 => Time::NEVER,
            Some(rate) => now + rate.span_of(u64::from(bytes)),
            None => self.capacity.finish(now, now, bytes),
        }
    }

    /// Fills the send buffer and starts the next frame; sets `resume` if transmission is suspended.
    #[inline]
    fn serve(&mut self, cx: &mut Cx<'_>) {
        self.resume = Time::NEVER;
        self.fill(cx);
        if self.in_service.is_none() {
            self.start(cx);
        }
    }

    /// Starts the next frame; sets `resume` if transmission is suspended.
    #[inline(never)]
    fn start(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        loop {
            let repeats = self.arq.as_ref().is_some_and(Arq::repeats);
            if !repeats && !self.has_new() {
                self.idle(now);
                return;
            }
            let (open, drops) = self.opens(now);
            if drops && self.drop_next(cx, repeats) {
                self.fill(cx);
                continue;
            }
            if drops || open > now {
                self.resume = open;
                return;
            }
            if let Some(allocation) = &mut self.allocation {
                let at = allocation.request(now);
                if at > now {
                    self.resume = at;
                    return;
                }
            }
            self.begin(cx, repeats);
            self.fill(cx);
            if self.in_service.is_some() {
                return;
            }
        }
    }

    /// Starts the holding time of the resources if no packet waits and no ARQ feedback is outstanding.
    fn idle(&mut self, now: Time) {
        let heard = self.arq.as_ref().is_none_or(|arq| arq.next().is_never());
        if let Some(allocation) = &mut self.allocation
            && heard
            && self.queues.len() == 0
            && self.buffer.current().is_none()
        {
            allocation.idle(now);
        }
    }

    /// Whether a new frame is available, and ARQ window, receive buffer and credit permit its start.
    fn has_new(&self) -> bool {
        let window = self.arq.as_ref().is_none_or(Arq::allows);
        let under_way = match (self.receive_buffer, &self.arq) {
            (Some(room), Some(_)) => self.buffer.may_begin(room),
            _ => true,
        };
        let may_begin = || under_way && self.credit.as_ref().is_none_or(Credit::allows);
        window
            && match self.buffer.current() {
                Some((_, unit)) => unit.sent > 0 || may_begin(),
                None => self.queues.len() > 0 && may_begin(),
            }
    }

    /// Drops the next packet at a closed gate or in a dropping state, or takes it out of its queue for the next
    /// call. False if frames wait instead: with ARQ, retransmissions and packets that have begun.
    fn drop_next(&mut self, cx: &mut Cx<'_>, repeats: bool) -> bool {
        let Some((number, unit)) = self.buffer.current().filter(|_| !repeats) else {
            if !repeats {
                self.take_in(cx);
            }
            return !repeats;
        };
        if unit.sent == 0 {
            if let Some(delivery) = self.buffer.take_current() {
                cx.drop(delivery.packet, DropReason::Outage);
            }
            return true;
        }
        if self.arq.is_some() {
            return false;
        }
        let arrival = cx.now() + unit.delay;
        self.buffer.give_up(number, arrival, DropReason::Outage);
        self.buffer.known(number, None);
        true
    }

    /// Moves packets from the queues into the send buffer while it has room.
    #[inline]
    fn fill(&mut self, cx: &mut Cx<'_>) {
        let Some(room) = self.send_buffer else { return };
        if self.queues.len() > 0 && self.buffer.takes(room, 0) {
            self.fill_to(cx, room);
        }
    }

    /// Moves packets into a send buffer of size `room`.
    #[inline(never)]
    fn fill_to(&mut self, cx: &mut Cx<'_>, room: Room) {
        while self.queues.head().is_some_and(|head| self.buffer.takes(room, head.size)) {
            self.take_in(cx);
        }
    }

    /// Moves one packet from the queues to the send buffer; AQM may drop the packet instead.
    fn take_in(&mut self, cx: &mut Cx<'_>) {
        if let Some(waiting) = self.granting(cx, 0, |queues, cx| queues.take(cx)) {
            let body = self.framing.body(waiting.packet.size);
            self.buffer.push(waiting, body, self.framing.count(body));
        }
    }

    /// Starts the transmission of a frame: a retransmission or a new one.
    fn begin(&mut self, cx: &mut Cx<'_>, repeats: bool) {
        let now = cx.now();
        cx.count_frame();
        if repeats {
            let Some(frame) = self.arq.as_mut().and_then(Arq::repeat) else { return };
            let frame = Frame { repeated: frame.repeated + 1, last: true, ..frame };
            let id = self.buffer.get(frame.unit).map_or(0, |unit| unit.packet.id);
            cx.record(Category::Path, now, || Event::FrameRepeated { packet: id, time: frame.repeated });
            let end = self.finish(now, frame.bytes);
            self.in_service = Some(InService { frame, left: frame.bytes, end });
            return;
        }
        if self.buffer.current().is_none() {
            self.take_in(cx);
        }
        let Some((number, unit, nth)) = self.buffer.begin(now) else { return };
        let bytes = self.framing.bytes(unit.body, nth);
        let last = unit.sent == unit.frames;
        unit.unheard += u32::from(self.arq.is_some());
        if nth == 0 {
            unit.delay = self.followers.delay().unwrap_or(self.delay);
            let (packet, joined) = (unit.packet, unit.joined);
            if let Some(credit) = self.credit.as_mut().filter(|_| !packet.flags.has(Flags::VIRTUAL)) {
                credit.spend();
            }
            if packet.flags.has(Flags::DATA)
                && let Some(ledger) = cx.ledger(&packet)
            {
                ledger.queue_delay_ns += now.since(joined).as_nanos();
                ledger.queue_waits += 1;
            }
            cx.record(Category::Path, now, || Event::ServiceStarted { packet: packet.id });
        }
        match &mut self.arq {
            Some(arq) => arq.begun(),
            // Without ARQ the packet leaves the send buffer now.
            None => self.buffer.release(number),
        }
        let end = self.finish(now, bytes);
        let frame = Frame { unit: number, bytes, repeated: 0, good: false, last };
        self.in_service = Some(InService { frame, left: bytes, end });
    }

    /// Whether an arriving packet of `size` bytes leaves the queue at once, so that no queue limit applies.
    fn is_free(&mut self, now: Time, size: u32) -> bool {
        if self.queues.len() > 0 {
            return false;
        }
        if let Some(room) = self.send_buffer {
            return self.buffer.takes(room, size);
        }
        if self.in_service.is_some()
            || self.arq.as_ref().is_some_and(Arq::repeats)
            || self.buffer.current().is_some()
        {
            return false;
        }
        let (open, drops) = self.opens(now);
        drops || open <= now
    }
}

/// Counts the feedback on `frames` frames of packet `number`. After the last feedback the packet leaves the
/// send buffer.
fn acknowledge_frames(buffer: &mut Buffer, number: u64, frames: u32) {
    if let Some(unit) = buffer.get_mut(number) {
        unit.unheard -= frames.min(unit.unheard);
        if unit.unheard == 0 && unit.sent == unit.frames {
            buffer.release(number);
        }
    }
}

impl Element for Channel {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        let now = cx.now();
        // An empty channel does not wake for state changes: perform those due by now.
        if self.due <= now || !self.followers.is_empty() {
            self.catch_up(cx);
        }
        if packet.flags.has(Flags::VIRTUAL) && self.holds() >= MOST_LOAD {
            cx.drop(packet, DropReason::QueueFull);
        } else {
            let idle = self.in_service.is_none() && self.queues.len() == 0;
            let idle = if idle { now.since(self.idle_since) } else { Span::ZERO };
            let at_once = self.is_free(now, packet.size);
            let real = usize::from(!packet.flags.has(Flags::VIRTUAL));
            self.granting(cx, real, |queues, cx| queues.join(cx, packet, idle, at_once));
        }
        self.serve(cx);
        self.look_ahead();
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.catch_up(cx);
        self.serve(cx);
        self.look_ahead();
    }

    fn next_wake(&self) -> Time {
        self.wakes_at
    }

    fn next_exit(&self) -> Time {
        self.exits()
    }

    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
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
    }

    fn holds(&self) -> usize {
        self.queues.len() + self.buffer.held()
    }
}
