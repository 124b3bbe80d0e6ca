//! Deadline-aware link, one direction: router queue that drops or schedules packets by their lifetime, transmitter and
//! propagation (Gurtov and Ludwig, "Exploiting Packet Lifetime for Efficient Real-Time Transport", section III.C).
//!
//! The link selects a packet when the transmitter becomes free, since expiry and scheduling depend on that time.
//! Rates and the gates behind the queue have the semantics of [`crate::link::Link`]: no transmission starts while a
//! gate is closed, the packet in service finishes, and packets in propagation arrive. At equal times a departure
//! precedes an arrival.

mod policy;

pub use policy::{Check, Expired, Margin, Order, Overflow, Policy, RemainingPath, Units};

use crate::capacity::Capacity;
use crate::element::{Cx, Element, Port, Signal};
use crate::link::{LinkConfig, LinkGate, QueueLimit};
use base::event::{Category, Event};
use base::packet::{DropReason, Flags, Packet};
use base::{Rate, Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A waiting packet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: Packet,
    joined: Time,
}

/// The packet in service.
#[derive(Clone, Copy, Debug)]
struct Service {
    packet: Packet,
    start: Time,
    end: Time,
}

/// A packet in propagation.
#[derive(Clone, Copy, Debug)]
struct Flying {
    packet: Packet,
    start: Time,
    arrival: Time,
}

/// Packet counters of a deadline-aware link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeadlineCounters {
    /// Packets dropped because they could not meet their deadline.
    pub expired: u64,
    /// Packets dropped because another packet of their data unit was dropped, or the sender aborted the unit.
    pub unit_drops: u64,
    /// Expired packets moved to low priority.
    pub demoted: u64,
    /// Expired packets reduced to their headers.
    pub stubs: u64,
}

/// One direction of a link with a deadline-aware queue.
pub struct DeadlineLink {
    policy: Policy,
    limit: QueueLimit,
    capacity: Capacity,
    delay: Span,
    gates: Vec<LinkGate>,
    /// Whether the last signal was [`Signal::Close`] instead of [`Signal::Open`].
    closed_by_hand: bool,
    /// Queue, without the expired packets in `low`.
    waiting: VecDeque<Waiting>,
    /// Expired packets, whole or as headers; sent when no other packet waits.
    low: VecDeque<Waiting>,
    /// Backlog in bytes, of `waiting` and `low`.
    bytes: u64,
    service: Option<Service>,
    flying: VecDeque<Flying>,
    /// Time at which a postponed transmission is tried again; [`Time::NEVER`] if none is postponed.
    retry: Time,
    /// Flows (by ledger) whose next packet carries the EXP bit.
    signalled: BTreeSet<usize>,
    /// Data unit, by ledger, that lost a packet here and whose other packets are dropped.
    spoilt: BTreeMap<usize, u16>,
    counters: DeadlineCounters,
}

impl DeadlineLink {
    /// A link with gates behind its queue.
    pub fn new(config: LinkConfig, gates: Vec<LinkGate>, policy: Policy) -> Self {
        DeadlineLink {
            policy,
            limit: config.limit,
            capacity: config.capacity,
            delay: config.delay,
            gates,
            closed_by_hand: false,
            waiting: VecDeque::new(),
            low: VecDeque::new(),
            bytes: 0,
            service: None,
            flying: VecDeque::new(),
            retry: Time::NEVER,
            signalled: BTreeSet::new(),
            spoilt: BTreeMap::new(),
            counters: DeadlineCounters::default(),
        }
    }

    /// Packet counters.
    pub fn counters(&self) -> DeadlineCounters {
        self.counters
    }

    fn is_full(&self, size: u32) -> bool {
        let waiting = self.waiting.len() + self.low.len();
        self.limit.packets.is_some_and(|n| waiting >= n as usize)
            || self.limit.bytes.is_some_and(|n| self.bytes + u64::from(size) > n)
    }

    /// Drops a packet, and registers the EXP bit for its flow and the drop of its data unit.
    fn discard(&mut self, cx: &mut Cx<'_>, packet: Packet, reason: DropReason) {
        let ledger = packet.ledger();
        if reason == DropReason::Expired {
            self.counters.expired += 1;
            if self.policy.signals {
                self.signalled.insert(ledger);
            }
        }
        // Only a unit whose sender retransmits nothing is useless without this packet.
        if self.policy.units == Units::Drop && packet.unit != 0 && packet.flags.has(Flags::WHOLE) {
            self.spoilt.insert(ledger, packet.unit);
        }
        cx.drop(packet, reason);
    }

