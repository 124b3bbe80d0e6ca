//! Network: element arena, scheduling and packet delivery.
//!
//! An arena of them, one pending wake-up each, and an outbox that delivers what they send in the order they sent it.
//! The network is driven from outside: told up to when to run, it executes everything due in order, each thing at its
//! own scheduled time.

use crate::element::{Core, Counters, Cx, Element, ElementId, Port, Signal};
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
    elements: Vec<Box<dyn Element>>,
    schedule: Schedule,
    core: Core,
    /// What was sent and is not delivered; empty between two wake-ups.
    outbox: Outbox,
    /// What is sent while that is delivered.
    second: Outbox,
    now: Time,
    triggers: Triggers,
}

/// Nobody's wake-up is executed.
const OUTSIDE: u32 = u32::MAX;

/// As many elements are asked one by one.
const MANY: usize = 64;

impl Network {
    /// An empty network for `flows` flows.
    pub fn new(flows: usize, tracer: Tracer) -> Self {
        Network {
            elements: Vec::new(),
            schedule: Schedule::new(0),
            core: Core {
                pool: Pool::new(),
                tracer,
                ledgers: (0..2 * flows).map(|_| Ledger::default()).collect(),
                wires: Wires::default(),
                counters: Counters::default(),
                woken: OUTSIDE,
                signals: VecDeque::new(),
            },
            outbox: Outbox::default(),
            second: Outbox::default(),
            now: Time::ZERO,
            triggers: Triggers::default(),
        }
    }

    /// Adds an element. Add those further downstream first: at equal times they run first.
    pub fn add(&mut self, element: impl Element) -> ElementId {
        self.elements.push(Box::new(element));
        ElementId(self.elements.len() as u32 - 1)
    }

    /// Leads `from`'s port `out` to `to`'s port `into`.
    pub fn wire(&mut self, from: ElementId, out: Port, to: ElementId, into: Port) {
        self.core.wires.note(from, out, (to, u32::from(into.0)));
    }

    /// Ends construction: asks every element for its first wake-up.
    pub fn start(&mut self, shuffle_ties: Option<u64>) {
        self.schedule = Schedule::new(self.elements.len());
        let tables = self.elements.iter().enumerate();
        let tables = tables.filter_map(|(i, e)| Some((ElementId(i as u32), e.table()?)));
        self.core.wires.lay(self.elements.len(), &tables.collect::<Vec<_>>());
        if let Some(seed) = shuffle_ties {
            self.schedule.shuffle_ties(seed);
        }
        for (i, element) in self.elements.iter().enumerate() {
            self.schedule.set(i, element.next_wake());
        }
    }

    /// When something is next due; `None`: never again.
    pub fn next_wake(&self) -> Option<Time> {
        self.schedule.first().map(|(t, _)| t)
    }

    /// Until when nothing can come to an end of the network if nothing comes in; `None`: never again. It looks at each
    /// element, or says [`Network::next_wake`] where they are many.
    pub fn next_exit(&self) -> Option<Time> {
        if self.elements.len() > MANY {
            return self.next_wake();
        }
        let next = self.elements.iter().map(|element| element.next_exit()).min();
        next.filter(|t| !t.is_never())
    }

    /// Executes everything due up to and including `t`, in order, each at its own time.
    pub fn run_until(&mut self, t: Time) {
        while let Some((due, i)) = self.schedule.first() {
            if due > t {
                break;
            }
            self.wake(due, i);
        }
        self.now = self.now.max(t);
    }

    /// Executes wake-ups until `done` says so (asked after each), nothing is due any more, or
    /// something would be due after `limit`. True if `done` said so.
    pub fn run_while(&mut self, limit: Time, mut done: impl FnMut(&Network) -> bool, every: u32) -> bool {
        loop {
            for _ in 0..every {
                match self.schedule.first() {
                    Some((due, i)) if due <= limit => self.wake(due, i),
                    _ => return done(self),
                }
            }
            if done(self) {
                return true;
            }
        }
    }

    /// Lets time pass before somebody outside acts.
    fn pass(&mut self, at: Time) {
        self.run_until(at);
        self.core.woken = OUTSIDE;
    }

    #[inline]
    fn wake(&mut self, due: Time, i: usize) {
        debug_assert!(due >= self.now, "time went back");
        // A wish for this very instant may come after the turn of a later element.
        self.core.woken = if due > self.now { i as u32 } else { self.core.woken.max(i as u32) };
        self.now = due;
        self.core.counters.wakes += 1;
        let element = &mut self.elements[i];
        let (core, outbox) = (&mut self.core, &mut self.outbox);
        let next = element.wake(&mut Cx { now: due, me: ElementId(i as u32), core, outbox });
        self.schedule.set(i, next);
        self.settle();
    }

    /// Delivers what is in the outbox, and then what that caused, in the order in which it was sent.
    #[inline]
    fn settle(&mut self) {
        let (mut sent, mut outbox) = (&mut self.outbox, &mut self.second);
        while !sent.is_empty() {
            for Parcel { packet, to, port } in sent.parcels() {
                let (to, port) = (*to, *port);
                let (now, core, outbox) = (self.now, &mut self.core, &mut *outbox);
                let i = to.0 as usize;
                let Some(element) = self.elements.get_mut(i) else {
                    if to == SIGNAL {
                        if let Some((i, next)) = tell(&mut self.elements, now, core, outbox) {
                            self.schedule.no_later(i, next);
                        }
                        continue;
                    }
                    lose(&mut Cx { now, me: ElementId(port), core, outbox }, packet);
                    continue;
                };
                let next = element.arrive(&mut Cx { now, me: to, core, outbox }, Port(port as u16), packet);
                self.schedule.no_later(i, next);
            }
            sent.clear();
            std::mem::swap(&mut sent, &mut outbox);
        }
    }

