//! Network: arena of elements, scheduling of their wake-ups, delivery of packets and signals, triggers.
//!
//! Each element has one pending wake-up. An outbox delivers packets in the order of sending. A driver runs the network
//! up to a given time; all events due are executed in order, each at its scheduled time.

use crate::element::{Core, Counters, Cx, Element, ElementId, Port, Signal};
use crate::link::Lookahead;
use crate::lookahead;
use crate::node::Node;
use crate::outbox::{Outbox, Parcel, SIGNAL};
use crate::schedule::Schedule;
use crate::trigger::Triggers;
use crate::wires::Wires;
use base::Time;
use base::packet::{DropReason, Packet};
use base::pool::Pool;
use base::trace::Tracer;
use base::truth::Ledger;
use std::any::Any;
use std::collections::VecDeque;

/// A network under construction or running.
pub struct Network {
    /// Elements by their places: after the start those that wake come first, in the order of adding.
    elements: Vec<Node>,
    /// Place of each element by its number.
    places: Vec<u32>,
    schedule: Schedule,
    core: Core,
    /// Packets sent and not yet delivered; empty between two wake-ups.
    outbox: Outbox,
    /// Packets sent while those of `outbox` are delivered.
    second: Outbox,
    /// The packet that a link hands on.
    parcel: Parcel,
    now: Time,
    triggers: Triggers,
    /// Elements that process internal events late.
    late: Vec<ElementId>,
}

/// Value of [`Core::woken`] during calls from outside, which follow all elements at equal times.
const OUTSIDE: u32 = u32::MAX;

/// Number of elements up to which [`Network::next_exit`] queries each element.
const MANY: usize = 64;

impl Network {
    /// An empty network, with ledgers for `flows` flows.
    pub fn new(flows: usize, tracer: Tracer) -> Self {
        Network {
            elements: Vec::new(),
            places: Vec::new(),
            schedule: Schedule::new(0),
            core: Core {
                pool: Pool::new(),
                tracer,
                ledgers: (0..2 * flows).map(|_| Ledger::default()).collect(),
                wires: Wires::default(),
                counters: Counters::default(),
                woken: OUTSIDE,
                signals: VecDeque::new(),
                forwarding: Vec::new(),
                merging: Vec::new(),
            },
            outbox: Outbox::default(),
            second: Outbox::default(),
            parcel: Parcel::NONE,
            now: Time::ZERO,
            triggers: Triggers::default(),
            late: Vec::new(),
        }
    }

    /// Adds an element. Elements further downstream must be added first, since they run first at equal times.
    pub fn add(&mut self, element: impl Element) -> ElementId {
        let number = self.elements.len() as u32;
        self.elements.extend(Node::of(element));
        self.places.push(number);
        ElementId(number)
    }

    /// Connects port `out` of `from` to port `into` of `to`.
    pub fn wire(&mut self, from: ElementId, out: Port, to: ElementId, into: Port) {
        self.core.wires.note(from, out, (to, u32::from(into.0)));
    }

    /// Ends construction and schedules the first wake-ups. `shuffle_ties`: seed for a random order of elements at
    /// equal times, used by tests; it depends on the places, which are then the numbers.
    pub fn start(&mut self, shuffle_ties: Option<u64>) {
        self.schedule = Schedule::new(match shuffle_ties {
            Some(_) => self.elements.len(),
            None => self.put_wakers_first(),
        });
        let tables = self.elements.iter().enumerate();
        let tables = tables.filter_map(|(i, e)| Some((ElementId(i as u32), e.table()?)));
        self.core.wires.lay(self.elements.len(), &tables.collect::<Vec<_>>());
        match shuffle_ties {
            Some(seed) => self.schedule.shuffle_ties(seed),
            None => lookahead::prepare(&mut self.elements, &mut self.core),
        }
        for (i, element) in self.elements.iter().enumerate() {
            self.schedule.no_later(i, element.next_wake());
            self.late.extend(element.is_late().then_some(ElementId(i as u32)));
        }
    }

    /// Gives the elements that wake the first places, so that the schedule is short; returns their number.
    fn put_wakers_first(&mut self) -> usize {
        let mut elements: Vec<(u32, Node)> = (0..).zip(std::mem::take(&mut self.elements)).collect();
        elements.sort_by_key(|(_, element)| !element.wakes());
        let numbers: Vec<u32> = elements.iter().map(|(number, _)| *number).collect();
        for (place, number) in numbers.iter().enumerate() {
            self.places[*number as usize] = place as u32;
        }
        self.elements = elements.into_iter().map(|(_, element)| element).collect();
        self.core.wires.renumber(&self.places);
        self.core.tracer.renumber(numbers);
        self.elements.iter().filter(|element| element.wakes()).count()
    }

