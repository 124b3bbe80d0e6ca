//! Link: FIFO queue with a limit and optionally RED, transmission, gates and propagation, one direction.
//!
//! Service is lazy. A FIFO queue in front of a known service curve is deterministic, so a packet's start and
//! end of transmission are computed when it joins the queue, and the link wakes for deliveries only. A packet
//! whose start lies in the past has left the queue: the limit applies to waiting packets, not to the one in
//! service. At equal times a departure precedes an arrival.
//!
//! Gates suspend service behind the queue (catalogue NS-03). While one is closed no transmission starts, the
//! packet in transmission finishes, packets in propagation arrive, and the queue fills. Only a signal from
//! outside, or a drop from the queue's head, changes computed times; then the waiting packets and the rest of
//! the one in service are recomputed.

mod ahead;
mod config;
mod merge;
mod slot;

pub use config::{LinkConfig, LinkGate, QueueLimit};

use crate::capacity::Capacity;
use crate::channel::MOST_LOAD;
use crate::element::{Core, Cx, Element, ElementId, Port, Signal};
use crate::outbox::Parcel;
use crate::qdisc::red::Red;
use crate::qdisc::{Aqm as _, AqmVerdict};
use crate::ring::Ring;
pub(crate) use ahead::Lookahead;
use base::event::{Category, Event};
use base::packet::{DropReason, Flags, Packet};
use base::{Rate, Span, Time};
use merge::Merge;
use slot::Slot;

/// One direction of a link. A network may have thousands of links, so fields are ordered for the cache: the fields
/// needed for every packet come first and fill two cache lines.
#[repr(C, align(64))]
pub struct Link {
    /// Packets in order: in propagation, in service, waiting.
    slots: Ring<Slot>,
    /// Number of packets, from the front, whose transmission had started at the last check.
    started: u32,
    /// Size of the next packet to start, if one waits.
    next_size: u32,
    /// Start of the next packet's transmission; [`Time::NEVER`] if no packet waits.
    next_start: Time,
    waiting_bytes: u64,
    /// Time at which the transmitter is free.
    free: Time,
    /// Interval in which all gates are known to be open, end excluded.
    open: (Time, Time),
    delay: Span,
    /// Transmission times of `sizes`; valid for a constant rate only.
    spans: [Span; 2],
    /// The last two packet sizes, bytes.
    sizes: [u32; 2],
    /// Arrival of the first packet at the far end; [`Time::NEVER`] without packets. A copy from its slot, which often
    /// is not in the cache.
    front: Time,
    /// Limit of the backlog, packets; `u32::MAX`: no limit.
    most_packets: u32,
    /// Whether the backlog has a limit in bytes.
    counts_bytes: bool,
    /// Whether `red` is set.
    is_managed: bool,
    pub(crate) lookahead: Lookahead,
    /// Number of packets, from the front, that are forwarded ahead.
    forwarded: u32,
    /// Arrivals from links that forward ahead.
    merge: Option<Box<Merge>>,
    limit: QueueLimit,
    /// Active queue management (RED).
    red: Option<Box<Red>>,
    capacity: Capacity,
    gates: Vec<LinkGate>,
    /// Whether the last signal was [`Signal::Close`] instead of [`Signal::Open`].
    closed_by_hand: bool,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::offset_of!(Link, forwarded) == 128);

/// Value of `sizes` that matches no packet size.
const NO_SIZES: [u32; 2] = [u32::MAX; 2];

impl Link {
    /// A link with gates behind its queue.
    pub fn new(config: LinkConfig, gates: Vec<LinkGate>) -> Self {
        Link {
            capacity: config.capacity,
            delay: config.delay,
            most_packets: config.limit.packets.unwrap_or(u32::MAX),
            counts_bytes: config.limit.bytes.is_some(),
            limit: config.limit,
            gates,
            closed_by_hand: false,
            open: (Time::ZERO, Time::ZERO),
            slots: Ring::new(),
            started: 0,
            next_start: Time::NEVER,
            next_size: 0,
            waiting_bytes: 0,
            free: Time::ZERO,
            spans: [Span::ZERO; 2],
            sizes: NO_SIZES,
            front: Time::NEVER,
            is_managed: false,
            lookahead: Lookahead::default(),
            forwarded: 0,
            merge: None,
            red: None,
        }
    }