    fn is_spoilt(&self, packet: &Packet) -> bool {
        packet.unit != 0 && self.spoilt.get(&packet.ledger()) == Some(&packet.unit)
    }

    /// Drops the waiting packets of data units that lost a packet here.
    fn drop_spoilt(&mut self, cx: &mut Cx<'_>) {
        while let Some(at) = self.waiting.iter().position(|w| self.is_spoilt(&w.packet)) {
            let Some(waiting) = self.waiting.remove(at) else { break };
            self.bytes -= u64::from(waiting.packet.size);
            self.counters.unit_drops += 1;
            cx.drop(waiting.packet, DropReason::Expired);
        }
    }

    /// Removes expired packets from the whole queue.
    fn sweep(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        let mut at = 0;
        while let Some(waiting) = self.waiting.get(at) {
            if self.policy.is_expired(&waiting.packet, now) {
                let Some(waiting) = self.waiting.remove(at) else { break };
                self.expire(cx, waiting);
            } else {
                at += 1;
            }
        }
        if !self.spoilt.is_empty() {
            self.drop_spoilt(cx);
        }
    }

    /// Drops, demotes or shortens an expired packet that was taken out of the queue.
    fn expire(&mut self, cx: &mut Cx<'_>, waiting: Waiting) {
        match self.policy.expired {
            Expired::Drop => {
                self.bytes -= u64::from(waiting.packet.size);
                self.discard(cx, waiting.packet, DropReason::Expired);
            }
            Expired::Demote => {
                self.counters.demoted += 1;
                self.low.push_back(waiting);
            }
            Expired::Headers => {
                self.counters.stubs += 1;
                self.bytes -= u64::from(waiting.packet.size);
                let size = waiting.packet.size.min(self.policy.header);
                self.bytes += u64::from(size);
                let flags = waiting.packet.flags.with(Flags::STUB);
                // The headers have no deadline: only congestion control uses them.
                let packet = Packet { size, flags, lives: Packet::ALWAYS, ..waiting.packet };
                self.low.push_back(Waiting { packet, ..waiting });
            }
        }
    }

    /// Position in `waiting` of the packet to send next; none if only packets of incomplete data units wait.
    fn choose(&self) -> Option<usize> {
        let ready = |w: &Waiting| self.policy.units != Units::Collect || self.is_collected(&w.packet);
        let mut candidates = self.waiting.iter().enumerate().filter(|(_, w)| ready(w));
        match self.policy.order {
            Order::Fifo => candidates.next().map(|(at, _)| at),
            Order::EarliestDeadline => {
                candidates.min_by_key(|(at, w)| (w.packet.deadline(), *at)).map(|(at, _)| at)
            }
            Order::Priority => candidates.min_by_key(|(at, w)| (w.packet.class, *at)).map(|(at, _)| at),
        }
    }

    /// Whether a packet's data unit is complete: its last packet waits, or a packet of a later unit of the flow does.
    fn is_collected(&self, packet: &Packet) -> bool {
        if packet.unit == 0 {
            return true;
        }
        let same_flow = |w: &&Waiting| w.packet.ledger() == packet.ledger();
        self.waiting.iter().filter(same_flow).any(|w| {
            w.packet.unit != packet.unit && w.packet.ordinal > packet.ordinal
                || w.packet.unit == packet.unit && w.packet.flags.has(Flags::LAST)
        })
    }

    /// Earliest start of a transmission; as an error, the time at which a gate that does not store drops the packet.
    fn passing(&mut self, now: Time) -> Result<Time, Time> {
        if self.closed_by_hand {
            return Ok(Time::NEVER);
        }
        LinkGate::pass(&mut self.gates, now, now)
    }

    /// Time until which `packet` waits for a higher rate ([`Policy::hold_below_bps`]); `now` if it need not wait.
    fn held_until(&mut self, now: Time, packet: &Packet) -> Time {
        let floor = self.policy.hold_below_bps;
        if floor == 0 {
            return now;
        }
        match self.capacity.below(now, floor) {
            None => now,
            Some(until) => {
                // At the low rate the transmission takes longer, so it must start earlier to meet the deadline.
                let end = self.capacity.finish(now, now, packet.size);
                let slow = if end.is_never() { Span::ZERO } else { end.since(now) };
                let latest = self.policy.latest(packet);
                let latest = if latest.is_never() {
                    latest
                } else {
                    Time::from_nanos(latest.as_nanos().saturating_sub(slow.as_nanos()))
                };
                until.min(latest).max(now)
            }
        }
    }