    /// Place of an element.
    fn place(&self, id: ElementId) -> ElementId {
        ElementId(self.places.get(id.0 as usize).copied().unwrap_or(id.0))
    }

    /// Time of the next event; `None`: never.
    pub fn next_wake(&self) -> Option<Time> {
        self.schedule.first().map(|(t, _)| t)
    }

    /// Lower bound of the time of the next departure from any element if no packet enters; `None`: never. With many
    /// elements this is [`Network::next_wake`].
    pub fn next_exit(&self) -> Option<Time> {
        if self.elements.len() > MANY {
            return self.next_wake();
        }
        let next = self.elements.iter().map(|element| element.next_exit()).min();
        next.filter(|t| !t.is_never())
    }

    /// Executes all events due up to and including `t`, in order, each at its own time.
    pub fn run_until(&mut self, t: Time) {
        self.advance(t);
        self.count_forwarded(t);
        self.settle_late(t, OUTSIDE);
    }

    /// [`Network::run_until`], without the internal events of late elements.
    fn advance(&mut self, t: Time) {
        while self.execute(t, u32::MAX) {}
        self.now = self.now.max(t);
    }

    /// Counts packets that links forwarded ahead and that arrived by `t`, when all events due by `t` are executed.
    fn count_forwarded(&mut self, t: Time) {
        let Network { elements, schedule, core, outbox, .. } = self;
        let last = lookahead::count(elements, schedule, core, outbox, t, OUTSIDE);
        self.now = self.now.max(last.unwrap_or_default());
    }

    /// Executes events until `done` returns true, no event is left, or the next event is after `limit`. `done` is
    /// called after each `every` wake-ups and at the end. Returns its last result.
    pub fn run_while(&mut self, limit: Time, mut done: impl FnMut(&Network) -> bool, every: u32) -> bool {
        loop {
            if !self.execute(limit, every) {
                self.count_forwarded(limit);
                let last = self.settle_late(limit, OUTSIDE);
                self.now = self.now.max(last);
                return done(self);
            }
            if done(self) {
                let Network { elements, schedule, core, outbox, now, .. } = self;
                let woken = core.woken;
                lookahead::count(elements, schedule, core, outbox, *now, woken);
                self.settle_late(self.now, woken);
                return true;
            }
        }
    }

    /// Executes all events due up to `at`, before a call from outside.
    fn pass(&mut self, at: Time, to: ElementId) {
        self.advance(at);
        self.core.woken = OUTSIDE;
        if lookahead::concerns(&self.elements, to.0 as usize) {
            let Network { elements, schedule, core, outbox, now, .. } = self;
            lookahead::recall(elements, schedule, core, outbox, *now);
        }
    }

    /// Processes the internal events of late elements up to `t`, with `woken` as [`Core::woken`]; returns the time of the
    /// last one.
    fn settle_late(&mut self, t: Time, woken: u32) -> Time {
        let Network { elements, late, core, outbox, .. } = self;
        let before = std::mem::replace(&mut core.woken, woken);
        let mut last = Time::ZERO;
        for &me in late.iter() {
            if let Some(element) = elements.get_mut(me.0 as usize) {
                last = last.max(element.settle(&mut Cx { now: t, me, core, outbox }));
            }
        }
        core.woken = before;
        last
    }

    /// Executes the next `wakes` wake-ups, but none after `limit`. False if there are fewer.
    fn execute(&mut self, limit: Time, wakes: u32) -> bool {
        for _ in 0..wakes {
            match self.schedule.first() {
                Some((due, i)) if due <= limit => self.wake(due, i),
                _ => return false,
            }
        }
        true
    }

    // Inlined, as all that it calls: a wake-up takes about as long as a few calls do.
    #[inline(always)]
    fn wake(&mut self, due: Time, i: usize) {
        debug_assert!(due >= self.now, "time went back");
        // An element may request a wake-up for the present time after an element with a greater number has run.
        self.core.woken = if due > self.now { i as u32 } else { self.core.woken.max(i as u32) };
        self.now = due;
        self.core.counters.wakes += 1;
        let Network { elements, schedule, core, outbox, parcel, .. } = self;
        let me = ElementId(i as u32);
        let next = match &mut elements[i] {
            Node::Link(link) if link.lookahead.has(Lookahead::MERGES) => {
                lookahead::wake(elements, schedule, &mut Cx { now: due, me, core, outbox }, i);
                None
            }
            Node::Link(link) => match link.release(core, me, due, parcel) {
                // Nearly always: one packet, from one element to the next.
                Some(next) => {
                    schedule.set(i, next);
                    hand(elements, schedule, core, outbox, due, parcel, true);
                    None
                }
                None => Some(link.wake(&mut Cx { now: due, me, core, outbox })),
            },
            Node::Other(element) => Some(element.wake(&mut Cx { now: due, me, core, outbox })),
            filter @ Node::Filter(_) => Some(filter.wake(&mut Cx { now: due, me, core, outbox })),
        };
        if let Some(next) = next {
            schedule.set(i, next);
        }
        self.settle_here();
    }