    /// Adds RED to the queue.
    #[must_use]
    pub fn managed(mut self, red: Red) -> Self {
        (self.red, self.is_managed) = (Some(Box::new(red)), true);
        self
    }

    /// RED's decision on an arriving packet.
    #[inline(never)]
    fn ask(&mut self, cx: &mut Cx<'_>, packet: &Packet) -> AqmVerdict {
        let now = cx.now();
        self.catch_up(now);
        let waiting = (self.slots.len() - self.started) as usize;
        let idle = if waiting == 0 && !self.closed_by_hand && self.free < now {
            now.since(self.free)
        } else {
            Span::ZERO
        };
        let full = self.is_full(packet.size);
        let Some(red) = &mut self.red else { return AqmVerdict::Pass };
        let verdict = red.arrival(now, waiting, idle, packet.ecn);
        if full && verdict != AqmVerdict::Drop {
            red.overflowed();
        }
        verdict
    }

    /// Drops or marks a packet by a decision of RED.
    #[cold]
    fn treat(&mut self, cx: &mut Cx<'_>, packet: &Packet, verdict: AqmVerdict) {
        if verdict == AqmVerdict::Drop {
            return cx.drop(*packet, DropReason::Early);
        }
        let (id, now) = (packet.id, cx.now());
        cx.record(Category::Path, now, || Event::Marked { packet: id });
        //= RFC 3168 section 5: the CE codepoint is '11'
        self.queue(cx, &Packet { ecn: 3, ..*packet });
    }

    /// Moves packets whose transmission has started by `now` from the backlog to `started`.
    #[inline(always)]
    fn catch_up(&mut self, now: Time) {
        while self.next_start <= now {
            self.waiting_bytes -= u64::from(self.next_size);
            self.started += 1;
            self.look_ahead();
        }
    }

    /// Removes the first packet and updates the next arrival.
    #[inline(always)]
    fn leave(&mut self) {
        self.remove_first();
        self.look_at_front();
    }

    /// Removes the first packet. If no check happened since its start, it still counts as waiting.
    #[inline(always)]
    fn remove_first(&mut self) {
        if self.started > 0 {
            self.started -= 1;
            self.slots.pop_front();
        } else {
            self.waiting_bytes -= u64::from(self.next_size);
            self.slots.pop_front();
            self.look_ahead();
        }
    }

    /// Updates the arrival of the first packet.
    #[inline(always)]
    fn look_at_front(&mut self) {
        self.front = self.slots.get(0).map_or(Time::NEVER, |slot| slot.arrival);
    }

    /// Delivers the first packet at the far end, or drops it if a gate does so.
    #[inline(always)]
    fn deliver(&mut self, cx: &mut Cx<'_>, now: Time) {
        let Some(slot) = self.slots.get(0) else { return };
        if slot.is_doomed() {
            cx.drop(slot.packet(), DropReason::Outage);
        } else {
            cx.count_hop();
            if cx.records(Category::Path) {
                let packet = slot.packet.id;
                cx.record(Category::Path, slot.start, || Event::ServiceStarted { packet });
                cx.record(Category::Path, now, || Event::Delivered { packet });
            }
            cx.forward_from(Port(0), &slot.packet);
        }
        self.leave();
    }

    /// Hands on the packet that arrives at the far end now; returns the next wake-up. `None`, without an effect,
    /// where [`Element::wake`] has to be called: if no packet or more than one arrives now, or one that is dropped
    /// or recorded.
    #[inline(always)]
    pub(crate) fn release(
        &mut self,
        core: &mut Core,
        me: ElementId,
        now: Time,
        parcel: &mut Parcel,
    ) -> Option<Time> {
        if self.lookahead.has(Lookahead::FORWARDS) {
            self.count_forwarded(core, now, true);
        }
        let next = self.slots.get(1).map_or(Time::NEVER, |slot| slot.arrival);
        let slot = self.slots.get(0)?;
        if self.front > now || next <= now || slot.is_doomed() || core.tracer.wants(Category::Path) {
            return None;
        }
        core.counters.hops += 1;
        parcel.packet = slot.packet;
        (parcel.to, parcel.port) = core.wires.reaches(me, Port(0), &slot.packet);
        self.remove_first();
        self.front = next;
        Some(next)
    }