    /// Puts a packet in from outside, at `at` or at the present if that is later.
    pub fn inject(&mut self, at: Time, to: ElementId, port: Port, packet: Packet) {
        self.pass(at);
        self.outbox.push(&packet, to, u32::from(port.0));
        self.settle();
    }

    /// Tells an element something, at `at` or at the present if that is later. Everything due before
    /// is executed first.
    pub fn signal(&mut self, at: Time, to: ElementId, signal: Signal) {
        self.pass(at);
        let i = to.0 as usize;
        let element = &mut self.elements[i];
        let (core, outbox) = (&mut self.core, &mut self.outbox);
        element.on_signal(&mut Cx { now: self.now, me: to, core, outbox }, signal);
        let next = element.next_wake();
        self.schedule.set(i, next);
        self.settle();
    }

    /// Lets `name` give `signal` to an element whenever it is called. One name may speak to many.
    pub fn lend(&mut self, name: &str, to: ElementId, signal: Signal) {
        self.triggers.lend(name, to, signal);
    }

    /// Calls a name, at `at` or at the present if that is later: everything due before is executed first, then
    /// every element that lent itself to it hears its signal, all at one instant. It is written down. False, and
    /// nothing happens, if nobody has that name.
    pub fn trigger(&mut self, at: Time, name: &str) -> bool {
        let Some(number) = self.triggers.find(name) else { return false };
        self.run_until(at);
        let now = self.now;
        self.triggers.note(now, number);
        for hearer in 0..self.triggers.hearers(number) {
            if let Some((to, signal)) = self.triggers.said(number, hearer) {
                self.signal(now, to, signal);
            }
        }
        true
    }

    /// The names that can be called, and which were.
    pub fn triggers(&self) -> &Triggers {
        &self.triggers
    }

    /// Lets somebody outside act through an element, at `at` or at the present if that is later: how a
    /// driver hands a door what came, and takes what goes. Everything due before is executed first. `None`,
    /// and nothing happens, if the element is no `T`.
    pub fn enter<T: Element, R>(
        &mut self,
        at: Time,
        id: ElementId,
        act: impl FnOnce(&mut T, &mut Cx<'_>) -> R,
    ) -> Option<R> {
        self.element::<T>(id)?;
        self.pass(at);
        let i = id.0 as usize;
        let any: &mut dyn Any = &mut **self.elements.get_mut(i)?;
        let element = any.downcast_mut::<T>()?;
        let (core, outbox) = (&mut self.core, &mut self.outbox);
        let done = act(element, &mut Cx { now: self.now, me: id, core, outbox });
        let next = element.next_wake();
        self.schedule.set(i, next);
        self.settle();
        Some(done)
    }

    /// The present.
    pub fn now(&self) -> Time {
        self.now
    }
    /// The counters.
    pub fn counters(&self) -> Counters {
        self.core.counters
    }
    /// What really happened, two ledgers per flow.
    pub fn ledgers(&self) -> &[Ledger] {
        &self.core.ledgers
    }
    /// The recorder.
    pub fn tracer(&mut self) -> &mut Tracer {
        &mut self.core.tracer
    }
    /// Whether events or packets are recorded.
    pub fn is_traced(&self) -> bool {
        !self.core.tracer.is_off()
    }
    /// What was recorded so far, in order of recording.
    pub fn records(&self) -> &[base::event::Record] {
        self.core.tracer.records()
    }
    /// What its hosts sent and took in so far, where that is kept.
    pub fn sightings(&self) -> &[base::trace::Sighting] {
        self.core.tracer.sightings()
    }
    /// Bodies in the pool; as many as there are packets with a body inside elements.
    pub fn bodies(&self) -> u32 {
        self.core.pool.live()
    }
    /// Packets inside elements.
    pub fn packets_inside(&self) -> usize {
        self.elements.iter().map(|e| e.holds()).sum()
    }
    /// An element as what it is.
    pub fn element<T: Element>(&self, id: ElementId) -> Option<&T> {
        let any: &dyn Any = &**self.elements.get(id.0 as usize)?;
        any.downcast_ref()
    }

    /// An element of this type, for settings before a run: no time passes, unlike in [`Network::enter`].
    pub fn element_mut<T: Element>(&mut self, id: ElementId) -> Option<&mut T> {
        let any: &mut dyn Any = &mut **self.elements.get_mut(id.0 as usize)?;
        any.downcast_mut()
    }
}

/// Delivers the next signal; the number of the element that hears it, and when it wants to be woken.
#[cold]
fn tell(
    elements: &mut [Box<dyn Element>],
    now: Time,
    core: &mut Core,
    outbox: &mut Outbox,
) -> Option<(usize, Time)> {
    let (to, signal) = core.signals.pop_front()?;
    let element = elements.get_mut(to.0 as usize)?;
    element.on_signal(&mut Cx { now, me: to, core, outbox }, signal);
    Some((to.0 as usize, element.next_wake()))
}

/// Ends a packet that was sent out where no wire is, in the name of whoever sent it.
#[cold]
fn lose(cx: &mut Cx<'_>, packet: &Packet) {
    cx.drop(*packet, DropReason::NoRoute);
}