    /// Delivers the packets in the outbox and those that result, in the order of sending.
    #[inline(never)]
    fn settle(&mut self) {
        self.settle_here();
    }

    #[inline(always)]
    fn settle_here(&mut self) {
        let Network { elements, schedule, core, now, .. } = self;
        let (mut sent, mut outbox) = (&mut self.outbox, &mut self.second);
        while !sent.is_empty() {
            let alone = sent.parcels().len() == 1;
            for parcel in sent.parcels() {
                hand(elements, schedule, core, outbox, *now, parcel, alone);
            }
            sent.clear();
            std::mem::swap(&mut sent, &mut outbox);
        }
    }

    /// Delivers a packet from outside to an element at `at`, or now if that is later.
    pub fn inject(&mut self, at: Time, to: ElementId, port: Port, packet: Packet) {
        let to = self.place(to);
        self.pass(at, to);
        self.outbox.push(&packet, to, u32::from(port.0));
        self.settle();
    }

    /// Sends a signal to an element at `at`, or now if that is later. All events due by then are executed first.
    pub fn signal(&mut self, at: Time, to: ElementId, signal: Signal) {
        let to = self.place(to);
        self.pass(at, to);
        let i = to.0 as usize;
        let element = &mut self.elements[i];
        let (core, outbox) = (&mut self.core, &mut self.outbox);
        element.on_signal(&mut Cx { now: self.now, me: to, core, outbox }, signal);
        self.plan(i);
        self.settle();
    }

    /// Schedules the wake-up of an element after a call from outside.
    fn plan(&mut self, i: usize) {
        if let Some(element) = self.elements.get(i).filter(|element| element.wakes()) {
            self.schedule.set(i, element.next_wake());
        }
    }

    /// Registers `signal` to an element for trigger `name`. A trigger may have several signals.
    pub fn lend(&mut self, name: &str, to: ElementId, signal: Signal) {
        self.triggers.lend(name, to, signal);
    }

    /// Registers `signal` to an element for trigger `name`, called as `NAME=VALUE` with one of `values`.
    pub fn lend_value(
        &mut self,
        name: &str,
        values: std::ops::RangeInclusive<u32>,
        to: ElementId,
        signal: Signal,
    ) {
        self.triggers.lend_value(name, values, to, signal);
    }

    /// Calls a trigger at `at`, or now if that is later. All events due by then are executed first; then each
    /// registered element receives its signal, at the same time. The call is logged. False, without an effect, if
    /// the name is unknown.
    pub fn trigger(&mut self, at: Time, name: &str) -> bool {
        let Some(call) = self.triggers.find(name) else { return false };
        self.run_until(at);
        let now = self.now;
        self.triggers.note(now, call);
        for hearer in 0..self.triggers.receivers(call) {
            if let Some((to, signal)) = self.triggers.said(call, hearer) {
                self.signal(now, to, signal);
            }
        }
        true
    }

    /// Registered triggers, and the log of their calls.
    pub fn triggers(&self) -> &Triggers {
        &self.triggers
    }