    /// Takes out the first packet, which is background load, at the far end, or drops it at its gate.
    #[inline]
    pub(crate) fn absorb(&mut self, cx: &mut Cx<'_>) {
        let Some(slot) = self.slots.get(0) else { return };
        if slot.is_doomed() {
            cx.drop(slot.packet(), DropReason::Outage);
        } else {
            cx.count_hop();
            cx.discard(&slot.packet);
        }
        self.leave();
    }

    /// For load packets of `size` bytes that arrive every `gap` from `t` on: the number that pass without waiting and
    /// leave the link before the last one before `end` arrives. The transmitter is then busy with these packets. 0 if
    /// a packet might wait.
    #[inline]
    pub(crate) fn idles(&mut self, t: Time, end: Time, size: u32, gap: Span) -> u64 {
        let end = end.min(self.open.1);
        if self.free > t || t < self.open.0 || end <= t + gap || self.is_managed {
            return 0;
        }
        let Capacity::Fixed(rate) = self.capacity else { return 0 };
        self.catch_up(t);
        let takes = self.span_of(rate, size);
        if self.slots.len() > self.started || takes > gap {
            return 0;
        }
        let coming = (end.since(t).as_nanos() - 1) / gap.as_nanos() + 1;
        // The last packets are simulated one by one, so that the packet in service is known.
        let staying = (takes + self.delay).as_nanos() / gap.as_nanos() + 1;
        let passing = coming.saturating_sub(staying);
        if passing > 0 {
            self.free = t + Span::from_nanos((passing - 1) * gap.as_nanos()) + takes;
        }
        passing
    }

    /// Packets inside: in propagation, in service, waiting.
    pub(crate) fn slots(&self) -> &Ring<Slot> {
        &self.slots
    }

    /// [`Self::deliver`] for further packets at the same time, which are rare: not inlined, so that the
    /// common case needs no registers for them.
    #[cold]
    #[inline(never)]
    pub(crate) fn deliver_another(&mut self, cx: &mut Cx<'_>, now: Time) {
        self.deliver(cx, now);
    }

    /// Updates `next_start` and `next_size`.
    #[inline(always)]
    fn look_ahead(&mut self) {
        let next = self.slots.get(self.started);
        (self.next_start, self.next_size) =
            next.map_or((Time::NEVER, 0), |slot| (slot.start, slot.packet.size));
    }

    /// Start and end of a transmission of `size` bytes for which the transmitter is free at `t`, and whether a gate
    /// drops the packet instead.
    #[inline(always)]
    fn transmission(&mut self, now: Time, t: Time, size: u32) -> (Time, Time, bool) {
        if self.open.0 <= t && t < self.open.1 {
            if self.sizes[0] == size {
                return (t, t + self.spans[0], false);
            }
            if let Capacity::Fixed(rate) = self.capacity {
                return (t, t + self.span_of(rate, size), false);
            }
        }
        self.transmission_through(now, t, size)
    }

    /// The general case of [`Self::transmission`], with gates and a varying rate.
    #[inline(never)]
    fn transmission_through(&mut self, now: Time, t: Time, size: u32) -> (Time, Time, bool) {
        let start = match self.passing(now, t) {
            Ok(start) => start,
            Err(end) => return (end, end, true),
        };
        if start.is_never() {
            return (start, start, false);
        }
        let end = match &mut self.capacity {
            Capacity::Fixed(rate) => {
                let rate = *rate;
                start + self.span_of(rate, size)
            }
            varying => varying.finish(now, start, size),
        };
        (start, end, false)
    }

    /// Time at which a packet for which the transmitter is free at `t` has passed the gates; as an error, the time
    /// at which a gate drops it.
    fn passing(&mut self, now: Time, t: Time) -> Result<Time, Time> {
        if self.closed_by_hand {
            return Ok(Time::NEVER);
        }
        let start = LinkGate::pass(&mut self.gates, now, t)?;
        let closes = self.gates.iter_mut().map(|g| g.gate.phase(now, start).1).min();
        self.open = (start, closes.unwrap_or(Time::NEVER));
        Ok(start)
    }

    #[inline]
    fn span_of(&mut self, rate: Rate, size: u32) -> Span {
        // Data packets and ACKs: two cached sizes avoid nearly every division.
        if self.sizes[0] == size {
            return self.spans[0];
        }
        self.sizes.swap(0, 1);
        self.spans.swap(0, 1);
        if self.sizes[0] != size {
            (self.sizes[0], self.spans[0]) = (size, rate.span_of(u64::from(size)));
        }
        self.spans[0]
    }