    /// Starts the next transmission, if the transmitter is free and a packet may leave.
    fn serve(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        self.retry = Time::NEVER;
        while self.service.is_none() && !(self.waiting.is_empty() && self.low.is_empty()) {
            let open = match self.passing(now) {
                Ok(open) => open,
                Err(_) => {
                    let first = self.waiting.pop_front().or_else(|| self.low.pop_front());
                    let Some(first) = first else { return };
                    self.bytes -= u64::from(first.packet.size);
                    self.discard(cx, first.packet, DropReason::Outage);
                    continue;
                }
            };
            if open > now {
                self.retry = open;
                return;
            }
            // An incomplete unit must not wait beyond its deadline.
            if self.policy.check == Check::Queue || self.policy.units == Units::Collect {
                self.sweep(cx);
            }
            let Some(at) = self.choose() else {
                match self.low.pop_front() {
                    Some(waiting) => self.start(cx, waiting),
                    // An incomplete unit waits for its next packet or for its expiry.
                    None => {
                        self.retry = self.earliest_expiry();
                        return;
                    }
                }
                continue;
            };
            let Some(waiting) = self.waiting.get(at).copied() else { return };
            let held = self.held_until(now, &waiting.packet);
            if held > now {
                self.retry = held;
                return;
            }
            self.waiting.remove(at);
            if self.policy.is_expired(&waiting.packet, now) {
                self.expire(cx, waiting);
                continue;
            }
            self.start(cx, waiting);
        }
    }

    /// Earliest expiry of the waiting packets, 1 ns after the latest time of [`Policy::latest`].
    fn earliest_expiry(&self) -> Time {
        let latest = self.waiting.iter().map(|w| self.policy.latest(&w.packet)).min();
        latest.map_or(Time::NEVER, |t| if t.is_never() { t } else { t + Span::from_nanos(1) })
    }

    fn start(&mut self, cx: &mut Cx<'_>, waiting: Waiting) {
        let now = cx.now();
        let Waiting { mut packet, joined } = waiting;
        self.bytes -= u64::from(packet.size);
        if self.signalled.remove(&packet.ledger()) {
            packet.flags = packet.flags.with(Flags::EXPIRED);
        }
        if packet.flags.has(Flags::DATA)
            && let Some(ledger) = cx.ledger(&packet)
        {
            ledger.queue_delay_ns += now.since(joined).as_nanos();
            ledger.queue_waits += 1;
        }
        let end = self.capacity.finish(now, now, packet.size);
        self.service = Some(Service { packet, start: now, end });
    }

