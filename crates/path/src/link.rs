//! Link: queue, serialisation and propagation, one direction.
//!
//! Queue it (drop-tail, drop-head, RED), serialise it, carry it. One direction.
//!
//! Service is lazy. Since a FIFO queue in front of a known service curve leaves nothing open, the
//! instant at which a packet starts and ends its transmission is computed when it joins the queue, and
//! the link wakes for deliveries only. A packet whose start lies in the past has left the queue: what
//! counts against the limit is what waits, not what is in service. At equal times a departure comes
//! before an arrival.
//!
//! Gates suspend service after the queue (catalogue NS-03): no transmission starts while one is
//! closed, the packet in transmission finishes, what propagates arrives, the queue fills. Only a
//! signal from outside, or a packet taken out of the queue's head, changes what was computed; then the
//! packets not yet started, and the rest of the one in service, are computed again.

use crate::capacity::Capacity;
use crate::channel::MOST_LOAD;
use crate::element::{Cx, Element, Port, Signal};
use crate::gate::Gate;
use crate::qdisc::red::Red;
use crate::qdisc::{Aqm as _, Verdict};
use crate::ring::Ring;
use base::event::{Category, Event};
use base::packet::{DropReason, Flags, Packet};
use base::{Rate, Span, Time};

/// What a link is made of.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Rate over time.
    pub capacity: Capacity,
    /// One-way propagation; transmission time is extra.
    pub delay: Span,
    /// What may wait.
    pub limit: QueueLimit,
}

/// How much may wait beside the packet in service, and who goes when that is too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QueueLimit {
    /// At most so many packets.
    pub packets: Option<u32>,
    /// At most so many bytes.
    pub bytes: Option<u64>,
    /// The oldest waiting packet makes room (QM-02), instead of the newest being dropped (QM-01).
    pub drop_head: bool,
}

/// A gate after the queue, and what becomes of packets that come to it while it is closed.
#[derive(Clone, Debug)]
pub struct LinkGate {
    /// When it is closed.
    pub gate: Gate,
    /// They wait, and with them everything behind; otherwise they are dropped.
    pub stores: bool,
}

/// What is known of a packet inside: one cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Slot {
    /// When the packet arrives at the far end: one propagation after transmission ends.
    pub(crate) arrival: Time,
    /// When transmission starts.
    start: Time,
    /// With [`DOOMED`], if that is so.
    packet: Packet,
}

const _: () = assert!(size_of::<Slot>() == 64);

/// Of a packet in its slot and nowhere else: it meets a closed gate that does not store, and ends there. A bit of the byte
/// of the ECN codepoint, which has two.
const DOOMED: u8 = 1 << 7;

impl Slot {
    fn is_doomed(&self) -> bool {
        self.packet.ecn & DOOMED != 0
    }

    fn doom(&mut self, doomed: bool) {
        let codepoint = self.packet.ecn & !DOOMED;
        self.packet.ecn = if doomed { codepoint | DOOMED } else { codepoint };
    }

    /// Background load.
    pub(crate) fn is_load(&self) -> bool {
        self.packet.flags.has(Flags::VIRTUAL)
    }

    /// The packet as it came.
    fn packet(&self) -> Packet {
        Packet { ecn: self.packet.ecn & !DOOMED, ..self.packet }
    }
}

/// One direction of a link. In this order, since there may be thousands: what every packet touches comes
/// first and fills two cache lines.
#[repr(C, align(64))]
pub struct Link {
    /// Packets in order: those that propagate, the one in service, those that wait.
    slots: Ring<Slot>,
    /// How many of them, from the front, had started when last looked at.
    started: u32,
    /// The size of the next one to start, if one waits.
    next_size: u32,
    /// When it starts; [`Time::NEVER`] if none waits.
    next_start: Time,
    waiting_bytes: u64,
    /// When the transmitter is free.
    free: Time,
    /// From the first to before the second nothing is known to be closed.
    open: (Time, Time),
    delay: Span,
    /// The last two sizes and their transmission times at a fixed rate; while the rate varies, none.
    spans: [Span; 2],
    sizes: [u32; 2],
    /// Of the limit: packets; the greatest number if they are not counted.
    most_packets: u32,
    /// Of the limit: whether bytes are counted.
    counts_bytes: bool,
    /// Speaks up before the queue is full.
    red: Option<Box<Red>>,
    limit: QueueLimit,
    capacity: Capacity,
    gates: Vec<LinkGate>,
    closed_by_hand: bool,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::offset_of!(Link, limit) == 128);

/// No packet has this size.
const NO_SIZES: [u32; 2] = [u32::MAX; 2];