    #[inline]
    fn is_full(&self, size: u32) -> bool {
        let waiting = self.slots.len() - self.started;
        waiting >= self.most_packets
            || self.counts_bytes && self.limit.bytes.is_some_and(|n| self.waiting_bytes + u64::from(size) > n)
    }

    /// Whether a packet would have to wait now: the link is closed by a signal or by a gate that stores.
    #[inline(always)]
    fn is_closed(&mut self, now: Time) -> bool {
        let open = self.open.0 <= now && now < self.open.1;
        !open && self.holds_up(now)
    }

    /// The general case of [`Self::is_closed`], with gates.
    #[inline(never)]
    fn holds_up(&mut self, now: Time) -> bool {
        self.closed_by_hand || self.gates.iter_mut().any(|g| g.stores && g.gate.open_from(now, now) > now)
    }

    /// Processes an arriving packet: RED, then the queue.
    #[inline(always)]
    pub(crate) fn take(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        if self.is_managed {
            match self.ask(cx, packet) {
                AqmVerdict::Pass => self.queue(cx, packet),
                verdict => self.treat(cx, packet, verdict),
            }
        } else {
            self.queue(cx, packet);
        }
    }

    /// Enqueues a packet, or drops it at a full queue.
    #[inline(always)]
    fn queue(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let now = cx.now();
        self.catch_up(now);
        let idle = self.slots.len() == self.started && self.free <= now;
        let open = self.open.0 <= now && now < self.open.1;
        if idle && open && self.sizes[0] == packet.size {
            // The most frequent case by far: transmission starts at once and takes as long as the last one.
            self.free = now + self.spans[0];
            self.started += 1;
            self.append(now, self.free + self.delay, packet);
            return self.joined(cx, now, packet, 0);
        }
        self.queue_in_turn(cx, packet, !idle);
    }

    /// The general case of [`Self::queue`]. `busy`: a packet is waiting or in service.
    #[inline(always)]
    fn queue_in_turn(&mut self, cx: &mut Cx<'_>, packet: &Packet, busy: bool) {
        let now = cx.now();
        // A packet that finds the link idle and open does not wait, so no limit applies.
        if busy || self.is_closed(now) {
            if self.is_full(packet.size) && !(self.limit.drop_head && self.make_room(cx, packet.size)) {
                return cx.drop(*packet, DropReason::QueueFull);
            }
            let waiting = (self.slots.len() - self.started) as usize;
            if waiting >= MOST_LOAD && packet.flags.has(Flags::VIRTUAL) {
                return cx.drop(*packet, DropReason::QueueFull);
            }
        }
        let waiting = self.slots.len() - self.started;
        let start = self.join(now, packet);
        self.joined(cx, start, packet, waiting);
    }

    /// Counts and records a packet that joined the queue behind `waiting` others and starts at `start`.
    #[inline(always)]
    fn joined(&self, cx: &mut Cx<'_>, start: Time, packet: &Packet, waiting: u32) {
        let now = cx.now();
        // The delay behind a link that is closed for good is unknown.
        if packet.flags.has(Flags::DATA)
            && !start.is_never()
            && let Some(ledger) = cx.ledger(packet)
        {
            ledger.queue_delay_ns += start.since(now).as_nanos();
            ledger.queue_waits += 1;
        }
        cx.record(Category::Path, now, || Event::Enqueued { packet: packet.id, size: packet.size, waiting });
    }

    /// Appends a packet to the queue; returns the start of its transmission.
    #[inline(always)]
    fn join(&mut self, now: Time, packet: &Packet) -> Time {
        let (start, end, doomed) = self.transmission(now, self.free.max(now), packet.size);
        self.free = end;
        let arrival = if doomed { end } else { end + self.delay };
        if self.slots.len() > self.started {
            self.waiting_bytes += u64::from(packet.size);
        } else if start <= now {
            self.started += 1; // it need not wait
        } else {
            self.waiting_bytes += u64::from(packet.size);
            (self.next_start, self.next_size) = (start, packet.size);
        }
        self.append(start, arrival, packet);
        if doomed && let Some(slot) = self.slots.get_mut(self.slots.len() - 1) {
            slot.doom(true);
        }
        start
    }

    /// Writes a packet behind the last one.
    #[inline(always)]
    fn append(&mut self, start: Time, arrival: Time, packet: &Packet) {
        // Without a packet, or with packets forwarded ahead only.
        if self.front.is_never() {
            self.front = arrival;
        }
        if let Some(slot) = self.slots.push_place() {
            // Field by field, so that the packet is copied once.
            (slot.arrival, slot.start) = (arrival, start);
            slot.packet = *packet;
        }
    }