    /// Runs `act` on an element from outside at `at`, or now if that is later. A driver passes packets to a packet port
    /// and takes packets from it by this call. All events due by then are executed first. `None`, without an effect,
    /// if the element is not a `T`.
    pub fn enter<T: Element, R>(
        &mut self,
        at: Time,
        id: ElementId,
        act: impl FnOnce(&mut T, &mut Cx<'_>) -> R,
    ) -> Option<R> {
        self.element::<T>(id)?;
        let id = self.place(id);
        self.pass(at, id);
        let i = id.0 as usize;
        let any: &mut dyn Any = &mut **self.elements.get_mut(i)?;
        let element = any.downcast_mut::<T>()?;
        let (core, outbox) = (&mut self.core, &mut self.outbox);
        let done = act(element, &mut Cx { now: self.now, me: id, core, outbox });
        self.plan(i);
        self.settle();
        Some(done)
    }

    /// Current time.
    pub fn now(&self) -> Time {
        self.now
    }
    /// Counters.
    pub fn counters(&self) -> Counters {
        self.core.counters
    }
    /// Ledgers with the ground truth, two per flow.
    pub fn ledgers(&self) -> &[Ledger] {
        &self.core.ledgers
    }
    /// Tracer.
    pub fn tracer(&mut self) -> &mut Tracer {
        &mut self.core.tracer
    }
    /// Whether events or packets are recorded.
    pub fn is_traced(&self) -> bool {
        !self.core.tracer.is_off()
    }
    /// Records so far, in order of recording.
    pub fn records(&self) -> &[base::event::Record] {
        self.core.tracer.records()
    }
    /// Packets sent and received by hosts so far, if they are recorded.
    pub fn sightings(&self) -> &[base::trace::Sighting] {
        self.core.tracer.sightings()
    }
    /// Number of bodies in the pool; equals the number of packets with a body inside elements.
    pub fn bodies(&self) -> u32 {
        self.core.pool.live()
    }
    /// Number of packets inside elements.
    pub fn packets_inside(&self) -> usize {
        self.elements.iter().map(|e| e.holds()).sum()
    }
    /// The element as a `T`; `None` if it is of another type.
    pub fn element<T: Element>(&self, id: ElementId) -> Option<&T> {
        let any: &dyn Any = &**self.elements.get(self.place(id).0 as usize)?;
        any.downcast_ref()
    }

    /// The element as a `T`, for settings before a run and for packets that have left the network. Unlike
    /// [`Network::enter`] this executes no events.
    pub fn element_mut<T: Element>(&mut self, id: ElementId) -> Option<&mut T> {
        let place = self.place(id);
        let any: &mut dyn Any = &mut **self.elements.get_mut(place.0 as usize)?;
        any.downcast_mut()
    }
}

/// Delivers one packet to the end of a wire, or the signal whose turn it is. What results is sent to `outbox`. `alone`:
/// no other packet is in transit, so that one that passes filters overtakes none and need not go through the outbox.
#[inline(always)]
fn hand(
    elements: &mut [Node],
    schedule: &mut Schedule,
    core: &mut Core,
    outbox: &mut Outbox,
    now: Time,
    parcel: &Parcel,
    alone: bool,
) {
    let packet = &parcel.packet;
    let (mut to, mut port) = (parcel.to, parcel.port);
    loop {
        let i = to.0 as usize;
        let Some(node) = elements.get_mut(i) else {
            if to != SIGNAL {
                lose(&mut Cx { now, me: ElementId(port), core, outbox }, packet);
            } else if let Some((i, next)) = tell(elements, schedule, now, core, outbox) {
                schedule.no_later(i, next);
            }
            return;
        };
        let (cx, into) = (&mut Cx { now, me: to, core, outbox }, Port(port as u16));
        let next = match node {
            Node::Link(link) if link.lookahead.has(Lookahead::FORWARDS) => {
                return lookahead::arrive(elements, schedule, cx, i, packet);
            }
            Node::Link(link) => link.arrive(cx, into, packet),
            Node::Other(element) => element.arrive(cx, into, packet),
            Node::Filter(filter) => {
                if !filter.passes(cx, packet) {
                    return;
                }
                if !alone {
                    return cx.forward_from(Port(0), packet);
                }
                (to, port) = core.wires.reaches(to, Port(0), packet);
                continue;
            }
        };
        if !next.is_never() {
            schedule.no_later(i, next);
        }
        return;
    }
}

/// Delivers the next signal; returns its receiver's number and next wake-up.
#[cold]
fn tell(
    elements: &mut [Node],
    schedule: &mut Schedule,
    now: Time,
    core: &mut Core,
    outbox: &mut Outbox,
) -> Option<(usize, Time)> {
    let (to, signal) = core.signals.pop_front()?;
    if lookahead::concerns(elements, to.0 as usize) {
        lookahead::recall(elements, schedule, core, outbox, now);
    }
    let element = elements.get_mut(to.0 as usize)?;
    element.on_signal(&mut Cx { now, me: to, core, outbox }, signal);
    Some((to.0 as usize, element.next_wake()))
}

/// Drops a packet sent to a port without a wire, on behalf of the sender.
#[cold]
fn lose(cx: &mut Cx<'_>, packet: &Packet) {
    cx.drop(*packet, DropReason::NoRoute);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::Capacity;
    use crate::link::{Link, LinkConfig, QueueLimit};
    use crate::loss::{Loss, Rule};
    use base::event::Category;
    use base::packet::Flags;
    use base::rng::Seed;
    use base::{Rate, Span};
    use proptest::prelude::*;

    /// Sends one packet at each of its times, and notes those that come back: time, number, size.
    struct End {
        sends: VecDeque<(Time, u32)>,
        got: Vec<(Time, u64, u32)>,
    }

    impl Element for End {
        fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
            self.got.push((cx.now(), packet.id, packet.size));
            cx.discard(&packet);
        }
        fn on_wake(&mut self, cx: &mut Cx<'_>) {
            while let Some((_, size)) = self.sends.front().copied().filter(|(t, _)| *t <= cx.now()) {
                self.sends.pop_front();
                let id = cx.emit_virtual(size);
                cx.forward(Port(0), Packet { id, size, flags: Flags::DATA, ..Packet::NONE });
            }
        }
        fn next_wake(&self) -> Time {
            self.sends.front().map_or(Time::NEVER, |(t, _)| *t)
        }
        fn holds(&self) -> usize {
            0
        }
    }