impl Link {
    /// A link with gates after its queue.
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
            red: None,
        }
    }

    /// The same link with a manager of its queue.
    #[must_use]
    pub fn managed(mut self, red: Red) -> Self {
        self.red = Some(Box::new(red));
        self
    }

    /// Asks the queue's manager about a packet that has come; false if it was dropped.
    #[cold]
    fn ask(&mut self, cx: &mut Cx<'_>, packet: &mut Packet) -> bool {
        let now = cx.now();
        self.catch_up(now);
        let waiting = (self.slots.len() - self.started) as usize;
        let idle = if waiting == 0 && !self.closed_by_hand && self.free < now {
            now.since(self.free)
        } else {
            Span::ZERO
        };
        let Some(red) = &mut self.red else { return true };
        match red.arrival(now, waiting, idle, packet.ecn) {
            Verdict::Pass => {}
            Verdict::Mark => {
                //= RFC 3168 section 5: the CE codepoint is '11'
                packet.ecn = 3;
                let id = packet.id;
                cx.record(Category::Path, now, || Event::Marked { packet: id });
            }
            Verdict::Drop => {
                cx.drop(*packet, DropReason::Early);
                return false;
            }
        }
        if self.is_full(packet.size)
            && let Some(red) = &mut self.red
        {
            red.overflowed();
        }
        true
    }

    /// Moves packets whose transmission has started out of the queue.
    #[inline(always)]
    fn catch_up(&mut self, now: Time) {
        while self.next_start <= now {
            self.waiting_bytes -= u64::from(self.next_size);
            self.started += 1;
            self.look_ahead();
        }
    }

    /// The first packet is gone. Nobody may have looked since it started: it then still counts as waiting.
    #[inline(always)]
    fn leave(&mut self) {
        if self.started > 0 {
            self.started -= 1;
            self.slots.pop_front();
        } else {
            self.waiting_bytes -= u64::from(self.next_size);
            self.slots.pop_front();
            self.look_ahead();
        }
    }

    /// The first packet has come to the far end, or to the gate at which it ends.
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

    /// The first packet, one of background load, has come to the far end, where it is taken out; or to the gate at which
    /// it ends.
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

    /// How many packets of `size` bytes, one every `gap` from `t` on, pass without waiting and are at the far end before the last
    /// one that comes before `end`. None if one could wait, or if that is not known yet.
    #[inline]
    pub(crate) fn idles(&mut self, t: Time, end: Time, size: u32, gap: Span) -> u64 {
        let end = end.min(self.open.1);
        if self.free > t || t < self.open.0 || end <= t + gap || self.red.is_some() {
            return 0;
        }
        let Capacity::Fixed(rate) = self.capacity else { return 0 };
        self.catch_up(t);
        let takes = self.span_of(rate, size);
        if self.slots.len() > self.started || takes > gap {
            return 0;
        }
        let coming = (end.since(t).as_nanos() - 1) / gap.as_nanos() + 1;
        // They stay in the link: so it knows what it has in service.
        let staying = (takes + self.delay).as_nanos() / gap.as_nanos() + 1;
        let passing = coming.saturating_sub(staying);
        if passing > 0 {
            self.free = t + Span::from_nanos((passing - 1) * gap.as_nanos()) + takes;
        }
        passing
    }

    /// Packets inside: those that propagate, the one in service, those that wait.
    pub(crate) fn slots(&self) -> &Ring<Slot> {
        &self.slots
    }

    /// The same for those that come at the same instant, which are few: a call, so that what delivers the first
    /// keeps no registers for them.
    #[cold]
    #[inline(never)]
    pub(crate) fn deliver_another(&mut self, cx: &mut Cx<'_>, now: Time) {
        self.deliver(cx, now);
    }

    /// Looks when the next one starts.
    #[inline(always)]
    fn look_ahead(&mut self) {
        let next = self.slots.get(self.started);
        (self.next_start, self.next_size) =
            next.map_or((Time::NEVER, 0), |slot| (slot.start, slot.packet.size));
    }

    /// When transmission of `size` bytes that could begin at `t` begins and ends, and whether a gate
    /// ends it instead.
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

    /// The same, asking the gates and whatever says how fast it goes.
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

    /// When something that comes at `t` has passed the gates, or when it ends at one of them.
    fn passing(&mut self, now: Time, t: Time) -> Result<Time, Time> {
        if self.closed_by_hand {
            return Ok(Time::NEVER);
        }
        let mut start = t;
        // Passing one gate may end before another: until all are open at once.
        loop {
            let before = start;
            for LinkGate { gate, stores } in &mut self.gates {
                let open = gate.open_from(now, start);
                if open > start && !*stores {
                    return Err(start);
                }
                start = open;
            }
            if start == before {
                break;
            }
        }
        let closes = self.gates.iter_mut().map(|g| g.gate.phase(now, start).1).min();
        self.open = (start, closes.unwrap_or(Time::NEVER));
        Ok(start)
    }

    #[inline]
    fn span_of(&mut self, rate: Rate, size: u32) -> Span {
        // Data packets and acknowledgements: two sizes spare nearly every division.
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

    /// Whether a transmission could not start now.
    #[inline(always)]
    fn is_closed(&mut self, now: Time) -> bool {
        let open = self.open.0 <= now && now < self.open.1;
        !open && self.holds_up(now)
    }

    #[inline(never)]
    fn holds_up(&mut self, now: Time) -> bool {
        self.closed_by_hand || self.gates.iter_mut().any(|g| g.stores && g.gate.open_from(now, now) > now)
    }

    /// Takes a packet in.
    #[inline(always)]
    pub(crate) fn take(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        if self.red.is_some() {
            let mut packet = *packet;
            if self.ask(cx, &mut packet) {
                self.queue(cx, &packet);
            }
        } else {
            self.queue(cx, packet);
        }
    }

    /// Queues a packet, or drops it.
    #[inline(always)]
    fn queue(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let now = cx.now();
        self.catch_up(now);
        // A packet that finds the link idle and open does not wait: no limit holds for it.
        let waits = self.slots.len() > self.started || self.free > now || self.is_closed(now);
        if waits && self.is_full(packet.size) && !(self.limit.drop_head && self.make_room(cx, packet.size)) {
            return cx.drop(*packet, DropReason::QueueFull);
        }
        let waiting = self.slots.len() - self.started;
        if packet.flags.has(Flags::VIRTUAL) && waiting as usize >= MOST_LOAD {
            return cx.drop(*packet, DropReason::QueueFull);
        }
        let start = self.join(now, packet);
        // How long it waits behind a link that is closed for good, nobody knows.
        if packet.flags.has(Flags::DATA)
            && !start.is_never()
            && let Some(ledger) = cx.ledger(packet)
        {
            ledger.queue_delay_ns += start.since(now).as_nanos();
            ledger.queue_waits += 1;
        }
        cx.record(Category::Path, now, || Event::Enqueued { packet: packet.id, size: packet.size, waiting });
    }

    /// Puts a packet at the end of the queue.
    #[inline(always)]
    fn join(&mut self, now: Time, packet: &Packet) -> Time {
        let (start, end, doomed) = self.transmission(now, self.free.max(now), packet.size);
        self.free = end;
        let arrival = if doomed { end } else { end + self.delay };
        if self.slots.len() > self.started {
            self.waiting_bytes += u64::from(packet.size);
        } else if start <= now {
            self.started += 1; // it does not wait
        } else {
            self.waiting_bytes += u64::from(packet.size);
            (self.next_start, self.next_size) = (start, packet.size);
        }
        self.slots.push_back(Slot { arrival, start, packet: *packet });
        if doomed && let Some(slot) = self.slots.get_mut(self.slots.len() - 1) {
            slot.doom(true);
        }
        start
    }

    /// When the transmission of a packet ends.
    fn end_of(&self, slot: &Slot) -> Time {
        if slot.is_doomed() || slot.arrival.is_never() { slot.arrival } else { slot.arrival - self.delay }
    }

    /// Computes everything that has not started again. `in_service` are the bytes that the packet in
    /// service still has to send, if that has changed.
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
    }

    /// Drops waiting packets from the head until `size` more bytes have room; false, and nothing is dropped, if they
    /// never do.
    #[cold]
    fn make_room(&mut self, cx: &mut Cx<'_>, size: u32) -> bool {
        if self.limit.bytes.is_some_and(|n| u64::from(size) > n) {
            return false;
        }
        while self.is_full(size) {
            let Some(slot) = self.slots.remove(self.started) else {
                self.look_ahead();
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

    // The packet is looked at where it lies and copied once, into its slot: a copy of what was written just
    // now, field by field, is not there yet when its first field is asked for.
    #[inline]
    fn arrive(&mut self, cx: &mut Cx<'_>, _port: Port, packet: &Packet) -> Time {
        self.take(cx, packet);
        self.next_wake()
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
        self.slots.get(0).map_or(Time::NEVER, |slot| slot.arrival)
    }

    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        let now = cx.now();
        self.catch_up(now);
        match signal {
            Signal::Rate(rate) => {
                // What the packet in service still has to send at the old rate.
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
            Signal::State { .. } | Signal::Cease | Signal::Credit | Signal::Flush { .. } => {}
        }
    }

    fn holds(&self) -> usize {
        self.slots.len() as usize
    }
}