    /// End of a packet's transmission.
    fn end_of(&self, slot: &Slot) -> Time {
        if slot.is_doomed() || slot.arrival.is_never() { slot.arrival } else { slot.arrival - self.delay }
    }

    /// Recomputes the times of all packets whose transmission has not started. `in_service`: remaining bytes of the
    /// packet in service, if its end changes.
    fn reschedule(&mut self, now: Time, in_service: Option<u32>) {
        let mut free = now;
        if let Some(i) = self.started.checked_sub(1)
            && let Some(end) = self.slots.get(i).map(|slot| self.end_of(slot))
            && end > now
        {
            free = end;
            if let Some(bytes) = in_service {
                free = self.capacity.finish(now, now, bytes);
                if let Some(slot) = self.slots.get_mut(i) {
                    slot.arrival = free + self.delay;
                }
            }
        }
        for i in self.started..self.slots.len() {
            let Some(size) = self.slots.get(i).map(|slot| slot.packet.size) else { break };
            let (start, end, doomed) = self.transmission(now, free, size);
            let arrival = if doomed { end } else { end + self.delay };
            if let Some(slot) = self.slots.get_mut(i) {
                (slot.start, slot.arrival) = (start, arrival);
                slot.doom(doomed);
            }
            free = end;
        }
        self.free = free;
        self.look_ahead();
        self.look_at_front();
    }

    /// Drops waiting packets from the head until `size` bytes fit; false, without a drop, if `size` exceeds the limit.
    #[cold]
    fn make_room(&mut self, cx: &mut Cx<'_>, size: u32) -> bool {
        if self.limit.bytes.is_some_and(|n| u64::from(size) > n) {
            return false;
        }
        while self.is_full(size) {
            let Some(slot) = self.slots.remove(self.started) else {
                self.look_ahead();
                self.look_at_front();
                return false;
            };
            self.waiting_bytes -= u64::from(slot.packet.size);
            cx.drop(slot.packet(), DropReason::QueueFull);
        }
        self.reschedule(cx.now(), None);
        true
    }
}

impl Element for Link {
    #[inline]
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        self.take(cx, &packet);
    }

    // The packet is read in place and copied once, into its slot: reading a field right after a field-wise
    // copy would stall on the store.
    #[inline(always)] // part of the network's loop
    fn arrive(&mut self, cx: &mut Cx<'_>, _port: Port, packet: &Packet) -> Time {
        let before = self.front;
        self.take(cx, packet);
        if self.front < before { self.front } else { Time::NEVER }
    }

    #[inline(always)]
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        if self.next_wake() > now {
            return;
        }
        self.deliver(cx, now);
        while self.next_wake() <= now {
            self.deliver_another(cx, now);
        }
    }

    #[inline(always)]
    fn next_wake(&self) -> Time {
        self.front
    }

    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        let now = cx.now();
        self.catch_up(now);
        match signal {
            Signal::Rate(rate) => {
                // Remaining bytes of the packet in service, at the old rate.
                let in_service = self.started.checked_sub(1).and_then(|i| self.slots.get(i));
                let in_service = in_service.map(|slot| (self.end_of(slot), slot.packet.size));
                let left = in_service.filter(|(end, _)| *end > now).map(|(end, size)| {
                    let bytes = self.capacity.bits_between(now, end).div_ceil(8);
                    u32::try_from(bytes).unwrap_or(u32::MAX).min(size)
                });
                self.capacity = Capacity::Fixed(rate);
                self.sizes = NO_SIZES;
                self.reschedule(now, left);
            }
            Signal::Close => {
                self.closed_by_hand = true;
                self.open = (Time::ZERO, Time::ZERO);
                self.reschedule(now, None);
            }
            Signal::Open => {
                self.closed_by_hand = false;
                self.reschedule(now, None);
            }
            _ => {}
        }
    }

    fn next_exit(&self) -> Time {
        self.merge.as_ref().map_or(self.front, |merge| merge.due().min(self.front))
    }

    fn holds(&self) -> usize {
        let arrivals = self.merge.as_ref().map_or(0, |merge| merge.len());
        (self.slots.len() - self.forwarded) as usize + arrivals
    }
}