    /// Processes the ends of service and propagation due by now, and starts the next transmission.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        loop {
            if let Some(service) = self.service.filter(|s| s.end <= now) {
                self.service = None;
                let Service { packet, start, end } = service;
                self.flying.push_back(Flying { packet, start, arrival: end + self.delay });
                self.serve(cx);
                continue;
            }
            if self.service.is_none() && self.retry <= now {
                self.serve(cx);
                if self.service.is_some_and(|s| s.end <= now) {
                    continue;
                }
            }
            break;
        }
        while let Some(flying) = self.flying.front().copied().filter(|f| f.arrival <= now) {
            self.flying.pop_front();
            cx.count_hop();
            if cx.records(Category::Path) {
                let packet = flying.packet.id;
                cx.record(Category::Path, flying.start, || Event::ServiceStarted { packet });
                cx.record(Category::Path, now, || Event::Delivered { packet });
            }
            cx.forward(Port(0), flying.packet);
        }
    }

    /// Drops expired and less important packets until `packet` fits; false if it does not fit.
    fn make_room(&mut self, cx: &mut Cx<'_>, packet: &Packet) -> bool {
        if self.policy.check == Check::Queue {
            self.sweep(cx);
        }
        while self.is_full(packet.size) {
            if self.policy.overflow == Overflow::Tail {
                return false;
            }
            let worst = self.waiting.iter().enumerate().max_by_key(|(at, w)| (w.packet.class, *at));
            let Some((at, waiting)) = worst.filter(|(_, w)| w.packet.class > packet.class) else {
                return false;
            };
            let victim = waiting.packet;
            self.waiting.remove(at);
            self.bytes -= u64::from(victim.size);
            self.discard(cx, victim, DropReason::QueueFull);
        }
        true
    }

    fn take(&mut self, cx: &mut Cx<'_>, packet: Packet) {
        let now = cx.now();
        if self.is_spoilt(&packet) {
            self.counters.unit_drops += 1;
            return cx.drop(packet, DropReason::Expired);
        }
        if packet.flags.has(Flags::ABORT) && packet.unit != 0 {
            self.abort(cx, &packet);
        }
        // The flow has begun another unit, and may use the number of the dropped unit again.
        if self.spoilt.get(&packet.ledger()).is_some_and(|unit| packet.unit != *unit) {
            self.spoilt.remove(&packet.ledger());
        }
        // A packet that finds the link idle and open does not wait, so no queue limit applies.
        let idle = self.service.is_none() && self.waiting.is_empty() && self.low.is_empty();
        let at_once = idle && self.passing(now).is_ok_and(|open| open == now);
        if !at_once && self.is_full(packet.size) && !self.make_room(cx, &packet) {
            self.discard(cx, packet, DropReason::QueueFull);
            if !self.spoilt.is_empty() {
                self.drop_spoilt(cx);
            }
            return;
        }
        let waiting = (self.waiting.len() + self.low.len()) as u32;
        self.bytes += u64::from(packet.size);
        self.waiting.push_back(Waiting { packet, joined: now });
        cx.record(Category::Path, now, || Event::Enqueued { packet: packet.id, size: packet.size, waiting });
        if self.service.is_none() {
            self.serve(cx);
            // A transmission of zero duration, at an unlimited rate, ends now.
            self.advance(cx);
        } else if self.policy.check == Check::Queue {
            self.sweep(cx);
        }
    }

    /// Drops the waiting packets of a data unit that its sender has aborted, unless deadline checks are off
    /// (catalogue AT-04).
    fn abort(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let of_unit = |w: &Waiting| w.packet.ledger() == packet.ledger() && w.packet.unit == packet.unit;
        while self.policy.check != Check::Off
            && let Some(at) = self.waiting.iter().position(of_unit)
        {
            let Some(waiting) = self.waiting.remove(at) else { break };
            self.bytes -= u64::from(waiting.packet.size);
            self.counters.unit_drops += 1;
            cx.drop(waiting.packet, DropReason::Expired);
        }
    }

    /// Changes the rate; the packet in service keeps its remaining bytes.
    fn change_rate(&mut self, now: Time, rate: Rate) {
        let left = self.service.filter(|s| s.end > now).map(|s| {
            let bytes = self.capacity.bits_between(now, s.end).div_ceil(8);
            u32::try_from(bytes).unwrap_or(u32::MAX).min(s.packet.size)
        });
        self.capacity = Capacity::Fixed(rate);
        if let (Some(left), Some(service)) = (left, &mut self.service) {
            service.end = self.capacity.finish(now, now, left);
        }
    }
}

impl Element for DeadlineLink {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        self.advance(cx);
        self.take(cx, packet);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.advance(cx);
    }

    fn next_wake(&self) -> Time {
        let service = self.service.map_or(Time::NEVER, |s| s.end);
        let arrival = self.flying.front().map_or(Time::NEVER, |f| f.arrival);
        let retry = if self.service.is_none() { self.retry } else { Time::NEVER };
        service.min(arrival).min(retry)
    }

    fn next_exit(&self) -> Time {
        let service = self.service.map_or(Time::NEVER, |s| s.end + self.delay);
        let arrival = self.flying.front().map_or(Time::NEVER, |f| f.arrival);
        let retry = if self.service.is_none() { self.retry } else { Time::NEVER };
        service.min(arrival).min(retry)
    }

    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        self.advance(cx);
        match signal {
            Signal::Rate(rate) => self.change_rate(cx.now(), rate),
            Signal::Close => self.closed_by_hand = true,
            Signal::Open => self.closed_by_hand = false,
            _ => return,
        }
        if self.service.is_none() {
            self.serve(cx);
            self.advance(cx);
        }
    }

    fn holds(&self) -> usize {
        self.waiting.len() + self.low.len() + self.flying.len() + usize::from(self.service.is_some())
    }
}