    /// Arrivals and counters of packets that go through two links in a row and back to their sender.
    fn circle(sends: &[(Time, u32)], tracer: Tracer) -> (Vec<(Time, u64, u32)>, Counters, u64) {
        let mut network = Network::new(1, tracer);
        let link = |bps, millis| {
            let limit = QueueLimit { packets: Some(5), ..QueueLimit::default() };
            let (capacity, delay) = (Capacity::Fixed(Rate::from_bps(bps)), Span::from_millis(millis));
            Link::new(LinkConfig { capacity, delay, limit }, Vec::new())
        };
        let ids = [network.add(link(500_000, 3)), network.add(link(1_000_000, 1))];
        let end = network.add(End { sends: sends.iter().copied().collect(), got: Vec::new() });
        network.wire(end, Port(0), ids[1], Port(0));
        network.wire(ids[1], Port(0), ids[0], Port(0));
        network.wire(ids[0], Port(0), end, Port(0));
        network.start(None);
        network.run_until(Time::ZERO + Span::from_secs(100));
        let got = network.element::<End>(end).map(|end| end.got.clone()).unwrap_or_default();
        let waited = network.ledgers().iter().map(|ledger| ledger.queue_delay_ns).sum();
        (got, network.counters(), waited)
    }

    /// An element that never wakes has a place behind those that do. Records, drops and calls name it by its number.
    #[test]
    fn elements_keep_their_numbers() {
        let mut network = Network::new(1, Tracer::of(&[Category::Path]));
        let stream = Seed { seed: 1, repetition: 0 }.stream("all", "loss");
        let loss = network.add(Loss::new(Rule::Random(1.0), stream));
        let end = network.add(End { sends: [(Time::ZERO, 100)].into(), got: Vec::new() });
        network.wire(end, Port(0), loss, Port(0));
        network.start(None);
        assert_eq!(network.places, [1, 0]);
        network.run_until(Time::ZERO + Span::from_secs(1));
        network.inject(network.now(), loss, Port(0), Packet { flags: Flags::DATA, ..Packet::NONE });
        network.signal(network.now(), loss, Signal::Cease);
        let drops = network.ledgers().iter().flat_map(|ledger| &ledger.drops);
        assert_eq!(drops.map(|drop| drop.element).collect::<Vec<_>>(), [loss.0; 2]);
        assert_eq!(network.records().iter().map(|r| r.source.0).collect::<Vec<_>>(), [loss.0; 2]);
        assert!(network.element::<Loss>(loss).is_some() && network.element::<End>(end).is_some());
    }

    proptest! {
        /// A packet that nothing records takes a shorter way through the program.
        #[test]
        fn records_change_no_arrival(sends in proptest::collection::vec((0u64..40, 0u32..3), 1..60)) {
            let mut sends: Vec<_> =
                sends.iter().map(|&(t, size)| (Time::ZERO + Span::from_millis(t), 125 * size)).collect();
            sends.sort();
            let (plain, mut recorded) = (circle(&sends, Tracer::off()), circle(&sends, Tracer::of(&[Category::Path])));
            // Without a record the arrival at the second link is no event.
            prop_assert!(plain.1.wakes <= recorded.1.wakes);
            recorded.1.wakes = plain.1.wakes;
            prop_assert_eq!(&plain, &recorded);
            prop_assert_eq!(plain.1.absorbed + plain.1.dropped, sends.len() as u64);
        }
    }
}
